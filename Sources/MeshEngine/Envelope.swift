package import MeshSession
package import MeshWire

/// What stands before the application's bytes in every message of a session's lanes.
///
/// ```
/// 0        version and kind: high nibble 1, low nibble 0 (raw bytes)
/// 1        flags: 1 a mark, 8 a receipt is wanted, the others zero in this version
/// 2        source: the sender's participant number, a varint
/// …        target: the receiver's participant number, a varint
/// …        check u32 of source and of target: the first 4 bytes of their identifiers
/// …        of a mark: position 24 and stream, a varint
/// …        of one with a receipt: the number it is wanted by, a varint
/// …        the application's bytes
/// ```
///
/// The sender's node comes from the authenticated pair, the session from the channel's name. The
/// numbers tell one participation of a node from the next (`30-consensus.md` §12), and whether it is
/// still to come; the checks tell apart the participations that two branches gave one number.
package struct Envelope: Hashable, Sendable {
    /// One participation, in short.
    package struct Name: Hashable, Sendable {
        /// The participant's number in the session.
        package var number: UInt64
        /// The first 4 bytes of its identifier, little-endian.
        package var check: UInt32

        package init(number: UInt64, check: UInt32) {
            self.number = number
            self.check = check
        }

        package init(_ participant: Participant) {
            let first = UInt32(truncatingIfNeeded: participant.id.words.0 >> 32)
            self.init(number: UInt64(participant.number), check: first.byteSwapped)
        }
    }

    /// Who sent it.
    package var source: Name
    /// Whom it is for; a message to another participation of the same node is dropped.
    package var target: Name

    package init(source: Name, target: Name, mark: StateMark? = nil, receipt: UInt64? = nil) {
        self.source = source
        self.target = target
        self.mark = mark
        self.receipt = receipt
    }

    /// What the message marks, if it is a mark and not the application's.
    package var mark: StateMark?

    /// The number by which the sender wants a receipt once the program has read the message.
    package var receipt: UInt64?

    /// The most bytes an envelope takes.
    package static let maximumBytes = 2 + 8 + 8 + 4 + 4 + 24 + 8 + 8

    private static let versionAndKind: UInt8 = 0x10
    private static let markFlag: UInt8 = 1
    private static let receiptFlag: UInt8 = 8

    /// Reads the envelope; the reader then stands at the application's bytes.
    package init(reading reader: inout ByteReader) throws(WireError) {
        let kind: UInt8 = try reader.read()
        guard kind == Self.versionAndKind else { throw .unknownType(kind, at: 0) }
        let flags: UInt8 = try reader.read()
        guard flags & ~(Self.markFlag | Self.receiptFlag) == 0 else { throw .reserved(at: 1) }
        let sourceNumber = try reader.readVariable()
        let targetNumber = try reader.readVariable()
        source = Name(number: sourceNumber, check: try reader.read())
        target = Name(number: targetNumber, check: try reader.read())
        if flags & Self.markFlag != 0 {
            let position = try reader.readPosition()
            mark = StateMark(position: position, stream: try reader.readVariable())
        }
        if flags & Self.receiptFlag != 0 { receipt = try reader.readVariable() }
    }

    /// The envelope followed by `payload`.
    package func encode(_ payload: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: payload.count + Self.maximumBytes)
        writer.write(Self.versionAndKind)
        writer.write((mark == nil ? 0 : Self.markFlag) | (receipt == nil ? 0 : Self.receiptFlag))
        writer.writeVariable(source.number)
        writer.writeVariable(target.number)
        writer.write(source.check)
        writer.write(target.check)
        if let mark {
            writer.write(mark.position)
            writer.writeVariable(mark.stream)
        }
        if let receipt { writer.writeVariable(receipt) }
        writer.write(payload)
        return writer.bytes
    }
}

/// Divides what a participant sent before it applied a request for the state from what it sends after.
///
/// It travels in the stream that it divides: one channel and priority of a pair.
package struct StateMark: Hashable, Sendable {
    /// The place of the request in the log.
    package var position: Position
    /// The ordinal of the stream among those of the sender's participation, from 0.
    package var stream: UInt64

    package init(position: Position, stream: UInt64) {
        self.position = position
        self.stream = stream
    }
}

/// The name of a session's channel on a connection: the session's 16 bytes, then the app's name.
package struct SessionChannelName: Hashable, Sendable {
    /// The session whose messages the channel carries.
    package var session: SessionID
    /// The application's name for the channel, UTF-8, at most ``nameLimit`` bytes.
    package var name: String

    package init(session: SessionID, name: String) {
        self.session = session
        self.name = name
    }

    /// The most bytes of the application's name.
    package static let nameLimit = Limits.channelNameBytes - SessionID.byteCount

    /// Reads a channel's name; `nil` for one that no session opened.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= SessionID.byteCount,
            let session = SessionID(bytes.prefix(SessionID.byteCount)),
            let name = String(validating: bytes.dropFirst(SessionID.byteCount), as: UTF8.self)
        else { return nil }
        self.init(session: session, name: name)
    }

    /// The name's bytes, as CHANNEL_OPEN carries them.
    package var bytes: [UInt8] { session.bytes + Array(name.utf8) }
}
