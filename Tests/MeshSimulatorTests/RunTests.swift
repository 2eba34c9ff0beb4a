import MeshSimulator
import MeshWire
import Testing

/// Whole runs, short ones; thousands of long ones are the matter of `huddle sim --seeds`.
@Suite("Runs of the simulator") struct RunTests {
    static func options(_ seed: UInt64) -> RunOptions {
        RunOptions(seed: seed, nodes: 3, duration: .seconds(2))
    }

    @Test(
        "the same seed gives the same trace, another seed another",
        arguments: SimulatedLayer.allCases
    )
    func determinism(layer: SimulatedLayer) {
        let first = layer.run(Self.options(5))
        let second = layer.run(Self.options(5))
        #expect(first.violation == nil, "\(first.violation?.description ?? "")")
        #expect(first.events > 200)
        #expect(first.traceHash == second.traceHash)
        #expect(first.traceHash != layer.run(Self.options(6)).traceHash)
    }

    @Test("the observer of a replay sees every event that the trace counts")
    func replay() {
        var seen: UInt64 = 0
        let report = SimulatedLayer.consensus.run(Self.options(7)) { _ in seen += 1 }
        #expect(seen == report.events)
        #expect(report.lastEvents.count == 30)
    }

    @Test(
        "every invariant holds in these seeds of consensus",
        arguments: 1...6 as ClosedRange<UInt64>
    )
    func consensus(seed: UInt64) {
        let report = SimulatedLayer.consensus.run(
            RunOptions(seed: seed, nodes: nil, duration: .seconds(20))
        )
        #expect(report.violation == nil, "\(report.violation?.description ?? "")")
        #expect(report.figures.writes > 0)
    }

    @Test(
        "a learner's log and its own attempt below it: the view does not fall (two minutes of five)"
    )
    func learning() {
        let report = SimulatedLayer.consensus.run(RunOptions(seed: 1574))
        #expect(report.violation == nil, "\(report.violation?.description ?? "")")
    }
}
