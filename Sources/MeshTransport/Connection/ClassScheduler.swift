import MeshWire

/// Which class sends next: strict, with a sixteenth for each that would starve.
///
/// Each class holds the numbers of its channels that have something to send, in turn.
struct ClassScheduler: Sendable {
    private var ready: [Queue<ChannelNumber>] = Array(repeating: Queue(), count: 6)
    /// Bytes each class may send before its betters.
    private var credit = [Double](repeating: 0, count: 6)
    var packetBytes: Double

    init(packetBytes: Int) { self.packetBytes = Double(packetBytes) }

    var isEmpty: Bool {
        // A key path would be looked up each time.
        for queue in ready where !queue.isEmpty { return false }
        return true
    }
    func isEmpty(_ trafficClass: TrafficClass) -> Bool { ready[Int(trafficClass.rawValue)].isEmpty }

    mutating func append(_ channel: ChannelNumber, _ trafficClass: TrafficClass) {
        ready[Int(trafficClass.rawValue)].append(channel)
    }

    /// Whether nothing but the background waits.
    var hasOnlyBackground: Bool {
        let last = Int(TrafficClass.background.rawValue)
        for index in 0..<last where !ready[index].isEmpty { return false }
        return !ready[last].isEmpty
    }

    /// The class whose turn it is; the background's only if it may have one.
    func next(withBackground mayYield: Bool = true) -> TrafficClass? {
        var best: Int?
        let classes = mayYield ? ready.count : Int(TrafficClass.background.rawValue)
        for index in 0..<classes where !ready[index].isEmpty {
            guard let chosen = best else {
                best = index
                continue
            }
            if chosen > 1, credit[index] >= packetBytes, credit[index] > credit[chosen] {
                best = index
            }
        }
        return best.flatMap { TrafficClass(rawValue: UInt8($0)) }
    }

    mutating func popFirst(_ trafficClass: TrafficClass) -> ChannelNumber? {
        ready[Int(trafficClass.rawValue)].popFirst()
    }

    /// Notes bytes sent, so that every class that waited gains a sixteenth of them.
    mutating func spend(_ bytes: Int, _ trafficClass: TrafficClass) {
        let sender = Int(trafficClass.rawValue)
        for index in 2..<6 {
            if index == sender {
                credit[index] = max(credit[index] - Double(bytes), 0)
            } else if ready[index].isEmpty {
                credit[index] = 0
            } else {
                credit[index] = min(credit[index] + Double(bytes) / 15, packetBytes * 4)
            }
        }
    }

    mutating func removeAll() {
        for index in ready.indices { ready[index].removeAll() }
    }
}

/// Deadlines of messages, earliest first: a binary heap that forgets what is done.
struct ExpiryQueue: Sendable {
    struct Entry: Sendable {
        let due: Instant
        let token: SendToken
    }

    private var heap: [Entry] = []

    var deadline: Instant? { heap.first?.due }
    var count: Int { heap.count }

    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var index = heap.count - 1
        while index > 0, heap[index].due < heap[(index - 1) / 2].due {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func popExpired(now: Instant) -> SendToken? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].due < heap[least].due {
                least = child
            }
            guard least != index else { break }
            heap.swapAt(index, least)
            index = least
        }
        return first.token
    }

    /// Keeps only the entries that `isLive` names.
    mutating func compact(_ isLive: (SendToken) -> Bool) {
        let live = heap.filter { isLive($0.token) }
        heap.removeAll()
        for entry in live { insert(entry) }
    }

    mutating func removeAll() { heap.removeAll() }
}
