import MeshCrypto
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

// Step 5 of the run loop: hands the engine's events to whoever waits or listens.

extension Node {
    func deliver(_ events: [Event]) {
        for event in events {
            if let request = event.request {
                answer(request, event)
            } else {
                hear(event)
            }
        }
        followJournals()
    }

    private func answer(_ request: RequestID, _ event: Event) {
        if case .inviteOpened(_, let invite) = event { invites[invite.code.slot] = invite }
        // A send has two answers: it was accepted, and what became of it, often in the same turn. Between
        // them it may be told that only those who are silent lack it.
        if case .settledInPart = event { return settledInPart(request) }
        acceptedPosted(request)
        waiting[request]?.fulfil(event)
        if case .sendOutcome = event { outcomes[request]?.fulfil(event) }
    }

    private func hear(_ event: Event) {
        switch event {
        case .message, .peer, .content, .contentTaken: break
        default: outbox.close()
        }
        switch event {
        case .roomPhase(let phase): enter(phase)
        case .roomRecord(let record): keep(record)
        case .view(let summary):
            let wasSuspended = view?.suspension != nil
            view = summary
            if wasSuspended != (summary.suspension != nil) { heldSuspension(!wasSuspended) }
            tell(.view(RoomView(summary)))
        case .room(let event): hear(event)
        case .inviteUsed(let node, let slot):
            invites[slot] = nil
            tell(.inviteUsed(slot: Int(slot), by: node))
        case .inviteBurned(let slot, let reason):
            invites[slot] = nil
            tell(.inviteBurned(slot: Int(slot), reason: Self.words(reason)))
        case .message(let message):
            guard !hearMove(message), !hearReceipt(message) else { break }
            if mayBeRead(message) { deliver(message) }
        case .peer(let node, let change):
            switch change {
            case .connected(let address):
                note(address, of: node)
                showLatest(to: node)
                heard(.connected(node))
            case .disconnected: heard(.disconnected(node))
            case .quiet, .heard: break
            }
        case .merged(let report): tell(.merged(MergeSummary(report)))
        case .evidence(let against): tell(.equivocated(against))
        case .content(let node, let bytes): heard(.message(node, bytes))
        case .contentTaken(let node, let count): heard(.taken(node, count))
        case .branchDiscarded(let writes): tell(.writesDiscarded(count: writes.count))
        case .inviteOpened, .inviteRefused, .joined, .joinFailed, .left, .completed, .readReady,
            .accepted, .settledInPart, .sendOutcome:
            break  // answers to requests, handled above
        }
    }

    private func enter(_ phase: RoomPhase) {
        self.phase = phase
        if phase != .connecting { entering = nil }
        switch phase {
        case .joined:
            Task { await joinSharedSession() }
        case .left(let exit):
            view = nil
            record = nil
            tell(.left)
            endedAll(error(exit))
            invites = [:]
        case .none, .connecting: break
        }
    }

    /// The shared session is everybody's; a failure leaves what needs it to fail with its own reason.
    private func joinSharedSession() async {
        _ = try? await standingSession(Self.sharedSessionName)
    }

    private func hear(_ event: RoomEvent) {
        switch event {
        case .memberJoined(let process): tell(.memberJoined(process.nodeID))
        case .memberAway(let process): tell(.memberAway(process.nodeID))
        case .memberBack(let process): tell(.memberReturned(process.nodeID))
        case .memberLeft(let process): tell(.memberLeft(process.nodeID))
        case .profileChanged(let process, _):
            tell(.nameChanged(process.nodeID, shown(process).profile.name))
            changedProfile(of: process)
        case .sessionStarted(let session):
            began(session)
            tell(.sessionStarted(session.id))
        case .sessionEnded(let session, let reason):
            ended(session, error(reason))
            tell(.sessionEnded(session))
        case .participantJoined(let session, let who):
            came(who, into: session)
            takesPart(who)
            showLatest(to: who, in: session)
            hubs[session]?.deliver(ParticipantChange.joined(participant(who)))
        case .participantAway(let session, let who):
            followArbiter(in: session)
            hubs[session]?.deliver(.away(participant(who)))
        case .participantBack(let session, let who), .participantReturned(let session, let who):
            came(who, into: session)
            followArbiter(in: session)
            takesPart(who)
            showLatest(to: who, in: session)
            hubs[session]?.deliver(.returned(participant(who)))
        case .participantLeft(let session, let who, let reason):
            went(who, from: session, reason)
            hubs[session]?.latest.gone(participant(who))
            stateGone(who.id, from: session)
            hubs[session]?.receipts.gone(who.id)
            hubs[session]?.deliver(.left(participant(who)))
        case .logAppended(let session, let record): appended(record, in: session)
        case .logRolledBack(let session, let records): rolledBack(records, in: session)
        case .moveRefused(let session, let move, let note):
            let reason = SafeText.clean(note, toBytes: Arbiter.reasonLimit)
            answered(move, .failure(.refused(reason)), in: session)
        case .leadChanged(let session, _, _, _):
            followArbiter(in: session)
            hubs[session]?.deliver(.lead(lead(of: session)))
        case .valueChanged(let session, let key, let value, _):
            hubs[session]?.deliver(ValueChange(key: key, value: value.flatMap(Value.init)))
        case .conflictFound(let conflict): tell(.conflictFound(Conflict(conflict)))
        case .attachmentAdded(let session, let record): added(record, to: session)
        case .attachmentRemoved(let session, let attachment): removed(attachment, from: session)
        case .conflictSettled(let session, let subject, let key):
            tell(.conflictSettled(session, Conflict.Subject(subject), key: key))
        case .activityChanged(let session, let activity): heldActivity(session, activity)
        case .optionsChanged(let session, let options): heldOptions(session, options)
        case .stateRequested(let session, let request): stateRequested(request, in: session)
        case .leadModeChanged(let session, _): followArbiter(in: session)
        case .upgradeNeeded: break
        }
    }

    /// Hands a message to its readers, whose senders wait if one of them is full.
    func deliver(_ message: InboundMessage) {
        guard !isNotice(message), !hearLatest(message) else { return }
        let mustWait = hub(message.session).deliver(Message(message))
        tellDropped(in: message.session)
        if mustWait { holdBack(message.session, message.channel) }
    }

    func messages(
        of session: SessionID,
        on channel: String,
        _ mode: DeliveryMode
    ) -> MailboxSequence<Message> {
        let messages = hub(session).read(
            channel,
            mode,
            onSpace: { [weak self] in Task { await self?.makeSpace(session, channel) } },
            onSettled: { [weak self] key, isTaken in
                Task { await self?.settled(key, isTaken: isTaken, in: session) }
            }
        )
        // The senders may have waited for a first reader.
        if mode == .reliable { makeSpace(session, channel) }
        return messages
    }

    /// A reader has room again: its channel's senders may go on.
    private func makeSpace(_ session: SessionID, _ channel: String) {
        if hubs[session]?.makeSpace(channel) == true { reopen(session, channel) }
        serveState(session)
    }

    /// Lets a channel's senders go on, unless somebody else holds them back.
    func reopen(_ session: SessionID, _ channel: String) {
        guard let hub = hubs[session], !hub.paused.contains(channel),
            !hub.state.exchange.streams.full.contains(channel)
        else { return }
        pause(session, channel, false)
    }

    /// Makes a channel's senders wait.
    func holdBack(_ session: SessionID, _ channel: String) { pause(session, channel, true) }

    private func pause(_ session: SessionID, _ channel: String, _ isPaused: Bool) {
        guard !isStopped else { return }
        handle(.pauseReading(session, channel: channel, isPaused: isPaused))
    }

    func participantChanges(of session: SessionID) -> MailboxSequence<ParticipantChange> {
        hub(session).readParticipants()
    }

    func valueChanges(of session: SessionID) -> MailboxSequence<ValueChange> {
        hub(session).readValues()
    }

    /// The readers of a session, made when the first one asks or the first message comes.
    func hub(_ session: SessionID) -> SessionHub {
        if let hub = hubs[session] { return hub }
        let hub = SessionHub()
        guard !isStopped else {
            hub.finish(.roomLeft)
            return hub
        }
        hubs[session] = hub
        return hub
    }

    private func tell(_ update: RoomUpdate) {
        listeners.removeAll { $0.isAbandoned }
        for listener in listeners { listener.send(update) }
    }

    private func note(_ address: SocketAddress, of node: NodeID) {
        var known = addresses[node] ?? []
        known.removeAll { $0 == address }
        known.append(address)
        // A roaming node changes its address now and then; old ones are of no use.
        addresses[node] = known.suffix(8)
    }

    private static func words(_ reason: BurnReason) -> String {
        switch reason {
        case .guesses: "five wrong guesses: somebody is trying; the invitation is closed"
        case .expired: "nobody came within ten minutes; the invitation is closed"
        }
    }
}

extension Event {
    /// The request that this event answers.
    var request: RequestID? {
        switch self {
        case .inviteOpened(let request, _), .inviteRefused(let request, _), .joined(let request),
            .joinFailed(let request, _), .left(let request), .completed(let request, _),
            .readReady(let request, _), .accepted(let request),
            .settledInPart(let request), .sendOutcome(let request, _):
            request
        case .roomPhase, .roomRecord, .view, .room, .inviteUsed, .inviteBurned, .message, .content,
            .contentTaken, .peer, .branchDiscarded, .evidence, .merged:
            nil
        }
    }
}

extension Message {
    init(_ message: InboundMessage) {
        self.init(
            from: message.from,
            channel: message.channel,
            mode: message.lane == .reliable ? .reliable : .unreliable,
            key: message.key,
            payload: message.payload,
            receipt: message.receipt
        )
    }
}
