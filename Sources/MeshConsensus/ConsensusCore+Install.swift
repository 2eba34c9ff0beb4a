import MeshWire

// The last step of forming a view: its entry is written, sent and confirmed.
extension ConsensusCore {
    mutating func installOwn(_ strangers: [Epoch]) {
        guard let attempt else { return }
        let required = required(of: attempt)
        let isPrimary = required.areOutweighed(by: attempt.promises.tags)
        guard isPrimary || !followsMajority || attempt.force != .none else { return standBack() }
        if let flushed = attempt.flushed {
            log.truncate(after: flushed.base.index)
            for entry in flushed.entries { log.append(entry, digest: digest) }
            view = newestView(of: log) ?? replica.view
        }
        let epoch = attempt.epoch
        let start = Position(epoch: epoch, index: log.head + 1)
        var members = attempt.members
        for index in members.indices where members[index].joined == .zero {
            members[index].joined = start
        }
        members.sort(by: Member.outranks)
        // Once a person has overruled the weights, the room's later views say so too.
        let isOverruled =
            attempt.force == .primary || view?.primary == true && view?.forced == true
            || required.contains(where: \.isForced)
        var parents = Set(strangers)
        if let view { parents.insert(view.epoch) }
        if let handed = attempt.branch { parents.insert(handed.branch.epoch) }
        let next = View(
            epoch: epoch,
            members: members,
            departed: attempt.departed.sorted(),
            parents: parents.sorted(),
            required: required,
            start: start,
            startHash: log.headHash,
            primary: isPrimary,
            forced: isOverruled || policy.isMajority && !isPrimary
        )
        var install = Message.Install(
            previous: log.headPosition,
            previousHash: log.headHash,
            entry: Entry(position: start, body: .view(next))
        )
        let old = leading
        let winner = view?.epoch ?? .zero
        log.append(install.entry, digest: digest)
        if let handed = attempt.branch {
            let merge = mergeEntry(handed, winner: winner)
            install.merge = merge
            log.append(merge, digest: digest)
        }
        adopt(next)
        var leader = Leading(
            install: install,
            nextHeartbeat: now + configuration.heartbeat,
            nextFullHeartbeat: now + heartbeatInterval,
            installResend: now,
            startedAt: now
        )
        leader.outside = attempt.outside
        leader.leaving = (old?.leaving ?? []).filter { next.contains($0) }
        leader.expelled = (old?.expelled ?? []).filter { next.contains($0) }
        for member in members where member.process.tag != me.tag {
            let promise = attempt.promises[member.process.tag]
            leader.progress[member.process.tag] = Progress(
                process: member.process,
                next: start.index,
                respondedAt: now,
                progressAt: now,
                sentAt: now,
                promised: epoch
            )
            touchLink(member.process)
            if let promise, promise.head.index < install.previous.index {
                leader.progress.update(member.process.tag) { $0.match = promise.head.index }
            }
            dropLearners(of: member.process.nodeID)
        }
        leading = leader
        resendInstall()
        sendMissing(attempt)
        leading?.progress.updateAll { $1.match = 0 }
        updateCommit()
    }

    /// Right behind INSTALL, what promisers on my line lack, so that it costs no further round.
    private mutating func sendMissing(_ attempt: Attempt) {
        guard let leader = leading else { return }
        let last = leader.install.previous.index
        for index in 0..<leader.progress.count {
            let tag = leader.progress.tags[index]
            guard let promise = attempt.promises[tag], promise.head.index < last,
                last - promise.head.index <= 256,
                log.holds(promise.head.index, promise.headHash)
            else { continue }
            sendEntries(
                from: promise.head.index + 1,
                through: last,
                to: leader.progress.values[index].process
            )
        }
    }

    func newestView(of log: Log) -> View? {
        for entry in log.entries.reversed() {
            if case .view(let view) = entry.body { return view }
        }
        return nil
    }

    /// Takes a view as mine; all work that belonged to the old one ends together.
    mutating func adopt(_ next: View) {
        let old = view
        view = next
        viewSince = now
        attempt = nil
        catchUp = nil
        talk = nil
        leading = nil
        campaignAt = nil
        leaderHasQuorum = true
        quorumAt = now
        standBacks = 0
        isAcknowledgmentDue = false
        challenges = TagMap()
        helperRequests = []
        signedHeads.kept = []
        signedHeads.nextAt = now + .seconds(1)
        statistics.views += 1
        recentViews = recentViews.suffix(7) + [now]
        if next.epoch.proposer != me.tag { learners = TagMap() }
        for member in old?.members ?? [] where !next.contains(member.process) {
            let isDeparted = next.departed.contains(member.process)
            links.update(member.process.tag) {
                $0.evictedAt = isDeparted ? nil : now
                $0.nextBeacon = now + .milliseconds(200)
                $0.isShaky = false
            }
        }
        for member in next.members where member.process != me {
            touchLink(member.process)
            if links[member.process.tag]?.isReachable != true {
                output.events.append(.contactWanted(member.process))
            }
            links.update(member.process.tag) {
                $0.inView = now
                $0.probes = 0
                $0.evictedAt = nil
            }
        }
        output.events.append(.viewInstalled(next))
        if old?.leader != next.leader || old == nil {
            output.events.append(.leaderChanged(next.leader))
        }
        if next.contains(me) {
            joinVia = []
            become(.member)
        } else if policy.isMajority, departure == nil, !next.departed.contains(me) {
            // Installed for its weight alone: back in by the front door.
            if let leader = next.leader { rejoin(via: leader) }
            // It has answered for this log: a joiner too goes no way back from here.
            become(.suspended)
        } else if role == .leader {
            // On the way out: the view is another's already.
            become(.member)
        }
        retryPending()
    }

    mutating func resendInstall() {
        guard let leader = leading, let view else { return }
        leading?.installResend = now + leader.installInterval
        // A large one travels on the reliable lane: again only in case a connection was lost.
        let isLarge = leader.install.isLarge
        if isLarge { leading?.installResend = now + .seconds(2) }
        if now - leader.startedAt > .milliseconds(100) {
            leading?.installInterval = min(leader.installInterval * 2, .milliseconds(100))
        }
        var isDone = true
        for index in 0..<leader.progress.count where !leader.progress.values[index].isInstalled {
            isDone = false
            send(.install(leader.install), to: leader.progress.values[index].process)
        }
        for process in leader.outside where !leader.outsideInstalled.contains(process.tag) {
            if now - leader.startedAt < .seconds(1) {
                isDone = false
                send(.install(leader.install), to: process, epoch: view.epoch)
            }
        }
        if isDone { leading?.installResend = .distantFuture }
    }

    mutating func receiveInstall(
        _ install: Message.Install,
        _ epoch: Epoch,
        _ process: ProcessID
    ) {
        guard epoch.proposer == process.tag, install.entry.position.epoch == epoch,
            case .view(let next) = install.entry.body,
            install.entry.position.index < 1 << 62,
            install.entry.position.index == install.previous.index &+ 1,
            next.startHash == install.previousHash,
            next.contains(me) || next.departed.contains(me) || policy.isMajority
        else { return }
        if let merge = install.merge {
            guard merge.position == Position(epoch: epoch, index: next.start.index + 1),
                install.mergeRecord != nil
            else { return }
        }
        guard promised == epoch else {
            if epoch < promised {
                send(.reject(promised: promised, isVeto: false), to: process, epoch: epoch)
            }
            return
        }
        if view?.epoch == epoch { return sendInstalled(to: process) }
        // Who follows the line past this view as a learner has left it behind.
        if policy.isMajority, let view, view.epoch > epoch { return }
        promisedAt = now
        if let target = catchUp?.target, target.epoch == epoch { return }
        if log.holds(install.previous.index, install.previousHash),
            install.previous.index >= replica.applied.index
        {
            discard(after: install.previous.index, other: nil, kept: [], install: install)
            log.truncate(after: install.previous.index)
            return take(install, from: process)
        }
        beginCatchUp(with: process, target: .init(epoch: epoch, install: install))
    }

    /// The log stands at the view's start: writes its entry and confirms.
    mutating func take(_ install: Message.Install, from process: ProcessID) {
        guard case .view(let next) = install.entry.body else { return }
        commit = min(commit, log.head)
        log.append(install.entry, digest: digest)
        if let merge = install.merge { log.append(merge, digest: digest) }
        adopt(next)
        sendInstalled(to: process)
        if next.departed.contains(me), departure == nil {
            end(.left(.kicked))
        }
    }

    mutating func sendInstalled(to process: ProcessID) {
        guard let view else { return }
        let start = view.start.index
        // Below a snapshot the lineage still knows the entry's hash.
        let hash =
            log.hash(at: start) ?? replica.lineage.last { $0.epoch == view.epoch }?.hash ?? .zero
        send(.installed(head: start, hash: hash), to: process)
    }

    mutating func receiveInstalled(
        _ head: UInt64,
        _ hash: Digest,
        _ epoch: Epoch,
        _ process: ProcessID
    ) {
        guard let leader = leading, let view, view.epoch == epoch, head == view.start.index,
            hash == log.hash(at: head) || log.base.index > head
        else { return }
        if leader.outside.contains(process) {
            if !leader.outsideInstalled.contains(process.tag) {
                leading?.outsideInstalled.append(process.tag)
            }
            return updateCommit()
        }
        guard leader.progress[process.tag] != nil else { return }
        links.update(process.tag) { $0.inView = now }
        leading?.progress.update(process.tag) {
            $0.respondedAt = now
            if !$0.isInstalled {
                $0.isInstalled = true
                $0.match = leader.install.head
                $0.next = leader.install.head + 1
                $0.progressAt = now
                $0.told = 0
            }
        }
        updateCommit()
    }
}
