import CLinux
package import MeshWire

/// Memory that receives many datagrams in one call, used again and again.
///
/// It holds 16 slots of 64 KiB, since the kernel coalesces up to 64 KiB of datagrams of one sender
/// into a slot (`UDP_GRO`, `20-transport.md` §6). ``forEach(_:)`` splits them again and copies none.
package struct ReceiveBatch: Sendable {
    /// One datagram of the batch.
    package struct Datagram: Hashable, Sendable {
        /// Who sent it.
        package var from: SocketAddress
        /// The interface it came in by; zero unless the socket asked for it.
        package var interface: UInt32
        /// Where its bytes start in the batch's memory.
        package var offset: Int
        /// How many bytes it has.
        package var byteCount: Int
    }

    /// The datagrams in the order in which they came.
    package private(set) var datagrams: [Datagram] = []
    /// Datagrams of the last call that did not fit a slot and were dropped.
    package private(set) var truncated = 0
    /// Slots the last call filled.
    private(set) var filledSlots = 0

    private var storage: [UInt8]
    private var received: [linux_received]
    private static let slotBytes = 1 << 16
    private static let slots = Int(LINUX_RECEIVE_SLOTS)

    /// An empty batch of 1 MiB; with `isUsable` false one without memory, for a node without sockets.
    package init(isUsable: Bool = true) {
        let slots = isUsable ? Self.slots : 0
        storage = [UInt8](repeating: 0, count: Self.slotBytes * slots)
        received = [linux_received](repeating: linux_received(), count: slots)
    }

    /// Whether no datagram came.
    package var isEmpty: Bool { datagrams.isEmpty }

    /// Whether the last call filled every slot, so that more datagrams may wait.
    package var isFull: Bool { filledSlots == Self.slots }

    /// The bytes of one datagram, borrowed.
    @_lifetime(borrow self)
    package func bytes(of datagram: Datagram) -> RawSpan {
        storage.raw.extracting(datagram.offset..<datagram.offset + datagram.byteCount)
    }

    /// Calls `body` with each datagram in the order in which they came.
    package func forEach(_ body: (RawSpan, _ from: SocketAddress) -> Void) {
        let bytes = storage.raw
        for datagram in datagrams {
            let range = datagram.offset..<datagram.offset + datagram.byteCount
            body(bytes.extracting(range), datagram.from)
        }
    }

    /// Forgets the datagrams and keeps the memory.
    package mutating func removeAll() {
        datagrams.removeAll(keepingCapacity: true)
        truncated = 0
        filledSlots = 0
    }

    /// Receives what waits at `socket`; answers the number of slots or a negated `errno`.
    mutating func receive(from socket: Int32) -> Int32 {
        removeAll()
        let count = receiveMessages(
            socket,
            storage: &storage,
            slotBytes: Self.slotBytes,
            slots: received.count,
            into: &received
        )
        guard count > 0 else { return count }
        filledSlots = Int(count)
        for slot in 0..<Int(count) { split(received[slot], at: slot * Self.slotBytes) }
        return count
    }

    private mutating func split(_ message: linux_received, at start: Int) {
        guard !message.truncated else {
            truncated += 1
            return
        }
        let end = start + Int(message.byte_count)
        let step = message.segment_bytes > 0 ? Int(message.segment_bytes) : end - start
        var offset = start
        // A datagram without bytes is a datagram too; it is dropped here, since none of ours is empty.
        while offset < end {
            let count = min(step, end - offset)
            datagrams.append(
                Datagram(
                    from: SocketAddress(message.from),
                    interface: message.interface,
                    offset: offset,
                    byteCount: count
                )
            )
            offset += count
        }
    }
}
