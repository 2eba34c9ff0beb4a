import MeshConsensus
import MeshSimulator
import MeshWire
import Testing

@Suite("Exploring small rooms") struct ExplorerTests {
    static func options(_ nodes: Int, depth: Int, states: Int) -> Explorer.Options {
        var options = Explorer.Options()
        options.nodes = nodes
        options.depth = depth
        options.states = states
        return options
    }

    @Test("every way a room can go for some steps holds the invariants", arguments: [2, 3])
    func holds(nodes: Int) {
        var explorer = Explorer(Self.options(nodes, depth: 12, states: 1500))
        let report = explorer.run()
        #expect(report.violation == nil, "\(report.violation?.description ?? "") \(report.way)")
        #expect(report.states >= 1500)
        #expect(report.depth >= 3)
        // Each state was reached by more ways than one.
        #expect(report.steps > report.states)
    }

    @Test("the same options visit the same states")
    func determinism() {
        var first = Explorer(Self.options(2, depth: 4, states: 100_000))
        var second = Explorer(Self.options(2, depth: 4, states: 100_000))
        let (left, right) = (first.run(), second.run())
        #expect(left.depth == 4)
        #expect((left.states, left.steps, left.views) == (right.states, right.steps, right.views))
    }

    @Test("a process that keeps other numbers is found by the shortest way, which is told")
    func planted() {
        var options = Self.options(2, depth: 12, states: 100_000)
        options.planted = .divergentState
        var explorer = Explorer(options)
        let report = explorer.run()
        #expect(report.violation?.invariant == AgreedPrefix.invariant)
        #expect(report.way.count == report.depth + 1)
        #expect(report.way.contains { $0.hasPrefix("command") })
    }

    @Test("the time limit ends it")
    func limit() {
        var explorer = Explorer(Self.options(3, depth: 40, states: .max), isOver: { true })
        let report = explorer.run()
        #expect(report.violation == nil)
        #expect(report.states <= 256)
    }
}
