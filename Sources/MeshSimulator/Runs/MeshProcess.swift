package import MeshConsensus
package import MeshWire

/// A simulated process that takes part in a room, so that the checkers can look at it.
package protocol MeshProcess: SimulatedProcess {
    /// What it is and how far it is, in plain numbers; `nil` outside every room.
    var marks: ConsensusMarks? { get }
    /// What the checkers see; `nil` outside every room.
    func observation(of life: Life, hashingState: Bool) -> Observation?
    /// What a view of its must outweigh to be primary; `nil` if it has none to go on from.
    var required: [PrimaryConfiguration]? { get }
    /// Steps that handled a piece of something large; they grow with the content.
    var transfers: Int { get }
}

extension MeshProcess {
    /// Nothing is known of it.
    package var required: [PrimaryConfiguration]? { nil }
    /// None that are told apart.
    package var transfers: Int { 0 }
    /// What it is in its room; `nil` outside every room.
    package var role: Role? { marks?.role }
    /// The last position it applied.
    package var applied: Position { marks?.applied ?? .zero }
    /// The last position of its log.
    package var head: Position { marks?.head ?? .zero }
}
