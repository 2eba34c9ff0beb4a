import MeshWire

// PREPARE, PROMISE and REJECT (`30-consensus.md` §7.2, 7.3).
extension ConsensusCore {
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
            isCommitted: isViewCommitted,
            isForced: view.forced
        )
        return isViewCommitted ? [own] : (view.required + [own]).united()
    }

    mutating func tickPreparing() {
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
                    || !hasWay(to: process)
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
}
