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
        guard let place = outstanding.index(forKey: delivery.request),
            !outstanding.values[place].quiet.contains(delivery.participant)
        else { return }
        outstanding.values[place].quiet.append(delivery.participant)
        keep(at: place)
    }

    /// Tells what the application waits for of a request, and forgets the request with its outcome.
    mutating func keep(at place: Dictionary<RequestID, Outstanding>.Index) {
        let request = outstanding.keys[place]
        guard outstanding.values[place].pending > 0 else {
            let report = outstanding.remove(at: place).value.report
            events.append(.sendOutcome(request, report))
            return
        }
        // Where only quiet ones are addressed, somebody waits for them.
        guard !outstanding.values[place].isSettledInPart,
            outstanding.values[place].pending == outstanding.values[place].quiet.count,
            !outstanding.values[place].report.delivered.isEmpty
        else { return }
        outstanding.values[place].isSettledInPart = true
        events.append(.settledInPart(request))
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
