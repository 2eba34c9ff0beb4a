package import MeshFaults
import MeshWire

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

    private let seed: UInt64
    private var count = 0
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
        if links[from][to] == nil { links[from][to] = makeLink(from, to) }
        links[from][to]?.submit(byteCount: byteCount, now: now, into: &deliveries)
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
