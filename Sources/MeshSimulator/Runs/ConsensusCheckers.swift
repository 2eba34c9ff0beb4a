import MeshWire

/// The invariants that are checked after every step, in one place.
struct ConsensusCheckers {
    var epochs = EpochUniqueness()
    var monotonicity = Monotonicity()
    var prefix = AgreedPrefix()
    var bounds = Bounds()

    /// Checks what one process shows after a step.
    mutating func check(_ seen: Observation, spins: Int) throws(Violation) {
        try epochs.check(seen)
        try monotonicity.check(seen)
        try prefix.check(seen)
        try bounds.check(seen.life, spins: spins)
    }
}
