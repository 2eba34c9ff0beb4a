import MeshWire

// Whether the others would promise (`30-consensus.md` §7.1): nothing changes anywhere yet.
extension ConsensusCore {
    mutating func tickAsking() {
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
        // Whoever does not answer may answer through a helper: members seldom speak but with the leader.
        if now - asking.phaseSince >= resendInterval { waiting.forEach { askHelpers(for: $0) } }
        for process in waiting + outside {
            send(.prevote(head: log.headPosition), to: process, epoch: wanted)
        }
        // The suspect may say that it lives.
        if let leader = view?.leader, leader.tag != me.tag {
            send(.prevote(head: log.headPosition), to: leader, epoch: wanted)
        }
    }

    /// Whether I learn, and may be listed by a view that I promised and never installed.
    ///
    /// Whoever asks me then needs my weight; that view's leader is waited for as long as its INSTALL.
    private var isListedLearner: Bool {
        role == .joining && policy.isMajority && promised != .zero && now >= nextPatienceDue
    }

    mutating func receivePrevote(_ wanted: Epoch, _ process: ProcessID) {
        guard wanted.proposer == process.tag else { return }
        let yes = !hasLiveLeader && (role != .joining || isListedLearner)
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
        } else if followsMajority, attempt.force == .none,
            would.lastView > view?.epoch ?? .zero
        {
            // A later view lives without me: the line's, or one that JOIN finds to be none of it.
            rejoin(via: process)
        } else {
            // It is in another view: I was dropped, or it was.
            self.attempt?.members.removeAll { $0.process == process }
            tickAsking()
        }
    }
}
