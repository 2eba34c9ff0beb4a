@testable import MeshTransport
import MeshWire
import Testing

@Suite("What is acknowledged is stored — 20-transport §8, lidgren#62")
struct ConnectionStoredTests {
    /// The packet numbers that the next packet of `connection` acknowledges.
    private func acknowledged(_ connection: inout Connection) throws -> [ClosedRange<UInt64>] {
        var content: [UInt8] = []
        let isBuilt = connection.build(
            space: 1,
            number: 0,
            into: &content,
            now: ConnectionHostileTests.start + .seconds(1)
        )
        var ranges: [ClosedRange<UInt64>] = []
        guard isBuilt else { return ranges }
        var reader = ByteReader(content.raw)
        while reader.remaining > 0 {
            if case .acknowledgment(let frame) = try Frame(reading: &reader) {
                ranges += frame.ranges
            }
        }
        return ranges
    }

    @Test("a message beyond the window is not acknowledged, those before it are")
    func beyondTheWindow() throws {
        var connection = ConnectionHostileTests.connection()
        var number: UInt64 = 0
        var thrown: ProtocolViolation?
        while thrown == nil, number < 4000 {
            var content: [UInt8] = []
            // Behind a missing first one, so that nothing is released.
            Frame.message(
                MessageHeader(channel: 0, sequence: number + 1),
                [UInt8](repeating: 0, count: 1000)
            ).encode(into: &content)
            do throws(ProtocolViolation) {
                try connection.receive(
                    content.raw,
                    space: 1,
                    number: number,
                    now: ConnectionHostileTests.start
                )
                number += 1
            } catch {
                thrown = error
            }
        }
        #expect(thrown == .windowExceeded(0))
        #expect(try acknowledged(&connection) == [0...number - 1])
        // All that was acknowledged is there.
        let channel = try #require(connection.incoming.index(of: 0))
        #expect(connection.incoming[channel].slots.keys.sorted() == Array(1...number))
    }

    @Test("a packet that breaks the protocol is not acknowledged, whatever else it holds")
    func brokenPacket() throws {
        for attack in ConnectionHostileTests.attacks {
            var connection = ConnectionHostileTests.connection()
            var content: [UInt8] = [Frame.Kind.ping]
            for frame in attack.frames { frame.encode(into: &content) }
            #expect(throws: ProtocolViolation.self) {
                try connection.receive(
                    content.raw,
                    space: 1,
                    number: 5,
                    now: ConnectionHostileTests.start
                )
            }
            let ranges = try acknowledged(&connection)
            #expect(!ranges.contains { $0.contains(5) }, "\(attack)")
        }
    }

    @Test("while a channel is held, every acknowledged byte waits at the receiver")
    func heldChannel() throws {
        for seed in UInt64(1)...6 {
            var link = ConnectionPair.Link()
            link.loss = 0.2
            link.jitter = .milliseconds(8)
            link.duplication = 0.1
            var pair = ConnectionPair(seed: seed, link: link)
            let channel = try pair.left.openChannel(name: [1], class: .normal)
            pair.run(for: .milliseconds(500))
            pair.right.hold(channel, true)
            for index in 0..<200 {
                _ = try pair.left.send(pattern(index, 5000), on: channel, now: pair.now)
            }
            for _ in 0..<100 {
                pair.run(for: .milliseconds(20))
                let delivered = pair.outcomes(.left).count
                let held = pair.right.incoming.index(of: channel).map {
                    Int(pair.right.incoming[$0].next) + pair.right.incoming[$0].slots.count
                }
                #expect(delivered <= held ?? 0)
            }
            // 256 KiB of 5,000 B each, and not one more.
            #expect(pair.outcomes(.left).count <= (256 << 10) / 5000)
            pair.right.hold(channel, false)
            pair.run(for: .seconds(6))
            #expect(pair.received(.right).map(\.sequence) == Array(0..<200))
            #expect(pair.violation == nil)
        }
    }
}
