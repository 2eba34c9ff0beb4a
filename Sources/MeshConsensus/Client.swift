import MeshWire

/// What this process asked of the room and has no answer to.
struct Client: Sendable {
    /// A command on its way.
    struct Pending: Sendable {
        var ticket: Ticket
        var command: Command
        var sentAt: Instant
        var interval: Duration
        /// The leader's answer, waiting until this process has applied that far.
        var answer: Completion?
    }

    struct Read: Sendable {
        var ticket: Ticket
        var level: ReadLevel
        var after: Position
        /// Ready once applied this far.
        var ready: Position?
        var sentAt: Instant
    }

    /// Ascending by sequence.
    var pending: [Pending] = []
    var reads: [Read] = []
    var lastTicket: UInt64 = 0
    var lastSequence: UInt64 = 0
    var epoch: Instant

    init(now: Instant) { epoch = now }

    var isIdle: Bool { pending.isEmpty && reads.isEmpty }

    mutating func ticket() -> Ticket {
        lastTicket += 1
        return Ticket(value: lastTicket)
    }
}

// The caller's side of commands and reads, and the leader's answers (`30-consensus.md` §8).
extension ConsensusCore {
    /// The lowest of my sequences that has no answer and no place in the history: the leader keeps the
    /// order from here on.
    ///
    /// What waits to be confirmed holds up nothing: in a part that is not primary that may take long.
    var clientFloor: UInt64 {
        let open = client.pending.first {
            !replica.isUnconfirmed($0.command.origin, $0.command.sequence)
        }
        return open?.command.sequence ?? client.lastSequence &+ 1
    }

    /// How many of my commands are looked at again at once, besides those that wait to be confirmed.
    private var resendWindow: Int { 64 + replica.unconfirmed.count }

    mutating func submit(_ command: Command, now time: Instant) throws(SubmitError) -> Ticket {
        enter(time)
        if role == .suspended { throw suspension }
        guard role == .member || role == .leader, departure == nil else { throw .notJoined }
        guard command.payload.count <= Limits.commandBytes else {
            throw .tooLarge(limit: Limits.commandBytes)
        }
        guard command.origin == Origin(me) else { throw .badSignature }
        guard command.sequence > client.lastSequence else { throw .sequenceReused }
        guard client.pending.count < ConsensusLimits.pending else { throw .busy }
        let ticket = client.ticket()
        client.lastSequence = command.sequence
        client.pending.append(
            .init(
                ticket: ticket,
                command: command,
                sentAt: now - .seconds(1),
                interval: .zero,
                answer: nil
            )
        )
        tickClient()
        return ticket
    }

    mutating func read(_ level: ReadLevel, after: Position?, now time: Instant) -> Ticket {
        enter(time)
        let ticket = client.ticket()
        if client.reads.count >= ConsensusLimits.reads { client.reads.removeFirst() }
        client.reads.append(
            .init(
                ticket: ticket,
                level: level,
                after: after ?? .zero,
                ready: level == .local ? after ?? .zero : nil,
                sentAt: now - .seconds(1)
            )
        )
        tickClient()
        checkReads()
        if role == .suspended { refuseReads() }
        return ticket
    }

    /// Answers that no quorum is there that could tell what the present state is.
    mutating func refuseReads() {
        let error = suspension
        for read in client.reads where read.level == .linearizable && read.ready == nil {
            output.events.append(.readRefused(read.ticket, error))
        }
        client.reads.removeAll { $0.level == .linearizable && $0.ready == nil }
    }

    /// When ``tickClient()`` has something to do, as things stand; a change of them ticks by itself.
    var nextClientDue: Instant {
        guard let view, isMember else { return .distantFuture }
        var next = Instant.distantFuture
        if isLeading {
            guard isAdmitting else { return .distantFuture }
            for pending in client.pending.prefix(resendWindow) {
                let key = Leading.CommandKey(
                    origin: pending.command.origin,
                    sequence: pending.command.sequence
                )
                // What is in the log waits for its commit, not for time.
                if leading?.sequenced[key] == nil, !replica.isUnconfirmed(key.origin, key.sequence)
                {
                    return lastAdvance + .milliseconds(5)
                }
            }
            for read in client.reads where read.ready == nil {
                next = min(next, read.sentAt + .milliseconds(60) + .nanoseconds(1))
            }
            return next
        }
        guard let leader = view.leader, isActive || isViewCommitted else { return .distantFuture }
        for pending in client.pending.prefix(resendWindow) where pending.answer == nil {
            next = min(next, pending.sentAt + pending.interval)
        }
        let patience = clientPatience(leader)
        for read in client.reads where read.ready == nil {
            next = min(next, read.sentAt + patience)
        }
        return next
    }

    /// How long the leader may take to answer before it is asked again.
    private func clientPatience(_ leader: ProcessID) -> Duration {
        max(.milliseconds(20), (links[leader.tag]?.timeout ?? .zero) * 2)
    }

    /// Sends what is due again, oldest first, at most 64 commands at once.
    mutating func tickClient() {
        guard !client.isIdle, let view, isMember else { return }
        if isLeading {
            guard isAdmitting else { return }
            let floor = clientFloor
            for pending in client.pending.prefix(resendWindow) where pending.sentAt < now {
                let key = Leading.CommandKey(
                    origin: pending.command.origin,
                    sequence: pending.command.sequence
                )
                guard leading?.sequenced[key] == nil else { continue }
                let status = sequence(
                    pending.command,
                    floor: min(floor, pending.command.sequence),
                    for: nil
                )
                if let status { finish(pending.command.sequence, status) }
            }
            let due = client.reads.filter {
                $0.ready == nil && now - $0.sentAt > .milliseconds(60)
            }
            for read in due {
                if let place = client.reads.firstIndex(where: { $0.ticket == read.ticket }) {
                    client.reads[place].sentAt = now
                }
                // Alone, the answer comes at once and takes the read out of the list.
                admitRead(nil, read.ticket.value)
            }
            return
        }
        guard let leader = view.leader, isActive || isViewCommitted else { return }
        let floor = clientFloor
        let patience = clientPatience(leader)
        for index in client.pending.indices.prefix(resendWindow) {
            let pending = client.pending[index]
            guard now - pending.sentAt >= pending.interval, pending.answer == nil else { continue }
            client.pending[index].sentAt = now
            client.pending[index].interval = min(
                max(patience, pending.interval * 2),
                .milliseconds(240)
            )
            let command = pending.command
            send(.propose(floor: min(floor, command.sequence), command), to: leader)
        }
        for index in client.reads.indices
        where client.reads[index].ready == nil && now - client.reads[index].sentAt >= patience {
            client.reads[index].sentAt = now
            send(.readIndex(nonce: client.reads[index].ticket.value), to: leader)
        }
    }

    /// A new leader or a usable view: everything is due.
    mutating func retryPending() {
        for index in client.pending.indices {
            client.pending[index].sentAt = now - .seconds(1)
            client.pending[index].interval = .zero
            client.pending[index].answer = nil
        }
        for index in client.reads.indices where client.reads[index].level == .linearizable {
            client.reads[index].sentAt = now - .seconds(1)
            client.reads[index].ready = nil
        }
        tickClient()
    }

    mutating func failPending(_ error: SubmitError) {
        for pending in client.pending {
            output.events.append(.completed(pending.ticket, .failure(error)))
        }
        client.pending = []
        client.reads = []
    }

    // MARK: The leader's side

    mutating func receivePropose(
        _ floor: UInt64,
        _ command: Command,
        _ header: MessageHeader,
        _ process: ProcessID
    ) {
        guard let view, isMember, let origin = view.member(origin: command.origin)?.process else {
            return
        }
        guard isLeading else {
            // Passed on once, to the leader, who answers the origin itself.
            if header.flags & MessageHeader.forwarded == 0, let leader = view.leader,
                leader != process
            {
                send(
                    .propose(floor: floor, command),
                    to: leader,
                    epoch: nil,
                    flags: MessageHeader.forwarded
                )
            }
            return
        }
        guard isUsable else { return }
        order(command, floor: floor, for: origin)
        // Those that overtook it are next.
        var next = Leading.CommandKey(origin: command.origin, sequence: command.sequence)
        while next.sequence < .max, leading?.held.isEmpty == false,
            leading?.sequenced[next] != nil || replica.knows(next.origin, next.sequence)
        {
            next.sequence += 1
            guard let held = leading?.held.removeValue(forKey: next) else { break }
            order(held.command, floor: next.sequence, for: held.process)
        }
    }

    /// Sequences a member's command and answers what is refused.
    private mutating func order(_ command: Command, floor: UInt64, for origin: ProcessID) {
        if let status = sequence(command, floor: floor, for: origin) {
            reply(command.sequence, status, nil, to: origin)
        }
    }

    /// Orders a command, or answers why not; `nil`: it is on its way, or is retried by its origin.
    private mutating func sequence(
        _ command: Command,
        floor: UInt64,
        for process: ProcessID?
    ) -> Message.Reply.Status? {
        guard let view, let leader = leading, isLeading, isUsable else { return nil }
        let key = Leading.CommandKey(origin: command.origin, sequence: command.sequence)
        if replica.isUnconfirmed(command.origin, command.sequence) {
            if let process { wait(key, replica.applied.index, process, command.level) }
            return nil
        }
        switch replica.origins.answer(command.origin, command.sequence) {
        case .expired: return .expired
        case .refused: return .notPrimary
        case .done(let outcome):
            if let process {
                wait(key, outcome.position.index, process, command.level)
                answerWaiters()
            }
            return nil
        case .unknown: break
        }
        if let index = leader.sequenced[key] {
            if let process { wait(key, index, process, command.level) }
            return nil
        }
        guard isAdmitting else { return nil }
        if command.level == .durable { return .noStore }
        if command.requiresPrimary, !isPrimary { return .notPrimary }
        guard !command.requiresPrimary || unconfirmedCount < ConsensusLimits.unconfirmed else {
            return .busy
        }
        guard leader.sequenced.count < ConsensusLimits.uncommitted else { return .busy }
        // Each origin's commands keep their order: what stands between its oldest open one and this
        // must be here already.
        guard command.sequence >= floor, command.sequence - floor <= UInt64(ConsensusLimits.pending)
        else { return nil }
        for earlier in floor..<command.sequence {
            let earlierKey = Leading.CommandKey(origin: command.origin, sequence: earlier)
            if leader.sequenced[earlierKey] == nil, !replica.knows(command.origin, earlier) {
                if let process {
                    if leader.held.count < ConsensusLimits.uncommitted {
                        leading?.held[key] = .init(command: command, process: process)
                    }
                    return nil
                }
                // My own gaps are sequences that were never submitted.
                guard !client.pending.contains(where: { $0.command.sequence == earlier }) else {
                    return nil
                }
            }
        }
        guard keepsPace(command) else { return .busy }
        guard verify(command) else {
            statistics.badSignatures += 1
            return .badSignature
        }
        takePace(command)
        let position = Position(epoch: view.epoch, index: log.head + 1)
        log.append(Entry(position: position, body: .command(command)), digest: digest)
        log.markVerified(position.index)
        leading?.sequenced[key] = position.index
        if command.level == .sequenced, !command.requiresPrimary {
            if let process {
                reply(
                    command.sequence,
                    .done,
                    .init(sequence: 0, position: position, result: []),
                    to: process
                )
            } else {
                completeEarly(command.sequence, position)
            }
        } else if let process {
            wait(key, position.index, process, command.level)
        }
        updateCommit()
        return nil
    }

    private func paceKey(of command: Command) -> Leading.PaceKey? {
        configuration.paces[command.type].map {
            Leading.PaceKey(nodeID: command.origin.nodeID, pace: $0)
        }
    }

    /// Whether the log may take a command of this type of this node by now.
    private func keepsPace(_ command: Command) -> Bool {
        guard let key = paceKey(of: command), let end = leading?.paced[key] else { return true }
        let slack = Duration.nanoseconds(
            key.pace.interval.wholeNanoseconds * Int64(key.pace.burst) / 2
        )
        return key.pace.next(after: end) - slack <= now
    }

    private mutating func takePace(_ command: Command) {
        guard let key = paceKey(of: command), var paced = leading?.paced else { return }
        leading?.paced = [:]
        if paced.count >= 4 * Limits.members {
            // order: each is judged by itself
            paced = paced.filter { $0.value > now }
        }
        paced[key] = key.pace.taking(paced[key] ?? now, at: now)
        leading?.paced = paced
    }

    /// How many commands wait to be confirmed, or will when what is in the log is applied.
    private var unconfirmedCount: Int {
        var count = replica.unconfirmed.count
        var index = replica.applied.index + 1
        while index <= log.head, let entry = log[index] {
            if entry.command?.requiresPrimary == true { count += 1 }
            index += 1
        }
        return count
    }

    private mutating func wait(
        _ key: Leading.CommandKey,
        _ index: UInt64,
        _ process: ProcessID,
        _ level: WriteLevel
    ) {
        guard let leader = leading, leader.waiters.count < ConsensusLimits.waiters,
            !leader.waiters.contains(where: { $0.key == key })
        else { return }
        leading?.waiters.append(.init(index: index, process: process, key: key, level: level))
    }

    /// What every member of the view holds.
    private var heldByAll: UInt64 {
        guard let members = leading?.progress.values else { return 0 }
        return members.map { $0.isInstalled ? $0.match : 0 }.min() ?? log.head
    }

    mutating func answerWaiters() {
        guard let waiters = leading?.waiters, isViewCommitted else { return }
        if !waiters.isEmpty {
            let all = heldByAll
            var left: [Leading.Waiter] = []
            for waiter in waiters {
                guard waiter.index <= commit else {
                    left.append(waiter)
                    continue
                }
                guard !replica.isUnconfirmed(waiter.key.origin, waiter.key.sequence) else {
                    left.append(waiter)
                    continue
                }
                switch replica.origins.answer(waiter.key.origin, waiter.key.sequence) {
                case .done(let outcome)
                where waiter.level == .all && outcome.position.index > all:
                    left.append(waiter)
                case .done(let outcome):
                    reply(waiter.key.sequence, .done, outcome, to: waiter.process)
                case .refused:
                    reply(waiter.key.sequence, .notPrimary, nil, to: waiter.process)
                case .expired, .unknown:
                    reply(waiter.key.sequence, .expired, nil, to: waiter.process)
                }
            }
            leading?.waiters = left
        }
        completeOwnAll()
        completeReads()
    }

    private mutating func reply(
        _ sequence: UInt64,
        _ status: Message.Reply.Status,
        _ outcome: Origins.Outcome?,
        to process: ProcessID
    ) {
        send(
            .reply(
                .init(
                    sequence: sequence,
                    status: status,
                    view: view?.epoch ?? .zero,
                    position: outcome?.position ?? .zero,
                    isPrimary: isPrimary,
                    result: outcome?.result ?? []
                )
            ),
            to: process
        )
    }

    // MARK: Answers

    mutating func receiveReply(_ reply: Message.Reply) {
        guard
            let place = client.pending.firstIndex(where: { $0.command.sequence == reply.sequence })
        else { return }
        guard reply.status == .done else { return finish(reply.sequence, reply.status) }
        client.pending[place].answer = Completion(
            position: reply.position,
            result: reply.result,
            isPrimary: reply.isPrimary
        )
        if client.pending[place].command.level == .sequenced {
            completeEarly(reply.sequence, reply.position)
        } else {
            completeAnswered()
        }
    }

    private mutating func finish(_ sequence: UInt64, _ status: Message.Reply.Status) {
        let error: SubmitError
        switch status {
        case .done, .busy, .notMember: return
        case .badSignature: error = .badSignature
        case .notPrimary: error = .notPrimary
        case .expired: error = .originExpired
        case .noStore: error = .noStore
        }
        complete(sequence, .failure(error))
    }

    private mutating func complete(_ sequence: UInt64, _ result: Result<Completion, SubmitError>) {
        guard let place = client.pending.firstIndex(where: { $0.command.sequence == sequence })
        else { return }
        let pending = client.pending.remove(at: place)
        output.events.append(.completed(pending.ticket, result))
    }

    private mutating func completeEarly(_ sequence: UInt64, _ position: Position) {
        complete(
            sequence,
            .success(.init(position: position, result: [], isPrimary: isPrimary))
        )
    }

    /// Answers that this process has applied up to.
    private mutating func completeAnswered() {
        for pending in client.pending {
            if let answer = pending.answer, answer.position <= appliedPosition {
                complete(pending.command.sequence, .success(answer))
            }
        }
    }

    /// A command of mine was applied here: at level majority that is its answer.
    mutating func completeOwn(_ command: Command) {
        guard command.origin == Origin(me), command.level != .all,
            client.pending.contains(where: { $0.command.sequence == command.sequence }),
            case .done(let outcome) = replica.origins.answer(command.origin, command.sequence)
        else { return }
        complete(
            command.sequence,
            .success(
                .init(
                    position: outcome.position,
                    result: outcome.result,
                    isPrimary: replica.view?.primary ?? false
                )
            )
        )
    }

    /// The leader's own commands: those of level `all` that all hold, and retries of applied ones.
    private mutating func completeOwnAll() {
        guard isLeading, !client.pending.isEmpty else { return }
        let all = heldByAll
        for pending in client.pending {
            guard
                case .done(let outcome) = replica.origins.answer(
                    pending.command.origin,
                    pending.command.sequence
                ),
                pending.command.level != .all || outcome.position.index <= all
            else { continue }
            complete(
                pending.command.sequence,
                .success(
                    .init(position: outcome.position, result: outcome.result, isPrimary: isPrimary)
                )
            )
        }
    }

    // MARK: Reads

    mutating func receiveReadIndex(_ nonce: UInt64, _ process: ProcessID) {
        guard isAdmitting else { return }
        admitRead(process, nonce)
    }

    /// Notes a read at the present commit; a quorum's answer to the next heartbeat confirms it.
    private mutating func admitRead(_ process: ProcessID?, _ nonce: UInt64) {
        guard let leader = leading, leader.reads.count < ConsensusLimits.waiters,
            !leader.reads.contains(where: { $0.process == process && $0.nonce == nonce })
        else { return }
        leading?.reads.append(
            .init(
                process: process,
                nonce: nonce,
                sequence: leader.sequence &+ 1,
                position: replica.applied
            )
        )
        leading?.nextFullHeartbeat = now
        if leader.progress.isEmpty { completeReads() } else { leading?.nextHeartbeat = now }
    }

    mutating func completeReads() {
        guard let reads = leading?.reads, !reads.isEmpty, isUsable else { return }
        var left: [Leading.LeaderRead] = []
        for read in reads {
            guard hasMajority({ $0.answered >= read.sequence && $0.promised <= promised }) else {
                left.append(read)
                continue
            }
            if let process = read.process {
                send(.readAnswer(nonce: read.nonce, read.position), to: process)
            } else {
                confirmRead(read.nonce, read.position)
            }
        }
        leading?.reads = left
        checkReads()
    }

    mutating func receiveReadAnswer(_ nonce: UInt64, _ position: Position, _ process: ProcessID) {
        confirmRead(nonce, position)
        checkReads()
    }

    private mutating func confirmRead(_ nonce: UInt64, _ position: Position) {
        for index in client.reads.indices
        where client.reads[index].ticket.value == nonce
            && client.reads[index].level == .linearizable
        {
            client.reads[index].ready = max(position, client.reads[index].after)
        }
    }

    /// Hands out the reads whose position is applied, and answers that waited for it.
    mutating func checkReads() {
        if !client.pending.isEmpty { completeAnswered() }
        guard !client.reads.isEmpty else { return }
        var left: [Client.Read] = []
        for read in client.reads {
            if let ready = read.ready, ready <= appliedPosition {
                output.events.append(.readReady(read.ticket, appliedPosition))
            } else {
                left.append(read)
            }
        }
        client.reads = left
    }
}
