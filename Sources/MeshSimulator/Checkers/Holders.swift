import MeshConsensus
package import MeshWire

/// What is acknowledged at level `majority` is held by one at that instant (§15, 7 and 8).
///
/// By the members of its own view, or of a later one of its branch, whose first entries commit what
/// stands before them. A process that died held it until then.
package struct Holders: Sendable {
    package static let invariant =
        "when a write is acknowledged, a majority of a view of its branch holds it"

    private var members: [Epoch: [UInt64]] = [:]
    /// How far each process came in the log of each view.
    private var heads: [Epoch: [UInt64: UInt64]] = [:]
    private var last: [Life: Position] = [:]

    package init() {}

    package mutating func check(_ seen: Observation) {
        if let view = seen.view, members[view.epoch] == nil { members[view.epoch] = view.tags }
        guard last[seen.life] != seen.head else { return }
        last[seen.life] = seen.head
        let known = heads[seen.head.epoch]?[seen.tag] ?? 0
        heads[seen.head.epoch, default: [:]][seen.tag] = max(known, seen.head.index)
    }

    /// A client heard that its write took effect at `position`.
    package func acknowledge(_ position: Position, _ branches: Branches) throws(Violation) {
        if isHeld(position, by: position.epoch) { return }
        // order: any one will do
        for epoch in heads.keys where epoch > position.epoch {
            guard let end = branches.path(to: epoch)[position.epoch], position.index <= end
            else { continue }
            if isHeld(Position(epoch: epoch, index: 0), by: epoch) { return }
        }
        let count = heads[position.epoch]?.values.count { $0 >= position.index } ?? 0
        throw Violation(
            Self.invariant,
            "\(position) is held by \(count) of \(members[position.epoch]?.count ?? 0)"
        )
    }

    private func isHeld(_ position: Position, by epoch: Epoch) -> Bool {
        guard let members = members[epoch], let heads = heads[epoch] else { return false }
        let count = members.count { heads[$0].map { $0 >= position.index } ?? false }
        return count * 2 > members.count
    }
}
