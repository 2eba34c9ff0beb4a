import MeshConsensus
import MeshFaults
import MeshSimulator
import MeshWire
import Testing

@Suite("Scripts of runs") struct ScriptTests {
    static func options(_ seed: UInt64) -> RunOptions {
        RunOptions(seed: seed, nodes: nil, duration: .seconds(3))
    }

    @Test(
        "a run's script, written and read, gives the same run",
        arguments: [3, 11, 12] as [UInt64]
    )
    func sameRun(seed: UInt64) throws {
        let report = SimulatedLayer.consensus.run(Self.options(seed))
        let script = try #require(report.script)
        #expect(script.lines.contains { if case .work = $0 { true } else { false } })
        #expect(script.lines.contains { if case .fault = $0 { true } else { false } })
        let read = try RunScript(parsing: script.text)
        #expect(read == script)
        let again = read.run()
        #expect(again.traceHash == report.traceHash)
        #expect(again.script == script)
    }

    @Test("engines and endpoints have scripts too", arguments: [SimulatedLayer.engine, .transport])
    func layers(layer: SimulatedLayer) throws {
        let report = layer.run(Self.options(4))
        let text = try #require(report.script).text
        #expect(try RunScript(parsing: text).run().traceHash == report.traceHash)
    }

    @Test("every fault that a swarm draws is read as it was written")
    func faults() throws {
        for seed in 1...200 as ClosedRange<UInt64> {
            let swarm = Swarm(
                seed: seed,
                nodes: nil,
                start: .zero + .seconds(3),
                duration: nil
            )
            let script = RunScript(
                layer: .engine,
                seed: seed,
                clocks: swarm.clocks,
                safety: swarm.safety,
                healed: swarm.healed,
                returns: true,
                lines: swarm.script.map { .fault($0) }
            )
            let read = try RunScript(parsing: script.text)
            #expect(read.lines.count == script.lines.count)
            #expect(read.clocks == script.clocks)
            #expect(read.safety == script.safety)
            // Probabilities lose their last bits once and never again.
            #expect(read.text == script.text)
            #expect(try RunScript(parsing: read.text) == read)
        }
    }

    @Test(
        "what is no script is refused with its line",
        arguments: [
            "", "seeds 1", "huddle sim script 1",
            "huddle sim script 2\nnode n0 offset 1s drift 0ppm",
            "node n2 offset 1s drift 0ppm", "node n0 offset x drift 0ppm", "at 3s", "at 3s fly",
            "at 3s crash n7", "at 3s crash", "at 3s n0 work", "at 3s n9 work 1", "at 3s pause n0",
            "at 3s partition n0,x", "at 3s link n0->n0 loss 1%", "at 3s conditions loss 5",
            "at 3s heal\nat 2s heal", "seed x", "layer x", "faults 5s to 3s", "returns maybe",
        ]
    )
    func wrong(text: String) {
        let head = "huddle sim script 1\nnode n0 offset 1s drift 0ppm\n"
        #expect(throws: ScriptSyntaxError.self) {
            try RunScript(parsing: text.hasPrefix("huddle") || text.isEmpty ? text : head + text)
        }
    }

    @Test("an INSTALL below the promise is refused, also of the view one is in — seed 68")
    func installBelowPromise() throws {
        let script = try RunScript(
            parsing: """
                huddle sim script 1
                layer consensus
                seed 68
                faults 3s to 21002668241ns
                healed
                returns no
                node n0 offset 1s drift 0ppm
                node n1 offset 1s drift 0ppm
                node n2 offset 1s drift 0ppm
                node n3 offset 1s drift 0ppm
                at 3s conditions rate 31827616bit/s
                at 3s link n3->n2 loss 78.00386911% delay 19621884ns
                at 3468687879ns partition n0->n2 n0->n3 n1->n3 n2->n0 n3->n0 n3->n1
                at 7022693597ns heal
                """
        )
        let violation = script.run().violation
        #expect(violation == nil, "\(violation?.description ?? "")")
    }

    @Test("whoever leaves at the heal takes its weight along, and a person's word helps the rest")
    func leaverAtTheHeal() throws {
        let script = try RunScript(
            parsing: """
                huddle sim script 1
                layer consensus
                seed 1
                faults 3s to 10s
                healed
                returns no
                policy majority
                node n0 offset 1s drift 0ppm
                node n1 offset 1s drift 0ppm
                node n2 offset 1s drift 0ppm
                at 8s pause n2 1900ms
                at 9500ms crash n1
                at 9600ms leave n0
                """
        )
        let violation = script.run().violation
        #expect(violation == nil, "\(violation?.description ?? "")")
    }

    @Test("a node that is left out takes its lines along, and the others move up")
    func withoutNode() throws {
        let script = try RunScript(
            parsing: """
                huddle sim script 1
                node n0 offset 1s drift 0ppm
                node n1 offset 2s drift 0ppm
                node n2 offset 3s drift 0ppm
                at 3s crash n1
                at 3s n2 work 1  # remark
                at 4s partition n0,n1|n2 n1->n2 n0->n2
                at 5s pause n2 40ms
                at 6s link n1->n0 loss 5%
                """
        )
        let smaller = try #require(script.without(node: 1))
        #expect(smaller.clocks.map(\.offset) == [.seconds(1), .seconds(3)])
        #expect(
            smaller.text.split(separator: "\n").suffix(3) == [
                "at 3s n1 work 1  # remark", "at 4s partition n0|n1 n0->n1", "at 5s pause n1 40ms",
            ]
        )
    }
}

@Suite("Shrinking") struct ShrinkerTests {
    static func failing(_ bug: PlantedBug, seeds: ClosedRange<UInt64>) -> RunReport? {
        for seed in seeds {
            var options = RunOptions(seed: seed, nodes: 3, duration: .seconds(4))
            options.planted = bug
            options.policy = .available
            let report = SimulatedLayer.consensus.run(options)
            if report.violation != nil { return report }
        }
        return nil
    }

    @Test(
        "a planted bug shrinks to a script of at most 30 lines that shows it again",
        arguments: [PlantedBug.lostWrites, .staleReads]
    )
    func planted(bug: PlantedBug) throws {
        let report = try #require(Self.failing(bug, seeds: 13...60))
        let (script, violation) = (try #require(report.script), try #require(report.violation))
        var shrinker = Shrinker(script, breaking: violation, isOver: { false })
        let fails = shrinker.run()
        #expect(fails)
        #expect(shrinker.script.lines.count < script.lines.count)
        let text = shrinker.script.text
        #expect(text.split(separator: "\n").count <= 30, "\(text)")
        let again = try RunScript(parsing: text).run().violation
        #expect(again?.invariant == violation.invariant)
    }

    /// A run in play: fails if the lines that matter are all there.
    private static func shrink(
        _ script: RunScript,
        _ isFailing: @escaping (RunScript) -> Bool
    ) -> Shrinker {
        let violation = Violation("planted", "")
        var shrinker = Shrinker(script, breaking: violation, isOver: { false }) {
            isFailing($0) ? violation : Violation("another", "")
        }
        let fails = shrinker.run()
        #expect(fails)
        return shrinker
    }

    @Test("what the failure needs stays, all else goes, and another failure is no cut")
    func minimal() throws {
        let report = SimulatedLayer.consensus.run(RunOptions(seed: 12, nodes: 5))
        let script = try #require(report.script)
        let works = script.lines.compactMap { line -> UInt64? in
            if case .work(_, _, let ordinal, _) = line { ordinal } else { nil }
        }
        let needed = Set([works[3], works[works.count / 2], works[works.count - 2]])
        let shrinker = Self.shrink(script) { script in
            let kept = script.lines.compactMap { line -> UInt64? in
                if case .work(_, _, let ordinal, _) = line { ordinal } else { nil }
            }
            return needed.isSubset(of: kept)
        }
        #expect(shrinker.script.lines.count == 3)
        #expect(shrinker.script.clocks.count <= 3)
        #expect(shrinker.trials < 300, "\(shrinker.trials)")
    }

    @Test("a run that does not fail again is not shrunk")
    func notAgain() throws {
        let report = SimulatedLayer.consensus.run(RunOptions(seed: 1, duration: .seconds(1)))
        let script = try #require(report.script)
        var shrinker = Shrinker(
            script,
            breaking: Violation("planted", ""),
            isOver: { false },
            play: { _ in nil }
        )
        let fails = shrinker.run()
        #expect(!fails)
        #expect(shrinker.script == script)
    }

    @Test("when time is up the smallest script so far is the answer")
    func time() throws {
        let report = SimulatedLayer.consensus.run(RunOptions(seed: 1, duration: .seconds(2)))
        let script = try #require(report.script)
        var trials = 0
        var shrinker = Shrinker(
            script,
            breaking: Violation("planted", ""),
            isOver: { trials >= 4 },
            play: { _ in
                trials += 1
                return Violation("planted", "")
            }
        )
        let fails = shrinker.run()
        #expect(fails)
        #expect(trials == 4)
        #expect(shrinker.script.lines.count < script.lines.count)
    }
}
