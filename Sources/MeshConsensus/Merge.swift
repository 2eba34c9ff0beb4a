import MeshWire

/// A talk between the leaders of two branches: who wins, and the hand-over of the losers.
struct Talk: Sendable {
    enum Verdict: Sendable { case won, lost }

    var peer: ProcessID
    var nonce: UInt64
    var theirNonce: UInt64 = 0
    /// Pinned to the nonce: resent unchanged.
    var mine: BranchSummary
    var theirs: BranchSummary?
    var isEchoed = false
    var verdict: Verdict?
    /// The loser's: what it hands over, made once.
    var branch: Message.Branch?
    /// Whether that is large and was sent: the reliable lane needs no second one.
    var isBranchOut = false
    var resendAt: Instant
    var progressAt: Instant
    var offeredAt: Instant?
    let openedAt: Instant

    /// Whether the summary is too long for a datagram and travels on the reliable lane.
    var isOfferLarge: Bool { mine.lineage.count > 4 || mine.members.count > 8 }

    /// How long nothing may happen before the talk is given up.
    var patience: Duration {
        switch verdict {
        case nil: return .milliseconds(isOfferLarge ? 1000 : 400)
        case .won: return .seconds(1)
        case .lost:
            // What is large takes its time; the winner is told meanwhile that it comes.
            let bytes = isBranchOut ? branch?.byteCount ?? 0 : 0
            return .milliseconds(700 + min(bytes / 100, 30_000))
        }
    }
}

// Split and merge (`30-consensus.md` §9, M1 and M4 to M6): two leaders exchange pinned summaries, both
// rank alike, the loser freezes and hands over its members and what they did, the winner forms one
// view whose merge entry takes that in.
extension ConsensusCore {
    /// Whether a merge may be talked about now.
    private var mayTalk: Bool {
        isLeading && isUsable && leading?.hasQuorum == true && attempt == nil && departure == nil
            && now >= talkBackoff
    }

    mutating func receiveBeacon(_ beacon: Message.Beacon, _ process: ProcessID) {
        guard beacon.epoch.proposer == process.tag, !isDistrusted(process.tag) else { return }
        if followsMajority, role == .suspended || beacon.isPrimary, follow(beacon, of: process) {
            return
        }
        guard let view, isMember else { return }
        guard view.member(tag: process.tag) == nil else {
            // My leader leads a later view, and beacons go to those outside alone: I was dropped.
            if !followsMajority, process == view.leader, beacon.epoch > max(view.epoch, promised) {
                campaign(members: [])
            }
            return
        }
        // Two unforced primary views stand on one line: the lower one comes by itself.
        guard !followsMajority || !beacon.isPrimary || view.forced else { return }
        guard mayTalk, talk == nil, let link = links[process.tag], link.isReachable else { return }
        openTalk(process)
    }

    private mutating func openTalk(_ process: ProcessID) {
        guard let summary else { return }
        talk = Talk(
            peer: process,
            nonce: random.next() | 1,
            mine: summary,
            resendAt: now,
            progressAt: now,
            openedAt: now
        )
        tickTalk()
    }

    /// The present state of my branch.
    private var summary: BranchSummary? {
        guard let view else { return nil }
        return BranchSummary(
            epoch: view.epoch,
            head: log.headPosition,
            headHash: log.headHash,
            commit: commit,
            primaryEnd: replica.primaryEnd,
            members: view.members,
            lineage: Array(replica.lineage.suffix(ConsensusLimits.offeredLineage))
        )
    }

    /// When a talk has something to say again, or ends.
    var nextTalkDue: Instant {
        guard let talk else { return .distantFuture }
        return isLeading ? min(talk.resendAt, talk.progressAt + talk.patience) : now
    }

    mutating func tickTalk() {
        guard let talk else { return }
        guard isLeading, isActive || attempt != nil || talk.verdict == .lost else {
            return endTalk(failed: true)
        }
        guard attempt == nil else { return }
        if now - talk.progressAt > talk.patience || now - talk.openedAt > .seconds(40) {
            return endTalk(failed: true)
        }
        guard now >= talk.resendAt else { return }
        if talk.verdict == .lost {
            self.talk?.resendAt = now + .milliseconds(40)
            sendBranch()
        } else {
            sendMergeOffer()
        }
    }

    private mutating func sendMergeOffer() {
        guard let talk else { return }
        self.talk?.resendAt = now + .milliseconds(talk.isOfferLarge ? 600 : 40)
        self.talk?.offeredAt = now
        send(
            .mergeOffer(
                .init(nonce: talk.nonce, echoed: talk.theirNonce, summary: talk.mine)
            ),
            to: talk.peer
        )
    }

    private mutating func sendBranch() {
        guard let talk, let winner = talk.theirs else { return }
        if talk.branch == nil {
            guard let branch = handover(to: winner, in: talk) else { return }
            self.talk?.branch = branch
            self.talk?.progressAt = now
        }
        guard let branch = self.talk?.branch else { return }
        guard branch.byteCount > 1000 else { return send(.branch(branch), to: talk.peer) }
        if talk.isBranchOut {
            self.talk?.resendAt = now + .milliseconds(300)
            // The branch is on its way: a probe with the talk's nonce says that the talk goes on.
            let sign = Message.Probe(
                nonce: talk.nonce,
                target: talk.peer.tag,
                leaderAge: 0,
                hasQuorum: true
            )
            send(.probe(sign), to: talk.peer)
        } else {
            self.talk?.isBranchOut = true
            send(.branch(branch), to: talk.peer)
        }
    }

    mutating func endTalk(failed: Bool) {
        guard talk != nil else { return }
        talk = nil
        guard failed else { return }
        talkFailures = min(talkFailures + 1, 4)
        let pause: Duration = .milliseconds(60) * (1 << talkFailures)
        talkBackoff = now + pause + random.duration(in: .zero...pause)
    }

    mutating func receiveMergeOffer(_ offer: Message.MergeOffer, _ process: ProcessID) {
        guard let view, offer.nonce != 0, !isDistrusted(process.tag),
            offer.summary.epoch.proposer == process.tag
        else {
            return
        }
        guard view.member(tag: process.tag) == nil else { return }
        if talk == nil || talk?.peer != process {
            guard mayTalk else {
                return send(.mergeEnd(nonce: offer.nonce, isBusy: true), to: process)
            }
            if let talk {
                // One talk at a time; an undecided one yields to the lower tag.
                guard talk.verdict == nil, process.tag < talk.peer.tag else {
                    return send(.mergeEnd(nonce: offer.nonce, isBusy: true), to: process)
                }
            }
            openTalk(process)
        }
        guard let current = talk, attempt == nil else { return }
        if current.theirNonce != offer.nonce {
            if current.verdict != nil {
                // It began anew: so do I.
                openTalk(process)
            }
            talk?.theirNonce = offer.nonce
            talk?.theirs = offer.summary
            talk?.resendAt = now
            talk?.progressAt = now
        }
        if offer.echoed == talk?.nonce, talk?.isEchoed == false {
            talk?.isEchoed = true
            talk?.progressAt = now
            talk?.resendAt = now
        }
        decide()
        // An echo they lack is sent at once; the rest is resent in time.
        if offer.echoed != talk?.nonce, let last = talk?.offeredAt, now - last > .milliseconds(10) {
            talk?.resendAt = now
        }
        tickTalk()
    }

    private mutating func decide() {
        guard let ready = talk, ready.isEchoed, ready.verdict == nil, let theirs = ready.theirs
        else { return }
        let isWon = ready.mine.outranks(theirs)
        talk?.verdict = isWon ? .won : .lost
        // The winner's offer still tells the loser its echo.
        talk?.resendAt = now
    }

    mutating func receiveBranch(_ branch: Message.Branch, _ process: ProcessID) {
        guard let current = talk, current.peer == process, branch.echoed == current.nonce,
            branch.nonce == current.theirNonce, let theirs = current.theirs, attempt == nil,
            isUsable, current.mine.outranks(theirs), branch.epoch == theirs.epoch,
            let view
        else { return }
        guard let handed = read(branch) else {
            statistics.malformed += 1
            return endTalk(failed: true)
        }
        talk?.verdict = .won
        var members = view.members
        for member in branch.members
        where members.count < Limits.members
            && !members.contains(where: { $0.process.tag == member.process.tag })
            && !replica.isBuried(member.process.tag)
        {
            members.append(member)
            touchLink(member.process)
        }
        begin(
            .merge,
            members: members,
            leavers: [],
            departed: [],
            proof: [branch.epoch],
            branch: handed
        )
    }

    mutating func receiveMergeEnd(_ nonce: UInt64, _ isBusy: Bool, _ process: ProcessID) {
        guard let current = talk, current.peer == process, current.nonce == nonce,
            attempt == nil
        else { return }
        talk = nil
        talkBackoff = now + random.duration(in: .milliseconds(30)...(.milliseconds(120)))
    }
}
