package import MeshWire

/// What stands before the application's bytes in every message of a session's lanes.
///
/// ```
/// 0        version and kind: high nibble 1, low nibble 0 (raw bytes)
/// 1        flags, zero in this version
/// 2        source: the sender's participant number, a varint
/// …        target: the receiver's participant number, a varint
/// …        the application's bytes
/// ```
///
/// The sender's node comes from the authenticated pair, the session from the channel's name, so the
/// numbers only tell one participation of a node from the next (`30-consensus.md` §12).
package struct Envelope: Hashable, Sendable {
    /// The sender's participant number in the session.
    package var source: UInt64
    /// The receiver's participant number; a message to an earlier participation is dropped.
    package var target: UInt64

    package init(source: UInt64, target: UInt64) {
        self.source = source
        self.target = target
    }

    /// The most bytes an envelope takes.
    package static let maximumBytes = 2 + 8 + 8

    private static let versionAndKind: UInt8 = 0x10

    /// Reads the envelope; the reader then stands at the application's bytes.
    package init(reading reader: inout ByteReader) throws(WireError) {
        let kind: UInt8 = try reader.read()
        guard kind == Self.versionAndKind else { throw .unknownType(kind, at: 0) }
        let flags: UInt8 = try reader.read()
        guard flags == 0 else { throw .reserved(at: 1) }
        source = try reader.readVariable()
        target = try reader.readVariable()
    }

    /// The envelope followed by `payload`.
    package func encode(_ payload: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: payload.count + Self.maximumBytes)
        writer.write(Self.versionAndKind)
        writer.write(UInt8(0))
        writer.writeVariable(source)
        writer.writeVariable(target)
        writer.write(payload)
        return writer.bytes
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
