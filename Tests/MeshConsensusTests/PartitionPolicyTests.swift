import MeshWire
import Testing

@testable import MeshConsensus

/// The two quorum rules alone, and a room that comes back by itself under each.
@Suite("Partition policies — 30-consensus §3") struct PartitionPolicyTests {
    static let policies: [PartitionPolicy] = [
        .available, .majority, .majority(survivor: .seconds(30)),
    ]

    @Test("a policy is read as it was written, in bytes and in words", arguments: policies)
    func coding(policy: PartitionPolicy) throws {
        var writer = ByteWriter()
        policy.encode(into: &writer)
        var reader = ByteReader(writer.bytes.raw)
        #expect(try PartitionPolicy(reading: &reader) == policy)
        try reader.finish()
        let words = policy.description.split(separator: " ").map(String.init)
        #expect(PartitionPolicy(words) == policy)
    }

    @Test("bytes and words of no policy are refused") func wrong() {
        for bytes in [[], [2], [1], [1, 0, 0, 0]] as [[UInt8]] {
            #expect(throws: WireError.self, "\(bytes)") {
                var reader = ByteReader(bytes.raw)
                _ = try PartitionPolicy(reading: &reader)
            }
        }
        for words in ["", "strict", "majority survivor", "majority survivor 0", "available 1"] {
            #expect(
                PartitionPolicy(words.split(separator: " ").map(String.init)) == nil,
                "\(words)"
            )
        }
    }

    @Test("one promise for a counter with majority; of two the higher tag with available")
    func promises() {
        let (low, high) = (Epoch(counter: 4, proposer: 1), Epoch(counter: 4, proposer: 2))
        let later = Epoch(counter: 5, proposer: 0)
        #expect(PartitionPolicy.available.mayPromise(high, promised: low))
        #expect(!PartitionPolicy.available.mayPromise(low, promised: high))
        #expect(!PartitionPolicy.majority.mayPromise(high, promised: low))
        #expect(PartitionPolicy.majority.mayPromise(later, promised: high))
    }

    @Test("what is older than the newest committed goes; of equal attempts the newest stays")
    func united() {
        func one(
            _ counter: UInt64,
            by proposer: UInt64 = 0,
            _ tags: [UInt64],
            committed: Bool
        ) -> PrimaryConfiguration {
            .init(
                epoch: Epoch(counter: counter, proposer: proposer == 0 ? counter : proposer),
                tags: tags,
                isCommitted: committed
            )
        }
        let all = [
            one(5, [1, 2], committed: false), one(2, [1, 2, 3], committed: true),
            one(1, [1], committed: false), one(3, [1, 2, 3], committed: false),
            one(4, [1, 2], committed: false), one(2, [1, 2, 3], committed: false),
        ]
        #expect(
            all.united() == [
                one(2, [1, 2, 3], committed: true), one(3, [1, 2, 3], committed: false),
                one(5, [1, 2], committed: false),
            ]
        )
        // An attempt above which its proposer has promised commits no more.
        let attempts = [
            one(2, by: 1, [1, 2, 3], committed: true), one(3, by: 7, [1, 2], committed: false),
            one(4, by: 8, [2, 3], committed: false), one(5, by: 7, [1, 3], committed: false),
        ]
        #expect(attempts.united() == [attempts[0], attempts[2], attempts[3]])
        #expect(attempts.united(promisedBy: [2, 8]) == [attempts[0], attempts[3]])
        #expect(attempts.united(promisedBy: [1]) == [attempts[0], attempts[2], attempts[3]])
    }

    @Test("a configuration is read as it was written; flags that nobody knows are refused")
    func configurationBytes() throws {
        let all = [(false, false), (true, false), (false, true), (true, true)].map {
            PrimaryConfiguration(
                epoch: Epoch(counter: 5, proposer: 6),
                tags: [6, 7],
                isCommitted: $0.0,
                isForced: $0.1
            )
        }
        var writer = ByteWriter(capacity: 256)
        writer.writeCount(all.count)
        for configuration in all { writer.write(configuration) }
        var bytes = writer.bytes
        var reader = ByteReader(bytes.raw)
        #expect(try reader.readConfigurations() == all)
        #expect(throws: Never.self) { try reader.finish() }
        // The first one's flags stand behind the count and the epoch.
        bytes[17] = 4
        reader = ByteReader(bytes.raw)
        #expect(throws: WireError.reserved(at: 17)) { try reader.readConfigurations() }
    }

    @Test("a node back alone: available goes on, majority waits, a survivor waits so long")
    func resumed() {
        func room(_ policy: PartitionPolicy) -> Cluster {
            var cluster = Cluster(seed: 7, count: 1) { $0.policy = policy }
            cluster.nodes[0].consensus.resume(now: cluster.now)
            cluster.wake(0)
            cluster.run(for: .seconds(1))
            return cluster
        }
        var alone = room(.available)
        #expect(alone.nodes[0].consensus.view?.primary == false)
        alone = room(.majority)
        alone.run(for: .seconds(60))
        #expect(alone.nodes[0].consensus.view == nil)
        #expect(alone.nodes[0].consensus.suspension == .suspended(have: 1, need: 2))
        alone.nodes[0].consensus.adoptPrimary(now: alone.now)
        alone.wake(0)
        alone.run(for: .seconds(1))
        #expect(alone.nodes[0].consensus.view?.primary == true)
        #expect(alone.nodes[0].consensus.view?.forced == true)
        alone = room(.majority(survivor: .seconds(5)))
        #expect(alone.nodes[0].consensus.view == nil)
        alone.run(for: .seconds(6))
        #expect(alone.nodes[0].consensus.view?.primary == false)
        #expect(alone.nodes[0].consensus.view?.forced == true)
        #expect(alone.nodes[0].consensus.role == .leader)
    }
}
