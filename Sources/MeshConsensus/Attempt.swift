import MeshWire

/// One try of this process to form a view.
struct Attempt: Sendable {
    enum Phase: Sendable {
        /// Asks whether the others would promise; nothing has changed yet.
        case asking
        /// Collects promises.
        case preparing
        /// Fetches what the best promiser has and I lack.
        case flushing
        /// Waits to begin again above a promise that stood in the way.
        case waiting(until: Instant)
    }

    var phase: Phase = .asking
    var reason: Message.Reason
    var epoch: Epoch = .zero
    /// Who shall be in the view; rank order is made at the end.
    var members: [Member]
    /// Processes that leave with this view: asked, weighed, not waited for.
    var leavers: [ProcessID] = []
    /// Processes that are out for good with this view.
    var departed: [ProcessID] = []
    var proof: [Epoch] = []
    var wills: [UInt64] = []
    var promises = TagMap<Message.Promise>()
    var phaseSince: Instant
    var resendAt: Instant
    var source: ProcessID?
    var flushed: Log?
    /// The losing branch that the view takes in.
    var branch: HandedBranch?
    var tries = 0

    init(reason: Message.Reason, members: [Member], now: Instant) {
        self.reason = reason
        self.members = members
        phaseSince = now
        resendAt = now
    }

    mutating func enter(_ phase: Phase, now: Instant) {
        self.phase = phase
        phaseSince = now
        resendAt = now
    }

    /// After a pause nobody is silent: the clock of this phase starts anew.
    mutating func extend(now: Instant) { phaseSince = now }
}

// Views and election (`30-consensus.md` §7): asking, preparing, flushing, installing.
extension ConsensusCore {
    /// Stands for leader with those who still answer.
    mutating func campaign(members: [Member]) {
        guard attempt == nil, departure == nil, role != .left else { return }
        var members = members
        if !members.contains(where: { $0.process == me }) {
            members.append(Member(process: me, ability: ability, joined: .zero))
        }
        talk = nil
        attempt = Attempt(reason: .suspicion, members: members, now: now)
        statistics.attempts += 1
        tickAttempt()
    }

    /// Leader: forms the next view without suspects and leavers, with learners that are ready.
    mutating func changeView(without suspects: [UInt64]) {
        guard let leading, let view, attempt == nil, departure == nil else { return }
        let gone = leading.leaving + leading.expelled
        var members = view.members.filter { member in
            !suspects.contains(member.process.tag) && !gone.contains(member.process)
        }
        var departed = gone.filter { view.contains($0) }
        for index in 0..<learners.count {
            let learner = learners.values[index]
            guard learner.isReady, members.count < Limits.members else { continue }
            // A new life of a node takes the place of the old one; of two new ones, the last that asked.
            let isOutdated = learners.values.contains {
                $0.process.nodeID == learner.process.nodeID && $0.process != learner.process
                    && $0.seenAt > learner.seenAt
            }
            guard !isOutdated else { continue }
            for old in members
            where old.process.nodeID == learner.process.nodeID && view.contains(old.process) {
                departed.append(old.process)
            }
            members.removeAll { $0.process.nodeID == learner.process.nodeID }
            members.append(
                Member(process: learner.process, ability: learner.ability, joined: .zero)
            )
        }
        begin(.change, members: members, leavers: leading.leaving, departed: departed, proof: [])
    }

    /// Begins an attempt that needs no asking.
    mutating func begin(
        _ reason: Message.Reason,
        members: [Member],
        leavers: [ProcessID],
        departed: [ProcessID],
        proof: [Epoch],
        branch: HandedBranch? = nil
    ) {
        var attempt = Attempt(reason: reason, members: members, now: now)
        attempt.branch = branch
        attempt.leavers = leavers
        attempt.departed = departed
        attempt.proof = proof
        self.attempt = attempt
        leading?.changeAt = nil
        if reason != .merge { talk = nil }
        statistics.attempts += 1
        beginPreparing()
    }

    mutating func tickAttempt() {
        guard let attempt else { return }
        switch attempt.phase {
        case .asking: tickAsking()
        case .preparing: tickPreparing()
        case .flushing:
            if now - attempt.phaseSince > .milliseconds(300), let source = attempt.source {
                retry(without: [source.tag])
            } else if now >= attempt.resendAt {
                fetchFlush()
            }
        case .waiting(let until):
            if now >= until { beginPreparing() }
        }
    }

    private var resendInterval: Duration { .milliseconds(12) }

    /// Whether a silent process is given up: soon if it was not heard at all, later if it was.
    private func isGivenUp(_ tag: UInt64, since: Instant, patience: Duration) -> Bool {
        let heard = links[tag].map { $0.isReachable && $0.lastHeard > since } ?? false
        return now - since > (heard ? max(patience, .milliseconds(300)) : patience)
    }

    // MARK: Asking

    private mutating func tickAsking() {
        guard let asking = attempt else { return }
        let waiting = asking.members.map(\.process).filter {
            $0.tag != me.tag && !asking.wills.contains($0.tag)
                && !isGivenUp($0.tag, since: asking.phaseSince, patience: .milliseconds(80))
        }
        guard !waiting.isEmpty else {
            let own = me.tag
            attempt?.members.removeAll {
                $0.process.tag != own && !asking.wills.contains($0.process.tag)
            }
            return beginPreparing()
        }
        guard now >= asking.resendAt else { return }
        let resendAt = now + resendInterval
        attempt?.resendAt = resendAt
        let wanted = Epoch(counter: counterSeen &+ 1, proposer: me.tag)
        for process in waiting {
            send(.prevote(head: log.headPosition), to: process, epoch: wanted)
        }
        // The suspect may say that it lives.
        if let leader = view?.leader, leader.tag != me.tag {
            send(.prevote(head: log.headPosition), to: leader, epoch: wanted)
        }
    }

    mutating func receivePrevote(_ wanted: Epoch, _ process: ProcessID) {
        guard wanted.proposer == process.tag else { return }
        let yes = !hasLiveLeader && role != .joining
        if yes, let turn = campaignAt {
            campaignAt = max(turn, now + .milliseconds(100))
        }
        send(
            .would(
                .init(
                    yes: yes,
                    lastView: view?.epoch ?? .zero,
                    commit: commit,
                    heardFrom: heardFrom,
                    promised: promised
                )
            ),
            to: process,
            epoch: wanted
        )
    }

    mutating func receiveWould(_ would: Message.Would, _ epoch: Epoch, _ process: ProcessID) {
        counterSeen = max(counterSeen, would.promised.counter)
        guard let attempt, case .asking = attempt.phase, epoch.proposer == me.tag else { return }
        if would.yes {
            guard attempt.members.contains(where: { $0.process == process }) else { return }
            if !attempt.wills.contains(process.tag) { self.attempt?.wills.append(process.tag) }
            tickAsking()
        } else if would.lastView == view?.epoch {
            // Somebody in my view holds a live leader: nothing has changed, and I wait.
            self.attempt = nil
            campaignAt = now + .milliseconds(50)
        } else {
            // It is in another view: I was dropped, or it was.
            self.attempt?.members.removeAll { $0.process == process }
            tickAsking()
        }
    }

    // MARK: Preparing

    mutating func beginPreparing() {
        guard let old = attempt else { return }
        counterSeen = max(counterSeen, promised.counter) &+ 1
        let epoch = Epoch(counter: counterSeen, proposer: me.tag)
        promised = epoch
        promisedAt = now
        catchUp = nil
        attempt?.epoch = epoch
        attempt?.enter(.preparing, now: now)
        attempt?.promises = TagMap()
        let promise = ownPromise
        let own = me.tag
        attempt?.promises[own] = promise
        attempt?.source = nil
        attempt?.flushed = nil
        attempt?.tries = old.tries + 1
        tickPreparing()
    }

    /// Where my log stands, as PROMISE tells it.
    var ownPromise: Message.Promise {
        .init(
            lastView: view?.epoch ?? .zero,
            head: log.headPosition,
            headHash: log.headHash,
            commit: commit,
            heardFrom: heardFrom,
            required: knownRequired
        )
    }

    /// The configurations that a primary view must outweigh, as far as I know.
    var knownRequired: [PrimaryConfiguration] {
        guard let view else { return isResumed ? [.unknown] : [] }
        guard view.primary else { return view.required }
        let own = PrimaryConfiguration(
            epoch: view.epoch,
            tags: view.tags,
            isCommitted: isViewCommitted
        )
        return isViewCommitted ? [own] : view.required + [own]
    }

    private mutating func tickPreparing() {
        guard let preparing = attempt else { return }
        let asked = preparing.members.map(\.process) + preparing.leavers
        let missing = asked.filter { preparing.promises[$0.tag] == nil }
        let patience: Duration =
            preparing.reason == .suspicion || preparing.reason == .handover
            ? .milliseconds(100) : detection(nil)
        let silent = missing.filter { process in
            isGivenUp(
                process.tag,
                since: preparing.phaseSince,
                patience: preparing.leavers.contains(process)
                    || links[process.tag]?.isReachable != true
                    ? .milliseconds(60) : patience
            )
        }
        if missing.allSatisfy({ process in
            preparing.leavers.contains(process) && silent.contains(process)
        }) {
            return finishPreparing()
        }
        let dropped = silent.filter { !preparing.leavers.contains($0) }
        if !dropped.isEmpty { return retry(without: dropped.map(\.tag)) }
        guard now >= preparing.resendAt else { return }
        let resendAt = now + resendInterval
        attempt?.resendAt = resendAt
        let message = Message.prepare(
            .init(
                tags: asked.map(\.tag).sorted(),
                head: log.headPosition,
                reason: preparing.reason,
                proof: preparing.proof
            )
        )
        for process in missing { send(message, to: process, epoch: preparing.epoch) }
    }

    /// Begins again above, without those that did not answer.
    mutating func retry(without tags: [UInt64]) {
        guard let old = attempt else { return }
        let own = me.tag
        attempt?.members.removeAll { tags.contains($0.process.tag) && $0.process.tag != own }
        guard old.tries < 12 else { return abandon() }
        beginPreparing()
    }

    /// Gives the attempt up; the promise stays.
    mutating func abandon() {
        attempt = nil
        campaignAt = nil
        if talk?.verdict == .won { endTalk(failed: true) }
    }

    mutating func receivePrepare(
        _ prepare: Message.Prepare,
        _ epoch: Epoch,
        _ process: ProcessID
    ) {
        guard epoch.proposer == process.tag, prepare.tags.contains(me.tag) else { return }
        if epoch < promised {
            return send(.reject(promised: promised, isVeto: false), to: process, epoch: epoch)
        }
        if epoch > promised {
            let isConsented =
                view.map { view in
                    process.tag == view.epoch.proposer || prepare.proof.contains(view.epoch)
                } ?? true
            if !isConsented, hasLiveLeader {
                return send(.reject(promised: promised, isVeto: true), to: process, epoch: epoch)
            }
            // A joiner belongs to whom it asked.
            if role == .joining, genesis == nil { return }
            promised = epoch
            promisedAt = now
            attempt = nil
            // A way into a view below the promise leads nowhere; a learner's goes on.
            if catchUp?.target != nil || role != .joining { catchUp = nil }
            campaignAt = nil
        } else if view?.epoch == epoch {
            return sendInstalled(to: process)
        }
        send(.promise(ownPromise), to: process, epoch: epoch)
    }

    mutating func receivePromise(
        _ promise: Message.Promise,
        _ epoch: Epoch,
        _ process: ProcessID
    ) {
        guard let attempt, case .preparing = attempt.phase, attempt.epoch == epoch,
            attempt.members.contains(where: { $0.process == process })
                || attempt.leavers.contains(process),
            promise.head.index < 1 << 62
        else { return }
        self.attempt?.promises[process.tag] = promise
        tickPreparing()
    }

    mutating func receiveReject(
        _ higher: Epoch,
        _ isVeto: Bool,
        _ epoch: Epoch,
        _ process: ProcessID
    ) {
        guard higher.counter <= counterSeen &+ ConsensusLimits.counterLeap else { return }
        counterSeen = max(counterSeen, higher.counter)
        guard let rejected = attempt, rejected.epoch == epoch,
            case .preparing = rejected.phase
        else { return }
        if isVeto {
            if rejected.reason == .suspicion { return abandon() }
            return retry(without: [process.tag])
        }
        guard rejected.tries < 12 else { return abandon() }
        let rank = view?.rank(of: me.tag) ?? 0
        let wait =
            configuration.stagger * (rank + 1)
            + random.duration(in: .zero...(.milliseconds(15)))
        attempt?.enter(.waiting(until: now + wait), now: now)
    }

    // MARK: Flushing

    /// All have promised: takes the best log of my line, then installs (§7.4).
    private mutating func finishPreparing() {
        guard let attempt else { return }
        // A leader that changes its own view has the longest log of its line.
        guard attempt.reason == .suspicion || attempt.reason == .handover else {
            return finishFlushing()
        }
        var best: (tag: UInt64, view: Epoch, head: UInt64) = (
            me.tag, view?.epoch ?? .zero, log.head
        )
        for index in 0..<attempt.promises.count {
            let promise = attempt.promises.values[index]
            if (promise.lastView, promise.head.index) > (best.view, best.head) {
                best = (attempt.promises.tags[index], promise.lastView, promise.head.index)
            }
        }
        guard best.tag != me.tag,
            let source = (attempt.members.map(\.process) + attempt.leavers)
                .first(where: { $0.tag == best.tag })
        else { return finishFlushing() }
        guard best.head > log.head else {
            // A higher view with a shorter log: another line.
            return retry(without: [best.tag])
        }
        self.attempt?.source = source
        self.attempt?.flushed = Log(base: log.headPosition, hash: log.headHash)
        self.attempt?.enter(.flushing, now: now)
        fetchFlush()
    }

    private mutating func fetchFlush() {
        guard let attempt, let source = attempt.source, let flushed = attempt.flushed else {
            return
        }
        self.attempt?.resendAt = now + .milliseconds(20)
        send(
            .fetch(from: flushed.head + 1, previousHash: flushed.headHash),
            to: source,
            epoch: attempt.epoch
        )
    }

    /// Entries for the flush; answers whether they were.
    mutating func takeFlush(_ entries: Message.Append, _ process: ProcessID) -> Bool {
        guard let attempt, case .flushing = attempt.phase, attempt.source == process,
            let wanted = attempt.promises[process.tag], var flushed = attempt.flushed
        else { return false }
        for entry in entries.entries
        where entry.position.index == flushed.head + 1 && flushed.head < wanted.head.index {
            guard
                entries.previous > flushed.base.index
                    || (entries.previous == flushed.base.index
                        && entries.previousHash == flushed.baseHash),
                flushed.accepts(entry)
            else { break }
            flushed.append(entry, digest: digest)
        }
        let isMoving = flushed.head > (attempt.flushed?.head ?? 0)
        self.attempt?.flushed = flushed
        if flushed.head == wanted.head.index {
            if flushed.headHash == wanted.headHash {
                finishFlushing()
            } else {
                retry(without: [process.tag])
            }
        } else if isMoving {
            self.attempt?.phaseSince = now
            fetchFlush()
        }
        return true
    }

    /// The source's chain does not continue mine: it is a branch of its own.
    mutating func refuseFlush(_ process: ProcessID) -> Bool {
        guard let attempt, case .flushing = attempt.phase, attempt.source == process else {
            return false
        }
        retry(without: [process.tag])
        return true
    }

    /// Leaves out promisers off my line whose branch is not taken in, and installs.
    ///
    /// The barrier of a merge (M6): whoever has more than what was handed over stays out, so that
    /// nothing of it is lost.
    private mutating func finishFlushing() {
        guard let attempt else { return }
        var strangers: [UInt64] = []
        var parents: [Epoch] = []
        let history = history(with: attempt.flushed)
        for index in 0..<attempt.promises.count {
            let tag = attempt.promises.tags[index]
            let promise = attempt.promises.values[index]
            guard tag != me.tag, promise.lastView != .zero, !isOnLine(promise, attempt.flushed)
            else { continue }
            if history.covers(promise.head) || attempt.branch?.history.covers(promise.head) == true
            {
                parents.append(promise.lastView)
            } else if !attempt.leavers.contains(where: { $0.tag == tag }) {
                strangers.append(tag)
            }
        }
        guard strangers.isEmpty else { return retry(without: strangers) }
        installOwn(parents)
    }

    private func isOnLine(_ promise: Message.Promise, _ flushed: Log?) -> Bool {
        let index = promise.head.index
        if let flushed, index > log.head { return flushed.holds(index, promise.headHash) }
        if index < log.base.index { return true }
        return log.holds(index, promise.headHash)
    }
}
