import MeshSimulator
import Testing

/// A few trials of each kind; the table itself is the matter of `huddle sim --figures`.
@Suite("Figures — 30-consensus.md §16") struct FigureTests {
    static func row(
        _ figure: Figure,
        nodes: Int,
        _ network: FigureNetwork,
        trials: Int = 20
    ) -> FigureRow {
        let batches = FigureBatch.batches(figure.trial, nodes: nodes, network, trials: trials)
        var result = FigureBatch.Result()
        for batch in batches { result.add(batch.run()) }
        let samples = result.samples[figure] ?? .init()
        return FigureRow(figure, nodes: nodes, network, samples, stuck: result.stuck)
    }

    @Test(
        "a killed leader is replaced within the goal",
        arguments: [(2, 1), (3, 1), (5, 10)]
    )
    func failover(nodes: Int, percent: Int) {
        let row = Self.row(.failover, nodes: nodes, .loss(percent))
        #expect(row.samples.values.count == 20)
        #expect(row.isKept, "\(row)")
    }

    @Test("in a large room the first successors hear the leader as often as in a small one")
    func largeFailover() {
        let row = Self.row(.failover, nodes: 33, .loss(0), trials: 2)
        #expect(row.samples.values.count == 2)
        #expect(row.isKept, "\(row)")
    }

    @Test("a megabyte comes to a late joiner within the goal, in whatever order its pieces come")
    func join() {
        let row = Self.row(.join, nodes: 3, .loss(0), trials: 3)
        #expect(row.samples.values.count == 3)
        #expect(row.isKept, "\(row)")
    }

    @Test("what an append loses goes out again within the goal of a commit", arguments: [3, 5])
    func commit(nodes: Int) {
        let row = Self.row(.commit, nodes: nodes, .loss(10), trials: 500)
        #expect(row.isKept, "\(row)")
    }

    @Test("a cut that heals is one view within the goal", arguments: [2, 5])
    func heal(nodes: Int) {
        let row = Self.row(.heal, nodes: nodes, .loss(1))
        #expect(row.samples.values.count == 20)
        #expect(row.isKept, "\(row)")
    }

    @Test("the same trials give the same figures, other seeds others") func determinism() {
        let first = Self.row(.outage, nodes: 3, .bursts, trials: 5)
        #expect(
            first.samples.values == Self.row(.outage, nodes: 3, .bursts, trials: 5).samples.values
        )
        #expect(Set(Self.row(.outage, nodes: 3, .bursts, trials: 60).samples.values).count > 50)
    }

    @Test("a trial without an end breaks the goal") func stuck() {
        let row = FigureRow(.heal, nodes: 3, .loss(0), .init(), stuck: 1)
        #expect(!row.isKept)
        #expect(FigureRow(.heal, nodes: 3, .loss(0), .init(), stuck: 0).isKept)
    }

    @Test("p50 and p99 of a hundred are the 50th and the 99th") func percentiles() {
        var samples = FigureSamples()
        samples.values = (1...100).map(Double.init).reversed()
        #expect(samples.percentile(50) == 50)
        #expect(samples.percentile(99) == 99)
        #expect(samples.percentile(100) == 100)
        #expect(FigureSamples().percentile(50) == 0)
    }

    @Test("the distance of Kolmogorov and Smirnov: none of equals, all of such as are apart")
    func distance() {
        var left = FigureSamples()
        left.values = [1, 2, 3, 4]
        var right = FigureSamples()
        right.values = [3, 4, 5, 6]
        #expect(left.distance(from: left) == 0)
        #expect(left.distance(from: right) == 0.5)
        right.values = [5, 6]
        #expect(left.distance(from: right) == 1)
    }
}
