import MeshConsensus
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

/// What the engines tell their applications, and what must be true of it.
extension EngineRun {
    /// Takes one event of a life.
    func take(_ event: Event, of life: Life) throws(Violation) {
        switch event {
        case .completed(let request, let result):
            try complete(request, result, life)
        case .readReady(let request, let result):
            guard pending.removeValue(forKey: request) != nil else {
                throw Violation("a command is answered once", "\(life) read \(request)")
            }
            guard case .success(let position) = result else { return }
            report.figures.reads += 1
            try reads.end(request, at: position)
            look(request, life)
        case .sendOutcome(let request, let outcome): sent(request, outcome)
        case .message(let message): try receive(message, life)
        case .room(let change): try note(change, life)
        case .roomRecord(let record): records[life.node] = record
        case .roomPhase(let phase): try note(phase, life)
        case .evidence(let against):
            throw Violation(Equivocation.invariant, "\(life) against \(against)")
        case .branchDiscarded(let lost):
            world.note("discarded \(lost.count) writes", node: life.node)
            // A merge may bring back who had left on the branch that lost.
            lifecycle.replaceState(of: life)
            for write in lost { discard(write) }
        case .merged(let report):
            world.note("merged \(report.loser) into \(report.winner)", node: life.node)
            note(report)
            // A participation that had been taken out may live on the branch that was merged.
            lifecycle.replaceState(of: life)
        case .inviteOpened(let request, _), .inviteRefused(let request, _), .left(let request):
            answer(request, event)
        case .joined(let request): answer(request, event)
        case .joinFailed(let request, let why):
            world.note("join failed \(why)", node: life.node)
            answer(request, event)
            // A person would try again, and so does the run.
            if world.time > Self.start, records[life.node] != nil { retries.insert(life.node) }
        case .view, .inviteUsed, .inviteBurned, .accepted, .settledInPart, .content, .contentTaken,
            .peer:
            break
        }
    }

    private func answer(_ request: UInt64, _ event: Event) {
        pending[request] = nil
        answers[request] = event
    }

    private func complete(
        _ request: UInt64,
        _ result: Result<Committed, SubmitFailure>,
        _ life: Life
    ) throws(Violation) {
        guard let (_, kind) = pending.removeValue(forKey: request) else {
            throw Violation("a command is answered once", "\(life) request \(request)")
        }
        if joining[life.node] == request { joining[life.node] = nil }
        guard case .success(let committed) = result else { return }
        switch committed.result {
        case .refused(.versionMismatch(let current)):
            let outcome = current == nil ? Linearizability.Outcome.held(0) : .refused
            return history.answer(request, outcome, at: committed.position)
        case .refused: return history.void(request)
        case .done, .joined, .stored, .counted, .merged, .appended:
            history.answer(request, .done, at: committed.position)
        }
        let position = committed.position
        let holders = try acknowledged(position)
        switch kind {
        case .write(let write): writes.acknowledge(write, at: position, holders: holders)
        case .compareAndSet(let expected, let value):
            try registers.succeed(expected: expected, value: value, at: position, holders: holders)
        case .read, .send, .control: break
        }
    }

    /// A read was answered: what the reader sees now.
    private func look(_ request: UInt64, _ life: Life) {
        guard let process = world.nodes[life.node].process,
            let values = process.room?.session(session)?.values
        else { return }
        var number: UInt64 = 0
        if case .bytes(let bytes)? = values[Self.sharedKey]?.content {
            number = Self.number(bytes) ?? 0
        }
        history.answer(request, .held(number), at: process.applied)
    }

    private func sent(_ request: UInt64, _ outcome: SendReport) {
        guard let (life, kind) = pending.removeValue(forKey: request),
            case .send(let number, let channel, let receivers) = kind
        else { return }
        if outcome.refusal != nil {
            for receiver in receivers.values.sorted() {
                reliable.fail(number, on: stream(to: receiver, from: life, channel))
            }
        }
        for failure in outcome.failures {
            guard let receiver = receivers[failure.participant] else { continue }
            reliable.fail(number, on: stream(to: receiver, from: life, channel))
        }
    }

    private func receive(_ message: InboundMessage, _ life: Life) throws(Violation) {
        let probe: ProbeMessage
        do {
            probe = try ProbeMessage(message.payload)
        } catch {
            throw Violation("a message arrives as it was sent", "\(life) got other bytes: \(error)")
        }
        let room = world.nodes[life.node].process?.room
        let process = room?.session(session)?.participant(message.from)?.process
        if let process, lives[process] != probe.sender {
            throw Violation(
                "a message is from the participant it names",
                "\(life) got one of \(probe.sender) in the name of another"
            )
        }
        try lifecycle.receive(from: message.from, at: life)
        switch message.lane {
        case .reliable:
            try reliable.receive(
                probe.number,
                on: stream(to: life, from: probe.sender, probe.stream)
            )
        case .fast:
            try fast.receive(probe.number, key: message.key, from: probe.sender, at: life)
        }
    }

    private func note(_ change: RoomEvent, _ life: Life) throws(Violation) {
        switch change {
        case .participantJoined(_, let participant):
            try lifecycle.join(participant.id, seenBy: life)
        case .participantReturned(_, let participant):
            lifecycle.replaceState(of: life)
            try lifecycle.join(participant.id, seenBy: life)
        case .participantLeft(_, let participant, let reason):
            if reason == .unobserved { lifecycle.replaceState(of: life) }
            try lifecycle.leave(participant.id, seenBy: life)
            if lives[participant.process] == life { endParticipation(of: life) }
            world.note(
                "participant of \(lives[participant.process]?.description ?? "?") left: \(reason)",
                node: life.node
            )
        case .sessionEnded(_, let reason):
            world.note("session ended: \(reason)", node: life.node)
            if reason == .unobserved { lifecycle.replaceState(of: life) }
            lifecycle.endSession(seenBy: life)
            endParticipation(of: life)
        case .leadChanged(_, let old, let new, let why):
            world.note(
                "lead \(old?.description ?? "nobody") -> \(new?.description ?? "nobody") \(why)",
                node: life.node
            )
        case .memberJoined, .memberAway, .memberBack, .memberLeft, .profileChanged,
            .sessionStarted, .activityChanged, .optionsChanged, .participantAway,
            .participantBack, .leadModeChanged, .stateRequested, .upgradeNeeded, .conflictFound,
            .conflictSettled, .attachmentAdded, .attachmentRemoved, .logAppended, .logRolledBack,
            .moveRefused:
            break
        case .valueChanged(_, _, let stored, _): note(stored)
        }
    }

    /// The log shows where a write takes effect, also where nobody hears of it.
    private func note(_ stored: StoredValue?) {
        guard let stored, case .bytes(let bytes) = stored.content,
            let number = Self.number(bytes), let request = requests[number]
        else { return }
        history.apply(request, at: stored.version)
    }

    /// A node's own part in the session is over, as it knows itself: by the room's log, or because
    /// its branch lost a merge.
    private func endParticipation(of life: Life) {
        reliable.forgive { $0.sender == life || $0.receiver == life }
    }

    private func note(_ phase: RoomPhase, _ life: Life) throws(Violation) {
        world.note("room \(phase)", node: life.node)
        guard case .left = phase else { return }
        end(life)
        lifecycle.forget(life)
    }

    private func discard(_ lost: DiscardedWrite) {
        switch lost.command {
        case .put(let key, let value)?:
            guard let owner = Self.owner(key), let number = Self.number(value) else { return }
            writes.discard(.init(writer: owner.life, key: owner.key, number: number))
        case .compareAndSet(_, _, let value)?:
            if let number = Self.number(value) { registers.discard(number) }
        default: break
        }
    }
}
