import MeshCrypto
package import MeshEngine
package import MeshFaults
import MeshNet
import MeshSession
package import MeshWire

// What status reports and experiments ask of a running node.

extension Node {
    /// The engine's state in figures.
    package var status: EngineStatus { engine.status }

    /// The present instant, as the run loop read it.
    package var now: Instant { loop.turnInstant }

    /// The open invitations' slots, sorted.
    package var openSlots: [UInt8] { invites.keys.sorted() }

    /// The name that a node shows in the room; empty if it shows none.
    package func name(of node: NodeID) -> String {
        let member = engine.room?.members.first { $0.process.nodeID == node }
        return member.map { shown($0).profile.name } ?? ""
    }

    /// The room's name.
    package var nameOfRoom: String { currentRoomName }

    /// A digest of the whole replicated state: alike on two members means the same state.
    package var stateDigest: Digest? {
        guard let room = engine.room else { return nil }
        return Digest(Hash.plain(room.snapshot().raw, outputBytes: 32))
    }

    // MARK: Faults

    /// The faults in force.
    package var faults: FaultReport {
        FaultReport(
            isImpaired: socket.isImpaired,
            conditions: socket.conditions,
            rules: socket.rules.map { FaultReport.Rule(peer: $0.peer, conditions: $0.conditions) },
            cuts: socket.cuts
        )
    }

    /// Impairs every link, or those to `peers` alone.
    package func setFaults(_ conditions: LinkConditions, to peers: [FaultPeer] = []) {
        if peers.isEmpty { socket.set(conditions) }
        for peer in peers { socket.set(conditions, to: peer) }
    }

    /// Cuts peers off, in both directions.
    package func cut(_ peers: [FaultPeer]) {
        socket.cut(peers)
    }

    /// Ends every cut and keeps the conditions.
    package func heal() {
        socket.heal()
    }

    /// Ends every fault.
    package func clearFaults() {
        socket.clear()
    }
}

/// The faults of a node as a report shows them.
package struct FaultReport: Sendable {
    /// The conditions of the links to one peer.
    package struct Rule: Sendable {
        package var peer: FaultPeer
        package var conditions: LinkConditions
    }

    /// Whether any fault is in force.
    package var isImpaired: Bool
    /// The conditions of every link without a rule.
    package var conditions: LinkConditions
    /// The rules, in the order they were given.
    package var rules: [Rule]
    /// The peers that are cut off.
    package var cuts: [FaultPeer]
}
