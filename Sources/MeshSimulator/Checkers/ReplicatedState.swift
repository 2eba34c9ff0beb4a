package import MeshWire

/// Who applied the same entries has the same replicated state, byte for byte (§15, 10, 11 and 28).
///
/// The whole of it: the machine, the memory of what every origin's commands did, views, tombstones.
/// Some have it by a snapshot and the log's tail, others by the whole log.
package struct ReplicatedState: Sendable {
    package static let invariant =
        "equal positions have equal replicated states, whether by snapshot or by replay"

    /// The state of one process.
    package struct Whole: Sendable {
        package var life: Life
        package var applied: Position
        /// Its canonical bytes.
        package var bytes: [UInt8]

        package init(life: Life, applied: Position, bytes: [UInt8]) {
            self.life = life
            self.applied = applied
            self.bytes = bytes
        }
    }

    package init() {}

    package func check(_ states: [Whole]) throws(Violation) {
        var known: [Position: Whole] = [:]
        for state in states {
            if let other = known[state.applied], other.bytes != state.bytes {
                throw Violation(
                    Self.invariant,
                    "\(state.life) and \(other.life) applied \(state.applied) and differ"
                )
            }
            known[state.applied] = state
        }
    }
}
