import MeshFaults
import MeshSimulator
import MeshWire
import Testing

@Suite("Fault mixes drawn from a seed") struct SwarmTests {
    static let start = Instant.zero + .seconds(3)

    @Test("the same seed gives the same faults, and seeds differ")
    func determinism() {
        func text(_ seed: UInt64) -> String {
            let swarm = Swarm(seed: seed, nodes: nil, start: Self.start, duration: nil)
            return "\(swarm.nodes) \(swarm.safety) \(swarm.clocks) \(swarm.script)"
        }
        #expect(text(1) == text(1))
        #expect(Set((1...50).map { text($0) }).count == 50)
    }

    @Test("faults stay within their phase, name existing nodes and never kill the anchor")
    func sanity() {
        for seed in 1...300 as ClosedRange<UInt64> {
            let swarm = Swarm(seed: seed, nodes: nil, start: Self.start, duration: nil)
            #expect((2...5).contains(swarm.nodes))
            #expect(swarm.clocks.count == swarm.nodes)
            #expect(swarm.script.map(\.time) == swarm.script.map(\.time).sorted())
            for fault in swarm.script {
                #expect(swarm.safety.contains(fault.time))
                switch fault.action {
                case .crash(let node), .leave(let node):
                    #expect(node != swarm.anchor && node < swarm.nodes)
                case .restart(let node), .pause(let node, _): #expect(node < swarm.nodes)
                case .link(let from, let to, _):
                    #expect(from != to && from < swarm.nodes && to < swarm.nodes)
                case .partition(let partition): #expect(!partition.isEmpty)
                default: break
                }
            }
        }
    }

    @Test("over many seeds each class is on in some runs and off in others")
    func classes() {
        let swarms = (1...200).map {
            Swarm(seed: $0, nodes: nil, start: Self.start, duration: .seconds(1), shape: .wide)
        }
        for kind in Swarm.Class.allCases {
            let share = swarms.count { $0.classes.contains(kind) }
            #expect((35...120).contains(share), "\(kind): \(share)")
        }
    }

    @Test("a wide run has 1 to 64 nodes by the mix of 30-consensus §16")
    func mix() {
        let counts = (1...1000).map {
            Swarm(seed: $0, nodes: nil, start: Self.start, duration: .seconds(1), shape: .wide)
                .nodes
        }
        let percent: [Int: Int] = [1: 2, 2: 23, 3: 25, 5: 30, 8: 12, 16: 7, 64: 1]
        #expect(Set(counts).isSubset(of: percent.keys))
        for nodes in percent.keys.sorted() {
            let share = counts.count { $0 == nodes }
            let wanted = (percent[nodes] ?? 0) * 10
            #expect(abs(share - wanted) <= 10 + wanted / 4, "\(nodes): \(share)")
        }
    }

    @Test("a class left out of a run is gone, and the others' strength is what it was")
    func only() {
        for seed in 1...50 as ClosedRange<UInt64> {
            func swarm(_ only: Set<Swarm.Class>?) -> Swarm {
                Swarm(
                    seed: seed,
                    nodes: 5,
                    start: Self.start,
                    duration: .seconds(20),
                    shape: .wide,
                    only: only
                )
            }
            let all = swarm(nil)
            let one = swarm([.crash])
            #expect(one.classes == all.classes.filter { $0 == .crash })
            func crashes(_ swarm: Swarm) -> [PlannedFault] {
                guard !all.classes.contains(.churn), !all.classes.contains(.crashBeforeSend) else {
                    return []
                }
                return swarm.script.filter {
                    if case .crash = $0.action { true } else { false }
                }
            }
            #expect(crashes(one) == crashes(all))
        }
    }

    @Test("every action of a wide run reads back from its words")
    func words() throws {
        for seed in 1...60 as ClosedRange<UInt64> {
            let swarm = Swarm(
                seed: seed,
                nodes: 5,
                start: Self.start,
                duration: .seconds(60),
                shape: .wide
            )
            let script = RunScript(
                layer: .consensus,
                seed: seed,
                clocks: swarm.clocks,
                safety: swarm.safety,
                healed: .init(),
                returns: true,
                lines: swarm.script.filter {
                    switch $0.action {
                    case .conditions, .link: false  // their probabilities are not round
                    default: true
                    }
                }.map { .fault($0) }
            )
            #expect(try RunScript(parsing: script.text).lines == script.lines)
        }
    }

    @Test("the healed network is as good as liveness may demand")
    func healed() {
        for seed in 1...100 as ClosedRange<UInt64> {
            let healed = Swarm(seed: seed, nodes: nil, start: Self.start, duration: nil).healed
            #expect(healed.loss.mean <= 0.1)
            #expect(healed.delay <= .milliseconds(5))
            #expect(!healed.isDown)
        }
    }
}
