import MeshWire

// What a process tells of its log when it goes over to another branch (`30-consensus.md` §9).
extension ConsensusCore {
    /// Reports what of my log is neither in the one I go over to nor merged into it; never silent.
    mutating func discard(
        after fork: UInt64,
        other: Replica?,
        kept: [Entry],
        install: Message.Install?
    ) {
        guard fork < log.head, role != .joining else { return }
        var records = kept.compactMap { entry -> MergeRecord? in
            if case .merge(let record) = entry.body { record } else { nil }
        }
        if let record = install?.mergeRecord { records.append(record) }
        let known = Set(
            kept.compactMap(\.command).map {
                Leading.CommandKey(origin: $0.origin, sequence: $0.sequence)
            }
        )
        var lost: [DiscardedEntry] = []
        for index in (fork + 1)...log.head {
            // With `.majority` what is not committed is nowhere yet: its origin sends it again.
            guard index <= commit || !policy.isMajority,
                let entry = log[index], let command = entry.command ?? entry.confirmed,
                !records.contains(where: { $0.covers(entry.position) })
            else { continue }
            let key = Leading.CommandKey(origin: command.origin, sequence: command.sequence)
            let isCommitted = index <= commit
            if entry.command != nil, command.requiresPrimary, isCommitted {
                // It has its effect where it is confirmed, and none before: that is reported there.
                if replica.isUnconfirmed(key.origin, key.sequence), !known.contains(key),
                    other?.knows(key.origin, key.sequence) != true
                {
                    lost.append(
                        .init(position: entry.position, command: command, isCommitted: false)
                    )
                }
                continue
            }
            let discarded = DiscardedEntry(
                position: entry.position,
                command: command,
                isCommitted: isCommitted
            )
            let theirAnswer = other?.origins.answer(key.origin, key.sequence) ?? .unknown
            // Confirmed behind the fork and asked for before it: the other side confirms it as well.
            let isShared =
                entry.command == nil && theirAnswer == .unknown
                && !log.entries.contains {
                    $0.position.index > fork && $0.command?.sequence == key.sequence
                        && $0.command?.origin == key.origin
                }
            // A retry may have run on both branches: it is lost if it did something else there.
            var mine: [UInt8]?
            if case .done(let outcome) = replica.origins.answer(key.origin, key.sequence) {
                mine = outcome.result
            }
            if known.contains(key) || isShared {
                if disputed.count < ConsensusLimits.disputed {
                    disputed.append(.init(entry: discarded, result: mine))
                }
                continue
            }
            switch theirAnswer {
            case .unknown, .refused: lost.append(discarded)
            case .expired:
                if !replica.machine.isSameOutcome(of: command, mine, nil) { lost.append(discarded) }
            case .done(let theirs):
                if !replica.machine.isSameOutcome(of: command, mine, theirs.result) {
                    lost.append(discarded)
                }
            }
        }
        statistics.branchesLost += 1
        if !lost.isEmpty { output.events.append(.branchDiscarded(lost)) }
    }
}
