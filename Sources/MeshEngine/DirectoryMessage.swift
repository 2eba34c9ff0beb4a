package import MeshWire

/// Where a member sees the others: CONTROL machine 3.
///
/// Sent over each pair when it comes up and when the sender's own pairs change, so that a mesh forms
/// where multicast does not pass. Addresses named by members are hints: the handshake decides.
///
/// ```
/// n v · n × ( NodeID 32 · address 16 · scope u32 · port u16 )
/// ```
package struct DirectoryMessage: Hashable, Sendable {
    /// A node and an address it answered from.
    package struct Entry: Hashable, Sendable {
        package var nodeID: NodeID
        package var address: SocketAddress

        package init(nodeID: NodeID, address: SocketAddress) {
            self.nodeID = nodeID
            self.address = address
        }
    }

    /// At most ``entryLimit`` entries, so that the message fits a CONTROL frame.
    package var entries: [Entry]

    /// The number of this machine in CONTROL frames.
    package static let machine: UInt8 = 3
    /// Entries of 54 bytes that fit the 1,100 bytes of a control message.
    package static let entryLimit = 20

    package init(entries: [Entry]) {
        self.entries = Array(entries.prefix(Self.entryLimit))
    }

    package init(reading bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(bytes)
        let count = try reader.readCount(limit: Self.entryLimit)
        entries = []
        for _ in 0..<count {
            let nodeID: NodeID = try reader.read()
            let high: UInt64 = try reader.read()
            let low: UInt64 = try reader.read()
            let scope: UInt32 = try reader.read()
            let port: UInt16 = try reader.read()
            let address = SocketAddress(
                high: high.byteSwapped,
                low: low.byteSwapped,
                scope: scope,
                port: port
            )
            entries.append(Entry(nodeID: nodeID, address: address))
        }
        try reader.finish()
    }

    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 8 + entries.count * 54)
        writer.writeCount(entries.count)
        for entry in entries {
            writer.write(entry.nodeID)
            writer.write(entry.address.addressBytes)
            writer.write(entry.address.scope)
            writer.write(entry.address.port)
        }
        return writer.bytes
    }
}
