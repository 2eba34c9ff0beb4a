import MeshWire
import Testing

@testable import MeshConsensus

/// Heads that a leader signs are compared, and two histories cost it the lead.
@Suite("Equivocation — 10-security §12") struct EquivocationTests {
    /// A signature is the digest of who signs what.
    private static func signature(_ node: NodeID, _ bytes: [UInt8]) -> [UInt8] {
        let digest = quickDigest(node.bytes + bytes)
        return digest.bytes + digest.bytes
    }

    private static func cluster(seed: UInt64) -> Cluster {
        var cluster = Cluster(
            seed: seed,
            count: 3,
            signing: { process in
                Signing(
                    sign: { Self.signature(process.nodeID, $1) },
                    verify: { $3 == Self.signature($1, $2) }
                )
            }
        )
        cluster.form()
        cluster.run(for: .seconds(3))
        return cluster
    }

    /// The head of `cluster`'s leader as it would sign it, with another hash.
    private static func lie(_ cluster: Cluster, of leader: Int) -> SignedHead {
        var head = SignedHead(
            epoch: cluster.nodes[leader].consensus.view?.epoch ?? .zero,
            index: cluster.nodes[leader].consensus.commit.index,
            hash: Digest(words: (1, 2, 3, 4)),
            signature: []
        )
        head.signature = signature(cluster.nodes[leader].process.nodeID, head.signedBytes)
        return head
    }

    /// The head in a message of one member to another.
    private static func inject(_ head: SignedHead, _ cluster: inout Cluster, from: Int, to: Int) {
        let genesis = cluster.nodes[from].consensus.genesis ?? .zero
        let header = MessageHeader(
            sender: cluster.nodes[from].process.tag,
            receiver: cluster.nodes[to].process.tag,
            epoch: head.epoch,
            roomTag: genesis.bytes.prefix(6).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        )
        cluster.inject(Message.head(head).encoded(header), from: from, to: to)
    }

    @Test("an honest leader is never accused, and what nobody signed accuses nobody")
    func honest() {
        var cluster = Self.cluster(seed: 1)
        cluster.run(for: .seconds(5))
        var forged = Self.lie(cluster, of: 0)
        forged.signature[0] ^= 1
        Self.inject(forged, &cluster, from: 2, to: 1)
        cluster.run(for: .seconds(1))
        for index in 0..<3 {
            #expect(cluster.nodes[index].consensus.statistics.equivocations == 0)
            #expect(cluster.nodes[index].consensus.leader == cluster.nodes[0].process)
        }
        #expect(cluster.nodes[1].consensus.statistics.badSignatures == 1)
    }

    @Test("two histories: both members know who it was, and go on under another leader")
    func caught() throws {
        var cluster = Self.cluster(seed: 2)
        cluster.keepsEvents = true
        let liar = cluster.nodes[0].process
        #expect(cluster.nodes[1].consensus.leader == liar)
        Self.inject(Self.lie(cluster, of: 0), &cluster, from: 2, to: 1)
        cluster.run(for: .seconds(3))
        for index in [1, 2] {
            let view = cluster.nodes[index].consensus.view
            #expect(view?.leader != liar)
            #expect(view?.members.map(\.process).contains(liar) == false)
            #expect(cluster.nodes[index].consensus.statistics.equivocations == 1)
        }
        let named = cluster.events.contains { entry in
            if case .evidence(let against, _, _) = entry.event { against == liar } else { false }
        }
        #expect(named)
    }

    @Test("heads that nobody signed are not checked without end")
    func flood() {
        var cluster = Self.cluster(seed: 3)
        let before = cluster.nodes[1].consensus.statistics.badSignatures
        for number in 0..<UInt64(2 * ConsensusLimits.headsChecked) {
            var forged = Self.lie(cluster, of: 0)
            forged.hash = Digest(words: (number, 0, 0, 0))
            Self.inject(forged, &cluster, from: 2, to: 1)
        }
        cluster.run(for: .milliseconds(10))
        let checked = cluster.nodes[1].consensus.statistics.badSignatures - before
        #expect(checked > 0)
        #expect(checked <= ConsensusLimits.headsChecked)
    }
}
