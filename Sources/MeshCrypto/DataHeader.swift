import MeshWire

/// The header of a DATA packet, 16 bytes, all of it associated data.
///
/// ```
/// 0  0x10 | 1  0 0 0 | 4  receiverIndex u32 | 8  counter u64
/// ```
package struct DataHeader: Hashable, Sendable {
    /// Bytes of the header.
    package static let byteCount = 16
    /// Bytes of the shortest DATA packet.
    package static let datagramMinimum = byteCount + Sodium.tagBytes

    /// The receiver's own index of the pair.
    package var receiverIndex: UInt32
    /// The packet's number under its key.
    package var counter: UInt64

    package init(receiverIndex: UInt32, counter: UInt64) {
        self.receiverIndex = receiverIndex
        self.counter = counter
    }

    /// Reads the header of a datagram of at least 32 bytes; nil if it is no DATA.
    package init?(_ datagram: RawSpan) {
        guard datagram.byteCount >= Self.datagramMinimum else { return nil }
        var reader = ByteReader(datagram)
        guard let word: UInt32 = try? reader.read(), word == UInt32(MessageType.data.rawValue),
            let index: UInt32 = try? reader.read(), let counter: UInt64 = try? reader.read()
        else { return nil }
        receiverIndex = index
        self.counter = counter
    }

    /// Appends the header with counter zero; the key sets the counter when it seals.
    package static func append(receiverIndex: UInt32, to buffer: inout [UInt8]) {
        let index = receiverIndex
        buffer.append(MessageType.data.rawValue)
        for _ in 0..<3 { buffer.append(0) }
        for shift in stride(from: 0, to: 32, by: 8) {
            buffer.append(UInt8(truncatingIfNeeded: index >> UInt32(shift)))
        }
        for _ in 0..<8 { buffer.append(0) }
    }
}
