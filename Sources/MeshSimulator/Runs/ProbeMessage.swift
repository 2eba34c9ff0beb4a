import MeshWire

/// What the workload sends as messages: who, on which stream, which number, and padding.
///
/// node u32 · incarnation u32 · stream u32 · number u64 · zeros.
struct ProbeMessage: Hashable, Sendable {
    var sender: Life
    /// The channel of a reliable message, the key of a fast one.
    var stream: Int
    var number: UInt64
    /// Bytes behind the fields.
    var padding: Int

    var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 20 + padding)
        writer.write(UInt32(sender.node))
        writer.write(sender.incarnation)
        writer.write(UInt32(stream))
        writer.write(number)
        writer.write([UInt8](repeating: 0, count: padding))
        return writer.bytes
    }

    init(sender: Life, stream: Int, number: UInt64, padding: Int) {
        self.sender = sender
        self.stream = stream
        self.number = number
        self.padding = padding
    }

    /// Reads a message; throws if it is cut or not filled as it was sent.
    init(_ bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        let node: UInt32 = try reader.read()
        sender = Life(node: Int(node), incarnation: try reader.read())
        stream = Int(try reader.read(UInt32.self))
        number = try reader.read()
        padding = reader.remaining
        guard bytes.suffix(padding).allSatisfy({ $0 == 0 }) else { throw .invalid(at: 20) }
    }
}
