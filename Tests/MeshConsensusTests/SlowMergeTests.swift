import MeshConsensus
import MeshWire
import Testing

@Suite("Merge over slow links — 30-consensus §9") struct SlowMergeTests {
    @Test("a leader on its way into the winner's view begins none of its own meanwhile")
    func handOver() throws {
        for seed in rounds(5, 60) {
            var cluster = try formed(seed: seed, 4)
            cluster.delay = .milliseconds(18)...(.milliseconds(22))
            cluster.loss = 0.05
            cluster.run(for: .seconds(1))
            cluster.groups = [0, 0, 1, 1]
            let split = cluster.run(within: .seconds(4)) {
                $0.isOneView([0, 1]) && $0.isOneView([2, 3])
            }
            try #require(split != nil, "\(cluster.describe(cluster.live))")
            for index in 0..<4 { cluster.submit(index) }
            cluster.run(for: .milliseconds(500))
            cluster.groups = [0, 0, 0, 0]
            let healed = cluster.run(within: .seconds(5)) { $0.isOneView([0, 1, 2, 3]) }
            #expect(healed != nil, "seed \(seed): \(cluster.describe(cluster.live))")
            #expect(cluster.failures == [])
        }
    }
}
