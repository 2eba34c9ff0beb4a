import MeshConsensus
import MeshWire
import Testing

@Suite("Split and merge — 30-consensus §9") struct MergeTests {
    @Test("a split of two and two heals into one view within 4 s, with what both sides did")
    func evenSplit() throws {
        for seed in rounds(3, 60) {
            var cluster = try formed(seed: seed, 4)
            cluster.keepsEvents = true
            cluster.run(for: .milliseconds(500))
            cluster.groups = [0, 0, 1, 1]
            let split = cluster.run(within: .seconds(3)) {
                $0.isOneView([0, 1]) && $0.isOneView([2, 3])
            }
            try #require(split != nil, "\(cluster.describe(cluster.live))")
            #expect(cluster.nodes[0].isPrimary)
            #expect(!cluster.nodes[2].isPrimary)
            for index in 0..<4 { cluster.submit(index) }
            cluster.run(for: .milliseconds(300))
            #expect(cluster.acknowledged.count == 4)
            cluster.groups = [0, 0, 0, 0]
            let healed = cluster.run(within: .seconds(4)) { $0.isOneView([0, 1, 2, 3]) }
            try #require(healed != nil, "\(cluster.describe(cluster.live))")
            cluster.run(for: .milliseconds(500))
            #expect(cluster.isEqualState([0, 1, 2, 3]))
            #expect(cluster.nodes[3].consensus.view?.parents.count == 2)
            // The primary side wins; everybody hears what became of the two writes of the other.
            for index in 0..<4 {
                let reports = cluster.events.compactMap { note -> MergeReport? in
                    guard note.node == index, case .merged(let report) = note.event else {
                        return nil
                    }
                    return report
                }
                #expect(reports.count == 1)
                #expect(reports.first?.commands.map(\.outcome) == [.joined, .joined])
                #expect(reports.first?.isComplete == true)
                #expect(reports.first?.fork != .zero)
            }
            let ledger = cluster.nodes[0].consensus.machine
            #expect(ledger.lines.count == 4)
            #expect(!ledger.hasDouble)
            #expect(
                !cluster.events.contains { note in
                    if case .branchDiscarded = note.event { true } else { false }
                }
            )
            #expect(cluster.failures == [])
        }
    }

    @Test("a side that wrote nothing comes back without a word")
    func silentSide() throws {
        var cluster = try formed(seed: 31, 3)
        cluster.run(for: .milliseconds(500))
        cluster.groups = [0, 0, 1]
        cluster.run(for: .seconds(3))
        cluster.submit(0)
        cluster.run(for: .milliseconds(200))
        cluster.groups = [0, 0, 0]
        let healed = cluster.run(within: .seconds(4)) { $0.isOneView([0, 1, 2]) }
        #expect(healed != nil)
        cluster.run(for: .milliseconds(300))
        #expect(cluster.isEqualState([0, 1, 2]))
        #expect(cluster.discarded.isEmpty)
        #expect(cluster.failures == [])
    }

    @Test("five parts become one view")
    func fiveParts() throws {
        for seed in rounds(2, 40) {
            var cluster = try formed(seed: seed, 5)
            cluster.groups = [0, 1, 2, 3, 4]
            cluster.run(for: .seconds(3))
            for index in 0..<5 { cluster.submit(index) }
            cluster.run(for: .seconds(1))
            cluster.groups = Array(repeating: 0, count: 5)
            let healed = cluster.run(within: .seconds(8)) { $0.isOneView($0.live) }
            try #require(healed != nil, "\(cluster.describe(cluster.live)) \(cluster.failures)")
            cluster.run(for: .milliseconds(500))
            #expect(cluster.isEqualState(cluster.live))
            #expect(cluster.failures == [])
        }
    }

    @Test("a leader that dies while two branches meet leaves one view of the others")
    func crashInTheTalk() throws {
        for seed in rounds(4, 80) {
            var cluster = try formed(seed: seed, 5)
            cluster.groups = [0, 0, 0, 1, 1]
            cluster.run(for: .seconds(2))
            cluster.submit(0)
            cluster.submit(3)
            cluster.run(for: .milliseconds(200))
            cluster.groups = Array(repeating: 0, count: 5)
            // Any time between the first offer and the last INSTALLED.
            let busy = cluster.run(within: .seconds(3)) { cluster in
                cluster.nodes[0].consensus.promised != cluster.nodes[0].consensus.view?.epoch
            }
            if busy != nil { cluster.run(for: .microseconds(Int64(seed) * 900)) }
            cluster.crash(seed % 2 == 0 ? 0 : 3)
            let healed = cluster.run(within: .seconds(8)) { $0.isOneView($0.live) }
            try #require(healed != nil, "\(cluster.describe(cluster.live)) \(cluster.failures)")
            cluster.run(for: .milliseconds(500))
            #expect(cluster.isEqualState(cluster.live))
            #expect(cluster.failures == [])
        }
    }

    @Test("a command that demands the primary component is refused elsewhere")
    func requiresPrimary() throws {
        var cluster = try formed(seed: 33, 3)
        cluster.groups = [0, 0, 1]
        cluster.run(for: .seconds(3))
        cluster.submit(2, requiresPrimary: true)
        cluster.submit(0, requiresPrimary: true)
        cluster.run(for: .milliseconds(300))
        #expect(cluster.refusals == [.notPrimary])
        #expect(cluster.acknowledged.count == 1)
    }

    @Test("at most one part of any split is primary", arguments: 2...5)
    func onePrimary(_ count: Int) throws {
        for mask in stride(from: 1, to: (1 << count) - 1, by: count > 4 ? 5 : count > 3 ? 3 : 1) {
            var cluster = try formed(seed: UInt64(mask), count)
            cluster.groups = (0..<count).map { mask >> $0 & 1 }
            cluster.run(for: .milliseconds(1500))
            let primaries = cluster.nodes.filter { $0.consensus.isPrimary }
            let views = Set(primaries.compactMap { $0.consensus.view?.epoch })
            #expect(views.count <= 1, "\(cluster.describe(cluster.live))")
            if count > 2, mask.nonzeroBitCount * 2 > count { #expect(views.count == 1) }
        }
    }
}

@Suite("Joining, restart, snapshots — 30-consensus §10") struct JoinTests {
    @Test("a late joiner gets the log by snapshot or delta, under traffic and loss")
    func lateJoin() throws {
        for seed in rounds(2, 24) {
            var cluster = Cluster(seed: seed, count: 3) {
                $0.compactionEntries = 200
                $0.keptEntries = 50
            }
            cluster.form()
            try #require(cluster.run(within: .seconds(3)) { $0.isOneView([0, 1, 2]) } != nil)
            cluster.loss = seed % 2 == 0 ? 0.1 : 0
            for round in 0..<120 {
                cluster.submit(round % 3, size: 40)
                cluster.submit((round + 1) % 3, size: 40)
                cluster.submit(round % 3, size: 40)
                cluster.run(for: .milliseconds(15))
            }
            let joiner = cluster.add()
            cluster.join(joiner, via: 2)
            var took = 0
            while took < 200, !cluster.isOneView([0, 1, 2, joiner]) {
                cluster.submit(took % 3)
                cluster.run(for: .milliseconds(15))
                took += 1
            }
            #expect(took < 200, "\(cluster.describe(cluster.live)) \(cluster.failures)")
            let isSettled = cluster.settle([0, 1, 2, joiner])
            #expect(isSettled)
            #expect(cluster.nodes[joiner].consensus.statistics.snapshotsTaken == 1)
            #expect(cluster.failures == [])
        }
    }

    @Test("a restarted process is a new one: the old is out, the new in, within 2 s")
    func restart() throws {
        var cluster = try formed(seed: 41, 3)
        cluster.run(for: .milliseconds(300))
        cluster.crash(2)
        let again = cluster.add(nodeID: cluster.nodes[2].process.nodeID)
        cluster.join(again, via: 1)
        let took = cluster.run(within: .seconds(2)) { $0.isOneView([0, 1, again]) }
        #expect(took != nil, "\(cluster.describe(cluster.live)) \(cluster.failures)")
        #expect(cluster.failures == [])
    }

    @Test("a second process of a living identity is refused; the first is untouched")
    func duplicate() throws {
        var cluster = try formed(seed: 42, 3)
        cluster.keepsEvents = true
        let clone = cluster.add(nodeID: cluster.nodes[1].process.nodeID)
        cluster.join(clone, via: 0)
        cluster.run(for: .seconds(2))
        #expect(
            cluster.events.contains { note in
                guard note.node == clone, case .refused(.duplicateIdentity) = note.event else {
                    return false
                }
                return true
            }
        )
        #expect(cluster.isOneView([0, 1, 2]))
    }

    @Test("what a dead life asked before it ended takes no place from the one that lives")
    func lateLife() throws {
        for moment in stride(from: 2, through: 40, by: 2) {
            var cluster = try formed(seed: UInt64(44 + moment), 2)
            let node = try #require(NodeID(Array(repeating: 9, count: 32)))
            let (dead, living, third) = (
                cluster.add(nodeID: node), cluster.add(nodeID: node), cluster.add()
            )
            // Both learn side by side; the older ends at some moment of it, and soon another joins.
            cluster.join(dead, via: 0)
            cluster.join(living, via: 0)
            cluster.run(for: .milliseconds(moment))
            cluster.crash(dead)
            cluster.run(for: .milliseconds(100))
            cluster.join(third, via: 0)
            let took = cluster.run(within: .seconds(3)) { $0.isOneView([0, 1, living, third]) }
            #expect(took != nil, "crash at \(moment) ms: \(cluster.describe(cluster.live))")
            #expect(cluster.failures == [])
        }
    }

    @Test(
        "a process that was replaced while it was cut off hears of it and leaves",
        arguments: [[1], [1, 2]]
    )
    func replaced(cut: [Int]) throws {
        var cluster = try formed(seed: 43, 5)
        cluster.keepsEvents = true
        for index in cut { cluster.groups[index] = 1 }
        cluster.run(for: .milliseconds(20))
        // A second process of its identity takes its place before anybody misses it.
        let clone = cluster.add(nodeID: cluster.nodes[1].process.nodeID)
        cluster.join(clone, via: 0)
        cluster.run(for: .seconds(2))
        cluster.groups = cluster.groups.map { _ in 0 }
        let rest = [0, 2, 3, 4, clone]
        let took = cluster.run(within: .seconds(4)) {
            $0.isOneView(rest) && $0.nodes[1].isOut
        }
        #expect(took != nil, "\(cluster.describe(cluster.live)) \(cluster.failures)")
        #expect(
            cluster.events.contains { note in
                if note.node == 1, case .left(.kicked) = note.event { true } else { false }
            }
        )
        #expect(cluster.failures == [])
    }
}
