import MeshConsensus
import MeshWire

// Whether facts hold, and what is so instead.
extension ScenarioRun {
    func nodes(_ who: Scenario.Who) -> [Int] {
        switch who {
        case .all:
            world.nodes.filter { $0.process != nil && $0.process?.role != .left }.map(\.index)
        case .nodes(let nodes): nodes
        }
    }

    func expect(
        _ who: Scenario.Who,
        _ claims: [Scenario.Claim],
        within: Duration
    ) throws(ScenarioFailure) {
        let since = mark
        let limit = max(world.time, acted + within)
        let isSo = try wait(until: limit) {
            claims.allSatisfy { allHold($0.fact, who, since: since) }
        }
        guard !isSo, let claim = claims.first(where: { !allHold($0.fact, who, since: since) })
        else { return }
        throw failure("at \(Self.text(world.time)) \(seen(claim.fact, who, since: since))")
    }

    private func allHold(_ fact: Scenario.Fact, _ who: Scenario.Who, since: Instant) -> Bool {
        switch fact {
        case .sameHash: hashes(who).count <= 1
        case .primaries(let comparison): comparison.holds(UInt64(primaries(who).count))
        case .answer(let label, let pattern):
            labels[label]?.allSatisfy { matches(answers[$0], pattern) } ?? false
        default: nodes(who).allSatisfy { holds(fact, $0, since: since) }
        }
    }

    /// The first node with the fact, as `never` asks; the room as a whole counts as `all`.
    func firstNode(_ who: Scenario.Who, with fact: Scenario.Fact, since: Instant) -> String? {
        switch fact {
        case .sameHash, .primaries, .answer:
            allHold(fact, who, since: since) ? "all" : nil
        default:
            nodes(who).first { holds(fact, $0, since: since) }.map { name(life($0)) }
        }
    }

    private func holds(_ fact: Scenario.Fact, _ index: Int, since: Instant) -> Bool {
        switch fact {
        case .viewChange(let pattern):
            // The newest come last and are few.
            return views[index].reversed().prefix { $0.time > since }
                .contains { matches($0.view, pattern, nil) }
        case .views(let comparison, let other):
            return comparison.holds(installed(index, since: other ?? since))
        case .event(let event):
            return told[index].reversed().prefix { $0.time > since }.contains { $0.event == event }
        case .merge(let pattern):
            return merges[index].contains { $0.time > since && matches($0.report, pattern) }
        case .outcome(let position, let outcome): return self.outcome(position, index) == outcome
        case .count(ScenarioCounters.discarded, let comparison):
            return comparison.holds(discarded[index])
        default: break
        }
        guard let process = world.nodes[index].process else { return false }
        switch fact {
        case .view(let pattern):
            guard let view = process.view, view.contains(process.process) else { return false }
            return matches(view, pattern, process)
        case .counter(let comparison): return comparison.holds(process.view?.epoch.counter ?? 0)
        case .role(let role): return process.role == role
        case .value(let key, let value): return self.value(key, of: process) == value
        case .count(let name, let comparison):
            return comparison.holds(ScenarioCounters.value(name, of: process.statistics))
        case .relay(let target, let helper): return self.helper(of: process, to: target) == helper
        default: return holds(fact, of: process)
        }
    }

    /// Through whom a process sends to the member with this name.
    private func helper(of process: Process, to target: String) -> String? {
        let member = process.view?.members.first { name(of: $0.process.tag) == target }
        return member.flatMap { process.relay(to: $0.process) }.map { name(of: $0.tag) }
    }

    private func installed(_ index: Int, since: Instant) -> UInt64 {
        UInt64(views[index].count { $0.time > since })
    }

    private func matches(
        _ view: View,
        _ pattern: Scenario.ViewPattern,
        _ process: Process?
    ) -> Bool {
        if let epoch = pattern.epoch, text(view.epoch) != epoch { return false }
        if let leader = pattern.leader, name(of: view.epoch.proposer) != leader { return false }
        if let members = pattern.members,
            view.tags.map(name(of:)).sorted() != members
        {
            return false
        }
        if let parents = pattern.parents, view.parents.map(text).sorted() != parents {
            return false
        }
        if let isPrimary = pattern.isPrimary, (process?.isPrimary ?? view.primary) != isPrimary {
            return false
        }
        if let isUsable = pattern.isUsable, process?.isUsable != isUsable { return false }
        return true
    }

    private func matches(_ report: MergeReport, _ pattern: Scenario.MergePattern) -> Bool {
        (pattern.winner ?? text(report.winner)) == text(report.winner)
            && (pattern.loser ?? text(report.loser)) == text(report.loser)
            && (pattern.fork ?? fork(of: report)) == fork(of: report)
    }

    private func fork(of report: MergeReport) -> String {
        report.fork == .zero ? "none" : text(report.fork)
    }

    /// What the node was told last of a command.
    private func outcome(_ position: String, _ index: Int) -> MergeOutcome? {
        for merge in merges[index].reversed() {
            for command in merge.report.commands where text(command.position) == position {
                return command.outcome
            }
        }
        return nil
    }

    private func hashes(_ who: Scenario.Who) -> Set<[UInt8]> {
        var hashes: Set<[UInt8]> = []
        for index in nodes(who) {
            guard let process = world.nodes[index].process else { continue }
            hashes.insert(process.appliedHash.bytes + process.stateBytes)
        }
        return hashes
    }

    private func primaries(_ who: Scenario.Who) -> Set<Epoch> {
        var epochs: Set<Epoch> = []
        for index in nodes(who) {
            guard let process = world.nodes[index].process, process.isPrimary,
                let view = process.view
            else { continue }
            epochs.insert(view.epoch)
        }
        return epochs
    }

    // MARK: - What is seen

    func seen(_ fact: Scenario.Fact, _ who: Scenario.Who, since: Instant) -> String {
        switch fact {
        case .primaries: return "\(primaries(who).map(text).sorted()) are held for primary"
        case .answer(let label, _):
            let found = labels[label]?.map { text(answers[$0]) } ?? ["no command has this label"]
            return found.joined(separator: ", ")
        default: break
        }
        return nodes(who).map { index in
            let process = world.nodes[index].process
            let what = process.map { seen(fact, index, $0, since: since) } ?? "runs no process"
            return "\(name(life(index))) \(what)"
        }.joined(separator: "; ")
    }

    private func seen(
        _ fact: Scenario.Fact,
        _ index: Int,
        _ process: Process,
        since: Instant
    ) -> String {
        switch fact {
        case .view, .counter:
            let flags =
                (process.isPrimary ? " primary" : " nonprimary")
                + (process.isUsable ? " usable" : "")
            return process.view.map { text($0, flags: flags) } ?? "has no view"
        case .viewChange, .views:
            let since = if case .views(_, let other?) = fact { other } else { since }
            let list = views[index].filter { $0.time > since }.map { text($0.view) }
            return "installed \(list.count): \(list.joined(separator: ", "))"
        case .role: return process.role.map { "is \($0)" } ?? "is in no room"
        case .value(let key, _): return "has \(value(key, of: process) ?? "nothing") in \(key)"
        case .sameHash:
            return "applied \(text(process.applied)), log \(process.appliedHash), "
                + "state \(hexadecimal(SipHash.hash(process.stateBytes)))"
        case .count(ScenarioCounters.discarded, _): return "gave up \(discarded[index])"
        case .count(let name, _):
            return "counts \(ScenarioCounters.value(name, of: process.statistics)) \(name)"
        case .relay(let target, _):
            return
                "reaches \(target) \(helper(of: process, to: target).map { "via \($0)" } ?? "directly")"
        case .event:
            let list = told[index].filter { $0.time > since }.map(\.event)
            return "was told [\(list.joined(separator: ", "))]"
        case .merge:
            let list = merges[index].filter { $0.time > since }.map { merge in
                "winner \(text(merge.report.winner)) loser \(text(merge.report.loser)) "
                    + "fork \(fork(of: merge.report))"
            }
            return "was told of \(list.count) merges: \(list.joined(separator: ", "))"
        case .outcome(let position, _):
            let found = outcome(position, index).map { "\($0)" } ?? "nothing"
            return "was told \(found) of \(position)"
        default: return seen(fact, of: process)
        }
    }

    func name(of tag: UInt64) -> String { names[tag] ?? "?" }

    func text(_ epoch: Epoch) -> String { "\(epoch.counter)@\(name(of: epoch.proposer))" }

    func text(_ position: Position) -> String { "\(text(position.epoch)):\(position.index)" }

    func text(_ view: View, flags: String? = nil) -> String {
        let members = view.tags.map(name(of:)).sorted().joined(separator: ",")
        let parents = view.parents.map(text).sorted().joined(separator: ",")
        return "view \(text(view.epoch)) members \(members)"
            + (parents.isEmpty ? "" : " parents \(parents)")
            + (flags ?? (view.primary ? " primary" : " nonprimary"))
    }
}

extension ScenarioRun {
    /// Writes down what a merge made of the other branch, command by command.
    func tell(_ report: MergeReport, to node: Int) {
        note(
            node,
            "merged \(text(report.loser)) into \(text(report.winner)), fork \(fork(of: report))"
        )
        for command in report.commands {
            note(node, "outcome \(text(command.position)) \(command.outcome)")
        }
        merges[node].append((world.time, report))
        told[node].append((world.time, "merged"))
    }
}
