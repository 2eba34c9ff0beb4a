import MeshWire

// Datagrams seen from outside: kind u8 · node u16 · incarnation u64 · tag u64 · receiver u64 at 19,
// then the message from 27 on, or for a fragment number u64 · index u32 · count u32 and a part of it.
extension ConsensusProcess {
    private static let receiver = 19
    private static let message = 27
    private static let fragmentHeader = 16

    /// The code of the message in a datagram, or of the one whose first fragment it is.
    package static func messageCode(in datagram: [UInt8]) -> UInt8? {
        guard let kind = datagram.first, datagram.count > message + fragmentHeader + 8 else {
            return nil
        }
        switch Kind(rawValue: kind) {
        case .control: return datagram[message]
        case .fragment:
            let isFirst = datagram[(message + 8)..<(message + 12)].allSatisfy { $0 == 0 }
            return isFirst ? datagram[message + fragmentHeader] : nil
        case .hello, .welcome, .acknowledgment, nil: return nil
        }
    }

    /// A control datagram with its message changed as the forgery says, and a checksum that fits.
    static func forged(
        _ datagram: [UInt8],
        _ forgery: Scenario.Forgery,
        receiver tag: UInt64
    ) -> [UInt8] {
        var bytes = Array(datagram.dropLast(8))
        if forgery.readdresses {
            write(tag, at: receiver, into: &bytes)
            write(tag, at: message + 12, into: &bytes)
        }
        switch forgery.sender {
        case .same: break
        case .nobody: write(0, at: message + 4, into: &bytes)
        case .receiver: write(tag, at: message + 4, into: &bytes)
        }
        // A heartbeat's commit stands behind the header's 42 bytes and its sequence.
        if let commit = forgery.commit { write(commit, at: message + 46, into: &bytes) }
        var checksum = TraceHash()
        checksum.update(bytes.raw)
        var writer = ByteWriter(capacity: bytes.count + 8)
        writer.write(bytes)
        writer.write(checksum.finish())
        return writer.bytes
    }

    private static func write(_ number: UInt64, at offset: Int, into bytes: inout [UInt8]) {
        guard offset + 8 <= bytes.count else { return }
        for place in 0..<8 {
            bytes[offset + place] = UInt8(truncatingIfNeeded: number >> UInt64(8 * place))
        }
    }
}
