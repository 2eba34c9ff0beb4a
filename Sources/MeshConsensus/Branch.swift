import MeshWire

/// A branch that was handed over, with its states read: what the winner's leader merges.
struct HandedBranch: Sendable {
    var branch: Message.Branch
    var state: any StateMachine
    var base: (any StateMachine)?

    /// Its whole history.
    var history: Lineage { Lineage(views: branch.views, head: branch.head.index) }
}

// What a losing leader hands over and what the winner makes of it (`30-consensus.md` §9, M5 and M8).
extension ConsensusCore {
    /// The history of my log to its end, what is not committed included.
    func history(with flushed: Log? = nil) -> Lineage {
        var views = replica.lineage
        var present = replica.view?.epoch
        func take(_ entry: Entry) {
            switch entry.body {
            case .view(let next):
                if let old = present, let place = views.lastIndex(where: { $0.epoch == old }) {
                    views[place].until = entry.position.index - 1
                }
                views.append(
                    LineageView(
                        epoch: next.epoch,
                        index: entry.position.index,
                        hash: entry.hash,
                        until: .max,
                        parents: next.parents,
                        tags: next.tags
                    )
                )
                present = next.epoch
            case .merge(let record):
                for view in record.views where !views.contains(where: { $0.epoch == view.epoch }) {
                    views.append(view)
                }
            case .command, .noop: break
            }
        }
        var index = replica.applied.index + 1
        while index <= log.head, let entry = log[index] {
            take(entry)
            index += 1
        }
        for entry in flushed?.entries ?? [] { take(entry) }
        return Lineage(views: views, head: max(log.head, flushed?.head ?? 0))
    }

    /// My branch as it stands; `nil` until all of it is committed and applied.
    func handover(to winner: BranchSummary, in talk: Talk) -> Message.Branch? {
        guard let view, commit == log.head, replica.applied.index == log.head else { return nil }
        var mine = Lineage(
            views: Array(replica.lineage.suffix(ConsensusLimits.offeredLineage)),
            head: log.head
        )
        let theirs = winner.history
        let fork = Fork(mine, theirs)
        for place in mine.views.indices where mine.views[place].epoch == view.epoch {
            mine.views[place].until = log.head
        }
        let origins = bounded(replica.origins.records.filter { !theirs.covers($0.touched) })
        let (commands, isWhole) = commands { !theirs.covers($0) }
        let isReached = log.base == .zero || theirs.covers(log.base)
        let state = replica.machine.snapshot()
        var base: Message.Branch.State?
        if case .at(let position, _) = fork,
            let checkpoint = checkpoints.first(where: { $0.applied == position })
        {
            let bytes = checkpoint.machine.snapshot()
            if bytes.count + state.count <= Self.handedStateBytes {
                base = .init(position: position, bytes: bytes)
            }
        }
        return Message.Branch(
            nonce: talk.nonce,
            echoed: talk.theirNonce,
            epoch: view.epoch,
            head: log.headPosition,
            members: view.members,
            views: mine.views,
            buried: replica.tombstones,
            estranged: replica.estranged,
            origins: origins,
            commands: commands,
            isComplete: isWhole && isReached,
            base: base,
            state: state
        )
    }

    /// The commands of my history at the positions that are asked for, in order.
    ///
    /// One that requires the primary stands where it was confirmed, and superseded if nobody has.
    /// Beyond the bound the oldest are left out: the states tell what they did, not who did it.
    private func commands(
        where isWanted: (Position) -> Bool
    ) -> (commands: [MergedCommand], isWhole: Bool) {
        var newestFirst: [MergedCommand] = []
        var bytes = 0
        var isWhole = true
        func add(_ command: MergedCommand) {
            guard isWanted(command.position) else { return }
            bytes += command.command.payload.count + Command.overheadBytes
            guard bytes <= Self.handedCommandBytes,
                newestFirst.count < ConsensusLimits.mergedCommands
            else {
                isWhole = false
                return
            }
            newestFirst.append(command)
        }
        for entry in log.entries.reversed() where isWanted(entry.position) {
            switch entry.body {
            case .command(let command):
                if let outcome = outcome(of: command, at: entry.position) {
                    add(.init(position: entry.position, command: command, outcome: outcome))
                }
            case .noop:
                guard let command = entry.confirmed else { continue }
                add(.init(position: entry.position, command: command, outcome: .applied))
            case .merge(let record):
                isWhole = isWhole && record.isComplete
                for command in record.commands.reversed() { add(command) }
            case .view: break
            }
        }
        // Those that wait are known beyond the log.
        for waiting in replica.unconfirmed.reversed()
        where waiting.position.index <= log.base.index {
            add(
                .init(position: waiting.position, command: waiting.command, outcome: .superseded)
            )
        }
        return (newestFirst.reversed(), isWhole)
    }

    /// What a command did where it stands; `nil` if its effect stands elsewhere.
    private func outcome(of command: Command, at position: Position) -> MergeOutcome? {
        guard command.requiresPrimary else { return .applied }
        return switch replica.origins.answer(command.origin, command.sequence) {
        case .unknown, .refused: .superseded
        case .done(let outcome): outcome.position == position ? .applied : nil
        case .expired: nil
        }
    }

    /// What fits a message of 16 MiB besides states and results.
    private static let handedCommandBytes = 2 << 20
    private static let handedStateBytes = 10 << 20

    /// Drops the oldest results beyond the bound; a retry of theirs is told that it is too late.
    private func bounded(_ records: [Origins.Record]) -> [Origins.Record] {
        var left = ConsensusLimits.mergedResultBytes
        return records.map { record in
            var record = record
            var kept: [Origins.Outcome] = []
            for outcome in record.outcomes.reversed() {
                left -= outcome.result.count + 40
                guard left > 0 else { break }
                kept.append(outcome)
            }
            if kept.count < record.outcomes.count {
                let dropped = record.outcomes[record.outcomes.count - kept.count - 1]
                record.acknowledgedUpTo = max(record.acknowledgedUpTo, dropped.sequence)
            }
            record.outcomes = kept.reversed()
            return record
        }
    }

    /// Reads the states of a branch; `nil` if they are none.
    func read(_ branch: Message.Branch) -> HandedBranch? {
        var handed = HandedBranch(branch: branch, state: pristine, base: nil)
        do {
            try handed.state.restore(from: branch.state.raw)
            if let bytes = branch.base?.bytes {
                var base = pristine
                try base.restore(from: bytes.raw)
                handed.base = base
            }
        } catch {
            return nil
        }
        return handed
    }

    /// The merge entry of a branch; my log ends with the entry of the view that takes it in.
    func mergeEntry(_ handed: HandedBranch, winner: Epoch) -> Entry {
        var ours = replica
        while ours.applied.index < log.head, let entry = log[ours.applied.index + 1] {
            _ = ours.apply(entry, verify: verify)
        }
        let branch = handed.branch
        let history = Lineage(views: ours.lineage, head: log.head)
        let fork = Fork(handed.history, history)
        let base: (any StateMachine)? =
            switch fork {
            case .genesis: pristine
            case .unknown: nil
            case .at(let position, _):
                checkpoints.first { $0.applied == position }?.machine
                    ?? (branch.base?.position == position ? handed.base : nil)
            }
        var fates: [MergedCommand] = []
        var planned: [(place: Int, command: LosingBranch.BranchCommand)] = []
        for former in branch.commands where !history.covers(former.position) {
            let command = former.command
            var theirs: [UInt8]?
            let record = branch.origins.first { $0.origin == command.origin }
            let answer = record?.answer(command.sequence) ?? .unknown
            if case .done(let outcome) = answer { theirs = outcome.result }
            // What waited for a primary leader did nothing there that could differ.
            let hadWaited =
                command.requiresPrimary && former.outcome == .superseded
                && (answer == .unknown || answer == .refused)
            var fate = former
            func compare(_ result: [UInt8]?) {
                let isSame =
                    hadWaited || ours.machine.isSameOutcome(of: command, theirs, result)
                fate.outcome = isSame ? .duplicate : .conflict
            }
            switch ours.origins.answer(command.origin, command.sequence) {
            case .done(let outcome): compare(outcome.result)
            case .expired: compare(nil)
            case .refused: if !hadWaited { fate.outcome = .conflict }
            case .unknown where hadWaited:
                // It waits here too, or nowhere any more.
                guard ours.isUnconfirmed(command.origin, command.sequence) else { break }
                fate.outcome = .duplicate
            case .unknown:
                // What had no effect there has none here.
                guard former.outcome == .applied || former.outcome == .joined else { break }
                let open = LosingBranch.BranchCommand(
                    position: former.position,
                    command: command,
                    result: theirs
                )
                planned.append((fates.count, open))
            }
            fates.append(fate)
        }
        let buried = branch.buried.filter { !ours.isBuried($0) }
        let plan = ours.machine.plan(
            LosingBranch(
                base: base,
                state: handed.state,
                members: branch.members.map(\.process),
                buried: buried,
                commands: planned.map(\.command)
            )
        )
        for ((place, _), outcome) in zip(planned, plan.outcomes) {
            fates[place].outcome = outcome
        }
        let record = MergeRecord(
            winner: winner,
            loser: branch.epoch,
            fork: fork.position,
            head: branch.head,
            views: branch.views.filter {
                !history.covers(Position(epoch: $0.epoch, index: min($0.until, branch.head.index)))
            },
            buried: buried,
            estranged: branch.estranged,
            origins: branch.origins.filter { ours.origins.record(of: $0.origin) != $0 },
            commands: fates,
            isComplete: branch.isComplete,
            patch: plan.patch
        )
        return Entry(
            position: Position(epoch: ours.applied.epoch, index: log.head + 1),
            body: .merge(record)
        )
    }
}
