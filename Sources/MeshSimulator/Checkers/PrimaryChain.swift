import MeshConsensus
import MeshWire

/// Primary views that commit stand in one line, each with all that earlier ones committed (§15, 24).
package struct PrimaryChain: Sendable {
    package static let invariant =
        "committed primary views stand in one line, and each keeps what the earlier ones committed"

    /// How far each primary view is known to have committed.
    private var committed: [Epoch: UInt64] = [:]

    package init() {}

    package mutating func check(_ seen: Observation, _ branches: Branches) throws(Violation) {
        guard let view = seen.view, view.primary, !view.forced, seen.commit.epoch == view.epoch,
            branches.knows(view.epoch)
        else { return }
        let known = committed[view.epoch]
        guard known ?? 0 < seen.commit.index else { return }
        committed[view.epoch] = seen.commit.index
        // order: the first fault of any pair is enough, and a run ends with it
        for other in committed.keys where other != view.epoch {
            let (early, late) = (min(other, view.epoch), max(other, view.epoch))
            // Of one view that only commits on nothing new can be wrong with earlier ones.
            if known != nil, early != view.epoch { continue }
            // Rooms founded apart have no line in common until they meet.
            guard branches.root(of: early) == branches.root(of: late) else { continue }
            let kept = branches.path(to: late)[early] ?? 0
            guard kept < committed[early] ?? 0 else { continue }
            throw Violation(
                Self.invariant,
                "\(early) committed up to \(committed[early] ?? 0), \(late) keeps \(kept) of it"
            )
        }
    }
}
