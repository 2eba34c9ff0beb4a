import MeshWire

/// The way of a process to the log of a leader: as a learner, or into a view it promised.
struct CatchUp: Sendable {
    /// The view to be installed at the end; a learner has none yet.
    struct Target: Sendable {
        var epoch: Epoch
        var install: Message.Install
    }

    enum Phase: Sendable {
        /// JOIN is out: which point of mine does the leader know?
        case asking
        /// FETCH is out.
        case entries
        /// Chunks of a snapshot are coming.
        case chunks(Message.Manifest, [[UInt8]?])
    }

    var source: ProcessID
    var target: Target?
    var phase: Phase = .asking
    /// The new branch as it grows; mine stays whole until it is complete.
    var staged: Staged?
    var resendAt: Instant
    var progressAt: Instant

    /// Until when nothing may come before another is asked.
    var lastsUntil: Instant {
        guard target == nil else { return progressAt + .milliseconds(1500) }
        // Whoever has not even offered may be a joiner too: others are asked soon.
        if case .asking = phase { return progressAt + .milliseconds(600) }
        return progressAt + .seconds(2)
    }

    /// A branch in the making: a state to go on from, `nil` for the present one, and the log behind it.
    struct Staged: Sendable {
        var replica: Replica?
        var log: Log
    }
}

// Catching up (`30-consensus.md` §9 M7, §10): the old branch is given up in one step, at the end.
extension ConsensusCore {
    mutating func beginCatchUp(with process: ProcessID, target: CatchUp.Target?) {
        catchUp = CatchUp(source: process, target: target, resendAt: now, progressAt: now)
        askForLog()
    }

    /// When the next question for a log is due, or the patience with who was asked ends.
    var nextCatchUpDue: Instant {
        if catchUp != nil, let running = catchUp {
            return min(running.resendAt, running.lastsUntil)
        }
        return mayJoin && !joinVia.isEmpty ? joinResend : .distantFuture
    }

    mutating func tickCatchUp() {
        guard let running = catchUp else { return }
        if now > running.lastsUntil {
            catchUp = nil
            joinResend = now
            return
        }
        guard now >= running.resendAt else { return }
        switch running.phase {
        case .asking: askForLog()
        case .entries: fetchMore()
        case .chunks: requestChunks()
        }
    }

    /// The points of my log that a leader may continue, best first.
    private var heads: [Message.Head] {
        var heads = [Message.Head(index: log.head, hash: log.headHash)]
        if replica.applied.index < log.head {
            heads.append(.init(index: replica.applied.index, hash: replica.appliedHash))
        }
        for checkpoint in checkpoints.reversed() {
            heads.append(.init(index: checkpoint.applied.index, hash: checkpoint.appliedHash))
        }
        return Array(heads.prefix(ConsensusLimits.heads))
    }

    mutating func askForLog() {
        guard let running = catchUp else { return }
        catchUp?.phase = .asking
        catchUp?.staged = nil
        catchUp?.resendAt = now + .milliseconds(50)
        send(
            .join(
                .init(
                    ability: ability,
                    policy: PartitionPolicy.demand(configuration.policy),
                    heads: genesis == nil ? [] : heads
                )
            ),
            to: running.source
        )
    }

    /// Joiner: asks those it may join by, until one takes it in.
    mutating func tickJoin() {
        guard mayJoin, catchUp == nil, now >= joinResend, !joinVia.isEmpty else { return }
        joinResend = now + .milliseconds(200)
        guard let via = joinVia.first(where: { links[$0.tag]?.isReachable == true }) else { return }
        // The next time another one is asked.
        joinVia.removeAll { $0 == via }
        joinVia.append(via)
        beginCatchUp(with: via, target: nil)
    }

    mutating func receiveOffer(_ offer: Message.Offer, _ process: ProcessID) {
        if case .manifest = offer, refuseFlush(process) { return }
        guard let running = catchUp, running.source == process else { return }
        switch offer {
        case .refusal(let refusal):
            guard running.target == nil else { return }
            if role == .joining {
                end(.refused(refusal))
            } else if refusal == .buried {
                end(.left(.kicked))
            }
        case .redirect(let leader):
            guard running.target == nil, leader.tag != me.tag else { return }
            catchUp = nil
            joinVia.removeAll { $0 == leader }
            joinVia.insert(leader, at: 0)
            if links[leader.tag]?.isReachable == true {
                beginCatchUp(with: leader, target: nil)
            } else {
                output.events.append(.contactWanted(leader))
                joinResend = now + .milliseconds(100)
            }
        case .delta(let named, let index):
            if running.target == nil { catchUp?.progressAt = now }
            guard named == genesis, case .asking = running.phase else { return }
            stage(delta: index)
        case .manifest(let manifest):
            take(manifest)
        }
    }

    private mutating func stage(delta index: UInt64) {
        catchUp?.progressAt = now
        if catchUp?.target == nil {
            // A learner writes into its own log; what stands there goes only when it differs.
            guard index >= replica.applied.index else { return standApart() }
            guard let position = log.position(at: index), let hash = log.hash(at: index) else {
                return
            }
            catchUp?.staged = .init(replica: nil, log: Log(base: position, hash: hash))
        } else if index >= replica.applied.index, let hash = log.hash(at: index),
            let position = log.position(at: index)
        {
            catchUp?.staged = .init(replica: nil, log: Log(base: position, hash: hash))
        } else if let checkpoint = checkpoints.last(where: { $0.applied.index == index }) {
            catchUp?.staged = .init(
                replica: checkpoint,
                log: Log(base: checkpoint.applied, hash: checkpoint.appliedHash)
            )
        } else {
            return
        }
        catchUp?.phase = .entries
        fetchMore()
    }

    private mutating func fetchMore() {
        guard let running = catchUp, let staged = running.staged else { return }
        if let target = running.target, staged.log.head == target.install.previous.index {
            return finishCatchUp()
        }
        catchUp?.resendAt = now + .milliseconds(50)
        if running.target == nil {
            // A learner tells how far it is; the answer brings more, or the view.
            send(
                .join(
                    .init(
                        ability: ability,
                        policy: PartitionPolicy.demand(configuration.policy),
                        heads: [.init(index: staged.log.head, hash: staged.log.headHash)]
                    )
                ),
                to: running.source
            )
        } else {
            send(
                .fetch(from: staged.log.head + 1, previousHash: staged.log.headHash),
                to: running.source
            )
        }
    }

    mutating func receiveEntries(_ entries: Message.Append, _ process: ProcessID) {
        if takeFlush(entries, process) { return }
        guard let running = catchUp, running.source == process else { return }
        if running.staged == nil, running.target != nil { stageMain(entries) }
        guard var staged = catchUp?.staged else { return }
        // Taken out of the machine while it grows: two owners would copy the log at each entry.
        catchUp?.staged = nil
        let limit = running.target?.install.previous.index ?? .max
        let before = staged.log.head
        for entry in entries.entries
        where entry.position.index == staged.log.head &+ 1 && staged.log.head < limit {
            if entries.previous == staged.log.head, entries.previousHash != staged.log.headHash {
                break
            }
            guard staged.log.accepts(entry) else { break }
            staged.log.append(entry, digest: digest)
        }
        let isMoving = staged.log.head > before
        if running.target == nil {
            for entry in staged.log.entries
            where log.hash(at: entry.position.index) != entry.hash {
                let index = entry.position.index
                if index <= log.head, index > commit {
                    log.truncate(after: index - 1)
                    view = newestView(of: log) ?? replica.view
                }
                guard log.accepts(entry) else { break }
                if case .view(let next) = entry.body { learn(next) }
                log.append(entry, digest: digest)
            }
            staged.log = Log(base: staged.log.headPosition, hash: staged.log.headHash)
            compactLearner()
        }
        catchUp?.staged = staged
        if isMoving {
            catchUp?.progressAt = now
            fetchMore()
        }
    }

    /// The line that I follow has this view: what I attempted below it is past, and would cut it off.
    private mutating func learn(_ next: View) {
        view = next
        if let attempt, attempt.epoch < next.epoch { self.attempt = nil }
    }

    /// Entries that came right behind INSTALL and continue my log need no asking.
    private mutating func stageMain(_ entries: Message.Append) {
        guard entries.previous == log.head, entries.previousHash == log.headHash else { return }
        catchUp?.staged = .init(replica: nil, log: Log(base: log.headPosition, hash: log.headHash))
        catchUp?.phase = .entries
    }

    /// A learner applies nothing before it is a member; its log stays bounded by asking anew.
    private mutating func compactLearner() {
        guard log.byteCount > configuration.logBytesMaximum, role == .joining, let genesis else {
            return
        }
        adoptGenesis(genesis)
        view = nil
        commit = 0
        catchUp = nil
    }

    // MARK: Snapshots

    private mutating func take(_ manifest: Message.Manifest) {
        guard manifest.byteCount <= UInt32(ConsensusLimits.snapshotBytes),
            (1...UInt32(ConsensusLimits.entriesBytes)).contains(manifest.chunkBytes),
            manifest.position.index < 1 << 62
        else {
            statistics.malformed += 1
            return
        }
        if let genesis {
            guard genesis == manifest.genesis else {
                if role == .joining {
                    end(.refused(.otherRoom))
                }
                return
            }
        } else {
            guard manifest.genesis == genesis(of: manifest.policy) else {
                return end(.refused(.otherRoom))
            }
            policy = manifest.policy
            adoptGenesis(manifest.genesis)
        }
        // Past the view's start a snapshot serves only if it is of that very view.
        if let target = catchUp?.target, manifest.position.epoch != target.epoch,
            manifest.position.index > target.install.previous.index
        {
            return
        }
        if case .chunks(let running, _) = catchUp?.phase, running.position == manifest.position,
            running.digest == manifest.digest
        {
            return
        }
        let count =
            (Int(manifest.byteCount) + Int(manifest.chunkBytes) - 1) / Int(manifest.chunkBytes)
        catchUp?.phase = .chunks(manifest, Array(repeating: nil, count: count))
        catchUp?.progressAt = now
        requestChunks()
    }

    private mutating func requestChunks() {
        guard let running = catchUp, case .chunks(let manifest, let chunks) = running.phase,
            let first = chunks.firstIndex(where: { $0 == nil })
        else { return }
        catchUp?.resendAt = now + .milliseconds(150)
        send(
            .chunkRequest(
                .init(position: manifest.position, first: UInt32(first), count: 8)
            ),
            to: running.source
        )
    }

    mutating func receiveChunk(_ chunk: Message.Chunk, _ process: ProcessID) {
        guard let running = catchUp, running.source == process,
            case .chunks(let manifest, var chunks) = running.phase,
            chunk.position == manifest.position, Int(chunk.index) < chunks.count,
            chunks[Int(chunk.index)] == nil, chunk.bytes.count <= Int(manifest.chunkBytes)
        else { return }
        catchUp?.progressAt = now
        // The lane loses nothing: what was asked for is on its way as long as any of it comes.
        catchUp?.resendAt = now + .milliseconds(150)
        chunks[Int(chunk.index)] = chunk.bytes
        catchUp?.phase = .chunks(manifest, chunks)
        guard let next = chunks.firstIndex(where: { $0 == nil }) else {
            return restore(manifest, chunks.flatMap { $0 ?? [] })
        }
        // The window of eight moves on when all of it came, in whatever order.
        if next % 8 == 0, Int(chunk.index) >= next - 8 { requestChunks() }
    }

    private mutating func restore(_ manifest: Message.Manifest, _ bytes: [UInt8]) {
        let restored: Replica
        do {
            guard digest(bytes) == manifest.digest else { throw WireError.invalid(at: 0) }
            restored = try Replica(
                restoring: bytes,
                machine: pristine,
                genesis: manifest.genesis
            )
            guard restored.applied == manifest.position, restored.appliedHash == manifest.hash
            else { throw WireError.invalid(at: 0) }
        } catch {
            // What was offered is not what came: ask again.
            statistics.malformed += 1
            catchUp?.resendAt = now + .milliseconds(200)
            catchUp?.phase = .asking
            return
        }
        statistics.snapshotsTaken += 1
        let log = Log(base: restored.applied, hash: restored.appliedHash)
        if catchUp?.target == nil {
            // Who has answered for its log goes no way back.
            guard role == .joining || restored.applied.index >= replica.applied.index else {
                return
            }
            guard role == .joining || continuesMine(restored) else { return standApart() }
            self.log = log
            replica = restored
            commit = restored.applied.index
            view = nil
            if let next = restored.view { learn(next) }
            output.events.append(.stateReplaced(restored.applied))
            catchUp?.staged = .init(replica: nil, log: log)
        } else if let running = catchUp, running.target?.epoch == restored.applied.epoch,
            let next = restored.view, next.epoch == restored.applied.epoch
        {
            // The view has committed meanwhile and the snapshot holds it.
            discard(
                after: self.log.base.index,
                other: restored,
                kept: [],
                install: running.target?.install
            )
            displayed = nil
            self.log = log
            replica = restored
            commit = restored.applied.index
            checkpoints.removeAll()
            output.events.append(.stateReplaced(restored.applied))
            adopt(next)
            output.events.append(.viewUsable(next))
            return sendInstalled(to: running.source)
        } else {
            catchUp?.staged = .init(replica: restored, log: log)
        }
        catchUp?.phase = .entries
        fetchMore()
    }

    /// Whether a state holds all that I have committed, as every state of the one line does.
    private func continuesMine(_ other: Replica) -> Bool {
        let history = Lineage(views: other.lineage, head: other.applied.index)
        // What is older than the lineage's record is older than any split that is still open.
        return replica.applied == .zero || history.covers(replica.applied)
            || replica.applied.epoch < other.lineage.first?.epoch ?? .zero
    }

    /// Who was to take me in went on without the weight, and without what I committed: it is merged.
    private mutating func standApart() {
        joinVia.removeAll { $0 == catchUp?.source }
        catchUp = nil
        goOnSoon()
    }

    // MARK: The switch

    /// The staged log stands at the view's start: the old branch ends and the view begins at once.
    private mutating func finishCatchUp() {
        guard let running = catchUp, let staged = running.staged, let target = running.target else {
            return
        }
        guard staged.log.headHash == target.install.previousHash else {
            // Another branch than the view's: from the beginning.
            catchUp?.staged = nil
            catchUp?.phase = .asking
            return
        }
        var fork = staged.log.base.index
        while fork < log.head, let hash = staged.log.hash(at: fork + 1), log.holds(fork + 1, hash) {
            fork += 1
        }
        let isOnChain = log.holds(staged.log.base.index, staged.log.baseHash)
        discard(
            after: isOnChain ? fork : log.base.index,
            other: staged.replica,
            kept: staged.log.entries,
            install: target.install
        )
        if let restored = staged.replica {
            if displayed == nil, role != .joining { displayed = replica }
            replica = restored
            commit = restored.applied.index
            checkpoints.removeAll { $0.applied.index >= restored.applied.index }
            if isOnChain {
                log.truncate(after: staged.log.base.index)
            } else {
                log = Log(base: staged.log.base, hash: staged.log.baseHash)
                checkpoints.removeAll()
            }
        } else {
            log.truncate(after: staged.log.base.index)
            commit = min(commit, log.head)
        }
        for entry in staged.log.entries {
            if case .view(let next) = entry.body { view = next }
            log.append(entry, digest: digest)
        }
        take(target.install, from: running.source)
    }
}
