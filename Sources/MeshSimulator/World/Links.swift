package import MeshFaults
package import MeshWire

/// The faults of all links of a world: a ``MeshFaults/FaultEngine`` for nodes that have numbers.
///
/// A link is found by two array accesses and judged without an allocation; its draws are those that
/// the fault engine under a live node's socket would make.
package struct Links: Sendable {
    /// The conditions of every link that has none of its own.
    package private(set) var conditions = LinkConditions()
    /// Who cannot hear whom.
    package var partition = Partition<Int>() {
        didSet { closed = partition.isEmpty ? [] : closedLinks() }
    }

    /// Times in which a link carries nothing; `nil` if there are none.
    package var outages: Outages? {
        didSet { states = [] }
    }
    /// Nodes whose datagrams all vanish as they leave, and as they arrive.
    package var mute: Set<Int> = []
    package var deaf: Set<Int> = []

    /// Bursts in time, as radio has them: a two-state chain of Gilbert and Elliott that changes its
    /// state by the clock, not by the datagram.
    package struct Outages: Hashable, Sendable {
        /// The share of time in which a link is out, below 100.
        package var percent: Int
        /// How long it is out on average.
        package var mean: Duration

        package init(percent: Int, mean: Duration) {
            self.percent = percent
            self.mean = mean
        }
    }

    private struct State {
        var isOut: Bool
        var until: Instant
        var ordinal: UInt64 = 0
        let stream: DrawStream
    }

    private let seed: UInt64
    private var count = 0
    private var states: [[State?]] = []
    /// By sender, then by receiver: until when everything is held back; empty if nothing is.
    private var clogs: [[Instant]] = []
    /// The links by sender, then by receiver; `nil` until first used.
    private var links: [[LinkFaults?]] = []
    private var overrides: [Partition<Int>.Cut: LinkConditions] = [:]
    /// By sender, then by receiver, whether the partition cuts; empty if it cuts nothing.
    private var closed: [[Bool]] = []

    init(seed: UInt64) {
        self.seed = seed
    }

    /// Makes room for one more node.
    mutating func addNode() {
        count += 1
        for row in links.indices { links[row].append(nil) }
        states = []
        clogs = []
        links.append(Array(repeating: nil, count: count))
        if !closed.isEmpty { closed = closedLinks() }
    }

    /// Submits a datagram and appends when its copies arrive; none if it is cut or lost.
    mutating func submit(
        byteCount: Int,
        from: Int,
        to: Int,
        now: Instant,
        into deliveries: inout [Delivery]
    ) {
        guard closed.isEmpty || !closed[from][to] else { return }
        if !mute.isEmpty, mute.contains(from) { return }
        if !deaf.isEmpty, deaf.contains(to) { return }
        if let outages, isOut(outages, from, to, now) { return }
        let first = deliveries.count
        if links[from][to] == nil { links[from][to] = makeLink(from, to) }
        links[from][to]?.submit(byteCount: byteCount, now: now, into: &deliveries)
        guard !clogs.isEmpty, clogs[from][to] > now else { return }
        for index in first..<deliveries.count {
            deliveries[index].delay = max(deliveries[index].delay, clogs[from][to] - now)
        }
    }

    /// Holds back until `end` whatever goes from `from` to `to`.
    package mutating func clog(from: Int, to: Int, until end: Instant) {
        guard from < count, to < count else { return }
        if clogs.isEmpty {
            clogs = Array(repeating: Array(repeating: .zero, count: count), count: count)
        }
        clogs[from][to] = max(clogs[from][to], end)
    }

    /// Moves a link's chain to `now` and answers whether the link is out.
    private mutating func isOut(_ outages: Outages, _ from: Int, _ to: Int, _ now: Instant) -> Bool
    {
        if states.isEmpty {
            states = Array(repeating: Array(repeating: nil, count: count), count: count)
        }
        var state =
            states[from][to]
            ?? State(
                isOut: false,
                until: now,
                stream: DrawStream(
                    seed: seed,
                    from: from.description,
                    to: to.description,
                    incarnation: 0,
                    name: "outage"
                )
            )
        while state.until <= now {
            state.isOut.toggle()
            let mean = Double(outages.mean.wholeNanoseconds)
            let share = Double(max(1, min(99, outages.percent)))
            let length = state.isOut ? mean : mean * (100 - share) / share
            let drawn = 2 * length * state.stream.unit(state.ordinal)
            state.until += .nanoseconds(Int64(max(drawn, 100_000)))
            state.ordinal &+= 1
        }
        states[from][to] = state
        return state.isOut
    }

    /// Gives every link these conditions, and forgets those of single links.
    package mutating func setAll(_ conditions: LinkConditions) {
        self.conditions = conditions
        overrides = [:]
        for from in links.indices {
            for to in links[from].indices { links[from][to]?.conditions = conditions }
        }
    }

    /// Gives one direction conditions of its own, or with `nil` the common ones again.
    package mutating func set(_ conditions: LinkConditions?, from: Int, to: Int) {
        overrides[.init(from: from, to: to)] = conditions
        guard from < count, to < count else { return }
        links[from][to]?.conditions = conditions ?? self.conditions
    }

    /// Heals everything: perfect links, no partition.
    package mutating func clear() {
        setAll(LinkConditions())
        partition = Partition()
        outages = nil
        mute = []
        deaf = []
        clogs = []
    }

    private func makeLink(_ from: Int, _ to: Int) -> LinkFaults {
        LinkFaults(
            overrides[.init(from: from, to: to)] ?? conditions,
            seed: seed,
            from: from.description,
            to: to.description
        )
    }

    private func closedLinks() -> [[Bool]] {
        (0..<count).map { from in
            (0..<count).map { to in !partition.permits(from: from, to: to) }
        }
    }
}
