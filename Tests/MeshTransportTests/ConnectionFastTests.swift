import MeshTransport
import MeshWire
import Testing

@Suite("The fast lane")
struct ConnectionFastTests {
    @Test("a keyed message never arrives after a newer one of its key")
    func newest() throws {
        var link = ConnectionPair.Link()
        link.jitter = .milliseconds(30)
        link.duplication = 0.2
        link.loss = 0.1
        var pair = ConnectionPair(seed: 2, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .fast)
        pair.run(for: .milliseconds(200))
        for index in 0..<400 {
            _ = try pair.left.send(
                [UInt8(index & 255)],
                on: channel,
                options: SendOptions(lane: .fast, key: UInt64(index % 2 + 1)),
                now: pair.now
            )
            pair.run(for: .milliseconds(3))
        }
        pair.run(for: .seconds(1))
        var last: [UInt64: UInt64] = [:]
        for message in pair.received(.right) {
            if let previous = last[message.key] { #expect(message.sequence > previous) }
            last[message.key] = message.sequence
        }
        #expect(pair.received(.right).count > 100)
        #expect(pair.right.statistics.fastStale > 10)
    }

    @Test("of several unsent messages of one key only the newest leaves")
    func conflation() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [1], class: .fast)
        pair.run(for: .milliseconds(100))
        for index in 0..<10 {
            _ = try pair.left.send(
                [UInt8(index)],
                on: channel,
                options: SendOptions(lane: .fast, key: 5),
                now: pair.now
            )
        }
        pair.run(for: .milliseconds(100))
        #expect(pair.received(.right).map(\.bytes) == [[9]])
        #expect(pair.left.statistics.fastDropped == 9)
    }

    struct Size: CustomTestStringConvertible, Sendable {
        var byteCount: Int, isTaken: Bool
        var testDescription: String { "\(byteCount) bytes, \(isTaken ? "taken" : "refused")" }
    }

    @Test(
        "up to 16 fragments are one message; more are refused with the limit",
        arguments: [
            Size(byteCount: 0, isTaken: true), Size(byteCount: 1136, isTaken: true),
            Size(byteCount: 1137, isTaken: true), Size(byteCount: 18_176, isTaken: true),
            Size(byteCount: 18_177, isTaken: false),
        ]
    )
    func fragments(_ size: Size) throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [1], class: .fast)
        let bytes = pattern(3, size.byteCount)
        guard size.isTaken else {
            #expect(throws: SendError.tooLarge(size: 18_177, limit: 18_176)) {
                try pair.left.send(bytes, on: channel, options: .fast, now: pair.now)
            }
            return
        }
        _ = try pair.left.send(bytes, on: channel, options: .fast, now: pair.now)
        pair.run(for: .milliseconds(200))
        #expect(pair.received(.right).map(\.bytes) == [bytes])
        #expect(pair.right.statistics.fastReceived == 1)
    }

    @Test("a fast message waits 20 ms for the pacer, then it is dropped and counted")
    func waiting() throws {
        var link = ConnectionPair.Link()
        link.isDown = true
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        // Nothing is acknowledged: window and reserve fill up.
        for index in 0..<50 {
            _ = try pair.left.send(pattern(index, 1000), on: channel, now: pair.now)
        }
        for index in 0..<40 {
            _ = try pair.left.send(
                pattern(index, 1100),
                on: channel,
                options: .fast,
                now: pair.now
            )
        }
        pair.run(for: .milliseconds(19))
        #expect(pair.left.statistics.fastDropped == 0)
        pair.run(for: .milliseconds(2))
        #expect(pair.left.statistics.fastDropped > 0)
        #expect(pair.left.statistics.fastDropped + pair.left.statistics.fastSent == 40)
    }

    @Test("the last value of a `latest` key arrives once, whatever is lost")
    func latest() throws {
        for seed in UInt64(1)...20 {
            var link = ConnectionPair.Link()
            link.loss = 0.5
            link.jitter = .milliseconds(5)
            var pair = ConnectionPair(seed: seed, link: link)
            let channel = try pair.left.openChannel(name: [1], class: .fast)
            var last: SendToken?
            for index in 0..<30 {
                last = try pair.left.send(
                    pattern(index, index == 29 ? 3000 : 100),
                    on: channel,
                    options: SendOptions(lane: .fast, key: 7, isLatest: true),
                    now: pair.now
                )
                pair.run(for: .milliseconds(10))
            }
            pair.run(for: .seconds(5))
            let messages = pair.received(.right)
            #expect(messages.last?.bytes == pattern(29, 3000))
            #expect(messages.filter { $0.sequence == 29 }.count == 1)
            let token = try #require(last)
            #expect(pair.outcomes(.left)[token] == .delivered)
        }
    }

    @Test("a value that does not change stands still on the wire too")
    func latestIsQuiet() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [1], class: .fast)
        _ = try pair.left.send(
            [1],
            on: channel,
            options: SendOptions(lane: .fast, key: 7, isLatest: true),
            now: pair.now
        )
        pair.run(for: .seconds(1))
        let before = pair.packets
        pair.run(for: .milliseconds(1500))
        #expect(pair.packets == before)
        #expect(pair.received(.right).count == 1)
    }

    @Test("`latest` values leave in one datagram each 4 ms")
    func latestInterval() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [1], class: .fast)
        pair.run(for: .milliseconds(500))
        let before = pair.packets[0]
        for index in 0..<200 {
            _ = try pair.left.send(
                [UInt8(index)],
                on: channel,
                options: SendOptions(lane: .fast, key: UInt64(index % 5) + 1, isLatest: true),
                now: pair.now
            )
            pair.run(for: .microseconds(500))
        }
        #expect(pair.packets[0] - before <= 40)
        pair.run(for: .seconds(1))
        #expect(
            Set(pair.received(.right).suffix(5).map { $0.bytes[0] }) == [195, 196, 197, 198, 199]
        )
    }

    @Test("control datagrams leave at once, beside a full window, and clock ones alone")
    func control() throws {
        var link = ConnectionPair.Link()
        link.rate = 1_000_000
        var pair = ConnectionPair(link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for index in 0..<400 {
            _ = try pair.left.send(pattern(index, 5000), on: channel, now: pair.now)
        }
        pair.run(for: .milliseconds(300))
        let before = pair.packets[0]
        let answers = [
            pair.left.sendControl(machine: 1, [UInt8](repeating: 1, count: 500)),
            pair.left.sendControl(machine: 2, [2]),
            pair.left.sendControl(machine: 1, [UInt8](repeating: 1, count: 1165)),
        ]
        #expect(answers == [true, true, false])
        pair.flush { _, _, _ in false }
        #expect(pair.packets[0] == before + 2)
        pair.run(for: .milliseconds(300))
        let controls = pair.events[1].compactMap { event -> UInt8? in
            guard case .control(let machine, _) = event else { return nil }
            return machine
        }
        #expect(controls.sorted() == [1, 2])
    }

    @Test("a class below others still gets a sixteenth, and the rest goes by rank")
    func shares() throws {
        var link = ConnectionPair.Link()
        link.rate = 2_000_000
        var pair = ConnectionPair(link: link)
        let channels = try [TrafficClass.high, .normal, .low, .background].map {
            try pair.left.openChannel(name: [$0.rawValue], class: $0)
        }
        var received = [Int](repeating: 0, count: 6)
        for _ in 0..<150 {
            for channel in channels {
                while (try? pair.left.send(pattern(0, 20_000), on: channel, now: pair.now)) != nil {
                }
            }
            pair.run(until: pair.now + .milliseconds(10), while: { _ in true }) { _, side, event in
                if side == .right, case .received(let message) = event {
                    received[Int(message.name[0])] += message.bytes.count
                }
                return true
            }
        }
        let total = received.reduce(0, +)
        #expect(total > 2_000_000)
        for index in 3...5 {
            #expect(Double(received[index]) > 0.04 * Double(total), "\(received)")
        }
        #expect(Double(received[2]) > 0.6 * Double(total), "\(received)")
    }
}
