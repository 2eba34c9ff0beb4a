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
    /// Processes that are asked and weighed, and not in the view: those that leave with it, and with
    /// `.majority` the rest of the required configurations.
    var outside: [ProcessID] = []
    /// Of those, the ones that leave: they answer soon or are gone.
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
    /// Whether a person, or the time, overrules the weights.
    var force = Force.none
    var tries = 0

    enum Force: Sendable {
        /// Nobody does.
        case none
        /// The component goes on without the weight, as with `.available`.
        case survivor
        /// A person says that this component is the room from now on.
        case primary
    }

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
    mutating func campaign(members: [Member], force: Attempt.Force = .none) {
        guard attempt == nil, departure == nil, role != .left else { return }
        var members = members
        if !members.contains(where: { $0.process == me }) {
            members.append(Member(process: me, ability: ability, joined: .zero))
        }
        talk = nil
        attempt = Attempt(reason: .suspicion, members: members, now: now)
        attempt?.force = force
        if followsMajority, force == .none {
            let voters = voters(besides: members)
            attempt?.outside = voters
        }
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
        branch: HandedBranch? = nil,
        force: Attempt.Force = .none
    ) {
        var attempt = Attempt(reason: reason, members: members, now: now)
        attempt.branch = branch
        attempt.leavers = leavers
        attempt.outside = leavers
        attempt.departed = departed
        attempt.force = force
        if followsMajority, force == .none {
            attempt.outside += voters(besides: members).filter { !leavers.contains($0) }
        }
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
        func isAwaited(_ process: ProcessID) -> Bool {
            process.tag != me.tag && !asking.wills.contains(process.tag)
                && !isGivenUp(process.tag, since: asking.phaseSince, patience: .milliseconds(80))
        }
        let waiting = asking.members.map(\.process).filter(isAwaited)
        let outside = asking.outside.filter(isAwaited)
        let mayForm = mayForm(askedBy: asking)
        guard !waiting.isEmpty || !mayForm && !outside.isEmpty else {
            guard mayForm else { return standBack() }
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
        for process in waiting + outside {
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
            guard
                attempt.members.contains(where: { $0.process == process })
                    || attempt.outside.contains(process)
            else { return }
            if !attempt.wills.contains(process.tag) { self.attempt?.wills.append(process.tag) }
            tickAsking()
        } else if would.lastView == view?.epoch {
            // Somebody in my view holds a live leader: nothing has changed, and I wait.
            self.attempt = nil
            campaignAt = now + .milliseconds(50)
        } else if followsMajority, would.lastView > view?.epoch ?? .zero {
            // A later view lives without me, and there is but one.
            rejoin(via: process)
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
            ability: ability,
            isForced: isAstray,
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
        let asked = preparing.members.map(\.process) + preparing.outside
        let missing = asked.filter { preparing.promises[$0.tag] == nil }
        let patience: Duration =
            preparing.reason == .suspicion || preparing.reason == .handover
            ? .milliseconds(100) : detection(nil)
        let silent = missing.filter { process in
            isGivenUp(
                process.tag,
                since: preparing.phaseSince,
                patience: preparing.outside.contains(process)
                    || links[process.tag]?.isReachable != true
                    ? .milliseconds(60) : patience
            )
        }
        let mayForm = quorum(of: preparing) != nil
        if missing.allSatisfy({ process in
            preparing.outside.contains(process)
                && (silent.contains(process) || mayForm && !preparing.leavers.contains(process))
        }) {
            return mayForm ? finishPreparing() : standBack()
        }
        let dropped = silent.filter { !preparing.outside.contains($0) }.map(\.tag)
        if !dropped.isEmpty {
            guard followsQuorum(preparing) else { return retry(without: dropped) }
            // Whoever was silent may still have promised: it weighs, and stays in the old view.
            attempt?.members.removeAll { dropped.contains($0.process.tag) }
            attempt?.outside += asked.filter { dropped.contains($0.tag) }
            return tickPreparing()
        }
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
        guard epoch.proposer == process.tag, prepare.tags.contains(me.tag),
            !isDistrusted(process.tag)
        else { return }
        guard epoch == promised || policy.mayPromise(epoch, promised: promised) else {
            return send(.reject(promised: promised, isVeto: false), to: process, epoch: epoch)
        }
        if epoch != promised {
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
            if catchUp?.target != nil || !mayJoin { catchUp = nil }
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
                || attempt.outside.contains(process),
            promise.head.index < 1 << 62
        else { return }
        self.attempt?.promises[process.tag] = promise
        if followsQuorum(attempt) { widen(promise.required) }
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
            if rejected.outside.contains(process) {
                self.attempt?.outside.removeAll { $0 == process }
                return tickPreparing()
            }
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
        guard var attempt, let quorum = quorum(of: attempt) else { return }
        let followsQuorum = followsQuorum(attempt)
        if followsQuorum {
            // Who does not count is an outsider, or a branch that went on without the weight.
            for tag in attempt.promises.tags where !quorum.contains(tag) {
                attempt.promises[tag] = nil
                attempt.members.removeAll { $0.process.tag == tag }
            }
            // Whoever promised lives, and belongs into the view; unless it leaves.
            for process in attempt.outside
            where !attempt.leavers.contains(process) && !attempt.departed.contains(process) {
                guard let promise = attempt.promises[process.tag],
                    attempt.members.count < Limits.members
                else { continue }
                attempt.members.append(
                    view?.member(tag: process.tag)
                        ?? Member(process: process, ability: promise.ability, joined: .zero)
                )
            }
            attempt.outside.removeAll { process in
                attempt.members.contains { $0.process == process }
            }
            self.attempt = attempt
        }
        // A leader that changes its own view has the longest log of its line; but with `.majority` there
        // is but one line, and another may have led it on.
        guard followsQuorum || attempt.reason == .suspicion || attempt.reason == .handover else {
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
            let source = (attempt.members.map(\.process) + attempt.outside)
                .first(where: { $0.tag == best.tag })
        else { return finishFlushing() }
        self.attempt?.source = source
        self.attempt?.enter(.flushing, now: now)
        if best.head > log.head {
            self.attempt?.flushed = Log(base: log.headPosition, hash: log.headHash)
            fetchFlush()
        } else if followsQuorum {
            flushFromCommit()
        } else {
            // A higher view with a shorter log: another line.
            retry(without: [best.tag])
        }
    }

    /// Takes the source's log from the last entry on that both must hold: what is behind it in mine is
    /// not committed, and is cut (`.majority` alone).
    private mutating func flushFromCommit() {
        guard let attempt, let source = attempt.source else { return }
        guard let position = log.position(at: commit), let hash = log.hash(at: commit),
            attempt.flushed?.base != position
        else { return retry(without: [source.tag]) }
        self.attempt?.flushed = Log(base: position, hash: hash)
        if attempt.promises[source.tag]?.head == position { return finishFlushing() }
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
        if followsQuorum(attempt) {
            flushFromCommit()
        } else {
            retry(without: [process.tag])
        }
        return true
    }

    /// Leaves out promisers off my line whose branch is not taken in, and installs.
    ///
    /// The barrier of a merge (M6): whoever has more than what was handed over stays out, so that
    /// nothing of it is lost.
    private mutating func finishFlushing() {
        guard let attempt else { return }
        if followsQuorum(attempt) { return installOwn([]) }
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
            } else if !attempt.outside.contains(where: { $0.tag == tag }) {
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
