// The result of a command, as every replica computes it and as the reply carries it:
// kind u8 · fields.
//
//   0 done | 1 joined: participant 16 · number u32 | 2 stored: version 24
//   3 counted: value i64 · version 24 | 4 refused: code u8 · fields (see CommandRefusal)
//   5 merged: session 16 | 6 appended: index u64 · version 24

package import MeshWire

/// What became of a command.
package enum CommandResult: Hashable, Sendable {
    /// It was done; there is nothing more to tell.
    case done
    /// The origin is this participant now.
    case joined(ParticipantID, number: UInt32)
    /// The value stands, written by this entry of the log.
    case stored(version: Position)
    /// The counter has this value, written by this entry of the log.
    case counted(Int64, version: Position)
    /// The entry has this index in the session's sequence, put there by this entry of the log.
    case appended(index: UInt64, version: Position)
    /// Nothing was started: this session does the same and has the slot already.
    case merged(SessionID)
    /// It changed nothing.
    case refused(CommandRefusal)

    /// Throws the refusal, if it is one.
    package func get() throws(CommandRefusal) {
        if case .refused(let refusal) = self { throw refusal }
    }
}

/// Why a command changed nothing; the same on every replica.
package enum CommandRefusal: Error, Hashable, Sendable {
    /// The payload is not what the type demands.
    case malformed
    /// A field has the right form and no meaning: an empty key, a capacity of zero.
    case invalid
    /// A type that this version does not know; nothing more is applied here.
    case upgradeNeeded(type: UInt16)
    /// A field is longer than its limit in bytes.
    case tooLarge(limit: Int)
    /// A table is full; `limit` is its size, or that of the bytes it holds.
    case full(RoomResource, limit: Int)
    /// The origin is no member of the room.
    case notMember
    /// There is no session of this name.
    case noSuchSession
    /// A session of this name is there already.
    case sessionExists
    /// The origin is no participant of the session.
    case notJoined
    /// The origin is this participant already.
    case alreadyJoined(ParticipantID)
    /// The session is locked.
    case locked
    /// The node was banned from the session.
    case banned
    /// There is no such participant in the session.
    case noSuchParticipant(ParticipantID)
    /// The participant is away, so it cannot take the lead.
    case participantAway(ParticipantID)
    /// The participant is present, so it does not expire; or somebody is there, so the session
    /// does not.
    case notExpired
    /// Only the lead may; `holder` has it.
    case notLead(holder: ParticipantID?)
    /// Only the process that started the session may.
    case notInitiator
    /// Only the leader of the view may.
    case notLeader
    /// The session has no lead to give or take.
    case noLead
    /// The value is not as expected; `current` is its version, or nothing if it is absent.
    case versionMismatch(current: Position?)
    /// The value is of another kind: a counter, a set, bytes.
    case wrongKind
    /// The counter would leave the range of 64 bits.
    case outOfRange
    /// There is no such conflict, or it is acknowledged already.
    case noSuchConflict
    /// There is no such attachment in the session's journal.
    case noSuchAttachment
    /// The move was answered before, or one of the same participant after it.
    case moveDecided
}

/// A table of the room that can be full.
package enum RoomResource: UInt8, CaseIterable, Sendable {
    /// Sessions of the room.
    case sessions = 0
    /// Participants of a session.
    case participants = 1
    /// Keys of a session.
    case keys = 2
    /// Bytes of a session's values.
    case values = 3
    /// Nodes banned from a session.
    case bans = 4
    /// Bytes of the whole room.
    case state = 5
    /// Attachments of the room.
    case journal = 6
    /// Attachments of the room that one node added.
    case ownAttachments = 7
}

extension CommandResult {
    /// The bytes of the result.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 48)
        switch self {
        case .done:
            writer.write(UInt8(0))
        case .joined(let participant, let number):
            writer.write(UInt8(1))
            writer.write(participant)
            writer.write(number)
        case .stored(let version):
            writer.write(UInt8(2))
            writer.write(version)
        case .counted(let value, let version):
            writer.write(UInt8(3))
            writer.write(value)
            writer.write(version)
        case .refused(let refusal):
            writer.write(UInt8(4))
            refusal.write(to: &writer)
        case .merged(let session):
            writer.write(UInt8(5))
            writer.write(session)
        case .appended(let index, let version):
            writer.write(UInt8(6))
            writer.write(index)
            writer.write(version)
        }
        return writer.bytes
    }

    /// The result with these bytes.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        switch try reader.read(UInt8.self) {
        case 0: self = .done
        case 1: self = .joined(try reader.read(), number: try reader.read())
        case 2: self = .stored(version: try reader.readPosition())
        case 3: self = .counted(try reader.read(), version: try reader.readPosition())
        case 4: self = .refused(try CommandRefusal(reading: &reader))
        case 5: self = .merged(try reader.read())
        case 6: self = .appended(index: try reader.read(), version: try reader.readPosition())
        case let kind: throw .unknownType(kind, at: 0)
        }
        try reader.finish()
    }
}

extension CommandRefusal {
    fileprivate func write(to writer: inout ByteWriter) {
        func code(_ code: UInt8) { writer.write(code) }
        switch self {
        case .malformed: code(0)
        case .invalid: code(1)
        case .upgradeNeeded(let type):
            code(2)
            writer.write(type)
        case .tooLarge(let limit):
            code(3)
            writer.writeCount(limit)
        case .full(let resource, let limit):
            code(4)
            writer.write(resource.rawValue)
            writer.writeCount(limit)
        case .notMember: code(5)
        case .noSuchSession: code(6)
        case .sessionExists: code(7)
        case .notJoined: code(8)
        case .alreadyJoined(let participant):
            code(9)
            writer.write(participant)
        case .locked: code(10)
        case .banned: code(11)
        case .noSuchParticipant(let participant):
            code(12)
            writer.write(participant)
        case .participantAway(let participant):
            code(13)
            writer.write(participant)
        case .notExpired: code(14)
        case .notLead(let holder):
            code(15)
            writer.write(holder ?? .zero)
        case .notLeader: code(16)
        case .noLead: code(17)
        case .versionMismatch(let current):
            code(18)
            writer.write(current ?? .zero)
        case .wrongKind: code(19)
        case .outOfRange: code(20)
        case .noSuchConflict: code(21)
        case .notInitiator: code(22)
        case .noSuchAttachment: code(23)
        case .moveDecided: code(24)
        }
    }

    @_lifetime(reader: copy reader)
    fileprivate init(reading reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        switch try reader.read(UInt8.self) {
        case 0: self = .malformed
        case 1: self = .invalid
        case 2: self = .upgradeNeeded(type: try reader.read())
        case 3: self = .tooLarge(limit: try reader.readCount(limit: 1 << 40))
        case 4: self = .full(try reader.readCase(), limit: try reader.readCount(limit: 1 << 30))
        case 5: self = .notMember
        case 6: self = .noSuchSession
        case 7: self = .sessionExists
        case 8: self = .notJoined
        case 9: self = .alreadyJoined(try reader.read())
        case 10: self = .locked
        case 11: self = .banned
        case 12: self = .noSuchParticipant(try reader.read())
        case 13: self = .participantAway(try reader.read())
        case 14: self = .notExpired
        case 15:
            let holder: ParticipantID = try reader.read()
            self = .notLead(holder: holder == .zero ? nil : holder)
        case 16: self = .notLeader
        case 17: self = .noLead
        case 18:
            let current = try reader.readPosition()
            self = .versionMismatch(current: current == .zero ? nil : current)
        case 19: self = .wrongKind
        case 20: self = .outOfRange
        case 21: self = .noSuchConflict
        case 22: self = .notInitiator
        case 23: self = .noSuchAttachment
        case 24: self = .moveDecided
        case let code: throw .unknownType(code, at: start)
        }
    }
}
