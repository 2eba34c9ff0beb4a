import MeshWire

/// What nodes say about a request for the state, on a reliable channel of their own.
///
/// Each is a message with the mark of its request (`StateMark`), so that no message of an application
/// is taken for one: `kind u8 · fields`.
///
///     0 streams: count v     the sender has marked this many streams
///     1 busy                 the lead is at work
///     2 state                list of incomplete participants · the bytes
///     3 nothing: reason u8   list of incomplete participants
enum StateNote: Hashable, Sendable {
    case streams(Int)
    case busy
    case state([UInt8], incomplete: [ParticipantID])
    case nothing(StateNothing, incomplete: [ParticipantID])

    /// The channel; a message on it that has no mark is an application's as any other.
    static let channel = "huddle.state"
    /// Streams of one participation: as many channels as a pair can have.
    static let streams = Limits.channels

    var encoded: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .streams(let count):
            writer.write(UInt8(0))
            writer.writeCount(count)
        case .busy:
            writer.write(UInt8(1))
        case .state(let bytes, let incomplete):
            writer = ByteWriter(capacity: bytes.count + 2 + incomplete.count * 16)
            writer.write(UInt8(2))
            writer.write(incomplete)
            writer.write(bytes)
        case .nothing(let reason, let incomplete):
            writer.write(UInt8(3))
            writer.write(reason.rawValue)
            writer.write(incomplete)
        }
        return writer.bytes
    }

    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        switch try reader.read(UInt8.self) {
        case 0: self = .streams(try reader.readCount(limit: Self.streams))
        case 1: self = .busy
        case 2:
            let incomplete = try reader.readParticipants()
            let state = Array(bytes.dropFirst(reader.offset))
            guard state.count <= SharedState.byteLimit else {
                throw .overLimit(UInt64(state.count), at: reader.offset)
            }
            self = .state(state, incomplete: incomplete)
            return
        case 3:
            guard let reason = StateNothing(rawValue: try reader.read()) else {
                throw .invalid(at: 1)
            }
            self = .nothing(reason, incomplete: try reader.readParticipants())
        case let kind: throw .unknownType(kind, at: 0)
        }
        try reader.finish()
    }
}

/// Why a lead has no state to give.
enum StateNothing: UInt8, Hashable, Sendable {
    case noProvider = 0
    case tooLate = 1
    case tooLarge = 2

    var absence: SharedState.Absence {
        switch self {
        case .noProvider: .noProvider
        case .tooLate: .tooLate
        case .tooLarge: .tooLarge
        }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ participants: [ParticipantID]) {
        writeCount(participants.count)
        for participant in participants { write(participant) }
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    fileprivate mutating func readParticipants() throws(WireError) -> [ParticipantID] {
        let count = try readCount(limit: Limits.participants)
        var participants: [ParticipantID] = []
        for _ in 0..<count { participants.append(try read()) }
        return participants
    }
}
