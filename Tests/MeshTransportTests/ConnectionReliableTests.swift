import MeshTransport
import MeshWire
import Testing

@Suite("The reliable lane")
struct ConnectionReliableTests {
    struct Size: CustomTestStringConvertible, Sendable {
        var byteCount: Int, because: String
        var testDescription: String { "\(byteCount) bytes: \(because)" }
    }
    static let sizes = [
        Size(byteCount: 0, because: "an empty message is a message"),
        Size(byteCount: 1, because: "the least"),
        Size(byteCount: 1127, because: "below a packet"),
        Size(byteCount: 1128, because: "fills a packet"),
        Size(byteCount: 1168, because: "a packet's content without its header"),
        Size(byteCount: 1169, because: "above a packet"),
        Size(byteCount: (256 << 10) - 1, because: "below the first window"),
        Size(byteCount: 256 << 10, because: "the first window of a channel"),
        Size(byteCount: (256 << 10) + 1, because: "above the first window"),
        Size(byteCount: (1 << 20) + 1, because: "above the first window of the connection"),
        Size(byteCount: 16 << 20, because: "the most"),
    ]

    @Test("a message of any size arrives whole, on a good link and a bad one", arguments: sizes)
    func anySize(_ size: Size) throws {
        for loss in size.byteCount > 2 << 20 ? [0.02] : [0, 0.2] {
            var link = ConnectionPair.Link()
            link.loss = loss
            var pair = ConnectionPair(seed: 7, link: link)
            let channel = try pair.left.openChannel(name: Array("test".utf8), class: .normal)
            let bytes = pattern(1, size.byteCount)
            let token = try pair.left.send(bytes, on: channel, now: pair.now)
            pair.run(until: pair.now + .seconds(120), while: { $0.events[0].count < 1 })
            let messages = pair.received(.right)
            #expect(messages.count == 1)
            #expect(messages.first?.bytes == bytes)
            #expect(messages.first?.name == Array("test".utf8))
            #expect(pair.outcomes(.left) == [token: .delivered])
            #expect(pair.violation == nil)
            #expect(!pair.isBusy)
        }
    }

    @Test("a message above the limit is refused with it before anything is queued")
    func tooLarge() throws {
        var pair = ConnectionPair()
        let large = [UInt8](repeating: 0, count: Limits.messageBytes + 1)
        let error = #expect(throws: SendError.self) {
            try pair.left.send(large, on: 0, now: pair.now)
        }
        #expect(error == .tooLarge(size: large.count, limit: Limits.messageBytes))
        #expect(pair.left.statistics.queuedBytes == 0)
    }

    /// 20 % loss, 5 % duplicates, reordering; a 60 Hz fast stream beside it.
    ///
    /// `bytes` answers how long a message is, from its number and a draw in [0, 1).
    static func mixedRun(
        messages: Int,
        seed: UInt64,
        bytes: (Int, Double) -> Int
    ) throws -> (ages: [Duration], pair: ConnectionPair) {
        var link = ConnectionPair.Link()
        link.loss = 0.2
        link.duplication = 0.05
        link.jitter = .milliseconds(5)
        var pair = ConnectionPair(seed: seed, link: link)
        let channels = try (0..<4).map {
            try pair.left.openChannel(
                name: [UInt8($0)],
                class: [.high, .normal, .normal, .low][$0]
            )
        }
        let fastChannel = try pair.left.openChannel(name: [9], class: .fast)
        var sizes = SeededGenerator(seed: seed)
        var next = 0
        var expected = [Int](repeating: 0, count: 4)
        var arrived = 0
        var ages: [Duration] = []
        var fastDue = pair.now
        var sendTimes: [UInt64: Instant] = [:]
        var fastCount: UInt64 = 0
        var pending: [UInt8]?
        func fill(_ pair: inout ConnectionPair) throws {
            while next < messages {
                if pending == nil {
                    let draw = sizes.unit()
                    pending = pattern(next, next % 97 == 0 ? 0 : bytes(next, draw))
                }
                guard let bytes = pending else { return }
                do throws(SendError) {
                    var options = SendOptions.reliable
                    options.reportsOutcome = false
                    _ = try pair.left.send(
                        bytes,
                        on: channels[next % 4],
                        options: options,
                        now: pair.now
                    )
                } catch {
                    guard error == .wouldBlock else { throw error }
                    return
                }
                pending = nil
                next += 1
            }
        }
        var mistakes: [String] = []
        while arrived < messages, pair.violation == nil, !pair.isBusy, mistakes.isEmpty {
            try fill(&pair)
            if pair.now >= fastDue {
                sendTimes[fastCount] = pair.now
                fastCount += 1
                _ = try pair.left.send(
                    [UInt8](repeating: 1, count: 200),
                    on: fastChannel,
                    options: SendOptions(lane: .fast, key: 1, reportsOutcome: false),
                    now: pair.now
                )
                fastDue = fastDue + .microseconds(16_667)
            }
            pair.run(until: fastDue, while: { _ in true }) { pair, side, event in
                guard side == .right, case .received(let message) = event else {
                    return true
                }
                if message.lane == .fast {
                    if let sent = sendTimes[message.sequence] { ages.append(pair.now - sent) }
                    return true
                }
                let index = Int(message.name[0])
                let number = expected[index] * 4 + index
                if message.bytes != pattern(number, message.bytes.count)
                    || message.sequence != UInt64(expected[index])
                {
                    mistakes.append("message \(number) of channel \(index)")
                }
                expected[index] += 1
                arrived += 1
                return true
            }
            guard pair.now < Instant(nanoseconds: 40_000_000_000_000) else { break }
        }
        pair.run(for: .seconds(3))
        #expect(mistakes.isEmpty)
        #expect(arrived == messages)
        #expect(!pair.isBusy)
        #expect(pair.violation == nil)
        #expect(Double(ages.count) > 0.7 * Double(fastCount))
        return (ages.sorted(), pair)
    }

    @Test(
        "10,000 messages of 0 B to 1 MiB arrive once each in order at 20 % loss; a 60 Hz stream stays fresh"
    )
    func mixed() throws {
        let (ages, pair) = try Self.mixedRun(messages: 10_000, seed: 3) { number, draw in
            if number % 1000 == 500 { return 1 << 20 }
            return Int(exp2Table(draw * (number % 10 == 1 ? 16 : 10)))
        }
        let worst = ages[min(ages.count - 1, ages.count * 99 / 100)]
        #expect(worst <= .milliseconds(40), "p99 age \(worst) of \(ages.count)")
        #expect(pair.left.statistics.queuedBytes == 0)
    }

    @Test("the same with 750 MB, evenly over the magnitudes", .enabled(if: isLongRun))
    func mixedLong() throws {
        let (ages, pair) = try Self.mixedRun(messages: 10_000, seed: 4) { _, draw in
            Int(exp2Table(draw * 20))
        }
        let worst = ages[min(ages.count - 1, ages.count * 99 / 100)]
        #expect(worst <= .milliseconds(40), "p99 age \(worst) of \(ages.count)")
        print("long run: virtual \(pair.now) s, packets \(pair.packets), \(pair.left.statistics)")
    }

    @Test("an unordered message passes one that is held up, an ordered one does not")
    func unordered() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [], class: .normal)
        pair.run(for: .milliseconds(100))
        var isFirst = true
        pair.filter = { side, _, _ in
            defer { if side == .left { isFirst = false } }
            return side == .right || !isFirst
        }
        _ = try pair.left.send([0], on: channel, now: pair.now)
        pair.run(for: .milliseconds(1))
        _ = try pair.left.send([1], on: channel, now: pair.now)
        pair.run(for: .milliseconds(1))
        _ = try pair.left.send(
            [2],
            on: channel,
            options: SendOptions(isOrdered: false),
            now: pair.now
        )
        pair.run(for: .seconds(2))
        #expect(pair.received(.right).map(\.bytes) == [[2], [0], [1]])
    }

    @Test("channels do not wait for each other")
    func independence() throws {
        var pair = ConnectionPair()
        let first = try pair.left.openChannel(name: [1], class: .normal)
        let second = try pair.left.openChannel(name: [2], class: .normal)
        pair.run(for: .milliseconds(100))
        var lost = 0
        pair.filter = { side, _, _ in
            if side == .left, lost == 0 {
                lost += 1
                return false
            }
            return true
        }
        _ = try pair.left.send([1], on: first, now: pair.now)
        pair.run(for: .milliseconds(1))
        _ = try pair.left.send([2], on: second, now: pair.now)
        pair.run(for: .seconds(1))
        #expect(pair.received(.right).map(\.bytes) == [[2], [1]])
    }

    @Test("a message that waits for the room of another starts when that one is sent")
    func roomOfOthers() throws {
        var pair = ConnectionPair()
        let first = try pair.left.openChannel(name: [1], class: .normal)
        let second = try pair.left.openChannel(name: [2], class: .normal)
        // Together above the connection's first limit; the first alone moves no window.
        _ = try pair.left.send(pattern(1, 200_000), on: first, now: pair.now)
        _ = try pair.left.send(pattern(2, 900_000), on: second, now: pair.now)
        pair.run(for: .seconds(3))
        #expect(pair.received(.right).map(\.bytes.count) == [200_000, 900_000])
    }

    @Test("a full queue refuses, and says when it has room again")
    func backPressure() throws {
        var configuration = TransportConfiguration()
        configuration.channelQueueBytes = 64 << 10
        var pair = ConnectionPair(configuration: configuration)
        let channel = try pair.left.openChannel(name: [], class: .normal)
        var sent = 0
        while sent < 1000 {
            do throws(SendError) {
                _ = try pair.left.send(pattern(sent, 4096), on: channel, now: pair.now)
                sent += 1
            } catch {
                #expect(error == .wouldBlock)
                break
            }
        }
        #expect(sent == 15)
        #expect(pair.left.statistics.queuedBytes <= 64 << 10)
        pair.run(for: .seconds(2))
        #expect(pair.events[0].contains(.windowOpened(channel)))
        #expect(pair.received(.right).count == 15)
    }

    @Test("a receiver that takes nothing makes the sender wait, and the others go on")
    func hold() throws {
        var pair = ConnectionPair()
        let slow = try pair.left.openChannel(name: [1], class: .normal)
        let quick = try pair.left.openChannel(name: [2], class: .normal)
        pair.run(for: .milliseconds(100))
        pair.right.hold(slow, true)
        for index in 0..<100 {
            _ = try pair.left.send(pattern(index, 10_000), on: slow, now: pair.now)
        }
        pair.run(for: .seconds(3))
        let before = pair.received(.right).count
        #expect(before < 60)
        _ = try pair.left.send([7], on: quick, now: pair.now)
        pair.run(for: .seconds(1))
        #expect(pair.received(.right).last?.bytes == [7])
        pair.right.hold(slow, false)
        pair.run(for: .seconds(5))
        #expect(pair.received(.right).count == 101)
    }

    @Test("an expired message is skipped, not waited for, and its bytes come back to the window")
    func expiry() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [], class: .normal)
        pair.run(for: .milliseconds(100))
        var tokens: [SendToken] = []
        // Far more than the channel's window in all: a leak would stop it.
        for round in 0..<20 {
            pair.link.loss = 0.5
            let expires = pair.now + .milliseconds(30)
            tokens.append(
                try pair.left.send(
                    pattern(round, 60_000),
                    on: channel,
                    options: SendOptions(expires: expires),
                    now: pair.now
                )
            )
            tokens.append(try pair.left.send([UInt8(round)], on: channel, now: pair.now))
            pair.run(for: .milliseconds(500))
        }
        pair.link.loss = 0
        pair.run(for: .seconds(5))
        let small = pair.received(.right).filter { $0.bytes.count == 1 }.map { $0.bytes[0] }
        #expect(small == (0..<20).map { UInt8($0) })
        let outcomes = pair.outcomes(.left)
        #expect(outcomes.count == 40)
        #expect(outcomes.values.contains(.expired))
        #expect(pair.violation == nil)
        _ = try pair.left.send(pattern(0, 200_000), on: channel, now: pair.now)
        pair.run(for: .seconds(5))
        #expect(pair.received(.right).last?.bytes.count == 200_000)
    }

    @Test("a message called back in the queue never leaves")
    func cancellation() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [], class: .normal)
        let first = try pair.left.send([1], on: channel, now: pair.now)
        let second = try pair.left.send([2], on: channel, now: pair.now)
        let third = try pair.left.send([3], on: channel, now: pair.now)
        pair.left.cancel(second, now: pair.now)
        pair.run(for: .seconds(1))
        #expect(pair.received(.right).map(\.bytes) == [[1], [3]])
        #expect(
            pair.outcomes(.left) == [first: .delivered, second: .cancelled, third: .delivered]
        )
    }

    @Test("a closed channel delivers what it took, then says so, and its number is forgotten")
    func closing() throws {
        var link = ConnectionPair.Link()
        link.loss = 0.3
        var pair = ConnectionPair(seed: 5, link: link)
        for round in 0..<40 {
            let channel = try pair.left.openChannel(name: [UInt8(round)], class: .high)
            for index in 0..<5 {
                _ = try pair.left.send(pattern(index, 3000), on: channel, now: pair.now)
            }
            pair.left.closeChannel(channel, now: pair.now)
            #expect(throws: SendError.closed) {
                try pair.left.send([], on: channel, now: pair.now)
            }
            pair.run(for: .milliseconds(300))
        }
        pair.run(for: .seconds(10))
        #expect(pair.received(.right).count == 200)
        let closed = pair.events[1].filter { if case .channelClosed = $0 { true } else { false } }
        #expect(closed.count == 40)
        #expect(pair.violation == nil)
    }

    @Test("1,024 channels are open at most")
    func channelLimit() throws {
        var pair = ConnectionPair()
        for _ in 2..<Limits.channels {
            let channel = try pair.left.openChannel(name: [1], class: .low)
            _ = try pair.left.send([UInt8(channel & 255)], on: channel, now: pair.now)
        }
        #expect(throws: SendError.channelLimit) {
            try pair.left.openChannel(name: [], class: .low)
        }
        pair.run(for: .seconds(3))
        #expect(pair.received(.right).count == Limits.channels - 2)
        #expect(pair.violation == nil)
    }
}

/// Whether the long runs are asked for.
let isLongRun = longRunVariable()
