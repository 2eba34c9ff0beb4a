package import MeshConsensus
package import MeshWire

/// A simulated process that takes part in a room, so that the checkers can look at it.
package protocol MeshProcess: SimulatedProcess {
    /// What it is in its room; `nil` outside every room.
    var role: Role? { get }
    /// The last position it applied.
    var applied: Position { get }
    /// The last position of its log.
    var head: Position { get }
    /// What the checkers see; `nil` outside every room.
    func observation(of life: Life, hashingState: Bool) -> Observation?
}
