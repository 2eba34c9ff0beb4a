package import MeshConsensus
package import MeshSession

/// What checkers and reports look at; nothing here changes an engine.
extension Engine {
    /// The consensus of the room this node is in, copied; `nil` outside every room.
    package var inspectedConsensus: Consensus<RoomState>? { consensus }
}
