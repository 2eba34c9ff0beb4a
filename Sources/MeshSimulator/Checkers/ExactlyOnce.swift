package import MeshConsensus
package import MeshWire

/// A command has at most one effect in any state, and the same result wherever it is told (§15, 9).
package struct ExactlyOnce: Sendable {
    package static let invariant =
        "a command of one origin and sequence has one effect along a branch, with one result"

    private struct Key: Hashable, Sendable {
        var origin: Origin
        var sequence: UInt64
    }

    private var effects: [Key: [Position]] = [:]
    private var results: [Position: UInt64] = [:]

    package init() {}

    /// A process applied a command at `position`.
    package mutating func apply(
        _ command: Command,
        _ result: [UInt8],
        at position: Position,
        _ branches: Branches
    ) throws(Violation) {
        let hash = SipHash.hash(result)
        if let known = results[position] {
            guard known == hash else {
                throw Violation(Self.invariant, "two results of the command at \(position)")
            }
            return
        }
        results[position] = hash
        let key = Key(origin: command.origin, sequence: command.sequence)
        for earlier in effects[key] ?? [] {
            let (low, high) = (min(earlier, position), max(earlier, position))
            if let end = branches.path(to: high.epoch)[low.epoch], low.index <= end {
                throw Violation(
                    Self.invariant,
                    "command \(key.sequence) took effect at \(low) and again at \(high)"
                )
            }
        }
        effects[key, default: []].append(position)
    }
}
