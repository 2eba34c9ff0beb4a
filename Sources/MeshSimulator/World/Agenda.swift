import MeshWire

/// The agenda of a world: numbers only, so that an entry is moved in the heap as plain memory.
///
/// Bytes and commands lie elsewhere, named by their slot. As in ``Schedule``, things planned for one
/// instant come in an order drawn from the seed.
struct Agenda {
    enum Kind: UInt8, BitwiseCopyable {
        case datagram, timer, command, resume
    }

    struct Entry: Comparable, BitwiseCopyable {
        var time: Instant
        var tie: UInt64 = 0
        var ordinal: UInt64 = 0
        var kind: Kind
        /// Whom it concerns, and which of its processes; a datagram is for any.
        var node: Int32
        var incarnation: UInt32 = 0
        /// A datagram's sender, and the network it was in.
        var from: Int32 = -1
        var network: UInt8 = 0
        /// Where the bytes or the command lie.
        var slot: Int32 = -1
        /// Whether it waited for a slow node already.
        var isPutOff = false

        static func == (left: Entry, right: Entry) -> Bool { left.ordinal == right.ordinal }

        static func < (left: Entry, right: Entry) -> Bool {
            if left.time != right.time { return left.time < right.time }
            if left.tie != right.tie { return left.tie < right.tie }
            return left.ordinal < right.ordinal
        }
    }

    private var heap = Heap<Entry>()
    private var ties: SeededGenerator
    private var ordinal: UInt64 = 0

    init(ties: SeededGenerator) {
        self.ties = ties
    }

    mutating func plan(_ entry: Entry) {
        var entry = entry
        ordinal &+= 1
        entry.ordinal = ordinal
        entry.tie = ties.next()
        heap.insert(entry)
    }

    mutating func pop(until limit: Instant) -> Entry? {
        guard let first = heap.first, first.time <= limit else { return nil }
        return heap.popFirst()
    }
}

/// Things that wait for their turn, each in a slot that is used again.
struct Slots<Element> {
    private var elements: [Element] = []
    private var free: [Int32] = []

    /// Lets `fill` write into a free slot and answers its number; the slot holds what it held last,
    /// or `empty`.
    mutating func put(_ empty: @autoclosure () -> Element, _ fill: (inout Element) -> Void) -> Int32
    {
        let slot: Int32
        if let last = free.popLast() {
            slot = last
        } else {
            slot = Int32(elements.count)
            elements.append(empty())
        }
        fill(&elements[Int(slot)])
        return slot
    }

    /// Exchanges the element in `slot` with `element`.
    mutating func exchange(_ slot: Int32, _ element: inout Element) {
        swap(&elements[Int(slot)], &element)
    }

    /// Lets the slot be used again.
    mutating func release(_ slot: Int32) {
        free.append(slot)
    }
}
