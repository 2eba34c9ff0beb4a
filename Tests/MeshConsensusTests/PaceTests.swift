import MeshConsensus
import MeshWire
import Testing

@Suite("How often a node's commands enter the log — 50-journal-and-playback A9") struct PaceTests {
    private static let pace = Pace(perSecond: 20, burst: 10)

    @Test("the leader lets in the burst, half as much again, and the rate", arguments: [0, 1])
    func hostile(_ index: Int) throws {
        var cluster = Cluster(seed: 81, count: 3) { $0.paces = [1: Self.pace] }
        cluster.form()
        cluster.run(for: .seconds(2))
        let leader = try #require(cluster.nodes.firstIndex { $0.consensus.role == .leader })
        let sender = index == 0 ? leader : (leader + 1) % 3
        for _ in 0..<100 { cluster.submit(sender) }
        cluster.run(for: .seconds(1))
        // 10 and 5 at once, then 20 in the second; a resend is at most 240 ms late.
        let first = cluster.nodes[leader].consensus.machine.lines.count
        #expect((30...36).contains(first), "\(first) in the first second")
        cluster.submit((leader + 2) % 3)
        cluster.run(for: .milliseconds(300))
        #expect(
            cluster.nodes[leader].consensus.machine.lines.contains {
                $0.origin == Origin(cluster.nodes[(leader + 2) % 3].process)
            },
            "another node has a pace of its own"
        )
        // Nothing is lost: each has its turn.
        cluster.run(for: .seconds(6))
        #expect(cluster.nodes[leader].consensus.machine.lines.count == 101)
        #expect(cluster.failures == [])
    }

    @Test("other types have no pace") func others() throws {
        var cluster = Cluster(seed: 82, count: 1) { $0.paces = [2: Self.pace] }
        cluster.form()
        cluster.run(for: .seconds(1))
        for _ in 0..<100 { cluster.submit(0) }
        cluster.run(for: .milliseconds(100))
        #expect(cluster.nodes[0].consensus.machine.lines.count == 100)
    }
}
