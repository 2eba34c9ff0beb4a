import MeshWire

/// The invariants of what a process shows, checked whenever that changed, in one place.
struct ConsensusCheckers {
    var epochs = EpochUniqueness()
    var monotonicity = Monotonicity()
    var prefix = AgreedPrefix()

    /// Checks what one process shows after a step.
    mutating func check(_ seen: Observation) throws(Violation) {
        try epochs.check(seen)
        try monotonicity.check(seen)
        try prefix.check(seen)
    }
}
