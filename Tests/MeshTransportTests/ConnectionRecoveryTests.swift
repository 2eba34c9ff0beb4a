import MeshTransport
import MeshWire
import Testing

@Suite("Loss recovery — RFC 9002, and the outages of others")
struct ConnectionRecoveryTests {
    /// One side by hand: what it sends is listed, what it gets is written by the test.
    struct Hand {
        var connection: Connection
        var now = Instant(nanoseconds: 1_000_000_000)
        var next: UInt64 = 0
        var sent: [[Frame]] = []
        private var peerNumber: UInt64 = 0

        init() throws {
            connection = Connection(configuration: TransportConfiguration(), seed: 1, now: now)
            connection.adopt(space: 1, resumed: false, now: now)
            try flush()
        }

        mutating func flush() throws {
            while true {
                var content: [UInt8] = []
                let isBuilt = connection.build(
                    space: 1,
                    number: next,
                    into: &content,
                    now: now
                )
                guard isBuilt else { return }
                next += 1
                var reader = ByteReader(content.raw)
                var frames: [Frame] = []
                while reader.remaining > 0 { frames.append(try Frame(reading: &reader)) }
                sent.append(frames.filter { $0 != .padding })
            }
        }

        mutating func receive(_ frames: [Frame]) throws {
            var content: [UInt8] = []
            for frame in frames { frame.encode(into: &content) }
            peerNumber += 1
            try connection.receive(content.raw, space: 1, number: peerNumber, now: now)
            try flush()
        }

        mutating func acknowledge(_ ranges: [ClosedRange<UInt64>], delay: UInt64 = 0) throws {
            try receive([.acknowledgment(AcknowledgmentFrame(ranges: ranges, delay: delay))])
        }

        mutating func wait(_ duration: Duration) throws {
            let end = now + duration
            while let deadline = connection.deadline(now: now), deadline <= end {
                now = max(now, deadline)
                connection.advance(to: now)
                try flush()
            }
            now = end
        }

        /// Sends one small message in a packet of its own and answers with the packet's number.
        mutating func message(_ byte: UInt8 = 0) throws -> UInt64 {
            _ = try connection.send([byte], on: 0, now: now)
            try flush()
            return next - 1
        }

        func messages(in packet: UInt64) -> [UInt64] {
            sent[Int(packet)].compactMap { frame in
                if case .message(let header, _) = frame { header.sequence } else { nil }
            }
        }
    }

    @Test("the first sample sets the round trip, later ones are smoothed — RFC 9002 §5.3")
    func roundTrip() throws {
        var hand = try Hand()
        hand.now += .milliseconds(40)
        try hand.acknowledge([0...0])
        #expect(hand.connection.statistics.roundTrip == .milliseconds(40))
        #expect(hand.connection.statistics.jitter == .milliseconds(20))
        let number = try hand.message()
        hand.now += .milliseconds(56)
        try hand.acknowledge([0...number])
        #expect(hand.connection.statistics.roundTrip == .milliseconds(42))
        #expect(hand.connection.statistics.roundTripMinimum == .milliseconds(40))
    }

    @Test("the peer's delay counts at most as announced, and never below the minimum — §5.3")
    func delay() throws {
        var hand = try Hand()
        hand.now += .milliseconds(40)
        try hand.acknowledge([0...0])
        let number = try hand.message()
        hand.now += .milliseconds(56)
        // It claims 50 ms and announced 5: 56 − 5 = 51.
        try hand.acknowledge([0...number], delay: 50_000)
        let expected = (Duration.milliseconds(40) * 7 + .milliseconds(51)) / 8
        #expect(hand.connection.statistics.roundTrip == expected)
    }

    @Test("a packet is lost when three later ones are acknowledged, not when two are — §6.1.1")
    func packetThreshold() throws {
        var hand = try Hand()
        hand.now += .milliseconds(40)
        try hand.acknowledge([0...0])
        let first = try hand.message(1)
        for byte in UInt8(2)...4 { _ = try hand.message(byte) }
        hand.now += .milliseconds(1)
        try hand.acknowledge([first + 1...first + 2, 0...0])
        #expect(hand.connection.statistics.packetsLost == 0)
        try hand.acknowledge([first + 1...first + 3, 0...0])
        #expect(hand.connection.statistics.packetsLost == 1)
        #expect(hand.messages(in: hand.next - 1) == [0])
    }

    @Test("a packet is lost 9/8 of a round trip after it left, if a later one came — §6.1.2")
    func timeThreshold() throws {
        var hand = try Hand()
        hand.now += .milliseconds(40)
        try hand.acknowledge([0...0])
        let first = try hand.message(1)
        let second = try hand.message(2)
        hand.now += .milliseconds(40)
        try hand.acknowledge([second...second, 0...0])
        #expect(hand.connection.statistics.packetsLost == 0)
        try hand.wait(.milliseconds(4))
        #expect(hand.connection.statistics.packetsLost == 0)
        try hand.wait(.milliseconds(2))
        #expect(hand.connection.statistics.packetsLost == 1)
        #expect(hand.messages(in: hand.next - 1) == [0])
        #expect(first + 2 == hand.next - 1)
    }

    @Test("a late acknowledgment of a lost packet delivers its message and raises the threshold")
    func spurious() throws {
        var hand = try Hand()
        hand.now += .milliseconds(40)
        try hand.acknowledge([0...0])
        let first = try hand.message(1)
        for byte in UInt8(2)...9 { _ = try hand.message(byte) }
        hand.now += .milliseconds(40)
        try hand.acknowledge([first + 1...first + 8, 0...0])
        #expect(hand.connection.statistics.packetsLost == 1)
        try hand.acknowledge([0...first + 8])
        #expect(hand.connection.statistics.packetsLostSpuriously == 1)
        let next = try hand.message(1)
        for byte in UInt8(2)...9 { _ = try hand.message(byte) }
        hand.now += .milliseconds(40)
        try hand.acknowledge([next + 1...next + 8, 0...first + 8])
        #expect(hand.connection.statistics.packetsLost == 1)
    }

    @Test("a probe carries the oldest data again, in two packets at most — §6.2.4")
    func probe() throws {
        var hand = try Hand()
        hand.now += .milliseconds(40)
        try hand.acknowledge([0...0])
        let first = try hand.message(1)
        try hand.wait(.milliseconds(100))
        #expect(hand.connection.statistics.probeTimeouts == 0)
        // 1.5 × 40 + 4 × 20 + 5 = 145 ms.
        try hand.wait(.milliseconds(46))
        #expect(hand.connection.statistics.probeTimeouts == 1)
        #expect(hand.next == first + 3)
        #expect(hand.messages(in: first + 1) == [0])
        #expect(hand.connection.statistics.packetsLost == 0)
    }

    @Test("probes of a silent peer stay 250 ms apart at most and get few (quic-go#3594)")
    func probesKeepComing() throws {
        var hand = try Hand()
        hand.now += .milliseconds(20)
        try hand.acknowledge([0...0])
        for byte in UInt8(0)...9 { _ = try hand.message(byte) }
        let before = hand.next
        try hand.wait(.seconds(10))
        let packets = hand.next - before
        #expect(packets >= 38)
        #expect(packets <= 90)
    }

    @Test("an acknowledgment of what was never sent breaks the protocol (quinn#1613)")
    func optimistic() throws {
        var hand = try Hand()
        let error = #expect(throws: ProtocolViolation.self) { try hand.acknowledge([0...50]) }
        #expect(error == .unsentAcknowledged(50))
    }

    @Test("the second packet is acknowledged at once, a single one after 5 ms — RFC 9000 §13.2")
    func acknowledgmentPolicy() throws {
        var hand = try Hand()
        let before = hand.next
        try hand.receive([.ping])
        #expect(hand.next == before)
        try hand.wait(.milliseconds(6))
        #expect(hand.next == before + 1)
        try hand.receive([.ping])
        #expect(hand.next == before + 1)
        try hand.receive([.ping])
        #expect(hand.next == before + 2)
    }

    @Test("a message somebody waits for is acknowledged in the same turn")
    func acknowledgeAtOnce() throws {
        var hand = try Hand()
        let before = hand.next
        let header = MessageHeader(channel: 0, sequence: 0, acknowledgesAtOnce: true)
        try hand.receive([.message(header, [1])])
        #expect(hand.next == before + 1)
    }

    @Test("acknowledgments and control datagrams are not acknowledged")
    func noAnswerToAnswers() throws {
        var hand = try Hand()
        let before = hand.next
        for _ in 0..<20 {
            try hand.receive([.control(machine: 1, [1])])
            try hand.acknowledge([0...0])
        }
        try hand.wait(.milliseconds(500))
        #expect(hand.next == before)
    }

    @Test("packets without messages have a multiple of 16 bytes")
    func padding() throws {
        var pair = ConnectionPair()
        var odd = 0
        pair.filter = { _, content, _ in
            var reader = ByteReader(content.raw)
            var hasMessage = false
            while reader.remaining > 0, let frame = try? Frame(reading: &reader) {
                switch frame {
                case .message, .fast: hasMessage = true
                default: continue
                }
            }
            if !hasMessage, content.count % 16 != 0 { odd += 1 }
            return true
        }
        let channel = try pair.left.openChannel(name: [1, 2, 3], class: .normal)
        for index in 0..<30 {
            pair.left.sendControl(machine: 1, [UInt8](repeating: 1, count: index))
            _ = try pair.left.send(pattern(index, index * 97), on: channel, now: pair.now)
            pair.run(for: .milliseconds(20))
        }
        #expect(odd == 0)
    }

    struct Outage: CustomTestStringConvertible, Sendable {
        var length: Duration, roundTrip: Duration
        var testDescription: String { "\(length) at \(roundTrip)" }
    }

    @Test(
        "after a blackhole the first byte comes within a round trip and 250 ms (libudx#318)",
        arguments: [
            Outage(length: .seconds(2), roundTrip: .milliseconds(20)),
            Outage(length: .seconds(5), roundTrip: .milliseconds(2)),
            Outage(length: .seconds(15), roundTrip: .milliseconds(20)),
            Outage(length: .seconds(60), roundTrip: .milliseconds(20)),
            Outage(length: .seconds(15), roundTrip: .milliseconds(100)),
        ]
    )
    func blackhole(_ outage: Outage) throws {
        var link = ConnectionPair.Link()
        link.delay = outage.roundTrip / 2
        link.rate = 1_250_000
        var configuration = TransportConfiguration()
        configuration.channelQueueBytes = 1 << 20
        var pair = ConnectionPair(configuration: configuration, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        var sent = 0
        func fill(_ pair: inout ConnectionPair) {
            while (try? pair.left.send(pattern(sent, 20_000), on: channel, now: pair.now)) != nil {
                sent += 1
            }
        }
        for _ in 0..<10 {
            fill(&pair)
            pair.run(for: .milliseconds(50))
        }
        pair.link.isDown = true
        pair.run(for: outage.length)
        pair.events = [[], []]
        pair.link.isDown = false
        let healed = pair.now
        let limit = outage.roundTrip + .milliseconds(250)
        // The first byte of the transfer that is new to the receiver.
        let before = pair.right.statistics.bytesReceived
        pair.run(until: healed + limit, while: { $0.right.statistics.bytesReceived == before })
        #expect(pair.right.statistics.bytesReceived > before)
        pair.run(for: .seconds(4))
        let received = pair.received(.right).map(\.sequence)
        #expect(received.last == UInt64(sent - 1))
        #expect(received == Array((received.first ?? 0)..<UInt64(sent)))
        #expect(!pair.isBusy)
    }

    @Test("a round trip above the first timeout causes no endless resends (libudx#316)")
    func longRoundTrip() throws {
        var link = ConnectionPair.Link()
        link.delay = .milliseconds(200)
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for index in 0..<200 {
            _ = try pair.left.send(pattern(index, 1000), on: channel, now: pair.now)
            pair.run(for: .milliseconds(50))
        }
        pair.run(for: .seconds(2))
        #expect(pair.received(.right).count == 200)
        #expect(pair.left.statistics.retransmittedBytes < 30_000)
    }

    @Test("several gaps are repaired in one round trip at 250 ms (aeron#1958)")
    func gaps() throws {
        var link = ConnectionPair.Link()
        link.delay = .milliseconds(125)
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        pair.run(for: .seconds(1))
        pair.left.sendControl(machine: 1, [])
        var index = 0
        pair.filter = { side, content, _ in
            guard side == .left, content.count > 1000 else { return true }
            index += 1
            return ![1, 3, 4, 6].contains(index)
        }
        _ = try pair.left.send(pattern(0, 9 * 1100), on: channel, now: pair.now)
        let start = pair.now
        pair.run(until: start + .seconds(5), while: { $0.received(.right).isEmpty })
        // There, back with the gaps, there again, and the pacer's share.
        #expect(pair.now - start < .milliseconds(3 * 125 + 250))
    }

    @Test("25 % of packets late by 5 ms: few are called lost after adaptation (quinn#2711)")
    func reordering() throws {
        var link = ConnectionPair.Link()
        link.delay = .milliseconds(10)
        link.rate = 3_000_000
        link.queue = .seconds(1)
        link.jitter = .milliseconds(5)
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        func fill(_ duration: Duration) {
            let end = pair.now + duration
            while pair.now < end {
                while (try? pair.left.send(pattern(0, 20_000), on: channel, now: pair.now)) != nil {
                }
                pair.run(until: pair.now + .milliseconds(10), while: { _ in true }) { _, _, _ in
                    true
                }
            }
        }
        fill(.milliseconds(500))
        let packets = pair.packets[0]
        let lost = pair.left.statistics.packetsLost
        fill(.seconds(1))
        let share =
            Double(pair.left.statistics.packetsLost - lost) / Double(pair.packets[0] - packets)
        #expect(share < 0.001, "\(share)")
    }

    @Test("a pair with nothing to say stays alive by a PING each 3 s, and no more")
    func keepAlive() throws {
        var pair = ConnectionPair()
        pair.run(for: .seconds(1))
        let before = pair.packets[0] + pair.packets[1]
        pair.run(for: .seconds(60))
        let packets = pair.packets[0] + pair.packets[1] - before
        #expect(packets >= 20)
        #expect(packets <= 80)
        #expect(!pair.left.isIdle(now: pair.now))
    }

    @Test("a second of silence is `quiet`, the next packet is `heard`")
    func quiet() throws {
        var pair = ConnectionPair()
        pair.run(for: .milliseconds(500))
        pair.link.isDown = true
        pair.run(for: .seconds(2))
        #expect(pair.left.isQuiet)
        #expect(pair.events[0].contains(.quiet))
        #expect(!pair.events[0].contains(.heard))
        pair.link.isDown = false
        pair.run(for: .seconds(2))
        #expect(pair.events[0].contains(.heard))
        pair.link.isDown = true
        pair.run(for: .seconds(11))
        #expect(pair.left.isIdle(now: pair.now))
    }

    @Test("the pacer wakes 1,000 times a second at most (quic-go#2601)")
    func wakeUps() throws {
        var link = ConnectionPair.Link()
        link.delay = .milliseconds(140)
        link.rate = 5_000_000
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for _ in 0..<12 {
            while (try? pair.left.send(pattern(0, 60_000), on: channel, now: pair.now)) != nil {}
            pair.run(until: pair.now + .milliseconds(100), while: { _ in true }) { _, _, _ in true }
        }
        // Acknowledgments stop: what is left is timers.
        pair.link.isDown = true
        var wakeUps = 0
        let end = pair.now + .seconds(1)
        while let deadline = pair.left.deadline(now: pair.now), deadline < end {
            wakeUps += 1
            pair.run(until: max(deadline, pair.now + .nanoseconds(1)))
        }
        #expect(wakeUps <= 1100)
    }
}
