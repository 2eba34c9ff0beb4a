import MeshWire

// The best log of those who promised (`30-consensus.md` §7.4), before the view is installed.
extension ConsensusCore {
    /// All have promised: takes the best log of my line, then installs (§7.4).
    mutating func finishPreparing() {
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

    mutating func fetchFlush() {
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
