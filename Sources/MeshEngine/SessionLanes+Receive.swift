import MeshSession
import MeshTransport
import MeshWire

extension SessionLanes {
    /// Takes a message that a pair delivered.
    ///
    /// `isTogether` says whether the sender's process is in this node's view. While it is not, the
    /// two may follow different branches: a reliable message whose join is not here yet waits for
    /// the merge, and its channel's window stays shut meanwhile.
    mutating func receive(
        _ message: ReceivedMessage,
        from nodeID: NodeID,
        local: ProcessID,
        room: RoomState,
        isTogether: Bool,
        endpoint: inout Endpoint,
        now: Instant
    ) {
        let index = index(of: nodeID)
        // The name is the channel's, told once.
        let known = peers[index].incoming.first { $0.channel == message.channel }
        guard let name = known?.name ?? SessionChannelName(message.name) else {
            statistics.malformed += 1
            return
        }
        let held = Held(
            name: name,
            lane: message.lane,
            channel: message.channel,
            key: message.key,
            bytes: message.bytes,
            until: now + Self.heldTime
        )
        if message.lane == .reliable, known == nil {
            note(message.channel, name, at: index, endpoint: &endpoint)
        }
        // Behind a message that waits, the others wait too: order holds.
        if peers[index].held.isEmpty,
            deliver(held, from: nodeID, local: local, room: room, isTogether: isTogether)
        {
            return
        }
        if held.lane == .fast, !isTogether {
            statistics.heldTooLong += 1
            return
        }
        let kept = withPeer(at: index) { $0.held.appendIfFits(held, byteCount: held.bytes.count) }
        if !kept { statistics.heldOverflow += 1 }
        shut(held, at: index, endpoint: &endpoint)
    }

    /// Makes the sender of a reliable message that waits wait too, before the hold is full.
    private mutating func shut(_ held: Held, at index: Int, endpoint: inout Endpoint) {
        guard held.lane == .reliable, !peers[index].shut.contains(held.channel) else { return }
        withPeer(at: index) { $0.shut.append(held.channel) }
        endpoint.hold(held.channel, of: peers[index].nodeID, true)
    }

    /// Opens the channels that were shut, once nothing of the node waits any more.
    mutating func open(at index: Int, endpoint: inout Endpoint) {
        guard peers[index].held.isEmpty, !peers[index].shut.isEmpty else { return }
        for channel in peers[index].shut where !isPaused(channel, at: index) {
            endpoint.hold(channel, of: peers[index].nodeID, false)
        }
        withPeer(at: index) { $0.shut = [] }
    }

    private func isPaused(_ channel: ChannelNumber, at index: Int) -> Bool {
        peers[index].incoming.contains { $0.channel == channel && paused.contains($0.name) }
    }

    /// Remembers what a channel of the other side carries, and holds it if its reader is full.
    private mutating func note(
        _ channel: ChannelNumber,
        _ name: SessionChannelName,
        at index: Int,
        endpoint: inout Endpoint
    ) {
        guard peers[index].incoming.count < Limits.channels else { return }
        withPeer(at: index) { $0.incoming.append(Incoming(channel: channel, name: name)) }
        if paused.contains(name) { endpoint.hold(channel, of: peers[index].nodeID, true) }
    }

    /// Makes the senders of a channel wait, or lets them go on.
    mutating func pause(_ name: SessionChannelName, _ isPaused: Bool, endpoint: inout Endpoint) {
        if isPaused {
            guard paused.count < Limits.channels else { return }
            paused.insert(name)
        } else {
            paused.remove(name)
        }
        for peer in peers {
            for incoming in peer.incoming
            where incoming.name == name && !peer.shut.contains(incoming.channel) {
                endpoint.hold(incoming.channel, of: peer.nodeID, isPaused)
            }
        }
    }

    /// Looks at early messages again, after the room's state changed.
    mutating func release(
        local: ProcessID,
        room: RoomState,
        isTogether: (NodeID) -> Bool,
        endpoint: inout Endpoint
    ) {
        for index in peers.indices where !peers[index].held.isEmpty {
            let nodeID = peers[index].nodeID
            let isTogether = isTogether(nodeID)
            while let first = peers[index].held.first,
                deliver(first, from: nodeID, local: local, room: room, isTogether: isTogether)
            {
                withPeer(at: index) { _ = $0.held.popFirst() }
            }
            open(at: index, endpoint: &endpoint)
        }
    }

    /// Delivers or drops a message; `false` if the room's state must catch up first.
    private mutating func deliver(
        _ held: Held,
        from nodeID: NodeID,
        local: ProcessID,
        room: RoomState,
        isTogether: Bool
    ) -> Bool {
        var reader = ByteReader(held.bytes.raw)
        let envelope: Envelope
        do {
            envelope = try Envelope(reading: &reader)
        } catch {
            statistics.malformed += 1
            return true
        }
        guard let session = room.session(held.name.session) else { return false }
        guard let target = session.participant(of: local) else {
            // Our own join may not be applied yet; an older participation comes back by a merge alone.
            let isToCome = envelope.target.number >= UInt64(session.nextNumber)
            return isToCome || !isTogether ? false : drop(\.misdirected)
        }
        // The identifier decides; a merge gives a participation another number.
        guard envelope.target.check == Envelope.Name(target).check else {
            // Still to come, or of another branch, where the merge decides which one stays.
            let isToCome = envelope.target.number >= UInt64(session.nextNumber)
            return isToCome || !isTogether ? false : drop(\.misdirected)
        }
        let source = session.participants.first {
            $0.process.nodeID == nodeID && Envelope.Name($0).check == envelope.source.check
        }
        guard let source else {
            if session.participants.contains(where: { Envelope.Name($0) == envelope.source }) {
                return isTogether ? drop(\.forged) : false
            }
            let isToCome = envelope.source.number >= UInt64(session.nextNumber)
            return isToCome || !isTogether ? false : drop(\.misdirected)
        }
        if let mark = envelope.mark {
            // Marks are the reliable lane's: another could overtake what it divides.
            guard held.lane == .reliable else { return drop(\.malformed) }
            // The request is to come; what follows the mark waits with it.
            if let applied = room.position, applied < mark.position { return false }
        }
        statistics.delivered += 1
        let payload = Array(held.bytes.dropFirst(reader.offset))
        events.append(
            .message(
                InboundMessage(
                    session: held.name.session,
                    from: source.id,
                    channel: held.name.name,
                    lane: held.lane,
                    key: held.key,
                    payload: payload,
                    stream: held.channel,
                    mark: envelope.mark,
                    receipt: envelope.receipt
                )
            )
        )
        return true
    }

    private mutating func drop(
        _ counter: WritableKeyPath<LaneStatistics, UInt64>
    ) -> Bool {
        statistics[keyPath: counter] += 1
        return true
    }
}
