import MeshWire
import Testing

@testable import MeshConsensus

/// Messages that go through a helper are its origin's, come once, go one hop, and are not without end.
///
/// Three nodes: A (0) leads, the way between it and C (2) is cut, B (1) helps.
@Suite("Relay — 30-consensus §6") struct RelayTests {
    /// A signature is the digest of who signs what for which purpose.
    private static func signature(
        _ purpose: SigningPurpose,
        _ node: NodeID,
        _ bytes: [UInt8]
    ) -> [UInt8] {
        let digest = quickDigest(node.bytes + [purpose == .head ? 0 : 1] + bytes)
        return digest.bytes + digest.bytes
    }

    private static func cluster(seed: UInt64, count: Int = 3) -> Cluster {
        var cluster = Cluster(
            seed: seed,
            count: count,
            signing: { process in
                Signing(
                    sign: { Self.signature($0, process.nodeID, $1) },
                    verify: { $3 == Self.signature($0, $1, $2) }
                )
            }
        )
        cluster.form()
        cluster.run(for: .seconds(2))
        return cluster
    }

    /// The room with the cut, and the newest RELAY that came from A by B.
    private static func relayed(
        seed: UInt64,
        count: Int = 3
    ) throws -> (cluster: Cluster, header: MeshConsensus.MessageHeader, relay: Message.Relay) {
        var cluster = cluster(seed: seed, count: count)
        cluster.keepsMessages = true
        cluster.cuts = [[0, 2], [2, 0]]
        cluster.run(for: .seconds(2))
        try #require(cluster.failures.isEmpty)
        let origin = cluster.nodes[0].process.tag
        for message in cluster.messages.reversed() where message.from != 0 && message.to == 2 {
            if case (let header, .relay(let relay)) = try Message.decode(message.bytes.raw),
                relay.origin == origin
            {
                return (cluster, header, relay)
            }
        }
        throw WireError.invalid(at: 0)
    }

    private static func statistics(_ cluster: borrowing Cluster, _ node: Int) -> ConsensusStatistics
    {
        cluster.nodes[node].consensus.statistics
    }

    /// A message of `from` to `to` about itself: a RELAY with a counter that has not come yet.
    private static func fresh(
        _ cluster: Cluster,
        _ relay: Message.Relay,
        counter: UInt64
    ) -> Message.Relay {
        var next = relay
        next.counter = counter
        next.signature = signature(
            .relay,
            cluster.nodes[0].process.nodeID,
            next.signedBytes(genesis: cluster.nodes[0].consensus.genesis ?? .zero)
        )
        return next
    }

    @Test("over a cut the helper carries both ways, nobody leaves the view, writes are answered")
    func carries() throws {
        var (cluster, _, _) = try Self.relayed(seed: 1)
        let view = cluster.nodes[0].consensus.view?.epoch
        cluster.submit(2)
        cluster.submit(0, level: .all)
        let isSettled = cluster.settle([0, 1, 2], within: .milliseconds(300))
        #expect(isSettled)
        cluster.run(for: .seconds(30))
        for index in 0..<3 {
            #expect(cluster.nodes[index].consensus.view?.epoch == view)
            #expect(Self.statistics(cluster, index).relaysRefused == 0)
        }
        let helper = cluster.nodes[1].process
        #expect(cluster.nodes[0].consensus.relay(to: cluster.nodes[2].process) == helper)
        #expect(cluster.nodes[2].consensus.relay(to: cluster.nodes[0].process) == helper)
        cluster.cuts = []
        cluster.run(for: .milliseconds(400))
        #expect(cluster.nodes[0].consensus.relay(to: cluster.nodes[2].process) == nil)
        let carried = Self.statistics(cluster, 1).relaysCarried
        cluster.run(for: .seconds(5))
        #expect(Self.statistics(cluster, 1).relaysCarried == carried)
        #expect(cluster.failures.isEmpty)
    }

    @Test("what a helper changed is refused", arguments: 0..<5)
    func forged(part: Int) throws {
        var (cluster, header, relay) = try Self.relayed(seed: 2)
        let good = Self.fresh(cluster, relay, counter: relay.counter + 1000)
        var forged = good
        switch part {
        case 0: forged.counter += 1
        case 1: forged.isDeaf.toggle()
        case 2: forged.inner[forged.inner.count - 1] ^= 1
        case 3: forged.signature[0] ^= 1
        default:
            forged.signature = Self.signature(
                .head,
                cluster.nodes[0].process.nodeID,
                good.signedBytes(genesis: cluster.nodes[0].consensus.genesis ?? .zero)
            )
        }
        let before = Self.statistics(cluster, 2)
        cluster.inject(Message.relay(forged).encoded(header), from: 1, to: 2)
        #expect(Self.statistics(cluster, 2).relaysRefused == before.relaysRefused + 1)
        #expect(Self.statistics(cluster, 2).relaysReceived == before.relaysReceived)
        // The same unchanged is taken: it was the change that was refused.
        cluster.inject(Message.relay(good).encoded(header), from: 1, to: 2)
        #expect(Self.statistics(cluster, 2).relaysReceived == before.relaysReceived + 1)
    }

    @Test("what a helper sends a second time is refused, whenever it comes")
    func replayed() throws {
        var (cluster, header, relay) = try Self.relayed(seed: 3)
        for wait in [Duration.zero, .milliseconds(100), .seconds(20)] {
            cluster.run(for: wait)
            let before = Self.statistics(cluster, 2)
            cluster.inject(Message.relay(relay).encoded(header), from: 1, to: 2)
            #expect(Self.statistics(cluster, 2).relaysRefused == before.relaysRefused + 1)
            #expect(Self.statistics(cluster, 2).relaysReceived == before.relaysReceived)
        }
    }

    @Test("a RELAY goes one hop: neither from another helper on, nor inside another one")
    func oneHop() throws {
        var (cluster, header, relay) = try Self.relayed(seed: 4, count: 4)
        let good = Self.fresh(cluster, relay, counter: relay.counter + 1000)
        header.sender = cluster.nodes[1].process.tag
        // B hands A's message to D, as if D were the next hop.
        var toHelper = header
        toHelper.receiver = cluster.nodes[3].process.tag
        let atHelper = Self.statistics(cluster, 3)
        cluster.inject(Message.relay(good).encoded(toHelper), from: 1, to: 3)
        #expect(Self.statistics(cluster, 3).relaysRefused == atHelper.relaysRefused + 1)
        #expect(Self.statistics(cluster, 3).relaysCarried == atHelper.relaysCarried)
        // From A itself D carries it.
        toHelper.sender = cluster.nodes[0].process.tag
        cluster.inject(Message.relay(good).encoded(toHelper), from: 0, to: 3)
        #expect(Self.statistics(cluster, 3).relaysCarried == atHelper.relaysCarried + 1)
        // A RELAY in a RELAY, signed as it should be.
        var outer = good
        var inside = header
        inside.sender = cluster.nodes[0].process.tag
        outer.inner = Message.relay(good).encoded(inside)
        outer = Self.fresh(cluster, outer, counter: relay.counter + 1001)
        let before = Self.statistics(cluster, 2)
        cluster.inject(Message.relay(outer).encoded(header), from: 1, to: 2)
        #expect(Self.statistics(cluster, 2).relaysRefused == before.relaysRefused + 1)
        #expect(Self.statistics(cluster, 2).relaysReceived == before.relaysReceived)
    }

    @Test("whoever is no member, or is the receiver itself, is no origin and no target")
    func strangers() throws {
        var (cluster, header, relay) = try Self.relayed(seed: 5)
        let before = Self.statistics(cluster, 2)
        var stranger = relay
        stranger.origin = 77
        cluster.inject(Message.relay(stranger).encoded(header), from: 1, to: 2)
        stranger = relay
        stranger.target = 77
        cluster.inject(Message.relay(stranger).encoded(header), from: 1, to: 2)
        stranger = relay
        stranger.origin = cluster.nodes[2].process.tag
        cluster.inject(Message.relay(stranger).encoded(header), from: 1, to: 2)
        #expect(Self.statistics(cluster, 2).relaysRefused == before.relaysRefused + 3)
        #expect(Self.statistics(cluster, 2).relaysReceived == before.relaysReceived)
    }

    @Test("a flood is carried within the bound of a second, the rest is counted")
    func flood() throws {
        var (cluster, header, relay) = try Self.relayed(seed: 6)
        var toHelper = header
        toHelper.sender = cluster.nodes[0].process.tag
        toHelper.receiver = cluster.nodes[1].process.tag
        cluster.run(for: .seconds(1))
        let before = Self.statistics(cluster, 1)
        let flood = 3 * ConsensusLimits.relaysCarried
        for _ in 0..<flood {
            cluster.inject(Message.relay(relay).encoded(toHelper), from: 0, to: 1)
        }
        let carried = Self.statistics(cluster, 1).relaysCarried - before.relaysCarried
        #expect(carried > 0)
        #expect(carried <= ConsensusLimits.relaysCarried)
        let dropped = Self.statistics(cluster, 1).relaysOverBound - before.relaysOverBound
        #expect(carried + dropped == flood)
        // What is large counts for more: the bound is one of bytes as well.
        var large = relay
        large.inner = Array(repeating: 0, count: 64 << 10)
        cluster.run(for: .seconds(2))
        let again = Self.statistics(cluster, 1).relaysCarried
        for _ in 0..<100 {
            cluster.inject(Message.relay(large).encoded(toHelper), from: 0, to: 1)
        }
        #expect(
            Self.statistics(cluster, 1).relaysCarried - again
                <= ConsensusLimits.relaysCarried / 64
        )
        // The next second is a new one.
        cluster.run(for: .seconds(2))
        let later = Self.statistics(cluster, 1).relaysCarried
        cluster.inject(Message.relay(relay).encoded(toHelper), from: 0, to: 1)
        #expect(Self.statistics(cluster, 1).relaysCarried == later + 1)
    }

    @Test("a window takes each counter once, in any order, and none of long ago")
    func window() {
        var window = RelayWindow()
        func take(_ counter: UInt64) -> Bool {
            guard window.accepts(counter) else { return false }
            window.note(counter)
            return true
        }
        let rows: [(UInt64, Bool)] = [
            (5, true), (5, false), (4, true), (7, true), (6, true), (6, false), (4, false),
            (70, true), (7, false), (8, true), (6, false), (1000, true), (936, false),
            (937, true), (937, false), (.max, true), (.max, false), (.max - 1, true), (1000, false),
        ]
        for (counter, isTaken) in rows {
            let answer = take(counter)
            #expect(answer == isTaken, "\(counter)")
        }
    }
}
