package import MeshWire

/// Datagrams that a fault holds back, in the order they come due; bounded in bytes.
///
/// For a live node: what ``FaultEngine`` delays waits here. Beyond the bound datagrams are dropped
/// and counted, never silently (`60-lab.md` §2.4).
package struct HeldDatagrams: Sendable {
    /// One datagram that waits.
    package struct Held: Comparable, Sendable {
        /// When it is due.
        package var due: Instant
        /// Where it came from or goes to.
        package var address: SocketAddress
        /// Its bytes, already corrupted where the fault says so.
        package var bytes: [UInt8]
        fileprivate var ordinal: UInt64

        package static func == (left: Held, right: Held) -> Bool { left.ordinal == right.ordinal }

        package static func < (left: Held, right: Held) -> Bool {
            (left.due, left.ordinal) < (right.due, right.ordinal)
        }
    }

    /// The most bytes that may wait, 64 MiB.
    package static let byteLimit = 64 << 20

    /// How many datagrams found no room.
    package private(set) var overflowed: UInt64 = 0

    private var heap = Heap<Held>()
    private var byteCount = 0
    private var ordinal: UInt64 = 0

    package init() {}

    /// When the next datagram is due; `nil` if none waits.
    package var deadline: Instant? { heap.first?.due }

    /// Holds every delivery of a datagram that was submitted at `now`.
    package mutating func hold(
        _ bytes: [UInt8],
        address: SocketAddress,
        deliveries: [Delivery],
        now: Instant
    ) {
        for delivery in deliveries {
            guard byteCount + bytes.count <= Self.byteLimit else {
                overflowed &+= 1
                continue
            }
            var copy = bytes
            delivery.corrupt(&copy)
            byteCount += copy.count
            ordinal &+= 1
            heap.insert(
                Held(due: now + delivery.delay, address: address, bytes: copy, ordinal: ordinal)
            )
        }
    }

    /// Takes out the next datagram that is due at `now`.
    package mutating func popDue(now: Instant) -> Held? {
        guard let first = heap.first, first.due <= now else { return nil }
        byteCount -= first.bytes.count
        return heap.popFirst()
    }
}
