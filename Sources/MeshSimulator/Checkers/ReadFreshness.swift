package import MeshWire

/// A linearizable read is no older than what was acknowledged before it began (§15, 20 and 21).
///
/// Within one view, which is one line of history; across branches there is no order to demand.
package struct ReadFreshness: Sendable {
    package static let invariant =
        "a linearizable read sees every write that was acknowledged before it began"

    private var newest: [Epoch: UInt64] = [:]
    private var begun: [UInt64: [Epoch: UInt64]] = [:]

    package init() {}

    /// Somebody heard that a write took effect at `position`.
    package mutating func acknowledge(_ position: Position) {
        newest[position.epoch] = max(newest[position.epoch] ?? 0, position.index)
    }

    /// A linearizable read began; `id` is unique in the run.
    package mutating func begin(_ id: UInt64) {
        begun[id] = newest
    }

    /// The read was refused.
    package mutating func forget(_ id: UInt64) { begun[id] = nil }

    /// The read was answered with the state at `position`.
    package mutating func end(_ id: UInt64, at position: Position) throws(Violation) {
        guard let before = begun.removeValue(forKey: id) else { return }
        guard let needed = before[position.epoch], needed > position.index else { return }
        throw Violation(
            Self.invariant,
            "a read was answered at \(position), though \(needed) was acknowledged before"
        )
    }
}
