import MeshWire

/// Logs and states that carry one name are one (`30-consensus.md` §15, 4, 5 and 10).
///
/// Incremental: the hash of a log up to an index covers all before it, so it is enough that a
/// position has one hash, a hash one position, and a hash one state.
package struct AgreedPrefix: Sendable {
    package static let invariant =
        "a position has one prefix, and one prefix has one state on every process"

    private var hashes: [Position: Digest] = [:]
    private var positions: [Digest: Position] = [:]
    private var states: [Digest: (hash: UInt64, life: Life)] = [:]
    private var last: [Life: (head: Digest, applied: Digest)] = [:]

    package init() {}

    package mutating func check(_ seen: Observation) throws(Violation) {
        let old = last[seen.life]
        if old?.head != seen.headHash { try agree(seen.head, seen.headHash, seen.life) }
        if old?.applied != seen.appliedHash { try agree(seen.applied, seen.appliedHash, seen.life) }
        last[seen.life] = (seen.headHash, seen.appliedHash)
        guard let state = seen.stateHash, seen.applied != .zero else { return }
        if let known = states[seen.appliedHash], known.hash != state {
            throw Violation(
                Self.invariant,
                "\(seen.life) and \(known.life) applied \(seen.applied) and differ in state"
            )
        }
        states[seen.appliedHash] = (state, seen.life)
    }

    private mutating func agree(
        _ position: Position,
        _ hash: Digest,
        _ life: Life
    ) throws(Violation) {
        guard position != .zero else { return }
        if let known = hashes[position], known != hash {
            throw Violation(
                Self.invariant,
                "\(life) has \(hash) at \(position), others have \(known)"
            )
        }
        if let known = positions[hash], known != position {
            throw Violation(Self.invariant, "\(life) has \(hash) at \(position), not at \(known)")
        }
        hashes[position] = hash
        positions[hash] = position
    }
}
