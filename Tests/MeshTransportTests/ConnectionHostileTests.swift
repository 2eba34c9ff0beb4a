import MeshTransport
import MeshWire
import Testing

@Suite("A hostile or reborn peer")
struct ConnectionHostileTests {
    struct Attack: CustomTestStringConvertible, Sendable {
        var frames: [Frame], violation: ProtocolViolation, because: String
        var testDescription: String { because }
    }

    static func message(
        _ channel: ChannelNumber,
        _ sequence: UInt64,
        total: Int,
        offset: Int,
        _ count: Int
    ) -> Frame {
        .message(
            MessageHeader(
                channel: channel,
                sequence: sequence,
                fragment: .init(total: total, offset: offset)
            ),
            [UInt8](repeating: 0, count: count)
        )
    }

    static let attacks = [
        Attack(
            frames: [
                message(0, 0, total: 500, offset: 0, 9), message(0, 0, total: 501, offset: 9, 9),
            ],
            violation: .contradiction(0),
            because: "two totals of one message"
        ),
        Attack(
            frames: [.message(MessageHeader(channel: 0, sequence: 16_384), [])],
            violation: .sequence(0, 16_384),
            because: "a sequence far ahead"
        ),
        Attack(
            frames: [.message(MessageHeader(channel: 0, sequence: 1 << 62 - 1), [])],
            violation: .sequence(0, 1 << 62 - 1),
            because: "the highest sequence"
        ),
        Attack(
            frames: [.cancel(channel: 0, first: 0, count: 1 << 40)],
            violation: .sequence(0, 1 << 40),
            because: "a CANCEL of everything"
        ),
        Attack(
            frames: [.cancel(channel: 0, first: 1 << 62 - 1, count: 1 << 62 - 1)],
            violation: .sequence(0, 1 << 63 - 2),
            because: "a CANCEL whose end is above a varint"
        ),
        Attack(
            frames: [.channelClose(channel: 5, final: 3), .channelClose(channel: 5, final: 4)],
            violation: .contradiction(5),
            because: "two ends of a channel"
        ),
        Attack(
            frames: [
                .channelClose(channel: 5, final: 1),
                .message(MessageHeader(channel: 5, sequence: 1), []),
            ],
            violation: .sequence(5, 1),
            because: "a message behind the end"
        ),
        Attack(
            frames: [
                .channelOpen(channel: 5, class: .low, name: [1]),
                .channelOpen(channel: 5, class: .low, name: [2]),
            ],
            violation: .contradiction(5),
            because: "two names of a channel"
        ),
        Attack(
            frames: [.channelOpen(channel: 1, class: .low, name: [1])],
            violation: .contradiction(1),
            because: "channel 1 opened"
        ),
        Attack(
            frames: [.channelClose(channel: 0, final: 0)],
            violation: .contradiction(0),
            because: "channel 0 closed"
        ),
        Attack(
            frames: [.resume([ResumePoint(channel: 0, next: 1)])],
            violation: .resume(0),
            because: "a RESUME of what was never sent"
        ),
        Attack(
            frames: [.resume([ResumePoint(channel: 77, next: 0)])],
            violation: .resume(77),
            because: "a RESUME of a channel never opened"
        ),
        Attack(
            frames: [.window(channel: 99, limit: 5)],
            violation: .channelLimit(99),
            because: "a WINDOW of a channel never opened"
        ),
    ]

    @Test("a frame that breaks the protocol is told apart", arguments: attacks)
    func violation(_ attack: Attack) {
        var connection = Self.connection()
        var content: [UInt8] = []
        for frame in attack.frames { frame.encode(into: &content) }
        var thrown: ProtocolViolation?
        do throws(ProtocolViolation) {
            try connection.receive(content.raw, space: 1, number: 0, now: Self.start)
        } catch {
            thrown = error
        }
        #expect(thrown == attack.violation)
    }

    static let start = Instant(nanoseconds: 1_000_000_000)

    static func connection() -> Connection {
        var connection = Connection(
            configuration: TransportConfiguration(),
            seed: 1,
            now: start
        )
        connection.adopt(space: 1, resumed: false, now: start)
        return connection
    }

    @Test("bytes beyond a limit break the protocol, though nobody told a new one")
    func windowExceeded() {
        var connection = Self.connection()
        var number: UInt64 = 0
        var thrown: ProtocolViolation?
        // The second message is held behind the missing first.
        var received = 0
        while thrown == nil, received < 4 << 20 {
            var content: [UInt8] = []
            Frame.message(
                MessageHeader(channel: 0, sequence: number + 1),
                [UInt8](repeating: 0, count: 1000)
            ).encode(into: &content)
            do throws(ProtocolViolation) {
                try connection.receive(content.raw, space: 1, number: number, now: Self.start)
                received += 1000
            } catch {
                thrown = error
            }
            number += 1
        }
        #expect(thrown == .windowExceeded(0))
        #expect(received <= 256 << 10)
        #expect(connection.statistics.bufferedBytes <= 257 << 10)
    }

    @Test("a claim of 16 MiB buffers what came, in every channel")
    func claims() throws {
        var connection = Self.connection()
        for index in 0..<1000 {
            var content: [UInt8] = []
            Self.message(UInt64(index), 0, total: Limits.messageBytes, offset: 0, 100)
                .encode(into: &content)
            try connection.receive(content.raw, space: 1, number: UInt64(index), now: Self.start)
        }
        #expect(connection.statistics.bufferedBytes == 100_000)
    }

    @Test("more than 1,024 channels break the protocol")
    func channels() {
        var connection = Self.connection()
        var thrown: ProtocolViolation?
        for index in 0..<2000 where thrown == nil {
            var content: [UInt8] = []
            Frame.message(MessageHeader(channel: UInt64(index) * 3 + 2, sequence: 1), [])
                .encode(into: &content)
            do throws(ProtocolViolation) {
                try connection.receive(
                    content.raw,
                    space: 1,
                    number: UInt64(index),
                    now: Self.start
                )
            } catch {
                thrown = error
            }
        }
        #expect(thrown == .channelLimit(1022 * 3 + 2))
    }

    @Test("partial fast messages stay few, small and young")
    func partials() throws {
        var connection = Self.connection()
        for index in 0..<500 {
            var content: [UInt8] = []
            Frame.fast(
                FastHeader(
                    channel: 0,
                    key: 0,
                    sequence: UInt64(index),
                    fragment: .init(index: 0, count: 16)
                ),
                [UInt8](repeating: 1, count: 1000)
            ).encode(into: &content)
            try connection.receive(content.raw, space: 1, number: UInt64(index), now: Self.start)
        }
        #expect(connection.statistics.fastStale == 500 - 64)
        connection.advance(to: Self.start + .milliseconds(501))
        #expect(connection.statistics.fastStale == 500)
    }

    @Test("acknowledgments stay within 64 ranges and a packet when every other packet is lost")
    func ranges() throws {
        var connection = Self.connection()
        for index in 0..<5000 {
            try connection.receive(
                [Frame.Kind.ping].raw,
                space: 1,
                number: UInt64(index) * 1000,
                now: Self.start
            )
        }
        var content: [UInt8] = []
        let isBuilt = connection.build(
            space: 1,
            number: 0,
            into: &content,
            now: Self.start
        )
        #expect(isBuilt)
        #expect(content.count <= 1168)
        var reader = ByteReader(content.raw)
        guard case .acknowledgment(let frame) = try Frame(reading: &reader) else {
            Issue.record("no acknowledgment")
            return
        }
        #expect(frame.ranges.count == 64)
        #expect(frame.ranges[0] == 4_999_000...4_999_000)
    }

    @Test("5,000 mutated packets of a real talk never trap")
    func mutation() throws {
        var pair = ConnectionPair(seed: 9)
        var recorded: [[UInt8]] = []
        pair.filter = { side, content, _ in
            if side == .left { recorded.append(content) }
            return true
        }
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for index in 0..<40 {
            _ = try pair.left.send(pattern(index, index * 150), on: channel, now: pair.now)
            _ = try pair.left.send(
                pattern(index, index * 60),
                on: channel,
                options: SendOptions(lane: .fast, key: 3, isLatest: true),
                now: pair.now
            )
            _ = try pair.right.send(pattern(index, 50), on: 0, now: pair.now)
            pair.run(for: .milliseconds(20))
        }
        var generator = SeededGenerator(seed: 4)
        var refused = 0
        var number: UInt64 = 0
        var connection = Self.connection()
        for _ in 0..<5000 {
            var content = recorded[Int.random(in: 0..<recorded.count, using: &generator)]
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: 0..<min(content.count, 40), using: &generator)
                content[place] = UInt8.random(in: 0...255, using: &generator)
            }
            do throws(ProtocolViolation) {
                try connection.receive(content.raw, space: 1, number: number, now: Self.start)
                number += 1
                var out: [UInt8] = []
                _ = connection.build(
                    space: 1,
                    number: number,
                    into: &out,
                    now: Self.start
                )
                while connection.nextEvent() != nil {}
            } catch {
                refused += 1
                connection = Self.connection()
                number = 0
            }
        }
        #expect(refused > 500)
    }

    // MARK: The end and the return

    @Test("CLOSE leaves at once, and at most three times while the peer talks")
    func close() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        pair.run(for: .milliseconds(100))
        pair.link.isDown = true
        let token = try pair.left.send([1], on: channel, now: pair.now)
        pair.left.close(reason: .leaving, text: "bye")
        let before = pair.packets[0]
        pair.run(for: .seconds(1))
        #expect(pair.packets[0] == before + 1)
        #expect(pair.outcomes(.left) == [token: .peerLost])
        #expect(throws: SendError.closed) { try pair.left.send([], on: channel, now: pair.now) }
        pair.link.isDown = false
        for _ in 0..<20 {
            _ = try? pair.right.send([2], on: 0, now: pair.now)
            pair.run(for: .milliseconds(200))
        }
        #expect(pair.packets[0] <= before + 3)
        #expect(pair.events[1].contains(.closedByPeer(.leaving, text: "bye")))
        #expect(pair.right.isClosed)
    }

    @Test("a dead peer costs bounded bytes, and each open send ends with `peerLost`")
    func deadPeer() throws {
        var pair = ConnectionPair()
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        pair.run(for: .milliseconds(100))
        pair.link.isDown = true
        var tokens: [SendToken] = []
        for _ in 0..<100 {
            while let token = try? pair.left.send(pattern(0, 60_000), on: channel, now: pair.now) {
                tokens.append(token)
            }
            pair.run(for: .milliseconds(100))
        }
        #expect(pair.left.statistics.queuedBytes <= 4 << 20)
        pair.left.abandon()
        pair.run(for: .milliseconds(1))
        #expect(pair.outcomes(.left).values.allSatisfy { $0 == .peerLost })
        #expect(pair.outcomes(.left).count == tokens.count)
        #expect(pair.left.statistics.queuedBytes == 0)
        #expect(pair.left.statistics.inFlightBytes == 0)
    }

    @Test("a rekey under load loses and doubles nothing")
    func rekey() throws {
        var link = ConnectionPair.Link()
        link.loss = 0.1
        link.jitter = .milliseconds(3)
        var pair = ConnectionPair(seed: 3, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for round in 0..<10 {
            for index in 0..<20 {
                _ = try pair.left.send(
                    pattern(round * 20 + index, 3000),
                    on: channel,
                    now: pair.now
                )
            }
            pair.run(for: .milliseconds(100))
            pair.rekey(resumed: false)
            pair.run(for: .milliseconds(50))
            if round > 0 {
                pair.left.retire(space: pair.space - 1, now: pair.now)
                pair.right.retire(space: pair.space - 1, now: pair.now)
            }
        }
        pair.run(for: .seconds(5))
        #expect(pair.received(.right).map(\.sequence) == Array(0..<200))
        #expect(pair.violation == nil)
    }

    @Test("channels resume after an absence: exactly once, in order")
    func resume() throws {
        for seed in UInt64(1)...4 {
            var link = ConnectionPair.Link()
            link.loss = 0.1
            link.jitter = .milliseconds(10)
            var pair = ConnectionPair(seed: seed, link: link)
            let channel = try pair.left.openChannel(name: [1], class: .normal)
            let other = try pair.right.openChannel(name: [2], class: .high)
            for round in 0..<4 {
                for index in 0..<10 {
                    let number = round * 10 + index
                    _ = try pair.left.send(pattern(number, 9000), on: channel, now: pair.now)
                    _ = try pair.right.send(pattern(number, 900), on: other, now: pair.now)
                }
                pair.run(for: .milliseconds(60))
                pair.link.isDown = true
                pair.run(for: .seconds(12))
                pair.dropFlights()
                pair.link.isDown = false
                pair.rekey(resumed: true)
            }
            pair.run(for: .seconds(10))
            #expect(pair.received(.right).map(\.sequence) == Array(0..<40))
            #expect(pair.received(.right).enumerated().allSatisfy { $1.bytes == pattern($0, 9000) })
            #expect(pair.received(.left).map(\.sequence) == Array(0..<40))
            #expect(pair.outcomes(.left).count == 40)
            #expect(pair.violation == nil)
        }
    }

    @Test("a frame of the endpoint comes until it is acknowledged")
    func endpointFrame() throws {
        var link = ConnectionPair.Link()
        link.loss = 0.6
        var pair = ConnectionPair(seed: 12, link: link)
        let grant = Frame.grant([UInt8](repeating: 9, count: 68))
        pair.left.sendEndpointFrame(grant, untilAcknowledged: true)
        pair.run(for: .seconds(10))
        #expect(pair.events[1].contains(.endpointFrame(grant)))
        let before = pair.events[1].count
        pair.run(for: .seconds(10))
        #expect(!pair.events[1][before...].contains(.endpointFrame(grant)))
    }
}
