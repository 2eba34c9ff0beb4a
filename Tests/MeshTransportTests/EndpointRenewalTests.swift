import MeshCrypto
@testable import MeshTransport
import MeshWire
import Testing

@Suite("Endpoint: rekey, silence and return — 10-security §6, 20-transport §3")
struct EndpointRenewalTests {
    typealias Network = EndpointNetwork

    private func limits(packets: UInt64 = 1 << 32, age: Duration = .seconds(120)) -> KeyLimits {
        var limits = KeyLimits(.chacha20Poly1305)
        limits.softPackets = packets
        limits.hardPackets = packets * 2
        limits.softAge = age
        limits.hardAge = age * 1.5
        return limits
    }

    private func configuration(_ limits: KeyLimits) -> EndpointConfiguration {
        var configuration = EndpointConfiguration()
        configuration.keyLimits = limits
        configuration.rekeyJitter = .zero
        return configuration
    }

    /// Sends numbered messages each way, one every `period`, while the network runs.
    private func talk(
        _ network: Network,
        _ a: Network.Node,
        _ b: Network.Node,
        count: Int,
        period: Duration
    ) throws {
        let pairs = [(a, b), (b, a)]
        let channels = try pairs.map { from, to in
            try from.endpoint.openChannel(to: to.nodeID, name: [1], class: .normal)
        }
        for number in 0..<count {
            for (pair, channel) in zip(pairs, channels) {
                _ = try pair.0.endpoint.send(
                    [UInt8(number & 255), UInt8(number >> 8)],
                    on: channel,
                    to: pair.1.nodeID,
                    now: network.now
                )
            }
            network.run(for: period)
        }
    }

    private func numbered(_ count: Int) -> [[UInt8]] {
        (0..<count).map { [UInt8($0 & 255), UInt8($0 >> 8)] }
    }

    struct Load: CustomTestStringConvertible, Sendable {
        var loss: Double
        var blocksSmaller: Bool
        var testDescription: String {
            "loss \(loss), \(blocksSmaller ? "by the larger alone" : "by the smaller")"
        }
    }

    @Test(
        "S64: keys are replaced under load, nothing is lost or comes twice",
        arguments: [
            Load(loss: 0, blocksSmaller: false), Load(loss: 0.2, blocksSmaller: false),
            Load(loss: 0, blocksSmaller: true), Load(loss: 0.2, blocksSmaller: true),
        ]
    ) func rekeyUnderLoad(_ row: Load) throws {
        let (network, a, b) = Network.pair(configuration: configuration(limits(packets: 64)))
        network.loss = row.loss
        if row.blocksSmaller {
            network.tap = { packet in
                packet.from == a.address && packet.type == MessageType.first.rawValue
                    ? [] : [packet]
            }
        }
        try talk(network, a, b, count: 200, period: .milliseconds(20))
        network.loss = 0
        network.run(for: .seconds(2))
        #expect(a.messages == numbered(200))
        #expect(b.messages == numbered(200))
        #expect(a.endpoint.statistics.rekeys >= 2)
        #expect(b.endpoint.statistics.rekeys >= 2)
        #expect(a.disconnected.isEmpty)
        #expect(b.disconnected.isEmpty)
        #expect(a.connected.count == 1)
        #expect(b.connected.count == 1)
        #expect(a.endpoint.statistics.violations == 0)
        #expect(b.endpoint.statistics.violations == 0)
    }

    @Test("keys are replaced by age, by the smaller identity; an idle pair stays up")
    func rekeyByAge() {
        let (network, a, b) = Network.pair(configuration: configuration(limits(age: .seconds(20))))
        network.run(for: .seconds(205))
        #expect((9...11).contains(a.endpoint.statistics.rekeys))
        #expect(a.endpoint.statistics.rekeys == b.endpoint.statistics.rekeys)
        #expect(a.disconnected.isEmpty)
        #expect(a.connected.count == 1)
        #expect(b.connected.count == 1)
        #expect(a.endpoint.indices.count <= 3)
    }

    @Test("S71: two rekeys at once lose nothing", arguments: 1...4)
    func rekeysAtOnce(seed: UInt64) throws {
        var configuration = configuration(limits(packets: 40))
        configuration.rekeyStagger = .zero
        let (network, a, b) = Network.pair(configuration: configuration)
        network.delay = .milliseconds(5 * Int(seed))
        try talk(network, a, b, count: 120, period: .milliseconds(20))
        network.run(for: .seconds(2))
        #expect(a.messages == numbered(120))
        #expect(b.messages == numbered(120))
        #expect(a.endpoint.statistics.rekeys >= 2)
        #expect(a.disconnected.isEmpty)
        #expect(b.disconnected.isEmpty)
    }

    @Test("S07: an old key opens nothing ten seconds after its successor came") func oldKey() {
        let (network, a, b) = Network.pair(configuration: configuration(limits(age: .seconds(20))))
        var old: Network.Packet?
        network.tap = { packet in
            // Held back, so that its number is fresh.
            guard old == nil, packet.type == 0x10, packet.from == a.address,
                network.now > Instant.zero + .seconds(1010)
            else { return [packet] }
            old = packet
            return []
        }
        network.run(for: .seconds(45))
        guard let old else {
            Issue.record("no packet was held back")
            return
        }
        let unknown = b.endpoint.statistics.unknownIndex
        network.inject(old)
        network.run(for: .seconds(1))
        #expect(b.endpoint.statistics.unknownIndex == unknown + 1)
    }

    @Test("a silence of twelve seconds is bridged: every message once, in order")
    func shortBlackhole() throws {
        let (network, a, b) = Network.pair()
        try talk(network, a, b, count: 10, period: .milliseconds(20))
        network.tap = { _ in [] }
        try sendMore(network, a, b, 10..<15)
        network.run(for: .seconds(12))
        try sendMore(network, a, b, 15..<20)
        network.tap = { [$0] }
        network.run(for: .seconds(2))
        #expect(a.messages == numbered(20))
        #expect(b.messages == numbered(20))
        #expect(a.disconnected.isEmpty)
        #expect(b.disconnected.isEmpty)
        #expect(a.connected.dropFirst().allSatisfy { $0.resumed })
        #expect(a.connected.count <= 2)
        #expect(b.connected.count <= 2)
    }

    @Test("a peer that comes back at another address resumes there, exactly once")
    func newAddress() throws {
        let (network, a, b) = Network.pair()
        try talk(network, a, b, count: 10, period: .milliseconds(20))
        network.tap = { _ in [] }
        try sendMore(network, a, b, 10..<15)
        network.run(for: .seconds(12))
        b.address = SocketAddress(10, 0, 0, 99, port: 4000)
        network.tap = { [$0] }
        network.run(for: .seconds(8))
        #expect(a.messages == numbered(15))
        #expect(b.messages == numbered(15))
        #expect(a.connected.map(\.resumed) == [false, true])
        #expect(b.connected.map(\.resumed) == [false, true])
        #expect(a.endpoint.address(of: b.nodeID) == b.address)
        #expect(a.disconnected.isEmpty)
    }

    @Test("a silence of 31 seconds ends the pair and says which sends are open")
    func longBlackhole() throws {
        let (network, a, b) = Network.pair()
        try talk(network, a, b, count: 5, period: .milliseconds(20))
        network.run(for: .milliseconds(500))
        network.tap = { _ in [] }
        try sendMore(network, a, b, 5..<8)
        network.run(for: .seconds(31))
        network.tap = { [$0] }
        for node in [a, b] {
            #expect(node.disconnected == [.lost])
            #expect(node.outcomes.count { $0 == .delivered } == 5)
            #expect(node.outcomes.count { $0 == .peerLost } == 3)
            #expect(node.endpoint.peers.isEmpty)
        }
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(2))
        #expect(a.connected.map(\.resumed) == [false, false])
        #expect(b.connected.map(\.resumed) == [false, false])
        try talk(network, a, b, count: 5, period: .milliseconds(20))
        network.run(for: .seconds(1))
        #expect(a.messages == numbered(5) + numbered(5))
        #expect(b.messages == numbered(5) + numbered(5))
    }

    @Test("if one side alone gave up, both begin anew and no sequence is mixed")
    func oneSided() throws {
        let (network, a, b) = Network.pair()
        try talk(network, a, b, count: 5, period: .milliseconds(20))
        network.run(for: .milliseconds(500))
        // b hears a, a hears nothing; what a says at its end is lost, too.
        network.tap = { $0.from == b.address ? [] : [$0] }
        network.run(for: .seconds(28))
        network.tap = { _ in [] }
        network.run(for: .seconds(8))
        #expect(a.disconnected == [.lost])
        #expect(b.disconnected.isEmpty)
        network.tap = { [$0] }
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(5))
        #expect(b.disconnected == [.closed(.superseded)])
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(2))
        #expect(a.endpoint.peers == [b.nodeID])
        #expect(b.endpoint.peers == [a.nodeID])
        try talk(network, a, b, count: 5, period: .milliseconds(20))
        network.run(for: .seconds(1))
        #expect(a.messages == numbered(5) + numbered(5))
        #expect(b.messages == numbered(5) + numbered(5))
        #expect(a.violations + b.violations == 0)
    }

    @Test("another process of the same identity ends the old connection first") func restart()
        throws
    {
        let (network, a, b) = Network.pair()
        let number: UInt8 = b.address == SocketAddress(10, 0, 0, 1, port: 4000) ? 1 : 2
        b.endpoint = network.makeEndpoint(number, incarnation: 2, room: Network.room())
        b.endpoint.dial(.member(address: a.address, expected: a.nodeID), now: network.now)
        network.run(for: .seconds(1))
        #expect(a.disconnected == [.restarted])
        #expect(a.connected.map(\.incarnation) == [1, 2])
        #expect(a.connected.last?.resumed == false)
        #expect(a.endpoint.incarnation(of: b.nodeID) == 2)
        let order = a.events.compactMap { event -> String? in
            switch event {
            case .connected: "connected"
            case .disconnected: "disconnected"
            default: nil
            }
        }
        #expect(order == ["connected", "disconnected", "connected"])
        try talk(network, a, b, count: 5, period: .milliseconds(20))
        network.run(for: .seconds(1))
        #expect(a.messages == numbered(5))
        #expect(b.messages == numbered(5))
    }

    @Test("the same inputs give the same bytes") func deterministic() throws {
        func run() throws -> [[UInt8]] {
            let (network, a, b) = Network.pair()
            network.records = true
            network.loss = 0.1
            try talk(network, a, b, count: 20, period: .milliseconds(20))
            network.run(for: .seconds(1))
            return network.recorded.map(\.bytes)
        }
        let first = try run()
        let second = try run()
        #expect(!first.isEmpty)
        #expect(first == second)
    }

    /// More messages on the channels that `talk` opened.
    private func sendMore(
        _ network: Network,
        _ a: Network.Node,
        _ b: Network.Node,
        _ numbers: Range<Int>
    ) throws {
        for (from, to) in [(a, b), (b, a)] {
            for number in numbers {
                _ = try from.endpoint.send(
                    [UInt8(number & 255), UInt8(number >> 8)],
                    on: 2,
                    to: to.nodeID,
                    now: network.now
                )
            }
        }
    }
}
