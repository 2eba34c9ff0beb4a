import MeshWire
import Testing

@Suite("Frames")
struct FrameTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var frame: Frame, bytes: [UInt8]
        var testDescription: String { "\(frame)" }
    }
    static let rows = [
        Row(frame: .padding, bytes: [0x00]),
        Row(frame: .ping, bytes: [0x10]),
        Row(
            frame: .close(.evicted, text: "go"),
            bytes: [0x04, 4, 2, UInt8(ascii: "g"), UInt8(ascii: "o")]
        ),
        Row(
            frame: .acknowledgment(AcknowledgmentFrame(ranges: [9...10, 3...5, 0...0], delay: 64)),
            // Largest, delay, count, first; then gap and length of each further range.
            bytes: [0x11, 10, 0x40, 64, 2, 1, 2, 2, 1, 0]
        ),
        Row(
            frame: .acknowledgment(
                AcknowledgmentFrame(
                    ranges: [7...7],
                    delay: 0,
                    congestion: .init(ect0: 1, ect1: 2, experienced: 3)
                )
            ),
            bytes: [0x12, 7, 0, 0, 0, 1, 2, 3]
        ),
        Row(frame: .settings([Setting(1, 5000)]), bytes: [0x13, 1, 1, 0x53, 0x88]),
        Row(
            frame: .message(
                MessageHeader(channel: 2, sequence: 3, acknowledgesAtOnce: true),
                [7, 8]
            ),
            bytes: [0x14, 4, 2, 3, 2, 7, 8]
        ),
        Row(
            frame: .message(
                MessageHeader(
                    channel: 2,
                    sequence: 3,
                    fragment: .init(total: 9, offset: 1),
                    isUnordered: true
                ),
                [7]
            ),
            bytes: [0x14, 3, 2, 3, 9, 1, 1, 7]
        ),
        Row(
            frame: .fast(
                FastHeader(
                    channel: 1,
                    key: 2,
                    sequence: 3,
                    fragment: .init(index: 0, count: 2),
                    acknowledgesAtOnce: true,
                    isLatest: true
                ),
                [5]
            ),
            bytes: [0x15, 7, 1, 2, 3, 0, 2, 1, 5]
        ),
        Row(frame: .cancel(channel: 1, first: 2, count: 3), bytes: [0x16, 1, 2, 3]),
        Row(
            frame: .resume([ResumePoint(channel: 0, next: 4), ResumePoint(channel: 5, next: 6)]),
            bytes: [0x17, 2, 0, 4, 5, 6]
        ),
        Row(
            frame: .channelOpen(channel: 2, class: .low, name: [1, 2]),
            bytes: [0x18, 2, 4, 2, 1, 2]
        ),
        Row(frame: .channelClose(channel: 2, final: 9), bytes: [0x19, 2, 9]),
        Row(frame: .window(channel: 2, limit: 9), bytes: [0x1a, 2, 9]),
        Row(frame: .windowAll(limit: 1 << 30), bytes: [0x1b, 0xc0, 0, 0, 0, 0x40, 0, 0, 0]),
        Row(frame: .control(machine: 1, [6]), bytes: [0x20, 1, 1, 6]),
        Row(
            frame: .relay(target: 1, origin: 0x0203, [4]),
            bytes: [0x21, 1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 1, 4]
        ),
        Row(frame: .unknown(type: 0x99, [1]), bytes: [0x99, 1, 1]),
        Row(
            frame: .grant([UInt8](repeating: 3, count: 68)),
            bytes: [0x05] + [UInt8](repeating: 3, count: 68)
        ),
        Row(
            frame: .pathChallenge([UInt8](repeating: 3, count: 16)),
            bytes: [0x02] + [UInt8](repeating: 3, count: 16)
        ),
        Row(
            frame: .pathResponse([UInt8](repeating: 4, count: 16)),
            bytes: [0x03] + [UInt8](repeating: 4, count: 16)
        ),
        Row(
            frame: .authentication([UInt8](repeating: 5, count: 112)),
            bytes: [0x01] + [UInt8](repeating: 5, count: 112)
        ),
    ]

    @Test("each frame has these bytes, comes back, and may be cut nowhere", arguments: rows)
    func layout(_ row: Row) throws {
        var buffer: [UInt8] = []
        row.frame.encode(into: &buffer)
        #expect(buffer == row.bytes)
        var reader = ByteReader(row.bytes.raw)
        let frame = try Frame(reading: &reader)
        try reader.finish()
        #expect(frame == row.frame)
        for count in 0..<row.bytes.count {
            let cut = Array(row.bytes.prefix(count))
            #expect(decode(cut) == nil, "cut at \(count)")
        }
    }

    struct Bad: CustomTestStringConvertible, Sendable {
        var bytes: [UInt8], error: WireError, because: String
        var testDescription: String { because }
    }
    static let bad = [
        Bad(bytes: [0x06], error: .unknownType(6, at: 0), because: "a reserved type"),
        Bad(bytes: [0x40], error: .unknownType(0x40, at: 0), because: "40–7F are reserved"),
        Bad(bytes: [0x14, 8, 0, 0, 0], error: .reserved(at: 1), because: "a MESSAGE flag"),
        Bad(bytes: [0x15, 8, 0, 0, 0, 0], error: .reserved(at: 1), because: "a FAST flag"),
        Bad(
            bytes: [0x14, 1, 0, 0, 0x81, 0, 0, 1, 0, 0],
            error: .overLimit(0x100_0001, at: 4),
            because: "a message above 16 MiB"
        ),
        Bad(
            bytes: [0x14, 1, 0, 0, 4, 5, 0],
            error: .overLimit(5, at: 5),
            because: "an offset behind the end"
        ),
        Bad(
            bytes: [0x14, 1, 0, 0, 4, 3, 2, 0, 0],
            error: .overLimit(2, at: 6),
            because: "a fragment beyond the end"
        ),
        Bad(
            bytes: [0x15, 1, 0, 0, 0, 0, 17, 0],
            error: .overLimit(17, at: 5),
            because: "17 fragments"
        ),
        Bad(bytes: [0x15, 1, 0, 0, 0, 2, 2, 0], error: .invalid(at: 5), because: "index 2 of 2"),
        Bad(bytes: [0x15, 1, 0, 0, 0, 0, 0, 0], error: .invalid(at: 5), because: "no fragments"),
        Bad(bytes: [0x11, 3, 0, 0, 4], error: .invalid(at: 1), because: "a range below zero"),
        Bad(
            bytes: [0x11, 10, 0, 1, 4, 5, 0],
            error: .invalid(at: 5),
            because: "a second range below zero"
        ),
        Bad(bytes: [0x11, 3, 0, 0x40, 64, 0], error: .overLimit(64, at: 3), because: "65 ranges"),
        Bad(bytes: [0x18, 2, 6, 0], error: .invalid(at: 2), because: "a class that is none"),
        Bad(bytes: [0x04, 1, 1, 0xff], error: .invalid(at: 2), because: "a text not UTF-8"),
        Bad(
            bytes: [0x16, 0x40, 1, 0, 0],
            error: .overlongInteger(at: 1),
            because: "a long varint"
        ),
    ]

    @Test("a bad frame is refused with the reason and the place", arguments: bad)
    func refusal(_ row: Bad) {
        var reader = ByteReader(row.bytes.raw)
        var error: WireError?
        do throws(WireError) { _ = try Frame(reading: &reader) } catch let thrown {
            error = thrown
        }
        #expect(error == row.error)
    }

    @Test("headers know their size before they are written")
    func sizes() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<500 {
            func number() -> UInt64 {
                generator.next() >> UInt64.random(in: 2...63, using: &generator)
            }
            let length = Int(number() % 70_000)
            let message = MessageHeader(
                channel: number(),
                sequence: number(),
                fragment: generator.happens(0.5)
                    ? .init(total: Int(number() % 1_000_000), offset: 0) : nil
            )
            var buffer: [UInt8] = []
            message.encode(length: length, into: &buffer)
            #expect(buffer.count == message.byteCount(length: length))
            let fast = FastHeader(channel: number(), key: number(), sequence: number())
            buffer = []
            fast.encode(length: length, into: &buffer)
            #expect(buffer.count == fast.byteCount(length: length))
        }
    }

    @Test("20,000 mutated packets never trap, and what is read can be written again")
    func mutation() {
        var generator = SeededGenerator(seed: 11)
        let seeds = Self.rows.map(\.bytes)
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes += seeds[Int.random(in: 0..<seeds.count, using: &generator)]
            }
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: bytes.insert(0xff, at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            guard let frames = decode(bytes) else { continue }
            accepted += 1
            var again: [UInt8] = []
            for frame in frames { frame.encode(into: &again) }
            #expect(again == bytes)
        }
        #expect(accepted > 500)
    }

    /// All frames of a packet's content, or `nil` if it is none.
    private func decode(_ bytes: [UInt8]) -> [Frame]? {
        guard !bytes.isEmpty else { return nil }
        var reader = ByteReader(bytes.raw)
        var frames: [Frame] = []
        while reader.remaining > 0 {
            guard let frame = try? Frame(reading: &reader) else { return nil }
            frames.append(frame)
        }
        return frames
    }
}
