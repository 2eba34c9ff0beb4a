import MeshConsensus
import MeshWire

/// With `.majority` there is one history, of one leader at a time (`30-consensus.md` §15, 17 and 18).
///
/// Holds until somebody goes on without the weight, by a time-out or by a person's word.
package struct SingleHistory: Sendable {
    package static let invariant =
        "with majority an index commits one entry for ever, and a counter has one leader that commits"

    private var committed: [UInt64: Digest] = [:]
    private var proposers: [UInt64: UInt64] = [:]
    private var isForced = false

    package init() {}

    package mutating func check(_ seen: Observation) throws(Violation) {
        if seen.view?.forced == true { isForced = true }
        guard !isForced, seen.applied != .zero else { return }
        let known = committed.updateValue(seen.appliedHash, forKey: seen.applied.index)
        if let known, known != seen.appliedHash {
            throw Violation(
                Self.invariant,
                "\(seen.life) committed \(seen.appliedHash) at \(seen.applied), others \(known)"
            )
        }
        let epoch = seen.applied.epoch
        let proposer = proposers.updateValue(epoch.proposer, forKey: epoch.counter)
        if let proposer, proposer != epoch.proposer {
            throw Violation(
                Self.invariant,
                "\(epoch) committed, and another of its counter by \(hexadecimal(proposer))"
            )
        }
    }
}
