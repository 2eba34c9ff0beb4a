/// A fault put into a run on purpose: a checker that finds none of them checks nothing.
package enum PlantedBug: String, CaseIterable, Sendable {
    /// Linearizable reads are answered from the process's own state, without a quorum.
    case staleReads
    /// Every eighth write is answered and not kept.
    case lostWrites
    /// Every eighth addition counts twice.
    case doubleAdditions
    /// One process keeps other numbers than all others.
    case divergentState
}
