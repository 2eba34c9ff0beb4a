import MeshConsensus
import MeshWire
import Testing

@Suite("Random faults") struct SwarmTests {
    @Test("every seed keeps the invariants and heals into one view", arguments: rounds(9, 400))
    func seeds(_ seed: UInt64) {
        let outcome = Swarm.run(seed: seed, seconds: 6)
        #expect(outcome.failures == [], "seed \(seed)\n\(outcome.detail)")
    }
}
