import MeshCrypto
@testable import MeshTransport
import MeshWire
import Testing

@Suite("Endpoint: hostile input — 10-security §9, §11") struct EndpointHostileTests {
    typealias Network = EndpointNetwork

    @Test("S05, S10: no message with a flipped bit is taken; the untouched one still is")
    func flippedBits() throws {
        let network = Network()
        let host = network.addNode(1, room: Network.room())
        let guest = network.addNode(2)
        let invite = try host.endpoint.openInvite(now: network.now)
        var seen: Set<UInt8> = []
        var flipped = 0
        network.tap = { packet in
            guard seen.insert(packet.type).inserted else { return [packet] }
            let target = packet.to == host.address ? host : guest
            for bit in 0..<packet.bytes.count * 8 {
                var bytes = packet.bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                target.endpoint.receive(bytes.raw, from: packet.from, now: network.now)
                flipped += 1
            }
            return [packet]
        }
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .seconds(2))
        #expect(seen == [1, 2, 3, 4, 5, 0x10])
        #expect(flipped > 6000)
        #expect(host.connected.count == 1)
        #expect(guest.connected.count == 1)
        #expect(guest.granted.count == 1)
        #expect(host.endpoint.statistics.guesses == 0)
        #expect(host.endpoint.statistics.violations == 0)
        #expect(host.endpoint.halfOpen.isEmpty)
    }

    @Test("S04: no cut or extended datagram is taken, and none traps") func wrongLengths() throws {
        let network = Network()
        let host = network.addNode(1, room: Network.room())
        let guest = network.addNode(2)
        let invite = try host.endpoint.openInvite(now: network.now)
        var seen: Set<UInt8> = []
        network.tap = { packet in
            guard seen.insert(packet.type).inserted else { return [packet] }
            let target = packet.to == host.address ? host : guest
            for count in 0..<packet.bytes.count {
                let bytes = Array(packet.bytes[..<count])
                target.endpoint.receive(bytes.raw, from: packet.from, now: network.now)
            }
            for count in 1...64 {
                let bytes = packet.bytes + [UInt8](repeating: 0, count: count)
                target.endpoint.receive(bytes.raw, from: packet.from, now: network.now)
            }
            return [packet]
        }
        guest.endpoint.dial(
            .code(invite.code, inviteID: nil, address: host.address),
            now: network.now
        )
        network.run(for: .seconds(2))
        #expect(guest.granted.count == 1)
        #expect(host.connected.count == 1)
        #expect(host.endpoint.statistics.violations == 0)
    }

    @Test("S02: what was delivered is not delivered again") func replays() throws {
        let (network, a, b) = Network.pair()
        network.records = true
        let channel = try a.endpoint.openChannel(to: b.nodeID, name: [1], class: .normal)
        for number in 0..<100 {
            _ = try a.endpoint.send([UInt8(number)], on: channel, to: b.nodeID, now: network.now)
            network.run(for: .milliseconds(10))
        }
        network.run(for: .seconds(1))
        #expect(b.messages.count == 100)
        let recorded = network.recorded.filter { $0.to == b.address }
        let sent = b.endpoint.statistics.sent
        let replayed = b.endpoint.statistics.replayedData
        for packet in recorded {
            b.endpoint.receive(
                packet.bytes.raw,
                from: SocketAddress(10, 9, 9, 9, port: 9),
                now: network.now
            )
        }
        network.flush(b)
        #expect(b.messages.count == 100)
        #expect(b.endpoint.statistics.replayedData == replayed + UInt64(recorded.count))
        #expect(b.endpoint.statistics.sent == sent)
        #expect(b.endpoint.address(of: a.nodeID) == a.address)
    }

    @Test("S06: what we sent makes no session with ourselves when it comes back") func reflection()
    {
        let network = Network()
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        network.tap = { packet in
            var back = packet
            (back.from, back.to) = (packet.to, packet.from)
            return [back, packet]
        }
        a.endpoint.dial(.member(address: b.address, expected: nil), now: network.now)
        network.run(for: .seconds(10))
        #expect(a.connected.map(\.peer) == [b.nodeID])
        #expect(b.connected.map(\.peer) == [a.nodeID])
        #expect(a.endpoint.statistics.reflected > 0)
        #expect(a.violations + b.violations == 0)
    }

    @Test("S11: HS2 and HS3 again, late, and from elsewhere split nothing twice") func repeats() {
        let network = Network()
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        let elsewhere = SocketAddress(10, 9, 9, 9, port: 9)
        network.tap = { packet in
            guard packet.type == 4 || packet.type == 5 else { return [packet] }
            let copies = (0..<5).map { number in
                var copy = packet
                copy.delay += .milliseconds(700 * number)
                return copy
            }
            var moved = packet
            moved.from = elsewhere
            moved.delay -= .milliseconds(5)
            return [moved] + copies
        }
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(8))
        #expect(a.connected.count == 1)
        #expect(b.connected.count == 1)
        #expect(a.endpoint.statistics.handshakes == 1)
        #expect(b.endpoint.statistics.handshakes == 1)
        #expect(a.endpoint.statistics.wrongSource >= 1)
        #expect(b.endpoint.statistics.wrongSource >= 1)
        #expect(b.endpoint.halfOpen.isEmpty)
    }

    /// `count` datagrams of `byteCount` random bytes behind `front`.
    private func garbage(_ front: [UInt8], _ byteCount: Int, _ count: Int) -> [[UInt8]] {
        var generator = SeededGenerator(seed: 9)
        return (0..<count).map { _ in
            front
                + (front.count..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator)
                }
        }
    }

    @Test("S12, S17, S29: floods of garbage get no byte back and leave nothing behind")
    func floods()
        throws
    {
        let (network, a, b) = Network.pair()
        let sent = a.endpoint.statistics.sent
        let source = SocketAddress(10, 9, 9, 9, port: 9)
        var floods = garbage([3, 1, 1, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0], 192, 2000)
        floods += garbage([0x10, 0, 0, 0], 100, 2000)
        floods += garbage([1, 1, 3, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0], 192, 500)
        floods += (0..<400).flatMap { garbage([], $0, 2) }
        for bytes in floods { a.endpoint.receive(bytes.raw, from: source, now: network.now) }
        var batch = DatagramBatch()
        _ = a.endpoint.poll(now: network.now, into: &batch)
        #expect(a.endpoint.statistics.sent == sent)
        #expect(batch.isEmpty)
        #expect(a.endpoint.halfOpen.isEmpty)
        #expect(a.endpoint.statistics.wrongMAC >= 2000)
        #expect(a.endpoint.statistics.unknownIndex >= 2000)
        let channel = try b.endpoint.openChannel(to: a.nodeID, name: [1], class: .normal)
        _ = try b.endpoint.send([7], on: channel, to: a.nodeID, now: network.now)
        network.run(for: .seconds(1))
        #expect(a.messages == [[7]])
    }

    @Test("S13, S16: recorded HS1 from many sources meet RETRY, bounded state and a ratio <= 1")
    func spoofedInitiations() throws {
        let network = Network()
        let room = Network.room()
        let host = network.addNode(1, room: room)
        let joiner = network.addNode(2, room: room)
        network.records = true
        network.tap = { _ in [] }
        joiner.endpoint.dial(.member(address: host.address, expected: nil), now: network.now)
        network.run(for: .seconds(10))
        let first = try #require(network.recorded.first { $0.type == 3 })
        network.tap = { [$0] }
        var received: [SocketAddress: Int] = [:]
        var answered: [SocketAddress: Int] = [:]
        func flood(_ numbers: Range<Int>) {
            for number in numbers {
                let source = SocketAddress(
                    172,
                    16,
                    UInt8(number >> 8),
                    UInt8(number & 255),
                    port: 7
                )
                host.endpoint.receive(first.bytes.raw, from: source, now: network.now)
                received[source, default: 0] += first.bytes.count
            }
            var batch = DatagramBatch()
            _ = host.endpoint.poll(now: network.now, into: &batch)
            for entry in batch.entries {
                guard case .address(let address) = entry.destination else { continue }
                if address == joiner.address {
                    network.inject(
                        Network.Packet(
                            from: host.address,
                            to: address,
                            bytes: batch.bytes(of: entry),
                            delay: network.delay
                        )
                    )
                } else {
                    answered[address, default: 0] += entry.byteCount
                }
            }
        }
        flood(0..<2000)
        #expect(host.endpoint.halfOpen.count <= 32)
        #expect(host.endpoint.statistics.retries == 2000 - 32)
        joiner.endpoint.dial(.member(address: host.address, expected: nil), now: network.now)
        for step in 0..<30 {
            flood((2000 + step * 60)..<(2060 + step * 60))
            network.run(for: .milliseconds(100))
        }
        #expect(host.endpoint.halfOpen.count <= 128)
        #expect(joiner.connected.count == 1)
        let ratio = answered.map { Double($0.value) / Double(received[$0.key] ?? 1) }.max() ?? 0
        #expect(ratio > 0)
        #expect(ratio <= 0.875)
    }

    @Test("an unvalidated address never gets more than it sent, in any mode", arguments: 1...3)
    func amplification(mode: UInt8) throws {
        let network = Network()
        let host = network.addNode(1, room: Network.room())
        let guest = network.addNode(2, room: mode == 1 ? Network.room() : nil)
        let invite = try host.endpoint.openInvite(now: network.now)
        var received = 0
        var sent = 0
        // The guest's answers are lost: its address stays unproven.
        network.tap = { packet in
            if packet.from == host.address { sent += packet.bytes.count }
            if packet.to == host.address { received += packet.bytes.count }
            return packet.from == host.address ? [] : [packet]
        }
        let target: DialTarget =
            switch mode {
            case 1: .member(address: host.address, expected: nil)
            case 2: .link(invite.link, address: host.address)
            default: .code(invite.code, inviteID: nil, address: host.address)
            }
        guest.endpoint.dial(target, now: network.now)
        network.run(for: .seconds(20))
        #expect(sent > 0)
        #expect(sent <= received)
    }

    @Test(
        "S18: a forged RETRY is nothing, and a storm of them moves an attempt three times at most"
    )
    func retries() throws {
        let network = Network()
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        var firsts: Set<[UInt8]> = []
        network.tap = { packet in
            guard packet.type == 3, let message = try? FirstMessage(packet.bytes.raw) else {
                return [packet]
            }
            firsts.insert(packet.bytes)
            // On the path: sees the request and answers it.
            let seen = RetryMessage(
                mode: .member,
                receiverIndex: message.senderIndex,
                cookie: Cookie((0..<16).map { _ in UInt8(firsts.count) }) ?? .zero,
                invite: .zero
            )
            var answer = packet
            (answer.from, answer.to) = (b.address, a.address)
            answer.bytes = seen.encode(requestMac1: Mac1.of(packet.bytes.raw))
            var unseen = answer
            unseen.bytes = seen.encode(requestMac1: [UInt8](repeating: 1, count: 16))
            var elsewhere = answer
            elsewhere.from = SocketAddress(10, 9, 9, 9, port: 9)
            return [unseen, elsewhere, answer, answer]
        }
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(8))
        #expect(firsts.count == 4)
        #expect(a.failures == [.unreachable])
        #expect(a.endpoint.statistics.wrongMAC > 0)
        #expect(a.endpoint.statistics.wrongSource > 0)
        #expect(a.endpoint.address(of: b.nodeID) == nil)
    }

    @Test("a handshake of another version or of mode 0, 4 or 255 meets silence") func otherForms() {
        let network = Network()
        let room = Network.room()
        let a = network.addNode(1, room: room)
        let b = network.addNode(2, room: room)
        network.tap = { packet in
            guard packet.type == 3 else { return [packet] }
            return [(1, 0), (1, 2), (1, 255), (2, 0), (2, 4), (2, 255)].map { offset, value in
                var copy = packet
                copy.bytes[offset] = UInt8(value)
                return copy
            }
        }
        a.endpoint.dial(.member(address: b.address, expected: b.nodeID), now: network.now)
        network.run(for: .seconds(8))
        #expect(a.failures == [.unreachable])
        #expect(b.endpoint.statistics.sent == 0)
    }

    @Test("S15: twelve processes of one machine are all connected within five seconds") func crowd()
    {
        let network = Network()
        network.delay = .microseconds(50)
        let room = Network.room()
        let nodes = (1...12).map { network.addNode(UInt8($0), room: room) }
        for node in nodes {
            node.address = SocketAddress(
                127,
                0,
                0,
                1,
                port: UInt16(4000) + UInt16(node.address.ipv4 & 255)
            )
        }
        for (index, node) in nodes.enumerated() {
            for other in nodes[..<index] {
                node.endpoint.dial(
                    .member(address: other.address, expected: other.nodeID),
                    now: network.now
                )
            }
        }
        network.run(for: .seconds(5))
        for node in nodes { #expect(node.endpoint.peers.count == 11) }
    }
}
