import MeshCrypto
@testable import MeshTransport
import MeshWire
import Testing

@Suite("Endpoint: admission — 10-security §7") struct EndpointAdmissionTests {
    typealias Network = EndpointNetwork

    /// A member with a room and a guest without one.
    private func hostAndGuest(
        seed: UInt64 = 1
    ) -> (network: Network, host: Network.Node, guest: Network.Node) {
        let network = Network(seed: seed)
        return (network, network.addNode(1, room: Network.room()), network.addNode(2))
    }

    /// A code of that slot which is not the right one.
    private func wrongCode(_ right: InviteCode, _ seed: UInt64 = 0) -> InviteCode {
        var source = SeededSecrets(seed: 1000 + seed)
        let code = InviteCode(slot: right.slot, from: &source)
        precondition(code.text != right.text)
        return code
    }

    @Test("a code or a link lets one guest in, grants the room and burns both", arguments: 0..<3)
    func join(way: Int) throws {
        let (network, host, guest) = hostAndGuest()
        let invite = try host.endpoint.openInvite(now: network.now)
        #expect(host.endpoint.openInvites == [invite.announcement])
        switch way {
        case 0:
            guest.endpoint.dial(
                .code(invite.code, inviteID: nil, address: host.address),
                now: network.now
            )
        case 1:
            guest.endpoint.dial(
                .code(
                    invite.code,
                    inviteID: invite.announcement.inviteID,
                    address: host.address
                ),
                now: network.now
            )
        default:
            guest.endpoint.dial(.link(invite.link, address: host.address), now: network.now)
        }
        network.run(for: .seconds(1))
        let granted = try #require(guest.granted.first)
        #expect(granted.isEqual(to: Network.room()))
        #expect(guest.granted.count == 1)
        #expect(guest.connected.first?.mode == (way == 2 ? .link : .code))
        #expect(host.connected.first?.peer == guest.nodeID)
        #expect(host.endpoint.openInvites.isEmpty)
        let used = host.events.contains {
            if case .inviteUsed(invite.code.slot, guest.nodeID) = $0 { true } else { false }
        }
        #expect(used)

        let late = network.addNode(3)
        late.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        late.endpoint.dial(.link(invite.link, address: host.address), now: network.now)
        network.run(for: .seconds(8))
        #expect(late.connected.isEmpty)
        #expect(late.failures == [.unreachable, .unreachable])
    }

    @Test("the granted guest is a member: others take it by the room secret")
    func memberAfterGrant()
        throws
    {
        let (network, host, guest) = hostAndGuest()
        let other = network.addNode(3, room: Network.room())
        let invite = try host.endpoint.openInvite(now: network.now)
        guest.endpoint.dial(.link(invite.link, address: host.address), now: network.now)
        network.run(for: .seconds(1))
        guest.endpoint.dial(
            .member(address: other.address, expected: other.nodeID),
            now: network.now
        )
        network.run(for: .seconds(1))
        #expect(guest.endpoint.peers.count == 2)
    }

    @Test("S22: the fifth wrong code burns the invite; then the right one fails, too")
    func fiveWrongCodes() throws {
        let (network, host, guest) = hostAndGuest()
        let invite = try host.endpoint.openInvite(now: network.now)
        for number in 0..<5 {
            #expect(host.burned.isEmpty)
            let guesser = network.addNode(UInt8(10 + number))
            guesser.endpoint.dial(
                .code(
                    wrongCode(invite.code, UInt64(number)),
                    inviteID: nil,
                    address: host.address
                ),
                now: network.now
            )
            network.run(for: .seconds(8))
            #expect(guesser.failures == [.unconfirmed])
        }
        #expect(host.burned == [.guesses])
        #expect(host.endpoint.statistics.guesses == 5)
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .seconds(8))
        #expect(guest.connected.isEmpty)
        #expect(host.connected.isEmpty)
    }

    @Test("two tries of one invite lie a second apart; the earlier one is not counted")
    func spacing() throws {
        let (network, host, guest) = hostAndGuest()
        let invite = try host.endpoint.openInvite(now: network.now)
        let guesser = network.addNode(10)
        guesser.endpoint.dial(
            .code(wrongCode(invite.code), inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .milliseconds(5))
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .milliseconds(500))
        #expect(host.endpoint.statistics.guesses == 1)
        #expect(host.endpoint.statistics.tooEarly > 0)
        #expect(guest.connected.isEmpty)
        network.run(for: .seconds(2))
        #expect(guest.connected.count == 1)
        #expect(host.endpoint.statistics.guesses == 1)
    }

    @Test("S23: a joiner spends three tries on a code, then a person must type it again")
    func joinerStops() throws {
        let (network, host, guest) = hostAndGuest()
        let invite = try host.endpoint.openInvite(now: network.now)
        let wrong = wrongCode(invite.code)
        var thirds: Set<[UInt8]> = []
        network.tap = { packet in
            if packet.type == MessageType.third.rawValue { thirds.insert(packet.bytes) }
            return [packet]
        }
        for _ in 0..<5 {
            guest.endpoint.dial(
                .code(wrong, inviteID: nil, address: host.address),
                now: network.now
            )
            network.run(for: .seconds(8))
        }
        #expect(thirds.count == 3)
        #expect(
            guest.failures
                == [.unconfirmed, .unconfirmed, .unconfirmed, .triesSpent, .triesSpent]
        )
        guest.endpoint.allowTries(of: wrong)
        guest.endpoint.dial(.code(wrong, inviteID: nil, address: host.address), now: network.now)
        network.run(for: .seconds(8))
        #expect(thirds.count == 4)
    }

    @Test("S69: forged HS3 of the right index and mac1 cost no guess and stop nobody")
    func forgedThird() throws {
        let (network, host, guest) = hostAndGuest()
        let invite = try host.endpoint.openInvite(now: network.now)
        let key = ModeKeys.mac1Key(invite: invite.announcement.inviteID)
        var isDone = false
        network.tap = { packet in
            guard packet.type == MessageType.third.rawValue, !isDone,
                let message = try? LaterMessage(packet.bytes.raw)
            else { return [packet] }
            isDone = true
            let forged = (0..<8).map { number in
                var noise = message.noise
                for index in noise.indices { noise[index] &+= UInt8(number + 1) }
                var copy = packet
                copy.bytes = LaterMessage(header: message.header, noise: noise)
                    .encode(mac1Key: key)
                copy.delay -= .milliseconds(5)
                return copy
            }
            return forged + [packet]
        }
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .seconds(1))
        #expect(isDone)
        #expect(host.endpoint.statistics.forgedHandshakes == 8)
        #expect(host.endpoint.statistics.guesses == 0)
        #expect(guest.connected.count == 1)
    }

    @Test("S24: an invite tried at another node, and after its end, meets silence")
    func elsewhere() throws {
        let (network, host, guest) = hostAndGuest()
        let other = network.addNode(3, room: Network.room())
        let invite = try host.endpoint.openInvite(now: network.now)
        guest.endpoint.dial(
            .code(invite.code, inviteID: invite.announcement.inviteID, address: other.address),
            now: network.now
        )
        guest.endpoint.dial(.link(invite.link, address: other.address), now: network.now)
        network.run(for: .seconds(8))
        #expect(guest.failures == [.notFound, .unreachable])
        #expect(other.endpoint.statistics.sent == 0)

        network.run(for: .seconds(600))
        #expect(host.burned == [.expired])
        #expect(host.endpoint.openInvites.isEmpty)
        let sent = host.endpoint.statistics.sent
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .seconds(8))
        #expect(host.endpoint.statistics.sent == sent)
    }

    @Test("invites need a room, four are open at most, and each has its own slot")
    func inviteLimits() throws {
        let (network, host, guest) = hostAndGuest()
        #expect(throws: InviteError.noRoom) { try guest.endpoint.openInvite(now: network.now) }
        for _ in 0..<4 { _ = try host.endpoint.openInvite(now: network.now) }
        #expect(throws: InviteError.tooMany(limit: 4)) {
            try host.endpoint.openInvite(now: network.now)
        }
        #expect(Set(host.endpoint.openInvites.map(\.slot)).count == 4)
        host.endpoint.closeInvites(now: network.now)
        #expect(host.endpoint.openInvites.isEmpty)
        #expect(host.burned.isEmpty)
    }

    @Test(
        "S14: a full room refuses who has proved itself, and displaces nobody",
        arguments: [true, false]
    )
    func roomFull(byCode: Bool) throws {
        let network = Network()
        let room = Network.room()
        var configuration = EndpointConfiguration()
        configuration.peersMaximum = 2
        let host = network.addNode(1, room: room, configuration: configuration)
        let members = [2, 3].map { network.addNode($0, room: room) }
        for member in members {
            member.endpoint.dial(
                .member(address: host.address, expected: host.nodeID),
                now: network.now
            )
        }
        network.run(for: .seconds(1))
        let last = network.addNode(4, room: byCode ? nil : room)
        if byCode {
            let invite = try host.endpoint.openInvite(now: network.now)
            last.endpoint.dial(
                .code(invite.code, inviteID: nil, address: host.address),
                now: network.now
            )
        } else {
            last.endpoint.dial(
                .member(address: host.address, expected: host.nodeID),
                now: network.now
            )
        }
        network.run(for: .seconds(20))
        #expect(last.failures == [.roomFull])
        #expect(last.connected.isEmpty)
        #expect(last.granted.isEmpty)
        #expect(host.connected.count == 2)
        #expect(host.disconnected.isEmpty)
        #expect(host.endpoint.peers == members.map(\.nodeID).sorted())
        #expect(host.endpoint.openInvites.count == (byCode ? 1 : 0))
    }

    @Test(
        "S73: a GRANT counts once, from whoever let us in; any other breaks the protocol",
        arguments: 0..<4
    )
    func grants(row: Int) throws {
        let (network, host, guest) = hostAndGuest()
        let foreign = Grant.encode(Network.room(0x55))
        let own = Grant.encode(Network.room())
        let sender: Network.Node
        let receiver: Network.Node
        if row == 0 {
            // Over a member pair.
            guest.endpoint.setRoom(Network.room(), now: network.now)
            guest.endpoint.dial(
                .member(address: host.address, expected: host.nodeID),
                now: network.now
            )
            (sender, receiver) = (host, guest)
        } else {
            let invite = try host.endpoint.openInvite(now: network.now)
            guest.endpoint.dial(.link(invite.link, address: host.address), now: network.now)
            // From the initiator in row 1; a second one in rows 2 and 3.
            (sender, receiver) = row == 1 ? (guest, host) : (host, guest)
        }
        network.run(for: .seconds(1))
        let granted = receiver.granted.count
        let bytes = row == 3 ? own : foreign
        sender.endpoint.peer(receiver.nodeID)?.connection
            .sendEndpointFrame(.grant(bytes), untilAcknowledged: true)
        network.run(for: .seconds(1))
        #expect(receiver.granted.count == granted)
        #expect(receiver.violations == (row == 3 ? 0 : 1))
        #expect(receiver.disconnected == (row == 3 ? [] : [.violation]))
        #expect(sender.disconnected == (row == 3 ? [] : [.closed(.protocolError)]))
    }

    @Test("a peer that broke the protocol may come again after a second, not before")
    func penalty() throws {
        let (network, a, b) = Network.pair()
        a.endpoint.peer(b.nodeID)?.connection
            .sendEndpointFrame(.grant(Grant.encode(Network.room())), untilAcknowledged: false)
        network.run(for: .milliseconds(200))
        #expect(b.violations == 1)
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .milliseconds(500))
        #expect(b.connected.count == 1)
        network.run(for: .seconds(10))
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .milliseconds(500))
        #expect(b.connected.count == 2)
    }
}
