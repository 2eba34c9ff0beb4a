package import MeshWire

/// The world's agenda: everything that will happen, ordered by time and then by a seeded tie.
///
/// Things planned for the same instant come in an order drawn from the seed, since a real network
/// gives no order either; the same seed gives the same order.
package struct Schedule<Action> {
    private struct Entry: Comparable {
        var time: Instant
        var tie: UInt64
        var ordinal: UInt64
        var action: Action

        static func == (left: Entry, right: Entry) -> Bool { left.ordinal == right.ordinal }

        static func < (left: Entry, right: Entry) -> Bool {
            (left.time, left.tie, left.ordinal) < (right.time, right.tie, right.ordinal)
        }
    }

    private var heap = Heap<Entry>()
    private var ties: SeededGenerator
    private var ordinal: UInt64 = 0

    /// An empty agenda whose ties are drawn from `ties`.
    package init(ties: SeededGenerator) {
        self.ties = ties
    }

    /// How many things are planned.
    package var count: Int { heap.count }

    /// When the next thing happens.
    package var next: Instant? { heap.first?.time }

    /// Plans `action` for `time`.
    package mutating func plan(_ action: Action, at time: Instant) {
        ordinal &+= 1
        heap.insert(Entry(time: time, tie: ties.next(), ordinal: ordinal, action: action))
    }

    /// Takes the next thing that happens, unless that is after `limit`.
    package mutating func pop(until limit: Instant) -> (time: Instant, action: Action)? {
        guard let first = heap.first, first.time <= limit, let entry = heap.popFirst() else {
            return nil
        }
        return (entry.time, entry.action)
    }
}
