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
                case .conditions, .heal: break
                }
            }
        }
    }

    @Test("over many seeds each class is on in some runs and off in others")
    func classes() {
        let swarms = (1...100).map {
            Swarm(seed: $0, nodes: nil, start: Self.start, duration: nil)
        }
        for kind in Swarm.Class.allCases {
            let share = swarms.count { $0.classes.contains(kind) }
            #expect((20...60).contains(share), "\(kind): \(share)")
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
