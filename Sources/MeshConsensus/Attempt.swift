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

// Views and election (`30-consensus.md` §7). An attempt asks, prepares, flushes and installs; each has a
// file of its own.
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

    var resendInterval: Duration { .milliseconds(12) }

    /// Whether a silent process is given up: soon if it was not heard at all, later if it was.
    func isGivenUp(_ tag: UInt64, since: Instant, patience: Duration) -> Bool {
        let heard = links[tag].map { hasWay(to: $0.process) && $0.lastHeard > since } ?? false
        return now - since > (heard ? max(patience, .milliseconds(300)) : patience)
    }
}
