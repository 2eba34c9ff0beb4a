@testable import MeshTransport
import MeshWire
import Testing

@Suite("Long talks and long outages — 20-transport §8")
struct ConnectionLongevityTests {
    /// Two connections without a link between them: what one builds, the other takes at once.
    private struct Direct {
        var left = Connection(configuration: .init(), seed: 1, now: .zero)
        var right = Connection(configuration: .init(), seed: 2, now: .zero)
        var now = Instant.zero
        var numbers: [UInt64] = [0, 0]
        var messages: [[UInt8]] = []
        var outcomes: [SendOutcome] = []
        /// Whether a packet is lost, by its sender and its number.
        var loses: (ConnectionPair.Side, UInt64) -> Bool = { _, _ in false }

        init() {
            left.adopt(space: 1, resumed: false, now: now)
            right.adopt(space: 1, resumed: false, now: now)
        }

        /// Lets 100 µs pass and both sides speak.
        mutating func turn() throws {
            now += .microseconds(100)
            if let due = left.deadline(now: now), due <= now { left.advance(to: now) }
            if let due = right.deadline(now: now), due <= now { right.advance(to: now) }
            var content: [UInt8] = []
            while left.build(
                space: 1,
                number: numbers[0],
                into: &content,
                now: now
            ) {
                if !loses(.left, numbers[0]) {
                    try right.receive(content.raw, space: 1, number: numbers[0], now: now)
                }
                numbers[0] += 1
                content.removeAll(keepingCapacity: true)
            }
            while right.build(
                space: 1,
                number: numbers[1],
                into: &content,
                now: now
            ) {
                if !loses(.right, numbers[1]) {
                    try left.receive(content.raw, space: 1, number: numbers[1], now: now)
                }
                numbers[1] += 1
                content.removeAll(keepingCapacity: true)
            }
            while let event = right.nextEvent() {
                if case .received(let message) = event, message.lane == .reliable {
                    messages.append(message.bytes)
                }
            }
            while let event = left.nextEvent() {
                if case .outcome(let token, let outcome) = event, token.channel == 2 {
                    outcomes.append(outcome)
                }
            }
        }

        /// As many packets, each with one fast message.
        mutating func sendFast(_ count: UInt64) throws {
            let channel = try left.openChannel(name: [9], class: .fast)
            let end = numbers[0] + count
            let options = SendOptions(lane: .fast, reportsOutcome: false)
            while numbers[0] < end {
                _ = try left.send([1], on: channel, options: options, now: now)
                try turn()
            }
        }
    }

    @Test("one acknowledgment lost, then more than 2^16 packets: nothing stalls (enet#141)")
    func oneAcknowledgmentLost() throws {
        var pair = Direct()
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for _ in 0..<1000 { try pair.turn() }
        let first = pair.numbers[1]
        pair.loses = { side, number in side == .right && number == first }
        _ = try pair.left.send([7], on: channel, now: pair.now)
        for _ in 0..<1000 { try pair.turn() }
        // It left again, came as a duplicate, and that was acknowledged.
        #expect(pair.left.statistics.retransmittedBytes > 0)
        #expect(pair.outcomes == [.delivered])
        try pair.sendFast((1 << 16) + 100)
        _ = try pair.left.send([8], on: channel, now: pair.now)
        for _ in 0..<60 { try pair.turn() }
        #expect(pair.messages == [[7], [8]])
        #expect(pair.outcomes == [.delivered, .delivered])
        #expect(pair.left.statistics.queuedBytes == 0)
    }

    @Test("a reliable lane that was idle for 2^17 fast packets goes on (yojimbo#69, #138, #146)")
    func idleReliableLane() throws {
        var pair = Direct()
        pair.loses = { _, number in number % 5003 == 7 }
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        _ = try pair.left.send([7], on: channel, now: pair.now)
        try pair.sendFast(1 << 17)
        for byte in UInt8(8)..<40 {
            _ = try pair.left.send([byte], on: channel, now: pair.now)
            for _ in 0..<100 { try pair.turn() }
        }
        for _ in 0..<1000 { try pair.turn() }
        #expect(pair.messages == (UInt8(7)..<40).map { [$0] })
        #expect(pair.outcomes.count == 33)
        #expect(pair.left.statistics.queuedBytes == 0)
    }

    @Test(
        "sequences and packet numbers pass each power at which a counter might wrap (enet#143)",
        arguments: [6, 8, 14, 15, 16, 30, 31, 32, 48]
    )
    func wraps(bits: Int) throws {
        var link = ConnectionPair.Link()
        link.loss = 0.1
        link.jitter = .milliseconds(5)
        link.duplication = 0.1
        var pair = ConnectionPair(seed: UInt64(bits), link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        pair.run(for: .seconds(1))
        let edge = UInt64(1) << UInt64(bits)
        let first = edge - 40
        let outgoing = try #require(pair.left.outgoing.index(of: channel))
        let incoming = try #require(pair.right.incoming.index(of: channel))
        pair.left.outgoing[outgoing].base = first
        pair.right.incoming[incoming].next = first
        pair.jump(to: first)
        for index in 0..<300 {
            _ = try pair.left.send(pattern(index, index * 13), on: channel, now: pair.now)
            if index % 4 == 0 { pair.run(for: .milliseconds(10)) }
        }
        pair.run(for: .seconds(4))
        #expect(pair.received(.right).map(\.sequence) == Array(first..<first + 300))
        #expect(pair.received(.right).enumerated().allSatisfy { $1.bytes == pattern($0, $0 * 13) })
        #expect(pair.violation == nil)
        #expect(pair.left.statistics.queuedBytes == 0)
        #expect(pair.left.statistics.inFlightBytes == 0)
    }

    @Test("pulses of 2 s in which all is lost: messages of every size arrive (LiteNetLib#489)")
    func pulses() throws {
        let sizes = [0, 1, 1127, 1128, 1168, 1169, 20_000, 262_143, 262_145, 1 << 20]
        var link = ConnectionPair.Link()
        link.rate = 1_250_000
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        var sent: [Int] = []
        for round in 0..<8 {
            for size in sizes where (try? send(sent.count, size)) != nil { sent.append(size) }
            pair.link.isDown = round % 2 == 0
            pair.run(for: pair.link.isDown ? .seconds(2) : .milliseconds(700))
        }
        func send(_ number: Int, _ size: Int) throws {
            _ = try pair.left.send(pattern(number, size), on: channel, now: pair.now)
        }
        pair.link.isDown = false
        let healed = pair.now
        pair.run(until: healed + .seconds(30), while: { $0.left.statistics.queuedBytes > 0 })
        pair.run(for: .milliseconds(100))
        let bytes = sent.reduce(0, +)
        // The last of it takes no longer than the link needs for all of it, and half a second.
        #expect(pair.now - healed < .milliseconds(600 + bytes / 1250 * 10 / 9))
        #expect(sent.count >= 2 * sizes.count)
        #expect(pair.received(.right).map(\.sequence) == Array(0..<UInt64(sent.count)))
        #expect(
            pair.received(.right).enumerated().allSatisfy { $1.bytes == pattern($0, sent[$0]) }
        )
    }

    @Test("what a dead peer gets becomes less and stays little (freenet-core#2349, kcp#93)")
    func deadPeerDecays() throws {
        var link = ConnectionPair.Link()
        link.rate = 1_250_000
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        func fill() {
            while (try? pair.left.send(pattern(0, 60_000), on: channel, now: pair.now)) != nil {}
        }
        for _ in 0..<20 {
            fill()
            pair.run(for: .milliseconds(50))
        }
        let alive = pair.bytes[0]
        pair.link.isDown = true
        var seconds: [Int] = []
        for _ in 0..<30 {
            let before = pair.bytes[0]
            fill()
            pair.run(for: .seconds(1))
            seconds.append(pair.bytes[0] - before)
        }
        #expect(seconds[1] < alive / 20, "\(seconds)")
        #expect(seconds.suffix(10).allSatisfy { $0 <= 5 * 1168 }, "\(seconds)")
        #expect(pair.left.spaces.reduce(0) { $0 + $1.sent.count } < 2000)
    }

    @Test("what is remembered of lost packets stays bounded, and goes (picoquic#1505)")
    func lostPacketMemory() throws {
        var link = ConnectionPair.Link()
        link.loss = 0.3
        link.jitter = .milliseconds(10)
        link.rate = 2_000_000
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        var most = 0
        for _ in 0..<200 {
            while (try? pair.left.send(pattern(0, 20_000), on: channel, now: pair.now)) != nil {}
            pair.run(until: pair.now + .milliseconds(20), while: { _ in true }) { _, _, _ in true }
            most = max(most, pair.left.spaces.reduce(0) { $0 + $1.sent.count })
        }
        #expect(pair.left.statistics.packetsLost > 1000)
        // Three round trips of a queue of 100 ms.
        #expect(most < 3 * 2_000_000 * 12 / 100 / 1168, "\(most)")
        pair.run(until: pair.now + .seconds(10), while: { $0.left.statistics.queuedBytes > 0 })
        pair.link = ConnectionPair.Link()
        pair.run(for: .seconds(7))
        #expect(pair.left.spaces.reduce(0) { $0 + $1.sent.count } < 8)
    }

    @Test("30 % loss and reordering: 64 ranges at most, in a packet, at a flat price (msquic#5450)")
    func rangeExplosion() throws {
        var generator = SeededGenerator(seed: 5)
        var connection = Connection(configuration: .init(), seed: 1, now: .zero)
        connection.adopt(space: 1, resumed: false, now: .zero)
        let clock = ContinuousClock()
        var blocks: [Duration] = []
        var out: UInt64 = 0
        var most = 0
        for block in 0..<400 {
            let numbers = (UInt64(block) * 64..<UInt64(block + 1) * 64)
                .filter { _ in !generator.happens(0.3) }
                .shuffled(using: &generator)
            let start = clock.now
            for number in numbers {
                try connection.receive([Frame.Kind.ping].raw, space: 1, number: number, now: .zero)
                var content: [UInt8] = []
                guard
                    connection.build(
                        space: 1,
                        number: out,
                        into: &content,
                        now: .zero
                    )
                else { continue }
                out += 1
                var reader = ByteReader(content.raw)
                guard case .acknowledgment(let frame) = try Frame(reading: &reader) else {
                    continue
                }
                most = max(most, frame.ranges.count)
                #expect(frame.ranges.contains { $0.contains(number) } || frame.ranges.count == 64)
            }
            blocks.append((clock.now - start) / max(numbers.count, 1))
        }
        #expect(most == 64)
        #expect(connection.spaces[0].received.ranges.count <= 65)
        // The ranges are all there after ten blocks; a price that grows with the packets would be forty times it.
        let early = try #require(blocks[10..<60].min())
        let late = try #require(blocks[350...].min())
        #expect(late < early * 8)
    }
}
