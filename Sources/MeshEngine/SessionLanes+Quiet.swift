import MeshTransport
import MeshWire

// Nodes that do not answer, and who waits for them (`40-groupactivities.md` §5).
//
// A node is quiet when the transport has heard nothing of it and what is under way to it has made no
// progress, both for a second. While it is quiet a message to it counts as accepted once it stands in
// the backlog, whose bounds hold, and a message whose other recipients have it is settled in part. So a
// machine that stands still slows nobody down. One that is idle and is not asked for anything is not
// quiet, however long nothing comes from it.

extension SessionLanes {
    /// How long a node that is asked may be silent before it is quiet.
    static let quietAfter: Duration = .seconds(1)

    /// The transport has heard nothing of a node for a while.
    mutating func silent(_ nodeID: NodeID) {
        withPeer(at: index(of: nodeID)) { $0.isSilent = true }
    }

    /// The transport hears a node again.
    mutating func heard(_ nodeID: NodeID, now: Instant) {
        heard(at: index(of: nodeID), now: now)
    }

    mutating func heard(at index: Int, now: Instant) {
        withPeer(at: index) { $0.isSilent = false }
        progressed(at: index, now: now)
        guard peers[index].isQuiet else { return }
        withPeer(at: index) { $0.isQuiet = false }
        for delivery in peers[index].deliveries {
            outstanding[delivery.request]?.quiet.removeAll { $0 == delivery.participant }
        }
    }

    /// Something came of what is under way to the node.
    mutating func progressed(at index: Int, now: Instant) {
        withPeer(at: index) { peer in
            let isIdle = peer.tokens.isEmpty && peer.backlog.isEmpty
            peer.unansweredSince = isIdle ? nil : now
        }
    }

    /// Nobody waits any more for what is under way to the node.
    mutating func becomeQuiet(at index: Int) {
        withPeer(at: index) { $0.isQuiet = true }
        for request in withPeer(at: index, { $0.backlog.acceptAll() }) { accept(request) }
        for delivery in peers[index].deliveries { becomeQuiet(delivery) }
    }

    /// Nobody waits any more for one delivery to a quiet node.
    mutating func becomeQuiet(_ delivery: Delivery) {
        guard var entry = outstanding[delivery.request],
            !entry.quiet.contains(delivery.participant)
        else { return }
        entry.quiet.append(delivery.participant)
        keep(entry, of: delivery.request)
    }

    /// Keeps what is known of a request, and tells what the application waits for.
    mutating func keep(_ entry: Outstanding, of request: RequestID) {
        guard entry.pending > 0 else {
            outstanding[request] = nil
            events.append(.sendOutcome(request, entry.report))
            return
        }
        var entry = entry
        // Where only quiet ones are addressed, somebody waits for them.
        if !entry.isSettledInPart, entry.pending == entry.quiet.count,
            !entry.report.delivered.isEmpty
        {
            entry.isSettledInPart = true
            events.append(.settledInPart(request))
        }
        outstanding[request] = entry
    }
}

extension SessionLanes.Peer {
    /// When the node will be quiet, if nothing comes of it and it is not yet.
    var quietDue: Instant? {
        guard isSilent || !isConnected, !isQuiet else { return nil }
        return unansweredSince.map { $0 + SessionLanes.quietAfter }
    }

    /// What is under way to the node: first what its pair has taken, then what waits.
    var deliveries: [SessionLanes.Delivery] {
        // order: by token, so that events come in one order everywhere
        tokens.sorted { $0.key < $1.key }.map(\.value) + backlog.deliveries
    }
}
