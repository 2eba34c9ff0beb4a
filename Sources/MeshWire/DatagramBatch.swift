/// Where a datagram goes.
package enum Destination: Hashable, Sendable {
    /// To one address, from the local address that faces it.
    case address(SocketAddress)
    /// To everybody near: the discovery groups of every interface (`10-security.md` §8).
    case discovery
}

/// Datagrams to send, back to back in one piece of memory that is used again and again.
///
/// Runs of equal size to one destination stand next to each other, which is what `UDP_SEGMENT` wants.
package struct DatagramBatch: Sendable {
    /// One datagram of the batch.
    package struct Entry: Hashable, Sendable {
        /// Where it goes.
        package var destination: Destination
        /// Where its bytes start in the batch's memory.
        package var offset: Int
        /// How many bytes it has.
        package var byteCount: Int
    }

    /// The datagrams, in the order they should leave.
    package private(set) var entries: [Entry] = []
    /// The bytes of all datagrams.
    package private(set) var storage: [UInt8] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// The bytes of one datagram, copied.
    package func bytes(of entry: Entry) -> [UInt8] {
        Array(storage[entry.offset..<entry.offset + entry.byteCount])
    }

    /// Appends the bytes of one datagram to `bytes`.
    package func copy(_ entry: Entry, into bytes: inout [UInt8]) {
        bytes.append(contentsOf: storage[entry.offset..<entry.offset + entry.byteCount])
    }

    /// Appends a datagram.
    package mutating func append(_ bytes: some Collection<UInt8>, to destination: Destination) {
        entries.append(
            Entry(destination: destination, offset: storage.count, byteCount: bytes.count)
        )
        storage.append(contentsOf: bytes)
    }

    /// Appends a datagram.
    package mutating func append(_ bytes: [UInt8], to destination: Destination) {
        entries.append(
            Entry(destination: destination, offset: storage.count, byteCount: bytes.count)
        )
        storage.append(contentsOf: bytes)
    }

    /// Appends a datagram that `fill` writes behind `storage`'s end; nothing if it writes nothing.
    package mutating func append(
        to destination: Destination,
        filling fill: (inout [UInt8]) -> Void
    ) {
        let offset = storage.count
        fill(&storage)
        let count = storage.count - offset
        guard count > 0 else { return }
        entries.append(Entry(destination: destination, offset: offset, byteCount: count))
    }

    /// Forgets the datagrams and keeps the memory.
    package mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        storage.removeAll(keepingCapacity: true)
    }
}
