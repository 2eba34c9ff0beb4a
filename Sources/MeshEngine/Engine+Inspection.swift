package import MeshConsensus
package import MeshSession

/// What checkers and reports look at; nothing here changes an engine.
extension Engine {
    /// Lets `body` look at the consensus of the room this node is in; `nil` outside every room.
    package func inspectConsensus<Seen>(
        _ body: (borrowing Consensus<RoomState>) -> Seen
    ) -> Seen? {
        switch consensus {
        case .some(let consensus): body(consensus)
        case nil: nil
        }
    }
}
