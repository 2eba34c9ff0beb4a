package import MeshWire

/// How many members must hold a command before its origin hears of success.
package enum WriteLevel: UInt8, Sendable, CaseIterable {
    /// The leader has ordered it; for presence and cursors.
    case sequenced = 0
    /// A strict majority of the view holds it.
    case majority = 1
    /// Every member of the view holds it, so every later component has it.
    case all = 2
    /// A majority has it on disk; refused with `.noStore` where there is no disk.
    case durable = 3
}

/// The process that signed a command: a node and one of its lives.
package struct Origin: Hashable, Comparable, Sendable {
    /// The node's identity, whose key signed.
    package var nodeID: NodeID
    /// The life of the node.
    package var incarnation: UInt64

    /// The origin `incarnation` of `nodeID`.
    package init(nodeID: NodeID, incarnation: UInt64) {
        self.nodeID = nodeID
        self.incarnation = incarnation
    }

    /// The origin that `process` signs as.
    package init(_ process: ProcessID) {
        self.init(nodeID: process.nodeID, incarnation: process.incarnation)
    }

    /// Orders by node, then by incarnation.
    package static func < (left: Origin, right: Origin) -> Bool {
        (left.nodeID, left.incarnation) < (right.nodeID, right.incarnation)
    }
}

/// A signed request to change the room's state (`30-consensus.md` §8).
///
/// The bytes, little-endian: version u8 · type u16 · level and require u8 (low four bits the level,
/// bit 7 `requiresPrimary`) · origin NodeID 32 · incarnation u64 · sequence u64 ·
/// acknowledgedUpTo u64 · session 16 (zero: the room) · length u32 · payload · signature 64.
/// The origin's engine signs label, room and ``signedBytes``.
package struct Command: Hashable, Sendable {
    /// The version of the record; 1.
    package var version: UInt8 = 1
    /// The kind of command, a row of the table of `30-consensus.md` §12.
    package var type: UInt16
    /// When the origin counts it as done.
    package var level: WriteLevel
    /// Refused unless a committed primary view's leader sequences it; it takes effect, and is answered,
    /// where a primary leader confirms it after its commit.
    ///
    /// What its origin asked later does not wait for that. In a part that is not primary any more it
    /// waits for as long as that lasts; if that part loses a merge, it is refused `notPrimary`.
    package var requiresPrimary: Bool
    /// Who signed it.
    package var origin: Origin
    /// Unique and ascending for each origin.
    package var sequence: UInt64
    /// The origin has its answers up to here and never asks for them again.
    package var acknowledgedUpTo: UInt64
    /// The session it concerns; zero stands for the room.
    package var session: SessionID
    /// What the state machine reads; at most ``Limits/commandBytes``.
    package var payload: [UInt8]
    /// The Ed25519 signature, 64 bytes.
    package var signature: [UInt8]

    /// A command; `signature` is set by whoever signs ``signedBytes``.
    package init(
        type: UInt16,
        level: WriteLevel = .majority,
        requiresPrimary: Bool = false,
        origin: Origin,
        sequence: UInt64,
        acknowledgedUpTo: UInt64 = 0,
        session: SessionID = .zero,
        payload: [UInt8],
        signature: [UInt8] = Array(repeating: 0, count: 64)
    ) {
        self.type = type
        self.level = level
        self.requiresPrimary = requiresPrimary
        self.origin = origin
        self.sequence = sequence
        self.acknowledgedUpTo = acknowledgedUpTo
        self.session = session
        self.payload = payload
        self.signature = signature
    }

    /// The bytes of a record around its payload.
    package static let overheadBytes = 144
    /// The bytes of a signature.
    package static let signatureBytes = 64

    /// The bytes that the signature covers, behind label and room: every field before it.
    package var signedBytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.overheadBytes + payload.count)
        writeFields(into: &writer)
        return writer.bytes
    }

    /// The whole record.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: Self.overheadBytes + payload.count)
        encode(into: &writer)
        return writer.bytes
    }

    /// Appends the whole record.
    package func encode(into writer: inout ByteWriter) {
        precondition(signature.count == Self.signatureBytes, "a signature has 64 bytes")
        writeFields(into: &writer)
        writer.write(signature)
    }

    /// Reads a record; throws unless every field is in its range.
    package init(reading reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        version = try reader.read()
        guard version == 1 else { throw .unknownType(version, at: start) }
        type = try reader.read()
        let flags: UInt8 = try reader.read()
        guard flags & 0x70 == 0 else { throw .reserved(at: start + 3) }
        guard let level = WriteLevel(rawValue: flags & 0x0f) else { throw .invalid(at: start + 3) }
        self.level = level
        requiresPrimary = flags & 0x80 != 0
        origin = Origin(nodeID: try reader.read(), incarnation: try reader.read())
        sequence = try reader.read()
        acknowledgedUpTo = try reader.read()
        session = try reader.read()
        let length: UInt32 = try reader.read()
        guard length <= UInt32(Limits.commandBytes) else {
            throw .overLimit(UInt64(length), at: reader.offset)
        }
        payload = try reader.readBytes(Int(length))
        signature = try reader.readBytes(Self.signatureBytes)
    }

    private func writeFields(into writer: inout ByteWriter) {
        writer.write(version)
        writer.write(type)
        writer.write(level.rawValue | (requiresPrimary ? 0x80 : 0))
        writer.write(origin.nodeID)
        writer.write(origin.incarnation)
        writer.write(sequence)
        writer.write(acknowledgedUpTo)
        writer.write(session)
        writer.write(UInt32(payload.count))
        writer.write(payload)
    }
}
