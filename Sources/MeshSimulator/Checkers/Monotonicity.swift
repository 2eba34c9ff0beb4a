import MeshConsensus
import MeshWire

/// What never falls within one incarnation (`30-consensus.md` §15, 2).
package struct Monotonicity: Sendable {
    package static let invariant =
        "promised, view, commit and applied never fall, and applied <= commit <= head"

    private struct Marks: Sendable {
        var promised = Epoch.zero
        var view = Epoch.zero
        var commit = Position.zero
        var applied = Position.zero
    }

    private var marks: [Life: Marks] = [:]

    package init() {}

    package mutating func check(_ seen: Observation) throws(Violation) {
        guard seen.applied <= seen.commit, seen.commit <= seen.head else {
            throw Violation(
                Self.invariant,
                "\(seen.life) applied \(seen.applied), commit \(seen.commit), head \(seen.head)"
            )
        }
        // A learner has no say yet: it may follow one branch, then another, then found anew.
        guard seen.role != .joining, seen.role != .left else { return }
        let old = marks[seen.life, default: Marks()]
        let view = seen.view?.epoch ?? .zero
        guard seen.promised >= old.promised else {
            throw fell(seen, "promised", "\(old.promised)", "\(seen.promised)")
        }
        // Without a quorum it follows the line that has one, over attempts that came to nothing.
        let isFollowing = seen.role == .suspended
        guard isFollowing || view >= old.view else {
            throw fell(seen, "view", "\(old.view)", "\(view)")
        }
        guard seen.commit >= old.commit else {
            throw fell(seen, "commit", "\(old.commit)", "\(seen.commit)")
        }
        guard seen.applied >= old.applied else {
            throw fell(seen, "applied", "\(old.applied)", "\(seen.applied)")
        }
        guard isFollowing || view <= seen.promised else {
            throw Violation(
                Self.invariant,
                "\(seen.life) installed \(view) above its promise \(seen.promised)"
            )
        }
        marks[seen.life] = Marks(
            promised: seen.promised,
            view: max(view, old.view),
            commit: seen.commit,
            applied: seen.applied
        )
    }

    private func fell(
        _ seen: Observation,
        _ what: String,
        _ old: String,
        _ new: String
    ) -> Violation {
        Violation(Self.invariant, "\(what) of \(seen.life) fell from \(old) to \(new)")
    }
}
