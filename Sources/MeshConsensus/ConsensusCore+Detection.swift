import MeshWire

/// A probe that this process makes for another.
struct HelperRequest: Sendable {
    var asker: ProcessID
    var target: UInt64
    /// The asker's nonce and mine.
    var nonce: UInt64
    var mine: UInt64
    var expires: Instant
}

// Failure detection (`30-consensus.md` §6): heartbeats, a burst of probes and helpers from W on,
// suspicion after D. Only the view decides; suspicion is the input to a proposal.
extension ConsensusCore {
    /// h for a view of this size.
    var heartbeatInterval: Duration {
        let count = view?.members.count ?? 1
        return configuration.heartbeat * (count <= 16 ? 1 : count <= 32 ? 2 : 4)
    }

    /// The first three successors, who hear the leader every 50 ms whatever the view's size.
    var fastSuccessors: [UInt64] {
        guard let view else { return [] }
        let leader = view.epoch.proposer
        let first = view.members.prefix(4).map(\.process.tag).filter { $0 != leader }
        return Array(first.prefix(3))
    }

    /// The time between two beats that I wait for: the leader's to me, or the members' answers.
    private var awaitedInterval: Duration {
        let interval = heartbeatInterval
        guard interval > configuration.heartbeat, !isLeading, fastSuccessors.contains(me.tag)
        else { return interval }
        return configuration.heartbeat
    }

    /// W: silence after which probing starts.
    var probeStart: Duration { awaitedInterval * 3 / 2 }

    /// D towards a member: its start by the view's size, raised by false suspicions and own health.
    func detection(_ link: Link?) -> Duration {
        let count = view?.members.count ?? 1
        let start =
            count <= 2
            ? configuration.detectionPair
            : max(configuration.detection, probeStart + .milliseconds(150))
        let factor = (link?.factor(now: now) ?? 1) * Double(1 + health)
        guard factor > 1 else { return start }
        return min(
            .nanoseconds(Int64(Double(start.wholeNanoseconds) * factor)),
            configuration.detectionMaximum
        )
    }

    /// Whether anyone but `tag` was heard since `instant`; if nobody was, I am the suspect.
    func hearsOthers(than tag: UInt64, since instant: Instant) -> Bool {
        guard let view else { return false }
        return view.members.contains { member in
            let other = member.process.tag
            guard other != tag, other != me.tag, let link = links[other] else { return false }
            return link.lastHeard >= instant
        }
    }

    /// By rank in the view, whom I hear.
    var heardFrom: UInt64 {
        guard let view else { return 0 }
        var bits: UInt64 = 0
        for (rank, member) in view.members.enumerated() where rank < 64 {
            if member.process.tag == me.tag {
                bits |= 1 << UInt64(rank)
            } else if let index = links.index(of: member.process.tag),
                now - links.values[index].lastHeard < .seconds(1)
            {
                bits |= 1 << UInt64(rank)
            }
        }
        return bits
    }

    /// Milliseconds since my leader was heard, for probe answers.
    private var leaderAge: UInt16 {
        guard let view, let link = links[view.epoch.proposer] else { return isLeading ? 0 : .max }
        return UInt16(clamping: Int64((now - link.inView).milliseconds))
    }

    /// Whether a live leader holds me, so that others' attempts are vetoed.
    var hasLiveLeader: Bool {
        guard let view, isMember, isActive, !isDistrusted(view.epoch.proposer) else { return false }
        if let leading { return leading.hasQuorum && isViewCommitted && departure == nil }
        guard leaderHasQuorum, let link = links[view.epoch.proposer] else { return false }
        let silence = now - link.inView
        // Whoever hears the leader seldom believes the fast successors, who have probed it meanwhile.
        if awaitedInterval > configuration.heartbeat, health == 0 {
            return silence < max(configuration.detection - .milliseconds(100), awaitedInterval)
                + .milliseconds(50)
        }
        return silence < detection(nil) - .milliseconds(100)
    }

    // MARK: Time

    /// Own health and marks of shaky links.
    mutating func tickLocal() {
        if health > 0, now - healthAt >= .seconds(1) {
            health -= 1
            healthAt = now
        }
        // Silence counts for nothing; that I do not hear it either tells the asker that I live.
        while let first = helperRequests.first, first.expires <= now {
            helperRequests.removeFirst()
            send(
                .probeFailure(
                    .init(
                        nonce: first.nonce,
                        target: first.target,
                        leaderAge: leaderAge,
                        hasQuorum: leaderHasQuorum
                    )
                ),
                to: first.asker
            )
        }
        guard let view else { return }
        let isLeading = isLeading
        for tag in view.tags where tag != me.tag && (isLeading || tag == view.epoch.proposer) {
            guard let index = links.index(of: tag) else { continue }
            let isShaky = now - links.values[index].inView > .milliseconds(150)
            if isShaky != links.values[index].isShaky {
                links.update(tag) { $0.isShaky = isShaky }
                output.events.append(.linkShaky(links.values[index].process, isShaky: isShaky))
            }
        }
    }

    /// The next time that a monitored link wants attention.
    var nextMonitorDue: Instant {
        guard let view, role != .joining else { return .distantFuture }
        // A follower that has promised watches nobody before its patience ends.
        let isLeading = isLeading
        let isPatient = !isLeading && promised > view.epoch && now < nextPatienceDue
        let probeStart = probeStart
        var next = Instant.distantFuture
        for tag in view.tags where tag != me.tag && (isLeading || tag == view.epoch.proposer) {
            guard let index = links.index(of: tag) else { continue }
            let late = links.values[index].inView + probeStart
            guard late <= now else {
                next = min(next, late)
                continue
            }
            next = min(next, now + .milliseconds(isPatient ? 20 : 5))
        }
        return next
    }

    /// Watches one member; answers whether it is suspect.
    ///
    /// `vouching` says for how long a helper's word stands against my own silence.
    mutating func monitor(_ process: ProcessID, vouching: Duration) -> Bool {
        guard let index = links.index(of: process.tag) else { return true }
        let link = links.values[index]
        let silence = now - max(link.inView, viewSince)
        guard silence > probeStart else {
            if link.probes > 0 { links.update(process.tag) { $0.probes = 0 } }
            return false
        }
        if now >= link.nextProbe || link.probes == 0 { probe(process, link) }
        let limit = detection(link)
        guard silence > limit else { return false }
        if now - link.vouched < limit, silence < vouching { return false }
        if (view?.members.count ?? 1) >= 3, silence < limit * 3,
            !hearsOthers(than: process.tag, since: max(link.inView, viewSince) + probeStart)
        {
            return false
        }
        return true
    }

    /// One step of the burst: a direct probe, and helpers at the first and the fifth.
    private mutating func probe(_ process: ProcessID, _ link: Link) {
        let message = Message.Probe(
            nonce: random.next(),
            target: process.tag,
            leaderAge: leaderAge,
            hasQuorum: leaderHasQuorum
        )
        sendDirectly(.probe(message), to: process)
        if link.probes == 0 || link.probes == 4 || link.probes % 8 == 7 {
            for helper in helpers(for: process) { sendDirectly(.probeRequest(message), to: helper) }
        }
        let interval: Duration = .milliseconds(link.probes < 5 ? 10 : 25)
        links.update(process.tag) {
            $0.probes += 1
            $0.nextProbe = now + interval
        }
    }

    /// Asks helpers for one that was not heard for W, beside every burst.
    mutating func askHelpers(for process: ProcessID) {
        guard let link = links[process.tag], !link.isDeaf, now - link.directAt > probeStart else {
            return
        }
        let message = Message.Probe(
            nonce: random.next(),
            target: process.tag,
            leaderAge: leaderAge,
            hasQuorum: leaderHasQuorum
        )
        for helper in helpers(for: process) { sendDirectly(.probeRequest(message), to: helper) }
    }

    /// Up to three other members, drawn at random.
    private mutating func helpers(for process: ProcessID) -> [ProcessID] {
        guard let view else { return [] }
        var candidates = view.members.map(\.process).filter {
            $0.tag != me.tag && $0.tag != process.tag && isDirect($0)
        }
        if candidates.count > 3 {
            candidates.shuffle(using: &random)
            candidates.removeLast(candidates.count - 3)
        }
        return candidates
    }

    /// Follower: watches the leader and campaigns when its turn comes.
    mutating func tickFollower() {
        guard let view, role == .member || role == .suspended, !isLeading else { return }
        randomProbe()
        guard attempt == nil, catchUp?.target == nil else { return }
        guard isMember else {
            if followsMajority {
                // The line goes on without me: only its leader takes me in.
                if joinVia.isEmpty, let leader = view.leader { rejoin(via: leader) }
            } else if now - viewSince > .seconds(1) {
                // Caught up into a view without me, and its leader never took me in.
                campaign(members: [])
            }
            return
        }
        guard let leader = view.leader else { return }
        if promised > view.epoch, now < promisedAt + installPatience { return }
        // A leader without a quorum is as good as none, where only a quorum goes on.
        let isUseless =
            role == .suspended && joinVia.isEmpty || isDistrusted(leader.tag)
        guard monitor(leader, vouching: .seconds(1)) || isUseless else {
            campaignAt = nil
            return
        }
        let rank =
            view.members.filter { $0.process.tag != leader.tag }
            .firstIndex { $0.process == me } ?? 0
        let step = max(configuration.stagger, (links[leader.tag]?.timeout ?? .zero) / 2)
        let turn = campaignAt ?? now + min(step, .milliseconds(60)) * rank
        campaignAt = turn
        guard now >= turn else { return }
        campaignAt = nil
        campaign(members: view.members.filter { $0.process.tag != leader.tag })
    }

    /// When a promiser that has no INSTALL suspects again.
    var nextPatienceDue: Instant { promisedAt + installPatience }

    /// How long a promiser waits for INSTALL before it suspects again.
    var installPatience: Duration {
        let roundTrip = links[promised.proposer]?.timeout ?? .zero
        // A round trip measured across a sleep says nothing of the next one.
        return min(
            max(.milliseconds(300), roundTrip * 4 + .milliseconds(100)),
            configuration.detectionMaximum
        )
    }

    /// Probes one random member every 200 ms, so that links are known before they are needed.
    private mutating func randomProbe() {
        guard now >= nextRandomProbe, let view else { return }
        nextRandomProbe = now + random.duration(in: .milliseconds(180)...(.milliseconds(220)))
        let others = view.members.filter { $0.process.tag != me.tag }
        guard let member = others.randomElement(using: &random) else { return }
        sendProbe(to: member.process)
    }

    /// A probe whose nonce is the time, so that its answer measures the way.
    func probe(of process: ProcessID) -> Message {
        .probe(
            .init(
                nonce: UInt64(bitPattern: now.nanoseconds),
                target: process.tag,
                leaderAge: leaderAge,
                hasQuorum: leaderHasQuorum
            )
        )
    }

    /// Probes the direct way.
    mutating func sendProbe(to process: ProcessID) { sendDirectly(probe(of: process), to: process) }

    // MARK: Messages

    /// A probe asks about the way it came: what came directly is answered directly.
    mutating func receiveProbe(_ probe: Message.Probe, _ process: ProcessID, isRelayed: Bool) {
        guard probe.target == me.tag else { return }
        let answer = Message.probeAnswer(
            .init(
                nonce: probe.nonce,
                target: me.tag,
                leaderAge: isLeading ? 0 : leaderAge,
                hasQuorum: leading?.hasQuorum ?? leaderHasQuorum
            )
        )
        if isRelayed { send(answer, to: process) } else { sendDirectly(answer, to: process) }
    }

    mutating func receiveProbeRequest(_ probe: Message.Probe, _ process: ProcessID) {
        if probe.target == me.tag { return receiveProbe(probe, process, isRelayed: false) }
        guard helperRequests.count < 64, let target = view?.member(tag: probe.target) else {
            return
        }
        let mine = random.next()
        helperRequests.append(
            HelperRequest(
                asker: process,
                target: probe.target,
                nonce: probe.nonce,
                mine: mine,
                expires: now + .milliseconds(60)
            )
        )
        sendDirectly(
            .probe(
                .init(
                    nonce: mine,
                    target: probe.target,
                    leaderAge: leaderAge,
                    hasQuorum: leaderHasQuorum
                )
            ),
            to: target.process
        )
    }

    mutating func receiveProbeAnswer(
        _ probe: Message.Probe,
        _ process: ProcessID,
        isRelayed: Bool
    ) {
        if !isRelayed,
            let place = helperRequests.firstIndex(where: {
                $0.mine == probe.nonce && $0.target == process.tag
            })
        {
            // A third party's answer goes back to who asked, in my view's epoch.
            let request = helperRequests.remove(at: place)
            var answer = probe
            answer.nonce = request.nonce
            sendDirectly(.probeAnswer(answer), to: request.asker)
        }
        if probe.target == process.tag {
            if !isRelayed { noteTwoWay(process.tag) }
            leading?.progress.update(process.tag) { $0.respondedAt = now }
            if isLeading { links.update(process.tag) { $0.inView = now } }
            let sentAt = Instant(nanoseconds: Int64(bitPattern: probe.nonce))
            // Random probes carry their time as nonce; others measure nothing.
            if sentAt <= now, now - sentAt < .seconds(3) {
                links.update(process.tag) { $0.measured(now - sentAt) }
            }
        } else {
            // A helper vouches for a member that I cannot reach; in vain for a leader without quorum.
            if followsMajority, probe.target == view?.epoch.proposer, !probe.hasQuorum { return }
            links.update(probe.target) { $0.vouched = now }
            if !isRelayed { noteVouched(probe.target, by: process) }
        }
    }

    // MARK: Beacons

    /// When the next beacon is due; only leaders send them unasked.
    var nextBeaconDue: Instant {
        guard let members = leading?.progress else { return .distantFuture }
        var next = Instant.distantFuture
        for index in 0..<links.count
        where links.values[index].isReachable && members.index(of: links.tags[index]) == nil {
            next = min(next, links.values[index].nextBeacon)
        }
        return next
    }

    mutating func tickBeacons() {
        guard isLeading, isViewCommitted, let view else { return }
        for index in 0..<links.count {
            let link = links.values[index]
            guard link.isReachable, now >= link.nextBeacon,
                view.member(tag: links.tags[index]) == nil
            else { continue }
            let interval: Duration
            if now - link.upSince < .seconds(3) {
                interval = .milliseconds(200)
            } else if now - link.lastHeard < .seconds(600) {
                interval = configuration.beacon
            } else {
                interval = configuration.beacon * 10
            }
            let jittered = random.duration(in: (interval * 4 / 5)...(interval * 6 / 5))
            links.update(link.process.tag) { $0.nextBeacon = now + jittered }
            sendBeacon(link.process)
        }
    }

    mutating func sendBeacon(_ process: ProcessID) {
        // With `.majority` what is not primary has gone on without the weight, and the beacon says so.
        guard let view, isViewCommitted || !policy.isMajority else { return }
        send(
            .beacon(
                .init(
                    epoch: view.epoch,
                    head: log.head,
                    hashPrefix: log.headHash.prefix,
                    size: UInt16(view.members.count),
                    isPrimary: isViewCommitted && view.primary && !view.forced
                )
            ),
            to: process
        )
    }
}

extension Digest {
    /// The first eight bytes as a number, enough to notice a difference.
    var prefix: UInt64 { words.0 }
}
