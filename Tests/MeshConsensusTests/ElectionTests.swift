import MeshConsensus
import MeshWire
import Testing

/// A cluster of `count` that has formed one view.
func formed(seed: UInt64, _ count: Int, loss: Double = 0) throws -> Cluster {
    var cluster = Cluster(seed: seed, count: count)
    cluster.loss = loss
    cluster.form()
    let took = cluster.run(within: .seconds(5)) { $0.isOneView(Array(0..<count)) }
    try #require(took != nil, "\(cluster.failures) \(cluster.describe(cluster.live))")
    return cluster
}

/// The p-th percentile of milliseconds.
func percentile(_ values: [Double], _ p: Double) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * p))]
}

@Suite("Views and election — 30-consensus §7") struct ElectionTests {
    @Test("three joins within the batching time make one view")
    func batchedJoins() throws {
        let cluster = try formed(seed: 1, 4)
        #expect(cluster.nodes[0].consensus.statistics.views == 2)
        #expect(cluster.nodes[0].isPrimary)
        #expect(cluster.nodes[3].consensus.leader == cluster.nodes[0].process)
    }

    @Test(
        "a killed leader is replaced; the next write is accepted within 500 ms at p99",
        arguments: [3, 5]
    )
    func failover(_ count: Int) throws {
        var gaps: [Double] = []
        for seed in rounds(count == 3 ? 14 : 8, 100) {
            var cluster = try formed(seed: seed, count, loss: seed % 3 == 0 ? 0.05 : 0.01)
            cluster.run(for: .milliseconds(Int64(400 + seed * 7)))
            let leader = try #require(cluster.leader(cluster.live))
            cluster.crash(leader)
            let writer = (leader + 1) % count
            let before = cluster.acknowledged.count
            cluster.submit(writer)
            let gap = cluster.run(within: .seconds(3)) { $0.acknowledged.count > before }
            try #require(cluster.failures == [])
            gaps.append(try #require(gap, "\(cluster.describe(cluster.live))").milliseconds)
            #expect(cluster.nodes[writer].isPrimary)
        }
        #expect(percentile(gaps, 0.99) <= 500, "\(gaps.sorted().suffix(5))")
        #expect(percentile(gaps, 0.5) <= 380)
    }

    @Test("a pair goes on alone when its leader dies, within 700 ms")
    func pair() throws {
        var cluster = try formed(seed: 3, 2)
        cluster.run(for: .seconds(1))
        cluster.crash(0)
        cluster.submit(1)
        let gap = cluster.run(within: .seconds(2)) { !$0.acknowledged.isEmpty }
        #expect(try #require(gap) < .milliseconds(700))
        // The distinguished member is gone: what is left is not the primary component.
        #expect(!cluster.nodes[1].isPrimary)
    }

    @Test(
        "an entry that one follower alone holds survives its leader — VR §4.2, the longest log wins"
    )
    func flush() throws {
        for seed in rounds(4, 40) {
            var cluster = try formed(seed: seed, 3)
            cluster.run(for: .milliseconds(300))
            // Node 2 cannot hear the leader: only node 1 and the leader hold the write.
            cluster.cuts.insert([0, 2])
            cluster.submit(0)
            let held = cluster.run(within: .milliseconds(100)) { !$0.acknowledged.isEmpty }
            try #require(held != nil)
            cluster.crash(0)
            cluster.cuts.removeAll()
            let took = cluster.run(within: .seconds(3)) { $0.isOneView([1, 2]) }
            try #require(took != nil, "\(cluster.failures)")
            cluster.run(for: .milliseconds(200))
            #expect(cluster.failures == [])
            for index in [1, 2] {
                let origin = Origin(cluster.nodes[0].process)
                #expect(cluster.nodes[index].consensus.machine.contains(origin, 1))
            }
        }
    }

    @Test(
        "a member that was isolated for long does not depose the leader — Raft thesis §9.6, etcd#9333"
    )
    func isolated() throws {
        var cluster = try formed(seed: 5, 3)
        cluster.groups[2] = 1
        cluster.run(for: .seconds(8))
        let counter = try #require(cluster.nodes[0].consensus.view?.epoch.counter)
        #expect(cluster.isOneView([0, 1]))
        cluster.groups[2] = 0
        let took = cluster.run(within: .seconds(4)) { $0.isOneView([0, 1, 2]) }
        try #require(took != nil, "\(cluster.describe(cluster.live))")
        #expect(cluster.nodes[0].consensus.role == .leader)
        #expect(try #require(cluster.nodes[0].consensus.view?.epoch.counter) <= counter + 4)
        #expect(cluster.failures == [])
    }

    @Test("a deaf member is dropped once and then changes nothing — old-raft-rs#27")
    func deaf() throws {
        var cluster = try formed(seed: 6, 4)
        for other in 0..<3 { cluster.cuts.insert([other, 3]) }
        cluster.run(for: .seconds(5))
        let views = cluster.nodes[0].consensus.statistics.views
        cluster.run(for: .seconds(6))
        #expect(cluster.isOneView([0, 1, 2]))
        #expect(cluster.nodes[0].consensus.statistics.views == views)
        #expect(cluster.failures == [])
    }

    @Test("a leader that was paused does not write into its successor's view — tikv#964")
    func pausedLeader() throws {
        var cluster = try formed(seed: 7, 3)
        cluster.run(for: .milliseconds(300))
        cluster.pause(0, for: .seconds(2))
        cluster.run(for: .milliseconds(1000))
        #expect(cluster.isOneView([1, 2]))
        cluster.submit(1)
        cluster.run(for: .milliseconds(1000))
        cluster.submit(0)
        let took = cluster.run(within: .seconds(6)) {
            $0.isOneView([0, 1, 2]) && $0.acknowledged.count == 2
        }
        #expect(took != nil, "\(cluster.describe(cluster.live)) \(cluster.failures)")
        cluster.run(for: .milliseconds(300))
        #expect(cluster.isEqualState([0, 1, 2]))
        #expect(cluster.failures == [])
    }

    @Test("a leader that leaves hands over: the gap is below 100 ms at p95")
    func handover() throws {
        var gaps: [Double] = []
        for seed in rounds(6, 60) {
            var cluster = try formed(seed: seed, 3)
            cluster.run(for: .milliseconds(500))
            cluster.leave(0)
            let start = cluster.now
            cluster.submit(1)
            let took = cluster.run(within: .seconds(3)) { !$0.acknowledged.isEmpty }
            try #require(took != nil, "\(cluster.describe([0, 1, 2]))")
            gaps.append((cluster.now - start).milliseconds)
            let out = cluster.run(within: .seconds(2)) {
                $0.nodes[0].isOut && $0.isOneView([1, 2])
            }
            try #require(out != nil, "\(cluster.describe([0, 1, 2]))")
            #expect(cluster.nodes[1].isPrimary)
            #expect(cluster.nodes[1].consensus.estranged.isEmpty)
            #expect(cluster.failures == [])
        }
        #expect(percentile(gaps, 0.95) < 100, "\(gaps)")
    }

    @Test("one of a pair leaves: the other stays primary — etcd#10563")
    func leavingPair() throws {
        for leaver in [0, 1] {
            var cluster = try formed(seed: 8, 2)
            cluster.run(for: .milliseconds(500))
            cluster.leave(leaver)
            let other = 1 - leaver
            let took = cluster.run(within: .seconds(1)) {
                $0.nodes[leaver].isOut && $0.isOneView([other])
            }
            #expect(took != nil, "\(cluster.describe([0, 1]))")
            #expect(cluster.nodes[other].isPrimary)
            #expect(cluster.failures == [])
        }
    }

    @Test("an expelled member is out and stays out")
    func expelled() throws {
        var cluster = try formed(seed: 9, 3)
        let victim = cluster.nodes[2].process
        cluster.nodes[0].consensus.expel(victim, now: cluster.now)
        let took = cluster.run(within: .seconds(2)) { $0.nodes[2].isOut && $0.isOneView([0, 1]) }
        #expect(took != nil)
        cluster.run(for: .seconds(3))
        #expect(cluster.isOneView([0, 1]))
        #expect(cluster.nodes[0].consensus.estranged.isEmpty)
    }

    @Test("same seed, same trace; another seed, another trace")
    func deterministic() {
        let first = Swarm.run(seed: 11, seconds: 2)
        #expect(first.trace == Swarm.run(seed: 11, seconds: 2).trace)
        #expect(first.trace != Swarm.run(seed: 12, seconds: 2).trace)
    }
}

@Suite("Failure detection — 30-consensus §6") struct FailureDetectorTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var count: Int, loss: Double, seconds: Int, changes: Int
        var testDescription: String {
            "\(count) members at \(loss) loss for \(seconds) s: at most \(changes) view changes"
        }
    }

    @Test(
        "loss alone changes no view",
        arguments: [
            Row(count: 2, loss: 0.1, seconds: 20, changes: 0),
            Row(count: 3, loss: 0.1, seconds: 15, changes: 0),
            Row(count: 5, loss: 0.1, seconds: 6, changes: 0),
            Row(count: 5, loss: 0.2, seconds: 6, changes: 0),
            Row(count: 3, loss: 0.3, seconds: 8, changes: 1),
        ]
    )
    func quiet(_ row: Row) throws {
        var cluster = try formed(seed: 21, row.count)
        cluster.loss = row.loss
        let views = cluster.nodes.map { $0.consensus.statistics.views }
        cluster.run(for: .seconds(Int64(row.seconds)))
        let now = cluster.nodes.map { $0.consensus.statistics.views }
        let changes = zip(now, views).map { $0 - $1 }
        #expect((changes.max() ?? 0) <= row.changes)
        #expect(cluster.failures == [])
    }

    @Test("a crashed follower is out of the view after D, and not before", arguments: [3, 5])
    func crashedFollower(_ count: Int) throws {
        var cluster = try formed(seed: 22, count)
        cluster.run(for: .seconds(1))
        cluster.crash(count - 1)
        let rest = Array(0..<(count - 1))
        let took = try #require(cluster.run(within: .seconds(2)) { $0.isOneView(rest) })
        #expect(took > .milliseconds(190))
        #expect(took < .milliseconds(450))
    }

    @Test("a link that is cut one way counts as down; the others go on")
    func oneWay() throws {
        var cluster = try formed(seed: 23, 4)
        cluster.cuts.insert([0, 3])
        let took = cluster.run(within: .seconds(3)) { $0.isOneView([0, 1, 2]) }
        #expect(took != nil, "\(cluster.describe(cluster.live))")
        #expect(cluster.failures == [])
    }

    @Test("a pause evicts nobody by the paused one's word")
    func pause() throws {
        var cluster = try formed(seed: 24, 3)
        cluster.run(for: .milliseconds(200))
        cluster.pause(0, for: .milliseconds(230))
        cluster.run(for: .seconds(1))
        #expect(cluster.isOneView([0, 1, 2]), "\(cluster.describe(cluster.live))")
        #expect(cluster.nodes[0].consensus.statistics.pauses >= 0)
        #expect(cluster.failures == [])
    }
}
