package import MeshWire

/// The faults of all links among some endpoints, with partitions; sans-IO.
///
/// The same engine judges datagrams in the simulator and under a live node's socket. `Endpoint`
/// names a node: an index there, an address here. Links are made when first used and named by the
/// endpoints' descriptions, so adding one changes nobody else's draws.
package struct FaultEngine<Endpoint>: Sendable
where Endpoint: Hashable & Comparable & Sendable & CustomStringConvertible {
    package typealias Link = Partition<Endpoint>.Cut

    /// The conditions of every link that has none of its own.
    package private(set) var conditions: LinkConditions
    /// Who cannot hear whom.
    package var partition = Partition<Endpoint>()

    private let seed: UInt64
    private var links: [Link: LinkFaults] = [:]
    private var overrides: [Link: LinkConditions] = [:]

    /// An engine whose links all have `conditions`.
    package init(seed: UInt64, conditions: LinkConditions = LinkConditions()) {
        self.seed = seed
        self.conditions = conditions
    }

    /// Whether no datagram can be touched, so that the caller may use its own bytes at once.
    package var isIdle: Bool {
        conditions.isPerfect && partition.isEmpty && overrides.isEmpty
    }

    /// Submits a datagram and answers when its copies arrive; none if it is cut or lost.
    package mutating func submit(
        byteCount: Int,
        from: Endpoint,
        to: Endpoint,
        now: Instant
    ) -> [Delivery] {
        guard partition.isEmpty || partition.permits(from: from, to: to) else { return [] }
        let link = Link(from: from, to: to)
        if links[link] == nil { links[link] = makeLink(link) }
        return links[link]?.submit(byteCount: byteCount, now: now) ?? []
    }

    /// Gives every link these conditions, and forgets those of single links.
    package mutating func setAll(_ conditions: LinkConditions) {
        self.conditions = conditions
        overrides = [:]
        for link in links.keys.sorted() { links[link]?.conditions = conditions }
    }

    /// Gives one direction conditions of its own, or with `nil` the common ones again.
    package mutating func set(_ conditions: LinkConditions?, from: Endpoint, to: Endpoint) {
        let link = Link(from: from, to: to)
        overrides[link] = conditions
        links[link]?.conditions = conditions ?? self.conditions
    }

    /// Heals everything: perfect links, no partition.
    package mutating func clear() {
        setAll(LinkConditions())
        partition = Partition()
    }

    /// What every used link did so far, in the order of the links.
    package var counters: [(link: Link, counters: LinkCounters)] {
        links.keys.sorted().map { ($0, links[$0]?.counters ?? LinkCounters()) }
    }

    private func makeLink(_ link: Link) -> LinkFaults {
        LinkFaults(
            overrides[link] ?? conditions,
            seed: seed,
            from: link.from.description,
            to: link.to.description
        )
    }
}
