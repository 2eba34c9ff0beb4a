import MeshCrypto
import MeshTransport
import MeshWire
import Testing

@Suite("Endpoint: handshakes — 10-security §5") struct EndpointHandshakeTests {
    typealias Network = EndpointNetwork

    @Test("two members connect, each sees the other's name and life") func members() throws {
        let (_, a, b) = Network.pair()
        let atA = try #require(a.connected.first)
        let atB = try #require(b.connected.first)
        #expect(a.connected.count == 1)
        #expect(b.connected.count == 1)
        #expect(atA.peer == b.nodeID)
        #expect(atB.peer == a.nodeID)
        #expect(atA.incarnation == 1)
        #expect(atA.mode == .member)
        #expect(atA.isInitiator)
        #expect(!atB.isInitiator)
        #expect(!atA.resumed)
        #expect(a.endpoint.peers == [b.nodeID])
        #expect(b.endpoint.address(of: a.nodeID) == a.address)
    }

    @Test("a message goes each way once the pair is up") func messages() throws {
        let (network, a, b) = Network.pair()
        for (from, to) in [(a, b), (b, a)] {
            let channel = try from.endpoint.openChannel(
                to: to.nodeID,
                name: Array("x".utf8),
                class: .normal
            )
            _ = try from.endpoint.send([1, 2, 3], on: channel, to: to.nodeID, now: network.now)
        }
        network.run(for: .seconds(1))
        #expect(a.messages == [[1, 2, 3]])
        #expect(b.messages == [[1, 2, 3]])
        #expect(a.outcomes == [.delivered])
        #expect(b.outcomes == [.delivered])
    }

    @Test("a send to nobody names who is missing") func unknownPeer() {
        let network = Network()
        let node = network.addNode(1)
        let stranger = network.addNode(2).nodeID
        #expect(throws: LaneError.notConnected(stranger)) {
            try node.endpoint.send([1], on: 2, to: stranger, now: network.now)
        }
    }

    struct Mishap: CustomTestStringConvertible, Sendable {
        var type: UInt8
        var kind: String
        var testDescription: String { "message 0x\(String(type, radix: 16)) \(kind)" }
    }

    static let mishaps = [UInt8(1), 2, 3, 4, 5, 0x10].flatMap { type in
        ["lost", "doubled", "late"].map { Mishap(type: type, kind: $0) }
    }

    @Test(
        "S70: one message lost, doubled or late still makes one pair, AUTH before any byte",
        arguments: mishaps
    ) func mishap(_ row: Mishap) throws {
        let network = Network()
        network.delay = .milliseconds(300)
        let host = network.addNode(1, room: Network.room())
        let guest = network.addNode(2)
        let invite = try host.endpoint.openInvite(now: network.now)
        var isDone = false
        network.tap = { packet in
            guard packet.type == row.type, !isDone else { return [packet] }
            isDone = true
            var late = packet
            late.delay += .milliseconds(900)
            switch row.kind {
            case "lost": return []
            case "doubled": return [packet, late]
            default: return [late]
            }
        }
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .seconds(12))
        #expect(isDone)
        #expect(guest.connected.count == 1)
        #expect(host.connected.count == 1)
        #expect(guest.granted.count == 1)
        #expect(guest.failures.isEmpty)
        #expect(host.endpoint.statistics.guesses == 0)
        #expect(guest.endpoint.peers == [host.nodeID])
    }

    @Test("S70: at 30 % loss and 600 ms a pair comes up, and only one", arguments: 1...6)
    func lossy(seed: UInt64) {
        let network = Network(seed: seed)
        network.delay = .milliseconds(300)
        network.loss = 0.3
        network.duplication = 0.1
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        let isUp = { !a.connected.isEmpty && !b.connected.isEmpty }
        for _ in 0..<4 where !isUp() {
            a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
            _ = network.run(until: isUp, within: .seconds(8))
        }
        #expect(isUp())
        network.run(for: .seconds(2))
        #expect(a.connected.count == 1)
        #expect(b.connected.count == 1)
        #expect(a.endpoint.statistics.violations == 0)
        #expect(b.endpoint.statistics.violations == 0)
    }

    @Test("S71: two that dial each other end with one pair, whatever the offset", arguments: 0...8)
    func simultaneous(step: Int) throws {
        let network = Network(seed: UInt64(step) + 1)
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .milliseconds(5 * step))
        b.endpoint.dial(.member(address: a.address, expected: a.nodeID), now: network.now)
        network.run(for: .seconds(3))
        #expect(a.connected.count { !$0.resumed } == 1)
        #expect(b.connected.count { !$0.resumed } == 1)
        #expect(a.failures.isEmpty)
        #expect(b.failures.isEmpty)
        try exchange(network, a, b)
    }

    @Test("S71: the same at 20 % loss", arguments: 1...8) func simultaneousLossy(
        seed: UInt64
    ) throws {
        let network = Network(seed: seed)
        network.loss = 0.2
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        a.endpoint.dial(.member(address: b.address, expected: nil), now: network.now)
        network.run(for: .milliseconds(7))
        b.endpoint.dial(.member(address: a.address, expected: nil), now: network.now)
        network.run(for: .seconds(10))
        #expect(a.connected.count == 1)
        #expect(b.connected.count == 1)
        try exchange(network, a, b)
    }

    /// Fifty messages each way, all of which must arrive once, in order.
    func exchange(_ network: Network, _ a: Network.Node, _ b: Network.Node) throws {
        for (from, to) in [(a, b), (b, a)] {
            let channel = try from.endpoint.openChannel(to: to.nodeID, name: [1], class: .normal)
            for number in 0..<50 {
                _ = try from.endpoint.send(
                    [UInt8(number)],
                    on: channel,
                    to: to.nodeID,
                    now: network.now
                )
            }
        }
        network.run(for: .seconds(5))
        let sent = (0..<50).map { [UInt8($0)] }
        #expect(a.messages == sent)
        #expect(b.messages == sent)
    }

    struct Suites: CustomTestStringConvertible, Sendable {
        var a: Bool
        var b: Bool
        var prefersChaCha = false
        var testDescription: String { "AES \(a), \(b), chacha \(prefersChaCha)" }
    }

    @Test(
        "S60: AES only if both have it; both ends agree and data flows",
        arguments: [
            Suites(a: false, b: false), Suites(a: true, b: false), Suites(a: false, b: true),
            Suites(a: true, b: true), Suites(a: true, b: true, prefersChaCha: true),
        ]
    ) func suites(_ row: Suites) throws {
        let network = Network()
        let room = Network.room()
        var configuration = EndpointConfiguration()
        configuration.prefersChaCha = row.prefersChaCha
        let a = network.addNode(
            1,
            hardwareAES: row.a && Sodium.hasHardwareAES,
            room: room,
            configuration: configuration
        )
        let b = network.addNode(2, hardwareAES: row.b && Sodium.hasHardwareAES, room: room)
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(1))
        let isAES = row.a && row.b && !row.prefersChaCha && Sodium.hasHardwareAES
        let suite: Suite = isAES ? .aes256GCM : .chacha20Poly1305
        #expect(a.endpoint.suite(of: b.nodeID) == suite)
        #expect(b.endpoint.suite(of: a.nodeID) == suite)
        try exchange(network, a, b)
    }

    @Test("S72: a member that answers a dial meant for another is refused") func wrongPeer() {
        let network = Network()
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        let c = network.addNode(3, room: room)
        a.endpoint.dial(.member(address: b.address, expected: c.nodeID), now: network.now)
        network.run(for: .seconds(15))
        #expect(a.failures == [.wrongPeer(b.nodeID)])
        #expect(a.connected.isEmpty)
        #expect(b.connected.isEmpty)
        #expect(b.endpoint.peers.isEmpty)
    }

    @Test("S72: a link is answered by its inviter alone, even if another holds it")
    func wrongInviter()
        throws
    {
        let network = Network()
        let host = network.addNode(1, room: Network.room())
        let guest = network.addNode(2)
        let invite = try host.endpoint.openInvite(now: network.now)
        let forged = InviteLink(
            secret: invite.link.secret,
            isSingleUse: true,
            inviter: network.addNode(9).nodeID,
            addresses: []
        )
        guest.endpoint.dial(.link(forged, address: host.address), now: network.now)
        network.run(for: .seconds(15))
        #expect(guest.failures == [.wrongPeer(host.nodeID)])
        #expect(guest.granted.isEmpty)
    }

    @Test("an unknown member waits up to two seconds for the roster") func rosterHold() {
        for isAdded in [true, false] {
            let network = Network()
            let room = Network.room()
            let a = network.addNode(1, room: room)
            let b = network.addNode(2, room: room)
            b.endpoint.setRoster([], anyoneWithSecret: false, now: network.now)
            a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
            network.run(for: .milliseconds(1500))
            #expect(b.connected.isEmpty)
            if isAdded {
                b.endpoint.setRoster([a.nodeID], anyoneWithSecret: false, now: network.now)
            }
            network.run(for: .seconds(20))
            #expect(b.connected.count == (isAdded ? 1 : 0))
            #expect(a.connected.count == (isAdded ? 1 : 0))
            #expect(a.failures == (isAdded ? [] : [.unconfirmed]))
        }
    }

    @Test("a dial of an address where nobody is says unreachable") func unreachable() {
        let network = Network()
        let a = network.addNode(1, room: Network.room())
        a.endpoint.dial(
            .member(address: SocketAddress(10, 9, 9, 9, port: 1), expected: nil),
            now: network.now
        )
        network.run(for: .seconds(7))
        #expect(a.failures == [.unreachable])
    }

    @Test("a dial of ourselves makes no session") func ourselves() {
        let network = Network()
        let a = network.addNode(1, room: Network.room())
        a.endpoint.dial(.member(address: a.address, expected: nil), now: network.now)
        network.run(for: .seconds(8))
        #expect(a.connected.isEmpty)
        #expect(a.endpoint.statistics.reflected > 0)
        a.endpoint.dial(.member(address: a.address, expected: a.nodeID), now: network.now)
        network.run(for: .seconds(1))
        #expect(a.failures == [.unreachable, .selfDialed])
    }

    @Test("a dial by address alone that leads to a connected peer says so") func knownPeer() throws
    {
        let (network, a, b) = Network.pair()
        let dial = a.endpoint.dial(.member(address: b.address, expected: nil), now: network.now)
        network.run(for: .seconds(1))
        #expect(a.connected.count == 2)
        #expect(a.connected.last?.dial == dial)
        #expect(a.connected.last?.resumed == true)
        #expect(b.connected.count == 1)
        try exchange(network, a, b)
    }

    @Test("another room's member is met with silence") func otherRoom() {
        let network = Network()
        let a = network.addNode(1, room: Network.room(0x11))
        let b = network.addNode(2, room: Network.room(0x12))
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(8))
        #expect(a.failures == [.unreachable])
        #expect(b.endpoint.statistics.sent == 0)
        #expect(b.endpoint.statistics.wrongMAC == 5)
    }

    @Test("a clean close reaches the peer, and the pair can be made again") func closeAndReturn()
        throws
    {
        let (network, a, b) = Network.pair()
        a.endpoint.close(b.nodeID, reason: .leaving, now: network.now)
        network.run(for: .seconds(1))
        #expect(a.disconnected == [.local(.leaving)])
        #expect(b.disconnected == [.closed(.leaving)])
        #expect(a.endpoint.peers.isEmpty)
        #expect(b.endpoint.peers.isEmpty)
        b.endpoint.dial(.member(address: a.address, expected: a.nodeID), now: network.now)
        network.run(for: .seconds(1))
        #expect(a.connected.count == 2)
        #expect(b.connected.count == 2)
        #expect(b.connected.last?.resumed == false)
        try exchange(network, a, b)
    }
}
