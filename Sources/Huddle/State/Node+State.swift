import MeshEngine
import MeshSession
import MeshTransport
package import MeshWire

// The state for who comes late: requests in the log, marks in the streams, the lead's answer.

extension Node {
    /// How long the lead waits for the others' marks and for its readers (`40-groupactivities.md` §9.2).
    private static let musterTime: Duration = .milliseconds(500)
    /// How long the program may take for its state.
    private static let closureTime: Duration = .seconds(1)
    /// The silence after which the lead is asked no more.
    private static let silence: Duration = .seconds(1)
    /// How often the lead says that it is at work.
    private static let tellingInterval: Duration = .milliseconds(300)
    private static let attempts = 3

    func provideState(_ body: (@Sendable () async -> [UInt8])?, in session: SessionID) {
        hub(session).state.provider = body
    }

    /// What became of marks and states of a session.
    package func stateStatistics(of session: SessionID) -> StateStatistics {
        hubs[session]?.state.exchange.statistics ?? StateStatistics()
    }

    // MARK: Asking

    func sharedState(of session: SessionID) async throws(HuddleError) -> SharedState {
        guard !isStopped else { throw .stopped }
        guard localParticipant(of: session) != nil else {
            throw HuddleError(.notJoined, "this node is no participant of the session")
        }
        let desk = hub(session).state
        guard desk.asking == nil else {
            throw HuddleError(.refused, "a request for the state is under way")
        }
        try take(CommandType.statePace, \.state, "the state was asked for")
        let asking = StateAsking(number: takeRequest(), now: instant)
        desk.asking = asking
        defer { desk.asking = nil }
        for _ in 0..<Self.attempts {
            asking.beginAttempt(now: instant)
            do {
                _ = try await submit(.requestState, session: session)
            } catch {
                closeRequest(session, incomplete: nil)
                throw error
            }
            watch(asking.number, in: session)
            switch await answer(to: asking, session) {
            case .state(let content, let incomplete):
                return SharedState(
                    content: content,
                    from: asking.provider.flatMap { asking.participants[$0] },
                    incomplete: incomplete.compactMap { asking.participants[$0] }.sorted()
                )
            case .silence: continue
            case .cancelled:
                closeRequest(session, incomplete: nil)
                throw HuddleError(.cancelled, "the wait was cancelled")
            case .over:
                throw isStopped
                    ? .stopped : HuddleError(.noSession, "the participation ended meanwhile")
            }
        }
        closeRequest(session, incomplete: nil)
        return SharedState(content: .empty(.unanswered), from: nil, incomplete: [])
    }

    private func answer(
        to asking: StateAsking,
        _ session: SessionID
    ) async -> StateExchange.Answer {
        let number = asking.number
        return await withTaskCancellationHandler {
            await withCheckedContinuation { asking.wait($0) }
        } onCancel: {
            Task { await self.cancelRequest(number, in: session) }
        }
    }

    private func cancelRequest(_ number: RequestID, in session: SessionID) {
        guard let asking = hubs[session]?.state.asking, asking.number == number else { return }
        asking.fulfil(.cancelled)
    }

    /// Ends the attempt once the lead has been silent for too long.
    private func watch(_ number: RequestID, in session: SessionID) {
        Task { [weak self] in
            while let rest = await self?.patience(with: number, in: session) {
                await self?.sleep(for: rest)
            }
        }
    }

    private func patience(with number: RequestID, in session: SessionID) -> Duration? {
        guard let asking = hubs[session]?.state.asking, asking.number == number,
            !asking.isAnswered
        else { return nil }
        let rest = asking.heard + Self.silence - instant
        guard rest <= .zero else { return rest }
        asking.fulfil(.silence)
        return nil
    }

    /// The request of this node is over: what is held comes to the readers.
    private func closeRequest(_ session: SessionID, incomplete: [ParticipantID]?) {
        guard let desk = hubs[session]?.state, let position = desk.exchange.asked?.request.position
        else { return }
        handOn(desk.exchange.close(incomplete: incomplete), in: session)
        guard desk.exchange.asked != nil else { return }
        // A mark whose pair broke comes no more; nobody is shut out for ever.
        Task { [weak self] in
            await self?.sleep(for: StateSending.told)
            await self?.openGates(session, of: position)
        }
    }

    private func openGates(_ session: SessionID, of position: Position) {
        guard let desk = hubs[session]?.state, desk.exchange.asked?.request.position == position
        else { return }
        desk.exchange.openGates()
    }

    // MARK: The request in the log

    func stateRequested(_ request: StateRequest, in session: SessionID) {
        guard !isStopped,
            let own = engine.room?.session(session)?.participant(of: engine.process)?.id
        else { return }
        let desk = hub(session).state
        guard let provider = request.provider, provider != request.requester else {
            guard request.requester == own else { return }
            desk.asking?.fulfil(.state(.empty(.nobodyElse), incomplete: []))
            return
        }
        if request.requester == own {
            ask(request, in: session, as: own)
        } else if provider == own {
            guard desk.exchange.serve(request, as: own) else { return }
            serveState(session)
        } else if request.present.contains(own) {
            mark(request.position, for: [provider, request.requester], in: session, as: own)
        }
    }

    private func ask(_ request: StateRequest, in session: SessionID, as own: ParticipantID) {
        guard let hub = hubs[session] else { return }
        guard let asking = hub.state.asking, !asking.isAnswered else {
            // Nobody waits for it any more; what the others say of it is no offence.
            return hub.state.exchange.finish(request.position)
        }
        asking.provider = request.provider
        asking.heard = instant
        for participant in participants(of: session) {
            asking.participants[participant.participantID] = participant
        }
        hub.state.exchange.ask(request, as: own)
        let senders = Set(request.present).subtracting([own])
        for channel in hub.dropEarly(from: senders) + hub.state.exchange.takeOpened() {
            reopen(session, channel)
        }
        tellDropped(in: session)
    }

    /// Marks every stream that this participation has sent on, and says how many there are.
    private func mark(
        _ position: Position,
        for targets: [ParticipantID],
        in session: SessionID,
        as own: ParticipantID
    ) {
        let desk = hub(session).state
        let marks = desk.sending.mark(position, for: targets, as: own, now: instant)
        for mark in marks { send(mark, in: session) }
        tell(.streams(marks.count), of: position, to: targets, in: session)
    }

    /// Sends the marks that go before the first message of a stream; called before that is sent.
    func markStream(_ message: OutboundMessage) {
        guard message.lane == .reliable, let own = localParticipant(of: message.session) else {
            return
        }
        let stream = StateSending.Stream(channel: message.channel, priority: message.priority)
        let marks = hub(message.session).state.sending.send(
            on: stream,
            as: own.participantID,
            now: instant
        )
        for mark in marks { send(mark, in: message.session) }
    }

    private func send(_ mark: StateSending.Mark, in session: SessionID) {
        var message = OutboundMessage(session: session, channel: mark.stream.channel, payload: [])
        message.priority = mark.stream.priority
        message.recipients = .only(mark.targets)
        message.mark = mark.mark
        message.acknowledgeAtOnce = true
        handle(.send(takeRequest(), message))
    }

    @discardableResult
    private func tell(
        _ note: StateNote,
        of position: Position,
        to targets: [ParticipantID],
        in session: SessionID,
        isAwaited: Bool = false
    ) -> RequestID {
        var message = OutboundMessage(
            session: session,
            channel: StateNote.channel,
            payload: note.encoded
        )
        // A large state goes beside the short notes, not before them.
        if case .state = note {} else { message.priority = .high }
        message.recipients = .only(targets)
        message.mark = StateMark(position: position, stream: 0)
        message.acknowledgeAtOnce = true
        let request = takeRequest()
        if isAwaited { outcomes[request] = .announced }
        handle(.send(request, message))
        return request
    }

    // MARK: Serving

    /// Goes on with the first request that waits here, if it is time.
    func serveState(_ session: SessionID) {
        guard let hub = hubs[session], !isStopped else { return }
        let desk = hub.state
        guard let first = desk.exchange.serving.first, !first.isClosing else { return }
        tellWaiting(session)
        guard desk.provider != nil else {
            return answer(.nothing(.noProvider, incomplete: []), to: first.request, in: session)
        }
        if desk.exchange.beginWaiting(now: instant) != nil {
            Task { [weak self] in
                await self?.sleep(for: Self.musterTime)
                await self?.serveState(session)
            }
        }
        let since = desk.exchange.serving.first?.since ?? instant
        let isLate = instant - since >= Self.musterTime
        // The readers are asked only once all is there, since what comes later fills them again.
        let isDrained = (first.isMustered || isLate) && hub.isDrained()
        guard let request = desk.exchange.begin(isDrained: isDrained, isLate: isLate),
            let body = desk.provider,
            let own = localParticipant(of: session)
        else { return }
        mark(request.position, for: [request.requester], in: session, as: own.participantID)
        Task { [weak self] in
            let bytes = await body()
            await self?.made(bytes, for: request, in: session)
        }
        Task { [weak self] in
            await self?.sleep(for: Self.closureTime)
            await self?.made(nil, for: request, in: session)
        }
    }

    /// The closure has answered, or has had its time; what comes second finds the request gone.
    private func made(_ bytes: [UInt8]?, for request: StateRequest, in session: SessionID) {
        guard let first = hubs[session]?.state.exchange.serving.first, first.request == request,
            first.isClosing
        else { return }
        let incomplete = first.incomplete.sorted()
        let note: StateNote =
            switch bytes {
            case let bytes? where bytes.count <= SharedState.byteLimit:
                .state(bytes, incomplete: incomplete)
            case .some: .nothing(.tooLarge, incomplete: incomplete)
            case nil: .nothing(.tooLate, incomplete: incomplete)
            }
        answer(note, to: request, in: session)
    }

    private func answer(_ note: StateNote, to request: StateRequest, in session: SessionID) {
        guard let desk = hubs[session]?.state else { return }
        let position = request.position
        let sent = tell(note, of: position, to: [request.requester], in: session, isAwaited: true)
        desk.underWay[position] = request.requester
        Task { [weak self] in
            _ = await self?.outcome(of: sent)
            await self?.arrived(position, in: session)
        }
        endRequest(position, in: session)
    }

    private func arrived(_ position: Position, in session: SessionID) {
        hubs[session]?.state.underWay[position] = nil
    }

    /// A request is over: what was held because of it comes to the readers, and the next one is looked at.
    private func endRequest(_ position: Position, in session: SessionID) {
        guard let (_, released) = hubs[session]?.state.exchange.end(position) else { return }
        handOn(released, in: session)
        serveState(session)
    }

    /// Tells those who wait, now and then, that the lead lives.
    private func tellWaiting(_ session: SessionID) {
        guard let desk = hubs[session]?.state, !desk.isTelling else { return }
        desk.isTelling = true
        Task { [weak self] in
            repeat {
                await self?.sleep(for: Self.tellingInterval)
            } while await self?.tellOnce(session) == true
        }
    }

    /// Tells all who wait; `false` once nobody does.
    private func tellOnce(_ session: SessionID) -> Bool {
        guard let desk = hubs[session]?.state, !isStopped else { return false }
        let waiting =
            desk.exchange.serving.map { ($0.request.position, $0.request.requester) }
            + desk.underWay.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        desk.isTelling = !waiting.isEmpty
        for (position, requester) in waiting {
            tell(.busy, of: position, to: [requester], in: session)
        }
        return desk.isTelling
    }

    // MARK: Messages

    /// Whether a message is the application's to read now; if not, it was kept, dropped or understood.
    func mayBeRead(_ message: InboundMessage) -> Bool {
        guard let hub = hubs[message.session] else { return message.mark == nil }
        guard message.mark != nil || !hub.state.exchange.isIdle else { return true }
        let sender = engine.room?.session(message.session)?.participant(message.from)
        let desk = hub.state
        if message.mark != nil, message.from == desk.exchange.asked?.request.provider,
            message.mark?.position == desk.exchange.asked?.request.position
        {
            desk.asking?.heard = instant
        }
        switch desk.exchange.take(message, joinedAt: sender?.joinedAt) {
        case .deliver: return true
        case .keep(let mustWait):
            if mustWait { holdBack(message.session, message.channel) }
        case .covered: acknowledge(message, isTaken: true)
        case .answered(let answer):
            // After the lead's silence the next request is on its way, and its state the one to take.
            guard let asking = desk.asking, !asking.isAnswered,
                case .state(_, let incomplete) = answer
            else { return false }
            closeRequest(message.session, incomplete: incomplete)
            asking.fulfil(answer)
        }
        if message.mark != nil { serveState(message.session) }
        return false
    }

    /// Hands on what was held; a further mark among it may hold the rest again.
    private func handOn(_ messages: [InboundMessage], in session: SessionID) {
        for message in messages where mayBeRead(message) { deliver(message) }
        for channel in hubs[session]?.state.exchange.takeOpened() ?? [] { reopen(session, channel) }
    }

    /// This node's participation is over: nothing is held for it any more.
    func stateEnded(in session: SessionID) {
        guard let desk = hubs[session]?.state else { return }
        let full = desk.exchange.streams.full.sorted()
        desk.end()
        for channel in full { reopen(session, channel) }
    }

    /// A participant is gone: nothing is waited for of it, or by it.
    func stateGone(_ participant: ParticipantID, from session: SessionID) {
        guard let desk = hubs[session]?.state, !desk.exchange.isIdle else { return }
        for position in desk.exchange.gone(participant) { endRequest(position, in: session) }
        serveState(session)
    }
}
