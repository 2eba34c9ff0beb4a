import MeshTransport
import MeshWire

/// What one end of a connection sent and got, and whether that is what the lanes promise.
///
/// A message says which connection it is of, and counts in its channel; its length follows from that number.
struct SoakLedger {
    /// The two channels of an end.
    enum Channel: UInt8, CaseIterable {
        case small = 0x61
        case large = 0x62

        var name: [UInt8] { [rawValue] }

        /// Bytes of the channel's message of this number, its head included.
        func byteCount(_ number: UInt64) -> Int {
            switch self {
            case .small: 16 + Int(number * 37 % 300)
            // One in 64 takes many packets.
            case .large: number % 64 == 63 ? 20_000 : 400 + Int(number * 131 % 1500)
            }
        }
    }

    /// What breaks a promise.
    enum Fault: Error, CustomStringConvertible {
        case foreign(UInt64)
        case order(channel: UInt8, expected: UInt64, found: UInt64)
        case length(Int)
        case stale(UInt64, after: UInt64)

        var description: String {
            switch self {
            case .foreign(let connection): "a message of another connection, \(connection)"
            case .order(let channel, let expected, let found):
                "channel \(channel): message \(found) where \(expected) was due"
            case .length(let count): "a message of \(count) bytes, which are not those sent"
            case .stale(let found, let last): "fast message \(found) after \(last)"
            }
        }
    }

    /// The connection: the life of the peer that dialled.
    let connection: UInt64
    /// Reliable messages taken by the lanes and delivered to us, of each channel.
    private(set) var sent: [UInt64] = [0, 0]
    private(set) var received: [UInt64] = [0, 0]
    private var fastSent: UInt64 = 0
    private var fastReceived: UInt64 = 0

    init(connection: UInt64) { self.connection = connection }

    /// The next reliable message of a channel; ``didSend(_:)`` counts it.
    func message(_ channel: Channel) -> [UInt8] {
        let number = sent[index(channel)]
        return bytes(number, count: channel.byteCount(number))
    }

    mutating func didSend(_ channel: Channel) { sent[index(channel)] += 1 }

    /// The next fast message.
    mutating func fastMessage() -> [UInt8] {
        fastSent += 1
        return bytes(fastSent, count: 64)
    }

    /// Checks a message that came.
    mutating func receive(_ message: ReceivedMessage) throws(Fault) {
        var reader = ByteReader(message.bytes.raw)
        guard let from = try? reader.read(UInt64.self), let number = try? reader.read(UInt64.self)
        else {
            throw .length(message.bytes.count)
        }
        guard from == connection else { throw .foreign(from) }
        if message.lane == .fast {
            guard number > fastReceived else { throw .stale(number, after: fastReceived) }
            fastReceived = number
            return
        }
        guard let channel = message.name.first.flatMap(Channel.init(rawValue:)) else {
            throw .foreign(from)
        }
        let expected = received[index(channel)]
        guard number == expected else {
            throw .order(channel: channel.rawValue, expected: expected, found: number)
        }
        guard message.bytes.count == channel.byteCount(number),
            message.bytes.dropFirst(16).allSatisfy({ $0 == UInt8(truncatingIfNeeded: number) })
        else {
            throw .length(message.bytes.count)
        }
        received[index(channel)] += 1
    }

    private func index(_ channel: Channel) -> Int { channel == .small ? 0 : 1 }

    private func bytes(_ number: UInt64, count: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: count)
        writer.write(connection)
        writer.write(number)
        writer.write([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count - 16))
        return writer.bytes
    }
}
