package import MeshConsensus
import MeshWire

/// Whether a healed room that follows the majority can go on at all (`30-consensus.md` §13, recoverable).
///
/// No process inherits the word of the one before it, so where too many crashed, restarted or not,
/// nothing but a person's word helps. Legal is what this says, and no more.
package struct Weight: Sendable {
    /// Whether no component of the live processes could form a view.
    package let isLost: Bool

    /// Looks at the live core, all of it in reach of each other.
    ///
    /// `required` is what a view of each must outweigh; `nil` for one that has none to go on from.
    package init(_ core: [(seen: Observation, required: [PrimaryConfiguration]?)]) {
        // Where anybody leads, or goes on without the weight, nothing is lost.
        let isGoingOn = core.contains { $0.seen.role == .leader || $0.seen.view?.forced == true }
        let isMajority = core.contains { $0.seen.role == .suspended }
        let tags = core.map(\.seen.tag)
        let sound = core.filter { _, required in
            required.map { $0.allSatisfy { $0.isOutweighed(by: tags) } } ?? false
        }
        let voters = sound.map(\.seen.tag)
        let required = sound.compactMap(\.required).flatMap(\.self)
        let newest = required.filter(\.isCommitted).map(\.epoch).max() ?? .zero
        isLost =
            isMajority && !isGoingOn
            && (voters.isEmpty
                || !required.allSatisfy { $0.epoch < newest || $0.isOutweighed(by: voters) })
    }
}
