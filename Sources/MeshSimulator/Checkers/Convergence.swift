import MeshConsensus
import MeshWire

/// After everything is healed the live core is one again (`30-consensus.md` §15, 25 to 28).
package struct Convergence: Sendable {
    package static let invariant =
        "after a heal one view holds exactly the live core, and all its states are equal"
    package static let stability = "after a heal and one merged view the view does not change"

    package init() {}

    /// Why the processes are not one room yet; `nil` if they are.
    package func obstacle(_ core: [Observation]) -> String? {
        guard let first = core.first else { return nil }
        guard let view = first.view else { return "\(first.life) has no view" }
        let wanted = core.map(\.tag).sorted()
        for seen in core {
            guard let other = seen.view else { return "\(seen.life) has no view" }
            guard other.epoch == view.epoch else {
                return "\(first.life) is in \(view.epoch), \(seen.life) in \(other.epoch)"
            }
            guard other.tags.sorted() == wanted else {
                return "\(other.epoch) has \(other.tags.count) members, the core \(wanted.count)"
            }
            guard seen.promised <= view.epoch else {
                return "\(seen.life) has promised \(seen.promised), its view is \(view.epoch)"
            }
        }
        guard core.count(where: { $0.role == .leader }) == 1 else { return "nobody leads yet" }
        for seen in core where seen.appliedHash != first.appliedHash {
            return "\(first.life) applied \(first.applied), \(seen.life) \(seen.applied)"
        }
        return nil
    }
}
