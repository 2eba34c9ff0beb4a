import MeshConsensus
import MeshCrypto
import MeshSession
import MeshTransport
import MeshWire

/// From the socket to the application.
extension Engine {
    /// Takes a datagram; what is neither of a handshake nor sealed is discovery's.
    mutating func receive(_ datagram: RawSpan, from source: SocketAddress, now: Instant) {
        guard let type = datagram.first else { return }
        guard type & 0xf0 == 0x20 else {
            endpoint.receive(datagram, from: source, now: now)
            return
        }
        if let hint = discovery.receive(
            datagram,
            from: source,
            announcing: announcement,
            now: now
        ) {
            follow(hint, now: now)
        }
    }

    /// Takes what the endpoint has to tell; `true` if it was anything.
    mutating func receiveEndpointEvents(now: Instant) -> Bool {
        var tookAny = false
        // Looked up once for a row of messages; the consensus must be its only owner when it changes it.
        var room: RoomState?
        while let event = endpoint.nextEvent() {
            tookAny = true
            if case .connection(let peer, .received(let message)) = event,
                message.channel > ContentLane.channel
            {
                room = room ?? self.room
                if let room { receive(message, from: peer, room: room, now: now) }
                continue
            }
            room = nil
            switch event {
            case .connected(let connection):
                connected(connection, now: now)
            case .disconnected(let peer, let incarnation, let reason):
                disconnected(peer, incarnation: incarnation, reason: reason, now: now)
            case .granted(let secret, let peer):
                admitted(with: secret, by: peer, now: now)
            case .inviteUsed(let slot, let peer):
                events.append(.inviteUsed(by: peer, slot: slot))
            case .inviteBurned(let slot, let reason):
                events.append(.inviteBurned(slot: slot, reason))
            case .dialFailed(let dial, let failure):
                dialFailed(dial, failure, now: now)
            case .connection(let peer, let event):
                receive(event, from: peer, now: now)
            case .violation:
                break  // counted by the endpoint; `disconnected` follows
            }
        }
        return tookAny
    }

    private mutating func receive(_ event: ConnectionEvent, from peer: NodeID, now: Instant) {
        switch event {
        case .control(let machine, let bytes):
            receive(bytes, machine: machine, from: peer, now: now)
        case .received(let message) where message.channel == 0:
            receive(message.bytes, machine: Self.consensusMachine, from: peer, now: now)
        case .received(let message) where message.channel == ContentLane.channel:
            guard link(peer) != nil, room != nil else { return }
            events.append(.content(peer, message.bytes))
        case .received:
            break  // of a session, taken before
        case .outcome(let token, let outcome):
            lanes.ended(token, outcome, of: peer, now: now)
            lanes.drain(peer, endpoint: &endpoint, now: now)
        case .windowOpened(let channel):
            if channel == ContentLane.channel {
                return contents.drain(peer, endpoint: &endpoint, now: now)
            }
            lanes.drain(peer, endpoint: &endpoint, now: now)
        case .quiet:
            lanes.silent(peer)
            events.append(.peer(peer, .quiet))
        case .heard:
            lanes.heard(peer, now: now)
            events.append(.peer(peer, .heard))
        case .channelOpened, .channelClosed, .endpointFrame, .closedByPeer:
            break  // names travel with each message; the rest is the endpoint's
        }
    }

    /// Takes a message of a session.
    private mutating func receive(
        _ message: ReceivedMessage,
        from peer: NodeID,
        room: RoomState,
        now: Instant
    ) {
        lanes.receive(
            message,
            from: peer,
            local: process,
            room: room,
            isTogether: companions.contains(peer),
            endpoint: &endpoint,
            now: now
        )
    }

    /// The number of consensus in CONTROL frames (`20-transport.md` §2).
    static let consensusMachine: UInt8 = 1

    private mutating func receive(
        _ bytes: [UInt8],
        machine: UInt8,
        from peer: NodeID,
        now: Instant
    ) {
        guard let link = link(peer) else { return }
        switch machine {
        case Self.consensusMachine:
            consensus?.receive(bytes.raw, from: link.process, now: now)
        case DirectoryMessage.machine:
            // A malformed directory is a hint less; nothing depends on it.
            guard let message = try? DirectoryMessage(reading: bytes.raw) else { return }
            for entry in message.entries where entry.nodeID != process.nodeID {
                guard entry.address.isNear, self.link(entry.nodeID) == nil else { continue }
                let delay = patience(towards: entry.nodeID)
                contacts.note(
                    entry.address,
                    nodeID: entry.nodeID,
                    isMember: false,
                    delay: delay,
                    now: now
                )
            }
        default:
            break  // a machine of a later version
        }
    }

    /// Takes what consensus has to tell.
    mutating func receive(_ event: ConsensusEvent, now: Instant) {
        switch event {
        case .viewInstalled, .viewUsable, .leaderChanged, .roleChanged:
            viewChanged(now: now)
        case .completed(let ticket, let result):
            guard let request = operations.answered(ticket) else { return }
            events.append(.completed(request, committed(result)))
        case .readReady(let ticket, let position):
            guard let request = operations.answered(ticket) else { return }
            events.append(.readReady(request, .success(position)))
        case .readRefused(let ticket, let error):
            guard let request = operations.answered(ticket) else { return }
            events.append(.readReady(request, .failure(.refused(error))))
        case .merged(let report):
            events.append(.merged(report))
        case .branchDiscarded(let entries):
            events.append(.branchDiscarded(entries.compactMap(DiscardedWrite.init)))
        case .evidence(let against, _, _):
            events.append(.evidence(against: against.nodeID))
        case .contactWanted(let process):
            upkeep.wanted(process.nodeID)
        case .left(let reason):
            leftRoom(reason == .kicked ? .removed : .leaving, now: now)
        case .refused(let refusal):
            refused(refusal, now: now)
        case .applied, .stateReplaced, .estranged, .linkShaky:
            break  // the room is observed once the batch is through; beacons follow the view
        }
    }

    private func committed(
        _ result: Result<Completion, SubmitError>
    ) -> Result<Committed, SubmitFailure> {
        switch result {
        case .success(let completion):
            // Nobody but this version's own machine made these bytes; `.sequenced` has none.
            let result = try? CommandResult(decoding: completion.result)
            return .success(Committed(position: completion.position, result: result ?? .done))
        case .failure(let error):
            return .failure(.refused(error))
        }
    }

    /// The room's state moved: tell the application, and look at what waited for it.
    mutating func observeRoom(now: Instant) {
        guard let room else { return }
        let changes = observer.observe(room)
        guard !changes.isEmpty else { return }
        for change in changes {
            events.append(.room(change))
            upkeep.note(
                change,
                grace: configuration.grace,
                unjoined: configuration.unjoinedLifetime,
                now: now
            )
            if case .sessionEnded(let session, _) = change {
                lanes.sessionEnded(session, endpoint: &endpoint, now: now)
            }
            if case .participantLeft(_, let participant, _) = change {
                lanes.participantLeft(participant.id, endpoint: &endpoint, now: now)
            }
        }
        let companions = companions
        lanes.release(
            local: process,
            room: room,
            isTogether: { companions.contains($0) },
            endpoint: &endpoint
        )
    }

    /// The connected nodes that follow the branch this node's state shows.
    ///
    /// Those of a view whose own entry is applied, while a live leader holds this node in it: until
    /// then the state may be that of a branch that lost, or the others have gone on without this node.
    var companions: [NodeID] {
        guard let view, let applied = inspectConsensus({ $0.applied }),
            applied.epoch >= view.epoch, inspectConsensus({ $0.isHeld }) == true
        else { return [] }
        return links.filter { view.contains($0.process) }.map(\.process.nodeID)
    }
}

extension DiscardedWrite {
    /// The write in the entry; `nil` if nobody had been told that it was done.
    fileprivate init?(_ entry: DiscardedEntry) {
        guard entry.isCommitted else { return nil }
        position = entry.position
        origin = entry.command.origin.nodeID
        session = entry.command.session
        // A command of a later version is named by its place alone.
        command = try? RoomCommand(type: entry.command.type, payload: entry.command.payload)
    }
}
