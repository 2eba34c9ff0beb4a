import MeshWire

/// What a leader knows of one member.
struct Progress: Sendable {
    var process: ProcessID
    /// Whether it answered INSTALLED for this view.
    var isInstalled = false
    /// It holds the log up to here.
    var match: UInt64 = 0
    /// The next entry to send it.
    var next: UInt64
    var respondedAt: Instant
    /// When it last moved: matched more, or asked for more while it catches up.
    var progressAt: Instant
    /// The highest heartbeat it answered.
    var answered: UInt32 = 0
    /// Its head in the heartbeat answer before, to notice what was lost.
    var lastHead: UInt64 = 0
    var sentAt: Instant
    /// The commit it was told.
    var told: UInt64 = 0
    var promised: Epoch
}

/// Leading one view: from the own INSTALL on until the view changes.
struct Leading: Sendable {
    var install: Message.Install
    var progress = TagMap<Progress>()
    /// Processes not in the view that shall learn of it and weigh: leavers, and with `.majority` the
    /// rest of the required configurations.
    var outside: [ProcessID] = []
    var outsideInstalled: [UInt64] = []
    var sequence: UInt32 = 0
    var nextHeartbeat: Instant
    /// When those beside the fast successors are due.
    var nextFullHeartbeat: Instant
    var installResend: Instant
    var installInterval: Duration = .milliseconds(12)
    var startedAt: Instant
    /// A commit quorum was heard within D.
    var hasQuorum = true
    /// After a pause, answers to heartbeats from this one on count.
    var quorumFrom: UInt32 = 0
    /// Commands in the log that are not applied yet.
    var sequenced: [CommandKey: UInt64] = [:]
    /// How many of my `noop` entries, each of which confirms a command, are not applied yet.
    var confirming = 0
    /// Commands that overtook an earlier one of their origin, until that one comes.
    var held: [CommandKey: Held] = [:]
    /// Until when the time of what a node asked is used up; looked up, never walked.
    var paced: [PaceKey: Instant] = [:]
    var waiters: [Waiter] = []
    var reads: [LeaderRead] = []
    var leaving: [ProcessID] = []
    var expelled: [ProcessID] = []
    var changeAt: Instant?

    struct CommandKey: Hashable, Sendable {
        var origin: Origin
        var sequence: UInt64
    }

    /// What one node may do at one pace.
    struct PaceKey: Hashable, Sendable {
        var nodeID: NodeID
        var pace: Pace
    }

    /// A command that waits for its turn.
    struct Held: Sendable {
        var command: Command
        var process: ProcessID
    }

    /// An answer owed to the origin of a command.
    struct Waiter: Sendable {
        var index: UInt64
        var process: ProcessID
        var key: CommandKey
        var level: WriteLevel
    }

    /// A read that waits for a quorum's answer to a heartbeat.
    struct LeaderRead: Sendable {
        /// `nil`: my own.
        var process: ProcessID?
        var nonce: UInt64
        var sequence: UInt32
        var position: Position
    }

    /// Whether a member leaves, is expelled or joins, so that a view change is near.
    var wantsChange: Bool { !leaving.isEmpty || !expelled.isEmpty || changeAt != nil }

    mutating func paused(now: Instant) {
        hasQuorum = false
        quorumFrom = sequence &+ 1
        nextHeartbeat = now
        nextFullHeartbeat = now
        progress.updateAll {
            $1.respondedAt = now
            $1.progressAt = now
        }
    }
}

// A leader at work: heartbeats, replication, commit.
extension ConsensusCore {
    mutating func tickLeading() {
        guard leading != nil, let view else { return }
        if let due = leading?.nextHeartbeat, let full = leading?.nextFullHeartbeat, now >= due {
            // Half an h before its time is nearer than half an h behind it.
            sendHeartbeats(toAll: now + configuration.heartbeat / 2 >= full)
        }
        if let due = leading?.installResend, now >= due { resendInstall() }
        checkQuorum()
        confirm()
        tickLearners()
        // On the way into another view: what happens to mine is no concern any more.
        guard attempt == nil, catchUp?.target == nil else { return }
        var suspects: [UInt64] = []
        for index in 0..<(leading?.progress.count ?? 0) {
            guard let progress = leading?.progress.values[index] else { break }
            if monitor(progress.process, vouching: detection(nil) * 2) {
                suspects.append(progress.process.tag)
            } else if !progress.isInstalled, now - progress.progressAt > .seconds(4) {
                suspects.append(progress.process.tag)
            }
        }
        // Who has promised another view waits for it first: a view of its own would undo that one.
        let hasPromisedAway = promised > view.epoch
        guard !hasPromisedAway || now > promisedAt + installPatience else { return }
        let isOutpromised =
            leading?.progress.values.contains { $0.promised > view.epoch } ?? false
        let wantsChange =
            isStuck || leading?.leaving.isEmpty == false || leading?.expelled.isEmpty == false
            || (leading?.changeAt.map { now >= $0 } ?? false)
        guard !suspects.isEmpty || hasPromisedAway || isOutpromised || wantsChange else { return }
        guard !suspects.isEmpty || mayChangeView else { return }
        // Without the weight an attempt would only raise the counter; after one in vain the next waits.
        guard !followsMajority || hearsQuorum && now >= campaignAt ?? .zero else { return }
        changeView(without: suspects)
    }

    /// Whether my view cannot commit any more: all have installed it, but it is primary by the promise
    /// of one who leaves and never did.
    private var isStuck: Bool {
        guard let leading, !isViewCommitted, now - leading.startedAt > .seconds(1) else {
            return false
        }
        return leading.progress.values.allSatisfy(\.isInstalled)
    }

    /// At most four views a second of my own making, but for suspicions.
    private var mayChangeView: Bool {
        recentViews.filter { now - $0 < .seconds(1) }.count < 4
    }

    /// Whether a strict majority of the view, me included, satisfies `holds`.
    func hasMajority(_ holds: (Progress) -> Bool) -> Bool {
        // Only the one list is taken out: a copy of all of `leading` would touch a dozen.
        guard let members = leading?.progress.values, let size = view?.tags.count else {
            return false
        }
        return (1 + members.count(where: holds)) * 2 > size
    }

    private mutating func checkQuorum() {
        guard let from = leading?.quorumFrom, let epoch = view?.epoch else { return }
        let limit = detection(nil)
        let has = hasMajority {
            now - $0.respondedAt < limit && $0.promised <= epoch
                && (from == 0 || $0.answered >= from)
        }
        leading?.hasQuorum = has
    }

    /// Beats to all, or to the fast successors alone.
    mutating func sendHeartbeats(toAll: Bool = true) {
        guard let sequence = leading?.sequence else { return }
        leading?.sequence = sequence &+ 1
        let nextHeartbeat = now + configuration.heartbeat
        leading?.nextHeartbeat = nextHeartbeat
        if toAll {
            let nextFull = now + heartbeatInterval
            leading?.nextFullHeartbeat = nextFull
        }
        let fast = toAll ? [] : fastSuccessors
        checkQuorum()
        let beat = Message.Heartbeat(
            sequence: sequence &+ 1,
            commit: commit,
            head: log.head,
            hashPrefix: log.headHash.prefix,
            hasQuorum: leading?.hasQuorum == true && isActive,
            health: UInt8(health),
            heardFrom: heardFrom,
            promised: promised,
            sentAt: UInt64(bitPattern: now.nanoseconds),
            echoed: 0
        )
        for index in 0..<(leading?.progress.count ?? 0) {
            if let process = leading?.progress.values[index].process,
                toAll || fast.contains(process.tag)
            {
                send(.heartbeat(beat), to: process)
            }
        }
        let told = commit
        leading?.progress.updateAll { if toAll || fast.contains($0) { $1.told = told } }
    }

    mutating func receiveHeartbeat(_ beat: Message.Heartbeat, _ process: ProcessID) {
        guard let view, process.tag == view.epoch.proposer, !isLeading else { return }
        leaderHasQuorum = beat.hasQuorum
        // Once left behind, word of the old view's quorum is old.
        if beat.hasQuorum, joinVia.isEmpty { quorumAt = now }
        if isActive { advanceCommit(to: min(beat.commit, log.head)) }
        answerHeartbeat(beat, process, epoch: view.epoch)
    }

    /// Answers with what I hold in this view; nothing while I only catch up to it.
    mutating func answerHeartbeat(
        _ beat: Message.Heartbeat,
        _ process: ProcessID,
        epoch: Epoch
    ) {
        let isInstalled = view?.epoch == epoch
        send(
            .heartbeatAnswer(
                .init(
                    sequence: beat.sequence,
                    commit: isInstalled ? commit : 0,
                    head: isInstalled && isActive ? log.head : 0,
                    hashPrefix: isInstalled ? log.headHash.prefix : 0,
                    hasQuorum: leaderHasQuorum,
                    health: UInt8(health),
                    heardFrom: isInstalled ? heardFrom : 0,
                    promised: promised,
                    sentAt: UInt64(bitPattern: now.nanoseconds),
                    echoed: beat.sentAt
                )
            ),
            to: process,
            epoch: epoch
        )
    }

    mutating func receiveHeartbeatAnswer(_ beat: Message.Heartbeat, _ process: ProcessID) {
        guard let view, let known = leading?.progress[process.tag] else { return }
        let sentAt = Instant(nanoseconds: Int64(bitPattern: beat.echoed))
        links.update(process.tag) {
            $0.inView = now
            if sentAt <= now { $0.measured(now - sentAt) }
        }
        // Answers may overtake one another; the promise of the newest counts.
        let isNewest = beat.sequence >= known.answered
        self.leading?.progress.update(process.tag) {
            $0.respondedAt = now
            if isNewest {
                $0.answered = beat.sequence
                $0.promised = beat.promised
            }
        }
        if beat.promised > view.epoch {
            counterSeen = max(counterSeen, beat.promised.counter)
        } else if known.isInstalled, beat.head <= log.head {
            matched(process.tag, beat.head)
            let isStalled = beat.head < log.head && beat.head == known.lastHead
            self.leading?.progress.update(process.tag) {
                $0.lastHead = beat.head
                if isStalled { $0.next = min($0.next, $0.match + 1) }
            }
        } else if !known.isInstalled, beat.head > 0, let install = leading?.install,
            install.isLarge
        {
            // It has the view, and its word of that was lost; a large INSTALL is not sent again soon.
            send(.install(install), to: process)
        }
        completeReads()
    }

    // MARK: Replication

    /// When what was sent and not acknowledged goes out again.
    private func resendDue(_ progress: Progress) -> Instant {
        let wait = (links[progress.process.tag]?.timeout ?? .milliseconds(5)) * 2
        // Who says nothing at all is not pressed.
        let isHeard = progress.sentAt - progress.respondedAt < .milliseconds(150)
        return progress.sentAt + (isHeard ? wait : wait + .milliseconds(20))
    }

    /// The next time that a member lacks an answer long enough to be sent something again.
    var nextReplicationDue: Instant {
        guard let members = leading?.progress.values else { return .distantFuture }
        var next = leading?.installResend ?? .distantFuture
        let head = log.head
        for index in members.indices
        where members[index].match < head && members[index].isInstalled {
            next = min(next, resendDue(members[index]) + .nanoseconds(1))
        }
        return next
    }

    /// Whether all members that installed the view have the log and know the commit, as at most polls.
    private var isReplicated: Bool {
        guard let members = leading?.progress.values else { return true }
        let head = log.head
        return members.allSatisfy {
            !$0.isInstalled || $0.match == head && $0.next > head && $0.told >= commit
        }
    }

    /// Sends what members lack, as much as the window allows; called once a poll.
    mutating func replicate() {
        guard isActive, !isReplicated, let view else { return }
        var hasNews = false
        for index in 0..<(leading?.progress.count ?? 0) {
            guard var progress = leading?.progress.values[index], progress.isInstalled else {
                continue
            }
            if progress.next > log.head, progress.match == log.head {
                hasNews = hasNews || progress.told < commit
                continue
            }
            // What was sent and not acknowledged for long goes out again.
            if progress.match < log.head, progress.next > progress.match + 1,
                now > resendDue(progress)
            {
                progress.next = progress.match + 1
            }
            guard progress.next > log.base.index else {
                // Compacted away: the member is dropped and comes back by snapshot.
                self.leading?.progress.update(progress.process.tag) {
                    $0.isInstalled = false
                    $0.progressAt = .zero - .seconds(10)
                }
                continue
            }
            var sent = false
            while progress.next <= log.head, progress.next &- progress.match <= 512,
                let previousHash = log.hash(at: progress.next - 1)
            {
                let batch = entries(from: progress.next, through: log.head, budget: 900)
                guard !batch.isEmpty else { break }
                send(
                    .append(
                        .init(
                            previous: progress.next - 1,
                            previousHash: previousHash,
                            commit: commit,
                            entries: batch
                        )
                    ),
                    to: progress.process,
                    epoch: view.epoch
                )
                progress.next += UInt64(batch.count)
                sent = true
            }
            if sent {
                progress.sentAt = now
                progress.told = commit
            }
            hasNews = hasNews || progress.told < commit
            let final = progress
            self.leading?.progress.update(progress.process.tag) { $0 = final }
        }
        // News of a commit does not wait for the next heartbeat.
        if hasNews { sendHeartbeats() }
    }

    /// Entries from `first` on, at least one, up to `budget` bytes.
    func entries(from first: UInt64, through last: UInt64, budget: Int) -> [Entry] {
        var batch: [Entry] = []
        var size = 0
        var index = first
        while index <= last, let entry = log[index],
            batch.count < ConsensusLimits.entriesPerMessage
        {
            size += entry.bytes.count + 4
            if !batch.isEmpty, size > budget { break }
            batch.append(entry)
            index += 1
        }
        return batch
    }

    mutating func receiveAppend(_ append: Message.Append, _ process: ProcessID) {
        guard let view, process.tag == view.epoch.proposer, !isLeading else { return }
        guard isActive else { return }
        guard append.previous <= log.head else {
            // The leader goes back once in 2 ms at most: more would only say the same.
            guard now - missingAt >= .milliseconds(2) else { return }
            missingAt = now
            send(.missing([(log.head + 1)...append.previous]), to: process)
            return
        }
        // At or below my base everything is committed and equal.
        if append.previous >= log.base.index,
            !log.holds(append.previous, append.previousHash)
        {
            statistics.malformed += 1
            return
        }
        for entry in append.entries where entry.position.index > log.head {
            guard log.accepts(entry), entry.position.epoch == view.epoch else {
                statistics.malformed += 1
                return
            }
            switch entry.body {
            case .view, .merge: return  // they come with INSTALL alone
            case .command, .noop: break
            }
            log.append(entry, digest: digest)
        }
        isAcknowledgmentDue = true
        advanceCommit(to: min(append.commit, log.head))
    }

    mutating func flushAcknowledgment() {
        guard isAcknowledgmentDue else { return }
        isAcknowledgmentDue = false
        guard isActive, !isLeading, let leader = view?.leader else { return }
        send(.acknowledgment(match: log.head, durable: 0), to: leader)
    }

    mutating func receiveAcknowledgment(_ match: UInt64, _ process: ProcessID) {
        guard leading?.progress[process.tag]?.isInstalled == true, match <= log.head else {
            return
        }
        links.update(process.tag) { $0.inView = now }
        leading?.progress.update(process.tag) { $0.respondedAt = now }
        matched(process.tag, match)
    }

    mutating func receiveMissing(_ ranges: [ClosedRange<UInt64>], _ process: ProcessID) {
        guard let first = ranges.first?.lowerBound,
            let known = leading?.progress[process.tag], known.isInstalled
        else { return }
        links.update(process.tag) { $0.inView = now }
        leading?.progress.update(process.tag) {
            $0.respondedAt = now
            if first > $0.match, now - $0.sentAt > .milliseconds(2) {
                $0.next = min($0.next, first)
            }
        }
    }

    /// Notes that a member holds the log up to `index`, and commits what that allows.
    mutating func matched(_ tag: UInt64, _ index: UInt64) {
        leading?.progress.update(tag) {
            if index > $0.match {
                $0.match = index
                $0.progressAt = now
                $0.next = max($0.next, index + 1)
            }
        }
        updateCommit()
    }

    /// Commits up to what a strict majority of this view holds; the view entry comes first.
    ///
    /// A primary view also needs those who installed it to outweigh every required configuration.
    mutating func updateCommit() {
        guard let members = leading?.progress.values, let view, isActive else { return }
        if !isViewCommitted {
            guard hasMajority({ $0.isInstalled }) else { return }
            let holders =
                [me.tag] + (leading?.outsideInstalled ?? [])
                + members.filter(\.isInstalled).map(\.process.tag)
            if view.primary, !view.required.areOutweighed(by: holders) { return }
        }
        if !isViewCommitted || commit < log.head {
            var matches = members.map { $0.isInstalled ? $0.match : 0 }
            matches.append(log.head)
            matches.sort(by: >)
            let index = matches[view.tags.count / 2]
            guard index >= view.start.index else { return }
            advanceCommit(to: index)
        }
        answerWaiters()
        if commit >= view.start.index { dismissLeavers() }
        confirm()
    }

    /// Leading a committed primary view, writes a `noop` for each command that I have applied and that
    /// waits for that word: my view's, or left by an earlier one (`30-consensus.md` §8).
    ///
    /// By then a quorum of the primary holds the command, so every later primary has it too.
    private mutating func confirm() {
        guard !replica.unconfirmed.isEmpty, isPrimary, isAdmitting, let view,
            let under = leading?.confirming, under < replica.unconfirmed.count
        else { return }
        leading?.confirming = replica.unconfirmed.count
        for _ in under..<replica.unconfirmed.count {
            let position = Position(epoch: view.epoch, index: log.head + 1)
            log.append(Entry(position: position, body: .noop), digest: digest)
        }
        updateCommit()
    }

    /// Moves `commit` and applies; never backwards.
    mutating func advanceCommit(to index: UInt64) {
        guard index > commit else { return }
        let wasCommitted = isViewCommitted
        commit = index
        applyCommitted()
        if !wasCommitted, isViewCommitted, isMember, let view {
            output.events.append(.viewUsable(view))
            if isLeading { become(.leader) }
            talkFailures = min(talkFailures, 2)
            retryPending()
            links.updateAll { _, link in link.nextBeacon = min(link.nextBeacon, now) }
        }
    }

    /// A command that had run on a branch I gave up has run again: the loss is told if it differs.
    private mutating func settle(_ command: Command, _ result: [UInt8]) {
        guard
            let place = disputed.firstIndex(where: {
                $0.entry.command.sequence == command.sequence
                    && $0.entry.command.origin == command.origin
            })
        else { return }
        let former = disputed.remove(at: place)
        guard !replica.machine.isSameOutcome(of: command, former.result, result) else { return }
        output.events.append(.branchDiscarded([former.entry]))
    }

    mutating func applyCommitted() {
        let before = (displayed ?? replica).estranged
        if displayed != nil, isViewCommitted {
            displayed = nil
            output.events.append(.stateReplaced(replica.applied))
        }
        while replica.applied.index < commit, let entry = log[replica.applied.index + 1] {
            if case .view(let next) = entry.body, replica.losesMembers(next) {
                checkpoints.append(replica)
                if checkpoints.count > ConsensusLimits.checkpoints { checkpoints.removeFirst() }
            }
            switch replica.apply(entry, verify: verify) {
            case .none:
                if let command = entry.command { settled(command) }
            case .view(let view):
                if view.departed.contains(me), departure == nil {
                    end(.left(.kicked))
                    return
                }
            case .merge(let record):
                statistics.merges += 1
                output.events.append(.merged(record.report(at: entry.position)))
            case .unconfirmed(let command):
                leading?.sequenced[.init(origin: command.origin, sequence: command.sequence)] = nil
            case .command(let command, let result):
                statistics.applied += 1
                if case .noop = entry.body { log.markConfirming(entry.position.index, command) }
                output.events.append(
                    .applied(position: entry.position, command: command, result: result)
                )
                settle(command, result)
                settled(command)
            case .badSignature(let command):
                statistics.badSignatures += 1
                settled(command)
            }
            if case .noop = entry.body, entry.position.epoch == view?.epoch,
                let confirming = leading?.confirming, confirming > 0
            {
                leading?.confirming = confirming - 1
            }
        }
        if replica.estranged != before { output.events.append(.estranged(replica.estranged)) }
        if replica.estranged.isEmpty, !checkpoints.isEmpty { checkpoints.removeAll() }
        checkReads()
        compact()
    }

    /// What follows for answers when a command is applied.
    private mutating func settled(_ command: Command) {
        leading?.sequenced[.init(origin: command.origin, sequence: command.sequence)] = nil
        completeOwn(command)
    }

    /// Drops what every live member has, above the configured size (`30-consensus.md` §10).
    private mutating func compact() {
        guard
            log.entries.count > configuration.compactionEntries
                || log.byteCount > configuration.compactionBytes
        else { return }
        var keepFrom = replica.applied.index
        if log.byteCount < configuration.logBytesMaximum {
            for progress in leading?.progress.values ?? [] where progress.isInstalled {
                keepFrom = min(keepFrom, progress.match)
            }
            if let oldest = checkpoints.first { keepFrom = min(keepFrom, oldest.applied.index) }
            let kept = UInt64(configuration.keptEntries)
            keepFrom = keepFrom > kept ? keepFrom - kept : 0
        }
        // In steps, so that the cost of moving the array is spread.
        guard keepFrom > log.base.index &+ 256 || log.byteCount >= configuration.logBytesMaximum
        else { return }
        log.compact(through: keepFrom)
    }
}
