import MeshCrypto
@testable import MeshTransport
import MeshWire
import Testing

@Suite("Many peers, and links that break bytes — 20-transport §8")
struct EndpointScaleTests {
    typealias Network = EndpointNetwork

    /// The least time a turn of `hub` takes while each of `peers` is sent a small message.
    private func turn(
        _ network: Network,
        _ hub: Network.Node,
        _ channels: [(NodeID, ChannelNumber)]
    ) throws -> Duration {
        let clock = ContinuousClock()
        var least = Duration.seconds(100)
        for _ in 0..<40 {
            for (peer, channel) in channels {
                _ = try hub.endpoint.send([1], on: channel, to: peer, now: network.now)
            }
            let start = clock.now
            hub.endpoint.advance(to: network.now)
            network.flush(hub)
            least = min(least, clock.now - start)
            network.run(for: .milliseconds(20))
        }
        return least
    }

    @Test(
        "32 MB queued to a slow peer beside 50 active ones: a turn costs the same (enet#218, #224)"
    )
    func flatTurn() throws {
        let network = Network()
        let room = Network.room()
        var configuration = EndpointConfiguration()
        configuration.transport.channelQueueBytes = 64 << 20
        configuration.transport.connectionQueueBytes = 64 << 20
        let hub = network.addNode(1, room: room, configuration: configuration)
        let others = (UInt8(2)...52).map { network.addNode($0, room: room) }
        for node in others {
            node.endpoint.dial(
                .member(address: hub.address, expected: hub.nodeID),
                now: network.now
            )
            _ = network.run(until: { !node.connected.isEmpty }, within: .seconds(5))
        }
        network.run(for: .milliseconds(100))
        #expect(hub.endpoint.peers.count == 51)
        var channels: [(NodeID, ChannelNumber)] = []
        for node in others {
            let channel = try hub.endpoint.openChannel(to: node.nodeID, name: [1], class: .normal)
            channels.append((node.nodeID, channel))
        }
        network.run(for: .milliseconds(200))
        let slow = channels.removeLast()
        let before = try turn(network, hub, channels)
        // Nothing of it gets through.
        let address = others[50].address
        network.tap = { $0.to == address ? [] : [$0] }
        let message = [UInt8](repeating: 1, count: 1000)
        for _ in 0..<32_000 {
            _ = try hub.endpoint.send(message, on: slow.1, to: slow.0, now: network.now)
        }
        network.run(for: .milliseconds(500))
        #expect(hub.endpoint.peer(slow.0)?.connection.statistics.queuedBytes ?? 0 > 30 << 20)
        let after = try turn(network, hub, channels)
        // Were it looked at message by message, it would be a hundred times as much.
        #expect(after < before * 8, "\(before) then \(after)")
    }

    @Test(
        "lost, doubled, reordered and broken datagrams, a blackhole: each message once",
        arguments: 1...4
    )
    func brokenBytes(seed: UInt64) throws {
        let (network, a, b) = Network.pair()
        var generator = SeededGenerator(seed: seed)
        var broken = 0
        network.tap = { packet in
            var packet = packet
            packet.delay += generator.duration(in: .zero...Duration.milliseconds(20))
            guard generator.happens(0.2), !packet.bytes.isEmpty else { return [packet] }
            broken += 1
            let place = Int.random(in: 0..<packet.bytes.count, using: &generator)
            packet.bytes[place] ^= UInt8.random(in: 1...255, using: &generator)
            return [packet]
        }
        network.loss = 0.2
        network.duplication = 0.1
        let pairs = [(a, b), (b, a)]
        let channels = try pairs.map { from, to in
            try from.endpoint.openChannel(to: to.nodeID, name: [1], class: .normal)
        }
        for number in 0..<200 {
            for (pair, channel) in zip(pairs, channels) {
                _ = try pair.0.endpoint.send(
                    [UInt8(number)],
                    on: channel,
                    to: pair.1.nodeID,
                    now: network.now
                )
            }
            if number == 100 { network.loss = 1 }
            if number == 130 { network.loss = 0.2 }
            network.run(for: .milliseconds(40))
        }
        network.loss = 0
        network.tap = { [$0] }
        network.run(for: .seconds(2))
        #expect(broken > 20)
        for node in [a, b] {
            #expect(node.messages == (0..<200).map { [UInt8($0)] })
            #expect(node.violations == 0)
            #expect(node.disconnected.isEmpty)
        }
    }
}
