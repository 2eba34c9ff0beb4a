import MeshTransport
import MeshWire
import Testing

@Suite("Rates beside delay, reordering and each other — 20-transport §8")
struct ConnectionRateTests {
    /// The share of a datagram of 1,200 bytes that is a message's, what the link carries without
    /// addresses.
    private let payload: Double = 1136.0 / 1200

    /// Keeps the channel's queue full for so long, and answers with the bytes that arrived.
    private func bulk(
        _ pair: inout ConnectionPair,
        _ channel: ChannelNumber,
        for duration: Duration,
        message: Int = 50_000
    ) -> Int {
        var bytes = 0
        let end = pair.now + duration
        let content = [UInt8](repeating: 7, count: message)
        while pair.now < end {
            while (try? pair.left.send(content, on: channel, now: pair.now)) != nil {}
            pair.run(until: min(end, pair.now + .milliseconds(10)), while: { _ in true }) {
                _,
                side,
                event in
                if side == .right, case .received(let message) = event {
                    bytes += message.bytes.count
                }
                return true
            }
        }
        return bytes
    }

    struct LongLink: CustomTestStringConvertible, Sendable {
        /// Bytes a second.
        var rate: Double
        var testDescription: String { "\(Int(rate * 0.28) >> 10) KiB under way" }
    }

    @Test(
        "at 280 ms the link is used to 95 %, whatever is under way (enet#183, usrsctp#137)",
        arguments: isLongRun
            ? [LongLink(rate: 4_000_000), LongLink(rate: Double(64 << 20) / 0.28)]
            : [LongLink(rate: 4_000_000), LongLink(rate: 12_000_000)]
    )
    func longLink(_ row: LongLink) throws {
        var link = ConnectionPair.Link()
        link.delay = .milliseconds(140)
        link.rate = row.rate
        link.queue = .milliseconds(280)
        var configuration = TransportConfiguration()
        configuration.channelQueueBytes = 256 << 20
        configuration.connectionQueueBytes = 256 << 20
        var pair = ConnectionPair(configuration: configuration, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        _ = bulk(&pair, channel, for: .seconds(6))
        let bytes = bulk(&pair, channel, for: .seconds(3))
        let share = Double(bytes) / (row.rate * 3)
        #expect(share >= 0.95 * payload, "\(share)")
    }

    @Test("25 % of packets later by 5 ms: the rate is unharmed (quinn#2711, msquic#1237)")
    func reorderedRate() throws {
        var link = ConnectionPair.Link()
        link.rate = 3_000_000
        link.late = 0.25
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        _ = bulk(&pair, channel, for: .seconds(1), message: 20_000)
        let packets = pair.packets[0]
        let lost = pair.left.statistics.packetsLost
        let bytes = bulk(&pair, channel, for: .seconds(2), message: 20_000)
        let share = Double(bytes) / (3_000_000 * 2)
        #expect(share >= 0.95 * payload, "\(share)")
        let called = pair.left.statistics.packetsLost - lost
        #expect(Double(called) <= 0.001 * Double(pair.packets[0] - packets), "\(called)")
    }

    @Test("a bulk transfer and eight keyed streams of 60 Hz starve nobody (quinn#1773, neqo#1426)")
    func fastKeys() throws {
        var link = ConnectionPair.Link()
        link.rate = 1_250_000
        link.queue = .milliseconds(200)
        var pair = ConnectionPair(link: link)
        let slow = try pair.left.openChannel(name: [1], class: .normal)
        let quick = try pair.left.openChannel(name: [2], class: .fast)
        _ = bulk(&pair, slow, for: .seconds(1), message: 20_000)
        var arrived = [Int](repeating: 0, count: 9)
        var ages: [Duration] = []
        var sentAt: [[Instant]] = Array(repeating: [], count: 9)
        var bytes = 0
        for _ in 0..<180 {
            while (try? pair.left.send(pattern(0, 20_000), on: slow, now: pair.now)) != nil {}
            for key in 1...8 {
                let options = SendOptions(lane: .fast, key: UInt64(key), reportsOutcome: false)
                _ = try pair.left.send(
                    [UInt8](repeating: 1, count: 200),
                    on: quick,
                    options: options,
                    now: pair.now
                )
                sentAt[key].append(pair.now)
            }
            pair.run(until: pair.now + .microseconds(16_667), while: { _ in true }) {
                pair,
                side,
                event in
                guard side == .right, case .received(let message) = event else { return true }
                if message.lane == .fast {
                    arrived[Int(message.key)] += 1
                    ages.append(pair.now - sentAt[Int(message.key)][Int(message.sequence)])
                } else {
                    bytes += message.bytes.count
                }
                return true
            }
        }
        #expect(arrived[1...].allSatisfy { $0 >= 171 }, "\(arrived)")
        ages.sort()
        let worst = ages[ages.count * 99 / 100]
        #expect(worst <= .milliseconds(40), "\(worst)")
        // Eight streams with their headers take some 110 kB a second.
        let room: Double = 1_140_000 * payload
        #expect(Double(bytes) / 3 >= 0.9 * room, "\(bytes)")
    }

    @Test("two seconds after anything the rate is at 95 % again", arguments: UInt64(1)...6)
    func ratesComeBack(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var link = ConnectionPair.Link()
        link.rate = 1_250_000
        var pair = ConnectionPair(seed: seed, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        var buffered = 0
        for _ in 0..<12 {
            pair.link.loss = generator.happens(0.3) ? 0 : generator.unit() * 0.6
            pair.link.duplication = generator.unit() * 0.3
            pair.link.jitter = .milliseconds(Int64.random(in: 0...30, using: &generator))
            pair.link.isDown = generator.happens(0.25)
            _ = bulk(
                &pair,
                channel,
                for: .milliseconds(Int64.random(in: 50...800, using: &generator)),
                message: 20_000
            )
            buffered = max(buffered, pair.right.statistics.bufferedBytes)
        }
        pair.link = link
        _ = bulk(&pair, channel, for: .seconds(2), message: 20_000)
        let bytes = bulk(&pair, channel, for: .seconds(1), message: 20_000)
        let share = Double(bytes) / 1_250_000
        #expect(share >= 0.95 * payload, "\(share)")
        #expect(buffered <= 8 << 20, "\(buffered)")
        #expect(pair.violation == nil)
        #expect(!pair.isBusy)
    }

    @Test(
        "1,000 timers a second at most at any rate, blocked socket or not (quic-go#2601)",
        arguments: [100_000.0, 1_000_000, 10_000_000, 40_000_000]
    )
    func wakeUps(rate: Double) throws {
        var link = ConnectionPair.Link()
        link.rate = rate
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        _ = bulk(&pair, channel, for: .milliseconds(500))
        let before = pair.wakeUps
        _ = bulk(&pair, channel, for: .milliseconds(500))
        #expect(pair.wakeUps[0] - before[0] <= 550)
        // A blocked socket loses what it is given.
        pair.link.isDown = true
        let blocked = pair.wakeUps
        _ = bulk(&pair, channel, for: .milliseconds(500))
        #expect(pair.wakeUps[0] - blocked[0] <= 550)
        #expect(pair.wakeUps[1] - blocked[1] <= 550)
        #expect(!pair.isBusy)
    }

    @Test(
        "round trips around the first timeout and far above cause few resends (libudx#316)",
        arguments: [180, 220, 250, 255, 300, 333, 400, 600, 1000, 2000]
    )
    func roundTrips(milliseconds: Int) throws {
        var link = ConnectionPair.Link()
        link.delay = .milliseconds(milliseconds) / 2
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for index in 0..<200 {
            _ = try pair.left.send(pattern(index, 1000), on: channel, now: pair.now)
            pair.run(for: .milliseconds(50))
        }
        // What was sent before the first sample may go twice, and no more.
        let early = pair.left.statistics.retransmittedBytes
        #expect(early < 30_000, "\(early)")
        for index in 0..<100 {
            _ = try pair.left.send(pattern(index, 1000), on: channel, now: pair.now)
            pair.run(for: .milliseconds(50))
        }
        pair.run(for: .seconds(5))
        #expect(pair.received(.right).count == 300)
        #expect(pair.left.statistics.retransmittedBytes == early)
    }
}
