import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

// Moves go to the arbiter by the reliable lane, its answers come to all by the room's log
// (`40-groupactivities.md` §9.4). Whoever proposed follows the log to know whom to send to.

extension Node {
    /// The channel that carries moves: `number u64 · bytes`.
    private static let moveChannel = "huddle.moves"
    /// How long after a failure the same is tried again.
    private static let retryTime: Duration = .milliseconds(250)

    func arbiter(of session: SessionID) -> Participant? {
        let found = engine.room?.session(session)
        return found?.arbiter.flatMap { found?.participant($0) }.map(participant)
    }

    // MARK: Proposing

    func propose(
        _ payload: [UInt8],
        in session: SessionID,
        within timeout: Duration
    ) async throws(ArbiterError) -> LogEntry {
        guard payload.count <= Arbiter.moveLimit else {
            throw .tooLarge(size: payload.count, limit: Arbiter.moveLimit)
        }
        guard !isStopped else { throw .failed(.stopped) }
        guard localParticipant(of: session) != nil else { throw .failed(.notJoined) }
        guard engine.room?.session(session)?.leadMode != LeadMode.none else { throw .noArbiter }
        let desk = hub(session).arbiter
        guard desk.asking.count < Arbiter.waitingLimit else {
            throw .failed(
                HuddleError(
                    .tooFast,
                    "\(Arbiter.waitingLimit) moves wait for their answers already"
                )
            )
        }
        let asking = MoveAsking(number: takeRequest(), payload: payload)
        desk.asking.append(asking)
        sendMove(in: session)
        let number = asking.number
        let limit = Task { [weak self] in
            await self?.sleep(for: timeout)
            await self?.giveUp(number, .timedOut, in: session)
        }
        defer { limit.cancel() }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { asking.wait($0) }
        } onCancel: {
            Task { await self.giveUp(number, .cancelled, in: session) }
        }
        desk.asking.removeAll { $0 === asking }
        sendMove(in: session)
        return try answer.get()
    }

    private func giveUp(_ number: UInt64, _ reason: ArbiterError, in session: SessionID) {
        let asking = hubs[session]?.arbiter.asking.first { $0.number == number }
        asking?.fulfil(.failure(reason))
    }

    /// Sends this node's first move to whoever decides now, unless it was sent there.
    private func sendMove(in session: SessionID) {
        guard !isStopped, let asking = hubs[session]?.arbiter.asking.first,
            let room = engine.room?.session(session),
            let own = room.participant(of: engine.process)?.id
        else { return }
        let move = MoveID(participant: own, number: asking.number)
        guard !room.isDecided(move) else {
            // The answer came while this node did not follow the log.
            let record = room.log.entries.last { $0.draft.answers == move }
            return asking.fulfil(
                record.map { .success(LogEntry($0)) } ?? .failure(.refused(""))
            )
        }
        guard room.leadMode != .none else { return asking.fulfil(.failure(.noArbiter)) }
        guard let arbiter = room.arbiter, asking.sentTo != arbiter else { return }
        asking.sentTo = arbiter
        guard arbiter != own else {
            hubs[session]?.arbiter.take(.init(move: move, payload: asking.payload))
            return decideMoves(in: session)
        }
        var writer = ByteWriter(capacity: asking.payload.count + 8)
        writer.write(asking.number)
        writer.write(asking.payload)
        var message = OutboundMessage(
            session: session,
            channel: Self.moveChannel,
            payload: writer.bytes
        )
        message.recipients = .only([arbiter])
        message.acknowledgeAtOnce = true
        let request = takeRequest()
        outcomes[request] = .announced
        handle(.send(request, message))
        Task { [weak self] in
            guard let report = await self?.outcome(of: request), !report.failures.isEmpty else {
                return
            }
            await self?.sleep(for: Self.retryTime)
            await self?.sendAgain(move, to: arbiter, in: session)
        }
    }

    private func sendAgain(_ move: MoveID, to arbiter: ParticipantID, in session: SessionID) {
        guard let asking = hubs[session]?.arbiter.asking.first, asking.number == move.number,
            asking.sentTo == arbiter
        else { return }
        asking.sentTo = nil
        sendMove(in: session)
    }

    // MARK: Deciding

    func decideMoves(
        in session: SessionID,
        with body: (@Sendable (Move) async -> MoveDecision)?
    ) {
        guard !isStopped else { return }
        hub(session).arbiter.decider = body
        decideMoves(in: session)
    }

    /// Takes a message that carries a move; `false` if it is none.
    func hearMove(_ message: InboundMessage) -> Bool {
        guard message.lane == .reliable, message.channel == Self.moveChannel else { return false }
        var reader = ByteReader(message.payload.raw)
        // What is no move has nobody who waits for its answer.
        guard let number = try? reader.read(UInt64.self),
            message.payload.count - reader.offset <= Arbiter.moveLimit
        else { return true }
        hub(message.session).arbiter.take(
            .init(
                move: MoveID(participant: message.from, number: number),
                payload: Array(message.payload.dropFirst(reader.offset))
            )
        )
        decideMoves(in: message.session)
        return true
    }

    /// Decides the next move, if this node's participant is to and its program has read the log.
    func decideMoves(in session: SessionID) {
        guard !isStopped, let hub = hubs[session], !hub.arbiter.isDeciding,
            let decider = hub.arbiter.decider,
            let room = engine.room?.session(session),
            let arbiter = room.arbiter, arbiter == room.participant(of: engine.process)?.id,
            hub.log.isDrained(),
            let proposal = hub.arbiter.next(in: room),
            let mover = room.participant(proposal.move.participant)
        else { return }
        hub.arbiter.isDeciding = true
        let move = Move(from: participant(mover), payload: proposal.payload)
        Task { [weak self] in
            let decision = await decider(move)
            await self?.answer(proposal.move, with: decision, in: session)
        }
    }

    /// Has the room order the answer; goes on until it did or another's counts.
    private func answer(
        _ move: MoveID,
        with decision: MoveDecision,
        in session: SessionID
    ) async {
        let command = decision.command(for: move, number: takeRequest())
        while !isStopped, let room = engine.room?.session(session), !room.isDecided(move),
            room.participant(move.participant) != nil,
            let arbiter = room.arbiter, arbiter == room.participant(of: engine.process)?.id
        {
            do {
                _ = try await submit(command, session: session)
                break
            } catch {
                // The room's word is final; what it did not hear is said again.
                guard error.refusal == nil else { break }
                await sleep(for: Self.retryTime)
            }
        }
        hubs[session]?.arbiter.isDeciding = false
        decideMoves(in: session)
    }

    // MARK: What the room's log says

    func answered(_ move: MoveID, _ answer: MoveAsking.Answer, in session: SessionID) {
        guard let own = localParticipant(of: session)?.participantID, own == move.participant,
            let asking = hubs[session]?.arbiter.asking.first(where: { $0.number == move.number })
        else { return }
        asking.fulfil(answer)
    }

    /// Who decides may be another now.
    func followArbiter(in session: SessionID) {
        sendMove(in: session)
        decideMoves(in: session)
    }
}

extension MoveDecision {
    fileprivate func command(for move: MoveID, number: UInt64) -> RoomCommand {
        switch self {
        case .accept(let result) where result.count > Arbiter.moveLimit:
            .refuseMove(
                move,
                note: "its result has \(result.count) bytes, and the limit is \(Arbiter.moveLimit)"
            )
        case .accept(let result):
            .append(LogDraft(number: number, answers: move, payload: result))
        case .refuse(let reason):
            .refuseMove(move, note: SafeText.clean(reason, toBytes: Arbiter.reasonLimit))
        }
    }
}
