import MeshWire

/// A process that learns the log from this leader.
struct Learner: Sendable {
    var process: ProcessID
    var ability: UInt8
    /// It is close enough to the head to be a member.
    var isReady = false
    var seenAt: Instant
}

/// A new life of a node whose old one is still a member: the old one is asked first.
struct Challenge: Sendable {
    var old: ProcessID
    var since: Instant
    var asked = 0
}

/// The snapshot that is being handed out.
struct ServedSnapshot: Sendable {
    var manifest: Message.Manifest
    var bytes: [UInt8]
    var madeAt: Instant
}

// Taking in joiners and bringing others up to date (`30-consensus.md` §10, §11).
extension ConsensusCore {
    mutating func receiveJoin(_ join: Message.Join, _ process: ProcessID) {
        guard genesis != nil, let view, isMember, !isDistrusted(process.tag) else { return }
        if view.contains(process)
            || leading?.outside.contains(process) == true && !isViewCommitted
        {
            // A member on its way into this view; the leader serves it before the view commits.
            leading?.progress.update(process.tag) { $0.progressAt = now }
            return offerLog(join, process)
        }
        guard isLeading else {
            // Once left behind, I know who leads now; my view's leader leads no more.
            let leader = role == .suspended ? joinVia.first : isViewCommitted ? view.leader : nil
            guard let leader, leader != me, leader != process else { return }
            return send(.offer(.redirect(leader)), to: process)
        }
        guard isViewCommitted, departure == nil else { return }
        if let refusal = refusal(join, process) {
            return send(.offer(.refusal(refusal)), to: process)
        }
        guard settleDuplicate(process) else { return }
        let isReady = join.heads.contains {
            log.holds($0.index, $0.hash) && log.head - $0.index <= 64
        }
        if learners[process.tag] == nil {
            guard learners.count < ConsensusLimits.learners else { return }
            learners[process.tag] = Learner(process: process, ability: join.ability, seenAt: now)
        }
        learners.update(process.tag) {
            $0.seenAt = now
            if isReady { $0.isReady = true }
        }
        if isReady, leading?.changeAt == nil {
            let changeAt = now + configuration.joinBatching
            leading?.changeAt = changeAt
        }
        if join.heads.count == 1, let head = join.heads.first, log.holds(head.index, head.hash),
            log.head > head.index, learners[process.tag]?.isReady == true || log.head > head.index
        {
            // A known learner: entries at once, no offer between.
            send(.offer(.delta(genesis: genesis ?? .zero, index: head.index)), to: process)
            sendEntries(from: head.index + 1, through: log.head, to: process)
        } else {
            offerLog(join, process)
        }
    }

    private func refusal(_ join: Message.Join, _ process: ProcessID) -> JoinRefusal? {
        if join.policy != PartitionPolicy.demand(nil), join.policy != PartitionPolicy.demand(policy)
        {
            return .policyMismatch
        }
        if replica.isBuried(process.tag) { return .buried }
        guard let view else { return nil }
        if view.member(tag: process.tag) != nil { return .tagCollision }
        let isReplacement = view.members.contains { $0.process.nodeID == process.nodeID }
        if !isReplacement, view.members.count >= Limits.members { return .full }
        return nil
    }

    /// Whether no other life of the node stands in the way; asks the old one, 3 probes in 60 ms.
    private mutating func settleDuplicate(_ process: ProcessID) -> Bool {
        guard
            let old = view?.members.first(where: { $0.process.nodeID == process.nodeID })?.process
        else { return true }
        if old == me {
            send(.offer(.refusal(.duplicateIdentity)), to: process)
            return false
        }
        guard let challenge = challenges[process.tag] else {
            if challenges.count < ConsensusLimits.learners {
                challenges[process.tag] = Challenge(old: old, since: now)
            }
            return false
        }
        guard now - challenge.since > .milliseconds(60) else { return false }
        if let link = links[old.tag], link.isReachable, link.lastHeard > challenge.since {
            challenges[process.tag] = nil
            send(.offer(.refusal(.duplicateIdentity)), to: process)
            return false
        }
        return true
    }

    /// Whoever has become a member learns no more, and another life of it has to ask anew.
    ///
    /// What a dead life asked may arrive late: it stood beside the new one as a learner, and would
    /// take its place once that is a member, without the challenge.
    mutating func dropLearners(of node: NodeID) {
        for index in learners.tags.indices.reversed()
        where learners.values[index].process.nodeID == node {
            learners[learners.tags[index]] = nil
        }
    }

    /// When an old life is asked again, or one who asks is forgotten.
    var nextLearnerDue: Instant {
        var next = Instant.distantFuture
        for index in 0..<challenges.count {
            let challenge = challenges.values[index]
            let pause: Duration =
                challenge.asked < 3 ? .milliseconds(20) * challenge.asked : .seconds(5)
            next = min(next, challenge.since + pause)
        }
        for index in 0..<learners.count {
            next = min(next, learners.values[index].seenAt + .seconds(2))
        }
        return next
    }

    mutating func tickLearners() {
        for index in 0..<challenges.count {
            let tag = challenges.tags[index]
            let challenge = challenges.values[index]
            if challenge.asked < 3, now - challenge.since >= .milliseconds(20) * challenge.asked {
                challenges.update(tag) { $0.asked += 1 }
                send(
                    .probe(
                        .init(
                            nonce: random.next(),
                            target: challenge.old.tag,
                            leaderAge: 0,
                            hasQuorum: false
                        )
                    ),
                    to: challenge.old
                )
            }
        }
        for tag in challenges.tags
        where challenges[tag].map({ now - $0.since > .seconds(5) }) ?? false {
            challenges[tag] = nil
        }
        for tag in learners.tags
        where learners[tag].map({ now - $0.seenAt > .seconds(2) }) ?? false {
            learners[tag] = nil
        }
        if let at = leading?.changeAt, now >= at, !learners.values.contains(where: \.isReady) {
            leading?.changeAt = nil
        }
    }

    /// Answers with the best point of the learner's that my log holds, or a snapshot.
    private mutating func offerLog(_ join: Message.Join, _ process: ProcessID) {
        let known = join.heads.filter { log.holds($0.index, $0.hash) }.map(\.index).max()
        if let known {
            send(.offer(.delta(genesis: genesis ?? .zero, index: known)), to: process)
        } else {
            send(.offer(.manifest(currentManifest())), to: process)
        }
    }

    /// The manifest of a snapshot at `applied`, made anew when the last one is old.
    private mutating func currentManifest() -> Message.Manifest {
        // A view in the making starts above: its start bounds what a member may take.
        let isFresh =
            served.map {
                now - $0.madeAt < .seconds(10)
                    && log.holds($0.manifest.position.index, $0.manifest.hash)
            } ?? false
        if isFresh, let served { return served.manifest }
        let bytes = replica.snapshot(genesis: genesis ?? .zero)
        let manifest = Message.Manifest(
            genesis: genesis ?? .zero,
            policy: policy,
            position: replica.applied,
            hash: replica.appliedHash,
            byteCount: UInt32(clamping: bytes.count),
            chunkBytes: UInt32(configuration.chunkBytes),
            digest: digest(bytes)
        )
        served = ServedSnapshot(manifest: manifest, bytes: bytes, madeAt: now)
        statistics.snapshotsServed += 1
        return manifest
    }

    mutating func receiveChunkRequest(_ request: Message.ChunkRequest, _ process: ProcessID) {
        leading?.progress.update(process.tag) { $0.progressAt = now }
        learners.update(process.tag) { $0.seenAt = now }
        guard let served, served.manifest.position == request.position else {
            return send(.offer(.manifest(currentManifest())), to: process)
        }
        let size = Int(served.manifest.chunkBytes)
        for index in Int(request.first)..<Int(request.first) + Int(min(request.count, 16)) {
            let start = index * size
            guard start < served.bytes.count else { break }
            let bytes = Array(served.bytes[start..<min(start + size, served.bytes.count)])
            send(
                .chunk(.init(position: request.position, index: UInt32(index), bytes: bytes)),
                to: process
            )
        }
    }

    mutating func receiveFetch(_ from: UInt64, _ previousHash: Digest, _ process: ProcessID) {
        guard from > 0, isMember || view != nil else { return }
        leading?.progress.update(process.tag) { $0.progressAt = now }
        guard log.holds(from - 1, previousHash) else {
            return send(.offer(.manifest(currentManifest())), to: process)
        }
        sendEntries(from: from, through: log.head, to: process)
    }

    /// Sends entries: a few in a datagram, many over the reliable lane.
    mutating func sendEntries(from: UInt64, through last: UInt64, to process: ProcessID) {
        guard from <= last, let previousHash = log.hash(at: from - 1) else { return }
        // Who asks for the same again may have what was sent on its way, on a lane that loses nothing:
        // each repetition waits twice as long, up to 2 s.
        if let link = links[process.tag], link.servedFrom == from {
            let pause = Duration.milliseconds(30) * (1 << min(link.servedTimes, 6))
            guard now - link.servedAt >= pause else { return }
        }
        links.update(process.tag) {
            $0.servedTimes = $0.servedFrom == from ? $0.servedTimes + 1 : 0
            $0.servedFrom = from
            $0.servedAt = now
        }
        let batch = entries(from: from, through: last, budget: ConsensusLimits.entriesBytes)
        send(
            .entries(
                .init(
                    previous: from - 1,
                    previousHash: previousHash,
                    commit: commit,
                    entries: batch
                )
            ),
            to: process
        )
    }
}
