import MeshConsensus
import MeshWire

/// Random scripts: each run switches on a random subset of faults, then heals and must converge.
enum Swarm {
    struct Outcome {
        var failures: [String] = []
        var acknowledged = 0
        var discarded = 0
        var views = 0
        var healing: Duration?
        var trace: UInt64 = 0
        var messages = 0
        var detail = ""
    }

    /// One run of `seconds` under faults; `nodes` fixes the size, else 2 to 5.
    static func run(seed: UInt64, seconds: Int, nodes: Int? = nil) -> Outcome {
        var script = SeededGenerator(seed: seed).stream("script")
        let count = nodes ?? Int.random(in: 2...5, using: &script)
        var cluster = Cluster(seed: seed, count: count)
        let crashes = script.happens(0.5)
        let partitions = script.happens(0.6)
        let pauses = script.happens(0.4)
        let leaves = script.happens(0.3)
        let joins = script.happens(0.5)
        let oneWay = script.happens(0.2)
        let flapping = script.happens(0.15)
        cluster.loss = [0, 0, 0.01, 0.05, 0.1, 0.2].randomElement(using: &script) ?? 0
        cluster.duplication = [0, 0.05, 0.2].randomElement(using: &script) ?? 0
        cluster.form()
        var hasLost = false
        let end = cluster.now + .seconds(seconds)
        while cluster.now < end, cluster.failures.isEmpty {
            cluster.run(for: script.duration(in: .milliseconds(5)...(.milliseconds(180))))
            let live = cluster.live
            guard let some = live.randomElement(using: &script) else { break }
            switch Int.random(in: 0..<100, using: &script) {
            case 0..<55:
                let level: WriteLevel =
                    script.happens(0.1) ? .all : script.happens(0.05) ? .sequenced : .majority
                for _ in 0..<Int.random(in: 1...4, using: &script) {
                    cluster.submit(
                        some,
                        level: level,
                        isForged: script.happens(0.02),
                        size: script.happens(0.05) ? 3000 : 1
                    )
                }
            case 55..<60: _ = cluster.read(some, .linearizable)
            case 60..<65
            where crashes && cluster.members(live).count > 1 && cluster.nodes.count < 12:
                cluster.crash(some)
                hasLost = true
                if script.happens(0.7) {
                    // The same node lives again.
                    cluster.run(for: script.duration(in: .milliseconds(1)...(.milliseconds(900))))
                    let index = cluster.add(nodeID: cluster.nodes[some].process.nodeID)
                    if let via = cluster.live.filter({ $0 != index }).randomElement(using: &script)
                    {
                        cluster.groups[index] = cluster.groups[via]
                        cluster.join(index, via: via)
                    }
                }
            case 65..<70 where partitions:
                for index in cluster.groups.indices {
                    cluster.groups[index] =
                        Int.random(in: 0...2, using: &script) / (count > 3 ? 1 : 2)
                }
            case 70..<78 where partitions:
                for index in cluster.groups.indices { cluster.groups[index] = 0 }
            case 78..<82 where pauses:
                cluster.pause(some, for: script.duration(in: .milliseconds(10)...(.seconds(2))))
            case 82..<84 where leaves && cluster.members(live).count > 2:
                cluster.leave(some)
                hasLost = true
            case 84..<88 where joins && live.count < 6 && cluster.nodes.count < 12:
                let index = cluster.add()
                cluster.groups[index] = cluster.groups[some]
                cluster.join(index, via: some)
            case 88..<91 where oneWay:
                if let other = live.randomElement(using: &script) {
                    cluster.cuts.insert([some, other])
                }
            case 91..<94: cluster.cuts.removeAll()
            case 94..<97 where flapping:
                for _ in 0..<20 {
                    for index in cluster.groups.indices { cluster.groups[index] = index % 2 }
                    cluster.run(for: script.duration(in: .milliseconds(20)...(.milliseconds(300))))
                    for index in cluster.groups.indices { cluster.groups[index] = 0 }
                    cluster.run(for: script.duration(in: .milliseconds(20)...(.milliseconds(300))))
                }
            default: break
            }
        }
        var outcome = Outcome()
        heal(&cluster, hasLost: hasLost, &outcome)
        outcome.failures = cluster.failures
        outcome.acknowledged = cluster.acknowledged.count
        outcome.discarded = cluster.discarded.count
        outcome.views = cluster.nodes.map { $0.consensus.statistics.views }.max() ?? 0
        outcome.trace = cluster.trace
        outcome.messages = cluster.messageCount
        outcome.detail =
            cluster.describe(cluster.live)
            + cluster.live.map { "\n\($0): " + cluster.nodes[$0].consensus.diagnostics }.joined()
        return outcome
    }

    /// Heals everything and asserts liveness: one view, equal states, all answered, nothing lost.
    private static func heal(_ cluster: inout Cluster, hasLost: Bool, _ outcome: inout Outcome) {
        guard cluster.failures.isEmpty else { return }
        for index in cluster.groups.indices { cluster.groups[index] = 0 }
        cluster.cuts.removeAll()
        cluster.loss = min(cluster.loss, 0.05)
        for index in cluster.nodes.indices { cluster.nodes[index].pausedUntil = nil }
        // Members only: a process that asked somebody who died is joined anew by its engine.
        let live = cluster.live
        for index in live where cluster.nodes[index].consensus.role == .joining {
            if let via = live.first(where: {
                let role = cluster.nodes[$0].consensus.role
                return role == .leader || role == .member
            }) {
                cluster.join(index, via: via)
            }
        }
        outcome.healing = cluster.run(within: .seconds(12)) { $0.isOneView($0.live) }
        guard cluster.failures.isEmpty else { return }
        guard outcome.healing != nil else {
            cluster.fail(25, "no one view in 12 s", -1)
            return
        }
        _ = cluster.settle(cluster.live)
        guard cluster.failures.isEmpty else { return }
        let end = cluster.live
        if !cluster.isEqualState(end) { cluster.fail(28, "states differ", -1) }
        for index in end where !cluster.nodes[index].open.isEmpty {
            cluster.fail(27, "\(cluster.nodes[index].open.count) commands unanswered", index)
        }
        guard !hasLost, let first = end.first else { return }
        let machine = cluster.nodes[first].consensus.machine
        let lines = Set(
            machine.lines.map { Ledger.Line(origin: $0.origin, sequence: $0.sequence, amount: 0) }
        )
        let given = Set(
            cluster.discarded.map {
                Ledger.Line(origin: $0.origin, sequence: $0.sequence, amount: 0)
            }
        )
        // Level sequenced promises an order, not that anybody else holds it.
        for write in cluster.acknowledged where write.level != .sequenced {
            let line = Ledger.Line(origin: write.origin, sequence: write.sequence, amount: 0)
            if !lines.contains(line), !given.contains(line) {
                cluster.fail(23, "an acknowledged write vanished: \(write)", -1)
            }
        }
    }
}
