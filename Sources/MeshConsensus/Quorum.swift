import MeshWire

// What `.majority` adds (`30-consensus.md` §3): who is asked besides the members, whether promises weigh
// enough, what a component without the weight says, and the way back into the one that has it.
extension ConsensusCore {
    /// Whether my view goes on without the weight, by a time-out: a branch, merged as with `.available`.
    var isAstray: Bool { view?.forced == true && view?.primary == false }

    /// Whether what I do needs more than half of the weight.
    var followsMajority: Bool { policy.isMajority && !isAstray }

    /// Whether an attempt goes on as soon as the promises weigh enough, and takes the best log of all.
    ///
    /// A merge joins two lines, so it waits for all like `.available`, and is weighed at its end.
    func followsQuorum(_ attempt: Attempt) -> Bool {
        followsMajority && attempt.force == .none && attempt.reason != .merge
    }

    /// Whether a view might be formed with those who said that they would promise.
    func mayForm(askedBy asking: Attempt) -> Bool {
        guard followsMajority, asking.force == .none else { return true }
        let willing = [me.tag] + asking.wills
        return knownRequired.united(promisedBy: willing).areOutweighed(by: willing)
    }

    /// Whose promises count: all, or those who weigh enough without one that asks for what is gone.
    ///
    /// `nil`: a view may not be formed yet. What a promiser left out requires may stay unmet: had that
    /// view committed, one of those who count would have installed it.
    func quorum(of attempt: Attempt) -> [UInt64]? {
        let promises = attempt.promises
        guard followsMajority, attempt.force == .none else { return promises.tags }
        // A branch that went on without the weight is merged, and has no say in the line.
        let tags = promises.tags.filter {
            attempt.reason == .merge || promises[$0]?.isForced == false
        }
        func isEnough(_ tags: [UInt64]) -> Bool {
            let required = required(of: attempt, by: tags)
            return required.count < ConsensusLimits.requiredConfigurations
                && required.areOutweighed(by: tags)
        }
        if isEnough(tags) { return tags }
        let sound = tags.filter {
            promises[$0]?.required.united(promisedBy: tags).areOutweighed(by: tags) ?? false
        }
        return sound.contains(me.tag) && isEnough(sound) ? sound : nil
    }

    /// What the view of an attempt requires of later ones, till it has committed.
    func required(of attempt: Attempt) -> [PrimaryConfiguration] {
        // A person's word stands above what was required before.
        guard attempt.force != .primary else { return [] }
        var required = required(of: attempt, by: attempt.promises.tags)
        let excess = required.count - (ConsensusLimits.requiredConfigurations - 1)
        // The committed one stands first and stays.
        if excess > 0 { required.removeSubrange(1...excess) }
        return required
    }

    /// What some of the promisers require together.
    ///
    /// A line that a quorum made stays one: a branch that it takes in may rest on a person's word, which
    /// overrules nothing here.
    private func required(of attempt: Attempt, by tags: [UInt64]) -> [PrimaryConfiguration] {
        let isSound = attempt.reason == .merge && view?.primary == true && view?.forced == false
        return tags.flatMap { attempt.promises[$0]?.required ?? [] }
            .filter { !isSound || !$0.isForced }
            .united(promisedBy: tags)
    }

    /// The processes of the required configurations that are none of `members`.
    func voters(besides members: [Member]) -> [ProcessID] {
        voters(of: knownRequired, besides: members)
    }

    private func voters(
        of required: [PrimaryConfiguration],
        besides members: [Member]
    ) -> [ProcessID] {
        var voters: [ProcessID] = []
        for tag in required.flatMap(\.tags)
        where tag != me.tag && !members.contains(where: { $0.process.tag == tag })
            && !voters.contains(where: { $0.tag == tag })
        {
            guard let process = view?.member(tag: tag)?.process ?? links[tag]?.process else {
                continue
            }
            voters.append(process)
        }
        return voters
    }

    /// Asks those too that a promiser's configurations name.
    mutating func widen(_ required: [PrimaryConfiguration]) {
        guard let attempt else { return }
        let more = voters(of: required, besides: attempt.members)
        self.attempt?.outside += more.filter { !attempt.outside.contains($0) }
    }

    /// Gives an attempt up for want of weight; the next one waits, twice as long each time, to 0.8 s.
    mutating func standBack() {
        abandon()
        standBacks = min(standBacks + 1, 5)
        campaignAt = now + .milliseconds(25) * (1 << standBacks)
    }

    /// Those who were heard within D, and I.
    private var heard: [UInt64] {
        let patience = detection(nil)
        return [me.tag]
            + links.tags.filter { tag in
                guard let link = links[tag] else { return false }
                return hasWay(to: link.process) && now - link.lastHeard < patience
            }
    }

    /// Whether those whom I hear might form a view.
    var hearsQuorum: Bool {
        let heard = heard
        return knownRequired.united(promisedBy: heard).areOutweighed(by: heard)
    }

    // MARK: Suspension

    /// Why a write is refused now.
    var suspension: SubmitError {
        // Alone with the keys of a room, nobody knows how many it takes; one is not enough.
        guard let view else { return .suspended(have: 1, need: 2) }
        let heard = heard
        let lacking = knownRequired.first { !$0.isOutweighed(by: heard) }?.tags ?? view.tags
        return .suspended(
            have: lacking.count(where: heard.contains),
            need: lacking.count / 2 + 1
        )
    }

    /// How long a quorum stands behind me unheard.
    private var quorumPatience: Duration {
        // A leader's own word that it lacks a quorum is not waited out.
        heartbeatInterval + (isLeading || !leaderHasQuorum ? .zero : detection(nil))
    }

    /// When a member without news of a quorum is suspended, or a suspended one goes on all the same.
    var nextQuorumDue: Instant {
        guard followsMajority else { return .distantFuture }
        switch role {
        case .member, .leader: return quorumAt + quorumPatience + .nanoseconds(1)
        case .suspended: return survivorAt ?? .distantFuture
        case .joining, .left: return .distantFuture
        }
    }

    /// Notices that no quorum stands behind me, or that one does again; D + h is what it takes.
    mutating func tickQuorum() {
        guard policy.isMajority, genesis != nil, departure == nil else { return }
        guard followsMajority else {
            quorumAt = now
            if role == .suspended, isMember { become(.member) }
            return
        }
        if let leading, leading.hasQuorum, isViewCommitted { quorumAt = now }
        let isHeld = isMember && now - quorumAt <= quorumPatience
        switch role {
        case .member, .leader:
            if !isHeld { become(.suspended) }
        case .suspended:
            if isHeld {
                joinVia = []
                if catchUp?.target == nil { catchUp = nil }
                become(isLeading && isViewCommitted ? .leader : .member)
                retryPending()
            } else if let due = survivorAt, now >= due, attempt == nil {
                survivorAt = now + .seconds(1)
                campaign(members: view?.members ?? [], force: .survivor)
            }
        case .joining, .left: break
        }
    }

    /// When a suspended process goes on without the weight, if the policy lets it.
    mutating func noteSuspended() {
        let rank = view?.rank(of: me.tag) ?? 0
        survivorAt = policy.survivorTimeout.map { now + $0 + .milliseconds(50) * rank }
        refuseReads()
    }

    // MARK: The way back

    /// Whether JOIN is the way into a view.
    var mayJoin: Bool { role == .joining || role == .suspended }

    /// Follows a later view of the one line that goes on without me, and asks to be taken in again.
    ///
    /// Nothing is lost: what of my log is not in that line was never committed.
    mutating func rejoin(via process: ProcessID) {
        guard departure == nil, role != .left, process.tag != me.tag else { return }
        leaderHasQuorum = false
        quorumAt = .zero
        guard role != .suspended || !joinVia.contains(process) else { return }
        leading = nil
        attempt = nil
        talk = nil
        campaignAt = nil
        if role != .joining { become(.suspended) }
        joinVia.removeAll { $0 == process }
        joinVia.insert(process, at: 0)
        if joinVia.count > 16 { joinVia.removeLast() }
        joinResend = now
    }

    /// What a beacon of a view without me means where there is but one line; answers whether it did.
    mutating func follow(_ beacon: Message.Beacon, of process: ProcessID) -> Bool {
        if beacon.isPrimary {
            if view?.forced == true {
                // What rests on a person's word is another line, and is merged into that of a quorum.
                if role == .suspended { goOnSoon() }
                return role == .suspended
            }
            guard beacon.epoch > view?.epoch ?? .zero else { return false }
            rejoin(via: process)
        } else if view != nil {
            goOnSoon()
        } else {
            rejoin(via: process)
        }
        return true
    }

    /// Somebody went on without the weight: so may I, and the two branches merge.
    mutating func goOnSoon() {
        let due = now + .milliseconds(50) * (view?.rank(of: me.tag) ?? 0)
        survivorAt = min(survivorAt ?? due, due)
    }

    // MARK: A person's word

    /// Makes the component that I hear the room's primary one, whatever was required.
    mutating func adoptPrimary(now time: Instant) {
        enter(time)
        guard genesis != nil, role != .left, role != .joining || isResumed, departure == nil,
            !(isPrimary && isUsable && role != .suspended)
        else { return }
        let patience = detection(nil)
        var members = (view?.members ?? []).filter { member in
            links[member.process.tag].map { now - $0.lastHeard < patience } ?? false
        }
        let own = view?.member(tag: me.tag)
        members.append(own ?? Member(process: me, ability: ability, joined: .zero))
        begin(
            .suspicion,
            members: members,
            leavers: [],
            departed: [],
            proof: view.map { [$0.epoch] } ?? [],
            force: .primary
        )
    }
}
