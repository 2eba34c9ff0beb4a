import MeshWire

/// A command that ran on a branch that lost, and that runs again on the one that won.
struct DisputedEntry: Sendable {
    var entry: DiscardedEntry
    /// What it gave here; `nil` if its origin had the answer, so that it was trimmed.
    var result: [UInt8]?
}

/// The machine behind ``Consensus``, free of generics so that it is compiled once.
///
/// What it knows falls into four parts: the replicated part (`log`, `commit`, `replica`), the promise
/// (`promised`), what it hears (`links`), and the work under way, of each kind at most one: an
/// `attempt` to form a view, a `catchUp`, a merge `talk`, the `leading` of its own view. Every change
/// of the view runs through `adopt(_:)`, which clears that work together.
struct ConsensusCore: ~Copyable, Sendable {
    let configuration: ConsensusConfiguration
    let me: ProcessID
    let ability: UInt8
    let digest: @Sendable ([UInt8]) -> Digest
    let verify: @Sendable (Command) -> Bool
    let signing: Signing?
    let pristine: any StateMachine
    var random: SeededGenerator

    /// The time of the last inlet, and the deadline last answered by ``poll(into:)``.
    var now: Instant
    var due: Instant?
    var lastAdvance: Instant

    /// The room's, once it is known.
    var policy: PartitionPolicy
    var genesis: Digest?
    var roomTag: UInt64 = 0
    var role: Role = .joining
    var promised: Epoch = .zero
    var promisedAt: Instant
    /// The highest counter seen anywhere.
    var counterSeen: UInt64 = 0
    /// Whether this process went on alone with a room of which it had only the keys.
    var isResumed = false

    var log = Log(base: .zero, hash: .zero)
    var commit: UInt64 = 0
    var replica: Replica
    /// The lost branch's state, shown until the view that replaces it commits: positions never fall.
    var displayed: Replica?
    /// The newest view entry of the log, and when it came.
    var view: View?
    var viewSince: Instant
    /// States at the start of views that lost members, oldest first.
    var checkpoints: [Replica] = []
    /// Committed commands of a branch I gave up that the other branch has too, with my results.
    var disputed: [DisputedEntry] = []

    var links = TagMap<Link>()
    /// How slow this process finds itself, 0...8.
    var health = 0
    var healthAt: Instant
    var campaignAt: Instant?
    var nextRandomProbe: Instant
    var leaderHasQuorum = false
    /// When a quorum was last known to stand behind my leader; only `.majority` asks.
    var quorumAt: Instant
    /// Attempts in a row that were given up for want of weight.
    var standBacks = 0
    /// When a suspended process goes on all the same; `nil`: never.
    var survivorAt: Instant?
    var helperRequests: [HelperRequest] = []
    var signedHeads: Heads
    var relaying: Relaying

    var attempt: Attempt?
    var leading: Leading?
    var catchUp: CatchUp?
    var talk: Talk?
    var talkBackoff: Instant
    var talkFailures = 0
    var learners = TagMap<Learner>()
    var challenges = TagMap<Challenge>()
    var served: ServedSnapshot?
    var joinVia: [ProcessID] = []
    var joinResend: Instant
    var departure: Departure?
    var recentViews: [Instant] = []

    var client: Client
    var isAcknowledgmentDue = false
    /// When the leader was last told what is missing.
    var missingAt: Instant
    var output = ConsensusOutput()
    var statistics = ConsensusStatistics()

    /// A second core in the same state; names every stored property above.
    init(copying other: borrowing ConsensusCore) {
        configuration = other.configuration
        me = other.me
        ability = other.ability
        digest = other.digest
        verify = other.verify
        signing = other.signing
        signedHeads = other.signedHeads
        relaying = other.relaying
        pristine = other.pristine
        random = other.random
        now = other.now
        due = other.due
        lastAdvance = other.lastAdvance
        policy = other.policy
        genesis = other.genesis
        roomTag = other.roomTag
        role = other.role
        promised = other.promised
        promisedAt = other.promisedAt
        counterSeen = other.counterSeen
        isResumed = other.isResumed
        log = other.log
        commit = other.commit
        replica = other.replica
        displayed = other.displayed
        view = other.view
        viewSince = other.viewSince
        checkpoints = other.checkpoints
        disputed = other.disputed
        links = other.links
        health = other.health
        healthAt = other.healthAt
        campaignAt = other.campaignAt
        nextRandomProbe = other.nextRandomProbe
        leaderHasQuorum = other.leaderHasQuorum
        quorumAt = other.quorumAt
        standBacks = other.standBacks
        survivorAt = other.survivorAt
        helperRequests = other.helperRequests
        attempt = other.attempt
        leading = other.leading
        catchUp = other.catchUp
        talk = other.talk
        talkBackoff = other.talkBackoff
        talkFailures = other.talkFailures
        learners = other.learners
        challenges = other.challenges
        served = other.served
        joinVia = other.joinVia
        joinResend = other.joinResend
        departure = other.departure
        recentViews = other.recentViews
        client = other.client
        isAcknowledgmentDue = other.isAcknowledgmentDue
        missingAt = other.missingAt
        output = other.output
        statistics = other.statistics
    }

    init(
        configuration: ConsensusConfiguration,
        process: ProcessID,
        ability: UInt8,
        machine: any StateMachine,
        digest: @escaping @Sendable ([UInt8]) -> Digest,
        verify: @escaping @Sendable (Command) -> Bool,
        signing: Signing?,
        seed: UInt64,
        now: Instant
    ) {
        self.configuration = configuration
        policy = configuration.policy ?? .available
        me = process
        self.ability = ability
        self.digest = digest
        self.verify = verify
        self.signing = signing
        signedHeads = Heads(nextAt: now)
        relaying = Relaying(since: now)
        pristine = machine
        random = SeededGenerator(seed: seed).stream("consensus", process.tag)
        self.now = now
        lastAdvance = now
        promisedAt = now
        replica = Replica(machine: machine, genesis: .zero)
        viewSince = now
        quorumAt = now
        missingAt = now - .seconds(1)
        healthAt = now
        nextRandomProbe = now
        talkBackoff = now
        joinResend = now
        client = Client(now: now)
    }
}

// MARK: What callers see.
extension ConsensusCore {
    var machine: any StateMachine { (displayed ?? replica).machine }
    /// The position that the lost branch shown stands at; asked first whether there is one, since a look
    /// into a state copies all of it.
    private var displayedPosition: Position? { displayed != nil ? displayed?.applied : nil }
    var commitPosition: Position {
        displayedPosition ?? log.position(at: commit) ?? replica.applied
    }
    var appliedPosition: Position { displayedPosition ?? replica.applied }
    var appliedHash: Digest {
        (displayed != nil ? displayed?.appliedHash : nil) ?? replica.appliedHash
    }
    var marks: ConsensusMarks {
        ConsensusMarks(
            role: role,
            promised: promised,
            view: view?.epoch ?? .zero,
            commit: commitPosition,
            applied: appliedPosition,
            head: headPosition,
            headHash: headHash,
            appliedHash: appliedHash
        )
    }
    var headPosition: Position { log.headPosition }
    var headHash: Digest { log.headHash }
    var estranged: [ProcessID] { replica.estranged }

    /// Whether I am listed in the newest view of my log.
    var isMember: Bool { view?.contains(me) ?? false }
    /// Whether I have promised nothing above my view, so that I may acknowledge in it.
    var isActive: Bool { view?.epoch == promised }
    var isViewCommitted: Bool {
        guard let start = view?.start else { return false }
        return commit >= start.index
    }
    var isPrimary: Bool {
        isMember && isViewCommitted && view?.primary == true && role != .suspended
    }
    var isUsable: Bool { isMember && isViewCommitted && isActive && role != .left }
    var isLeading: Bool { leading != nil }
    /// Whether I am a leader that sequences commands now.
    var isAdmitting: Bool {
        isLeading && isUsable && attempt == nil && talk?.verdict != .lost && departure == nil
            && (leading?.hasQuorum == true || !followsMajority)
    }

    func hash(_ bytes: [UInt8]) -> Digest { digest(bytes) }
}

extension ConsensusCore {
    /// One line about the work under way.
    var diagnostics: String {
        var parts = ["pending \(client.pending.count) from \(clientFloor)"]
        if !client.reads.isEmpty { parts.append("reads \(client.reads.count)") }
        if let leading {
            parts.append("leading: sequenced \(leading.sequenced.count) held \(leading.held.count)")
            parts.append("waiters \(leading.waiters.count) learners \(learners.count)")
        }
        if let attempt {
            parts.append(
                "attempt \(attempt.epoch) \(attempt.phase) members \(attempt.members.count)"
            )
        }
        if let catchUp {
            parts.append(
                "catching up from \(catchUp.source.tag >> 56) target \(catchUp.target != nil)"
            )
        }
        if let talk { parts.append("talk with \(talk.peer.tag >> 56)") }
        if let departure { parts.append("leaving since \(departure.since)") }
        if !challenges.isEmpty { parts.append("challenges \(challenges.count)") }
        parts.append("via \(joinVia.map { $0.tag >> 56 }) \(statistics)")
        return parts.joined(separator: "; ")
    }
}

// MARK: Inlets.
extension ConsensusCore {
    mutating func create(isFounding: Bool, now time: Instant) {
        enter(time)
        guard genesis == nil, role == .joining else { return }
        isResumed = !isFounding
        adoptGenesis(genesis(of: policy))
        // Of what a resumed room had decided nobody here knows: a majority of it must say so first.
        guard isFounding || !policy.isMajority else { return become(.suspended) }
        attempt = Attempt(
            reason: .change,
            members: [Member(process: me, ability: ability, joined: .zero)],
            now: now
        )
        beginPreparing()
    }

    /// The hash at the start of every log of this room, if it follows `policy`.
    func genesis(of policy: PartitionPolicy) -> Digest {
        var writer = ByteWriter(capacity: 128)
        writer.write("huddle/1 genesis".utf8)
        writer.write(UInt8(0))
        writer.write(configuration.room)
        policy.encode(into: &writer)
        return digest(writer.bytes)
    }

    mutating func adoptGenesis(_ genesis: Digest) {
        self.genesis = genesis
        roomTag = genesis.bytes.prefix(6).enumerated().reduce(0) {
            $0 | UInt64($1.element) << UInt64(8 * $1.offset)
        }
        log = Log(base: .zero, hash: genesis)
        replica = Replica(machine: pristine, genesis: genesis)
    }

    mutating func join(via process: ProcessID, now time: Instant) {
        enter(time)
        guard mayJoin, process.tag != me.tag else { return }
        joinVia.removeAll { $0 == process }
        joinVia.insert(process, at: 0)
        if joinVia.count > 16 { joinVia.removeLast() }
        joinResend = now
        tickJoin()
    }

    mutating func reachable(_ process: ProcessID, now time: Instant) {
        enter(time)
        guard process.tag != me.tag else { return }
        touchLink(process)
        links.update(process.tag) { link in
            if !link.isReachable {
                link.isReachable = true
                link.upSince = time
                link.nextBeacon = time
            }
            link.process = process
        }
        if joinVia.contains(process) { joinResend = now }
    }

    mutating func unreachable(_ process: ProcessID, now time: Instant) {
        enter(time)
        links.update(process.tag) { $0.isReachable = false }
        if view?.member(tag: process.tag) == nil { links[process.tag] = nil }
    }

    mutating func heard(_ process: ProcessID, now time: Instant) {
        enter(time)
        noteHeard(process, isDirect: true)
    }

    mutating func noteHeard(_ process: ProcessID, isDirect: Bool) {
        guard let index = links.index(of: process.tag) else { return }
        let isFalse =
            links.values[index].evictedAt.map { now - $0 < .seconds(10) } ?? false
        links.update(process.tag) { link in
            link.lastHeard = now
            if isDirect { link.heardDirectly(now: now) }
            if isFalse { link.suspectedFalsely(now: now) } else { link.evictedAt = nil }
        }
        if isFalse { statistics.falseSuspicions += 1 }
    }

    mutating func touchLink(_ process: ProcessID) {
        guard links[process.tag] == nil else { return }
        if links.count >= ConsensusLimits.links {
            // A link nobody needs makes room: not reachable and no member.
            let spare = links.tags.first { tag in
                links[tag]?.isReachable == false && view?.member(tag: tag) == nil
            }
            guard let spare else { return }
            links[spare] = nil
        }
        links[process.tag] = Link(process: process, now: now)
    }

    /// Moves the clock; notices that the process was paused (`30-consensus.md` §5).
    mutating func enter(_ time: Instant) {
        guard time > now else { return }
        if let due, time - due > configuration.heartbeat * 4 { notePause(time) }
        now = time
    }

    private mutating func notePause(_ time: Instant) {
        statistics.pauses += 1
        health = min(8, health + 2)
        healthAt = time
        links.updateAll { _, link in
            link.lastHeard = time
            link.inView = time
            link.directAt = time
            link.vouched = time
            link.probes = 0
            link.nextProbe = time
        }
        leading?.paused(now: time)
        campaignAt = nil
        promisedAt = max(promisedAt, time - .milliseconds(100))
        leaderHasQuorum = false
        attempt?.extend(now: time)
        talk = nil
        catchUp?.progressAt = time
        due = nil
    }

    mutating func advance(to time: Instant) {
        enter(time)
        lastAdvance = now
        guard role != .left else { return }
        tickLocal()
        tickJoin()
        tickLeading()
        tickQuorum()
        tickFollower()
        tickAttempt()
        tickCatchUp()
        tickTalk()
        tickBeacons()
        tickHeads()
        tickRelays()
        tickClient()
        tickDeparture()
    }

    mutating func poll(into output: inout ConsensusOutput) -> Instant? {
        if role != .left {
            replicate()
            flushAcknowledgment()
        }
        output.messages.append(contentsOf: self.output.messages)
        output.events.append(contentsOf: self.output.events)
        self.output.messages.removeAll(keepingCapacity: true)
        self.output.events.removeAll(keepingCapacity: true)
        // Never in the past: only time lost after it was answered tells of a pause.
        due = deadline.map { max($0, now) }
        return due
    }

    /// When ``advance(to:)`` has something to do; `nil`: when something comes from outside.
    ///
    /// Every 5 ms while a view is being formed or left, else when the first thing that waits is due.
    private var deadline: Instant? {
        guard role != .left else { return nil }
        if isBusy { return lastAdvance + .milliseconds(5) }
        // What comes from others is taken up in the same rhythm.
        var next = max(nextWorkDue, lastAdvance + .milliseconds(5))
        if genesis != nil {
            if let heartbeat = leading?.nextHeartbeat {
                next = min(next, heartbeat, nextBeaconDue, nextReplicationDue)
            } else if view != nil, role == .member || role == .suspended {
                next = min(next, nextRandomProbe)
            }
            next = min(next, nextMonitorDue, nextHeadDue, relaying.nextTry)
            if !client.isIdle { next = min(next, nextClientDue) }
            if let request = helperRequests.first { next = min(next, request.expires) }
        }
        guard next < .distantFuture else { return nil }
        // Whatever is due and was not served waits a moment: never a loop without time.
        return max(next, lastAdvance + .milliseconds(1))
    }

    private var isBusy: Bool {
        if attempt != nil || departure != nil { return true }
        return leading != nil && (!isViewCommitted || leading?.wantsChange == true)
    }

    /// The next time that a way to a log, a talk, a campaign or those who want to join need attention.
    private var nextWorkDue: Instant {
        var next = min(nextCatchUpDue, nextTalkDue, nextLearnerDue, nextQuorumDue)
        guard let epoch = view?.epoch else { return next }
        if promised > epoch, isLeading || now < nextPatienceDue {
            next = min(next, nextPatienceDue)
        }
        if let campaignAt {
            next = min(next, campaignAt)
        } else if role == .suspended, joinVia.isEmpty {
            // It stands for leader again and again.
            next = now
        }
        return next
    }

    /// Ends this process's part in the room: what waits fails first, then its caller hears why.
    mutating func end(_ event: ConsensusEvent) {
        guard role != .left else { return }
        become(.left)
        output.events.append(event)
    }

    /// Sets the role, the one place where it changes.
    mutating func become(_ next: Role) {
        guard role != next, role != .left else { return }
        role = next
        output.events.append(.roleChanged(next))
        survivorAt = nil
        if next == .suspended { noteSuspended() }
        if next == .left {
            attempt = nil
            leading = nil
            catchUp = nil
            talk = nil
            learners = TagMap()
            challenges = TagMap()
            joinVia = []
            departure = nil
            failPending(.notJoined)
        }
    }
}
