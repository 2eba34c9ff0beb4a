import MeshCrypto
@testable import MeshTransport
import MeshWire
import Testing

@Suite("Endpoint: the pair that yields — 10-security §5, simultaneous open")
struct EndpointSimultaneousTests {
    typealias Network = EndpointNetwork

    /// How one pair of crossing dials is disturbed.
    struct Row {
        /// How long after the one side the other dials.
        var offset: Duration
        var smallerDialsFirst: Bool
        /// How long the first packets of the smaller identity, and of the larger, are held back.
        var held: [Duration]
        var loss: Double
        var seed: UInt64
    }

    struct Outcome {
        /// Whether a pair that came up later became the previous one at once.
        var hasYielded = false
        /// Whether the peer acknowledged a packet of such a pair.
        var isAcknowledged = false
    }

    /// Notes whether the younger of the two pairs of `node` is the one that yielded.
    private func observe(_ node: Network.Node, _ peer: NodeID, _ outcome: inout Outcome) {
        guard let peer = node.endpoint.peer(peer), let current = peer.current,
            let previous = peer.previous, previous.established > current.established
        else { return }
        outcome.hasYielded = true
        let space = peer.connection.spaces.first { $0.identifier == previous.space }
        if space?.largestAcknowledged != nil { outcome.isAcknowledged = true }
    }

    private func play(_ row: Row) throws -> Outcome {
        let network = Network(seed: row.seed)
        network.loss = row.loss
        let room = Network.room()
        let nodes = [1, 2].map { network.addNode($0, room: room) }
            .sorted { $0.nodeID < $1.nodeID }
        let start = network.now
        network.tap = { [unowned network] packet in
            guard packet.type == MessageType.data.rawValue,
                network.now - start < .milliseconds(300)
            else { return [packet] }
            var late = packet
            late.delay += row.held[packet.from == nodes[0].address ? 0 : 1]
            return [late]
        }
        let order = row.smallerDialsFirst ? nodes : nodes.reversed()
        order[0].endpoint.dial(
            .member(address: order[1].address, expected: order[1].nodeID),
            now: network.now
        )
        network.run(for: row.offset)
        order[1].endpoint.dial(
            .member(address: order[0].address, expected: order[0].nodeID),
            now: network.now
        )
        var outcome = Outcome()
        var sent = [0, 0]
        var channels: [ChannelNumber?] = [nil, nil]
        for _ in 0..<2000 where sent.contains(where: { $0 < 100 }) {
            network.run(for: .milliseconds(5))
            for side in 0...1 {
                let (from, to) = (nodes[side], nodes[1 - side])
                observe(from, to.nodeID, &outcome)
                guard !from.connected.isEmpty, sent[side] < 100 else { continue }
                let channel =
                    try channels[side]
                    ?? from.endpoint.openChannel(to: to.nodeID, name: [1], class: .normal)
                channels[side] = channel
                _ = try from.endpoint.send(
                    [UInt8(sent[side])],
                    on: channel,
                    to: to.nodeID,
                    now: network.now
                )
                sent[side] += 1
            }
        }
        network.loss = 0
        network.run(for: .seconds(2))
        for side in 0...1 {
            let node = nodes[side]
            #expect(node.violations == 0, "\(row)")
            #expect(node.endpoint.statistics.violations == 0, "\(row)")
            #expect(node.disconnected.isEmpty, "\(row)")
            #expect(node.connected.count { !$0.resumed } == 1, "\(row)")
            #expect(sent[side] == 100, "\(row)")
            #expect(node.messages == (0..<sent[1 - side]).map { [UInt8($0)] }, "\(row)")
        }
        return outcome
    }

    @Test("the AUTH of the pair that yields may be acknowledged", arguments: [0, 0.1, 0.3])
    func yieldingPairIsAcknowledged(loss: Double) throws {
        var yielded = 0
        var acknowledged = 0
        var seed: UInt64 = 0
        for offset in [0, 7, 30] {
            for smallerDialsFirst in [true, false] {
                for held in [[0, 0], [0, 60], [60, 0], [60, 60], [120, 45]] {
                    seed += 1
                    let outcome = try play(
                        Row(
                            offset: .milliseconds(offset),
                            smallerDialsFirst: smallerDialsFirst,
                            held: held.map { .milliseconds($0) },
                            loss: loss,
                            seed: seed
                        )
                    )
                    if outcome.hasYielded { yielded += 1 }
                    if outcome.isAcknowledged { acknowledged += 1 }
                }
            }
        }
        // What the test is for has to happen in it.
        #expect(yielded > 0)
        if loss < 0.3 { #expect(acknowledged > 0) }
    }
}
