import MeshConsensus
import MeshWire

/// At most one leader an epoch: one proposer, one member list, one start (`30-consensus.md` §15, 1).
package struct EpochUniqueness: Sendable {
    package static let invariant = "an epoch has one leader, one member list and one start"

    private struct Shape: Equatable, Sendable {
        var members: [UInt64]
        var start: Position
        var startHash: Digest
    }

    private var shapes: [Epoch: Shape] = [:]
    private var leaders: [Epoch: Life] = [:]

    package init() {}

    package mutating func check(_ seen: Observation) throws(Violation) {
        guard let view = seen.view else { return }
        let shape = Shape(members: view.tags, start: view.start, startHash: view.startHash)
        if let known = shapes[view.epoch], known != shape {
            throw Violation(
                Self.invariant,
                "\(view.epoch) on \(seen.life) has \(view.tags.count) members from \(view.start), "
                    + "elsewhere \(known.members.count) from \(known.start)"
            )
        }
        shapes[view.epoch] = shape
        guard seen.role == .leader else { return }
        guard view.epoch.proposer == seen.tag else {
            throw Violation(Self.invariant, "\(seen.life) leads \(view.epoch) of somebody else")
        }
        if let known = leaders[view.epoch], known != seen.life {
            throw Violation(Self.invariant, "\(known) and \(seen.life) both lead \(view.epoch)")
        }
        leaders[view.epoch] = seen.life
    }
}
