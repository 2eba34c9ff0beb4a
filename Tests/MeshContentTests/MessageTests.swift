import MeshContent
import MeshWire
import TestSupport
import Testing

@Suite("Messages about contents — 50-journal-and-playback A4") struct MessageTests {
    static let content = ContentID(Array(1...32)) ?? .zero
    static let messages: [ContentMessage] = [
        .inventory([]), .inventory([.init(content, .all), .init(.zero, .part)]),
        .have(content, [0..<1, 5..<1000, 1_048_575..<1_048_576]), .wantTree(content, .record),
        .wantTree(content, .page(1023)), .tree(content, .page(3), [1, 2, 3]),
        .want(content, isUrgent: true, [0, 7, 1_048_575]), .cancel(content, [4]),
        .chunk(content, 9, Array(repeating: 7, count: 65_536)), .chunk(content, 0, []),
        .refuse(content, .chunk(8), .busy), .refuse(content, .tree(.record), .notHeld),
        .refuse(content, .tree(.page(2)), .sourceChanged),
    ]

    @Test("every message survives its bytes, and every cut of them is refused", arguments: messages)
    func roundTrip(message: ContentMessage) throws {
        let bytes = message.encoded
        #expect(try ContentMessage(decoding: bytes) == message)
        for count in Set((0..<bytes.count).prefix(200)).union([bytes.count - 1]) {
            #expect(throws: ContentMessageError.self) {
                try ContentMessage(decoding: Array(bytes.prefix(count)))
            }
        }
        #expect(throws: ContentMessageError.malformed(.trailing(at: bytes.count))) {
            try ContentMessage(decoding: bytes + [0])
        }
    }

    @Test(
        "the types have the numbers of the table",
        arguments: zip(
            messages,
            [
                1, 1, 2, 3, 3, 4, 5, 6, 7, 7, 9, 9, 9,
            ] as [UInt8]
        )
    )
    func numbers(message: ContentMessage, number: UInt8) {
        #expect(message.encoded.first == number)
    }

    @Test("types of later versions are unknown, not malformed", arguments: [0, 8, 10, 11, 255])
    func unknown(type: Int) {
        #expect(throws: ContentMessageError.unknownType(UInt8(type))) {
            try ContentMessage(decoding: [UInt8(type), 1, 2, 3])
        }
    }

    @Test("lists and numbers beyond their limits are refused before they are read")
    func limits() {
        func check(_ type: UInt8, _ fields: (inout ByteWriter) -> Void) {
            var writer = ByteWriter()
            writer.write(type)
            fields(&writer)
            let bytes = writer.bytes
            #expect { try ContentMessage(decoding: bytes) } throws: { error in
                guard case ContentMessageError.malformed(let cause) = error else { return false }
                switch cause {
                case .overLimit, .truncated, .invalid: return true
                default: return false
                }
            }
        }
        check(1) { $0.writeCount(4097) }
        check(1) { $0.writeCount(4096) }  // so many items in no bytes
        check(2) {
            $0.write(Self.content)
            $0.writeCount(513)
        }
        check(2) {
            $0.write(Self.content)
            $0.writeCount(1)
            $0.writeCount(1_048_575)
            $0.writeCount(2)
        }
        check(3) {
            $0.write(Self.content)
            $0.write(UInt32(1024))
        }
        check(4) {
            $0.write(Self.content)
            $0.write(UInt32.max)
            $0.writeCount(32_781)
        }
        check(5) {
            $0.write(Self.content)
            $0.write(UInt8(0))
            $0.writeCount(33)
        }
        check(7) {
            $0.write(Self.content)
            $0.writeVariable(1 << 32)
        }
        check(7) {
            $0.write(Self.content)
            $0.writeCount(0)
            $0.writeCount(65_537)
        }
    }

    @Test("what decodes encodes to the same bytes, whatever 20,000 mutations made of it")
    func mutations() throws {
        var generator = SeededGenerator(seed: 0xc0de)
        var decoded = 0
        for _ in 0..<20_000 {
            var bytes =
                (Self.messages.filter { $0.encoded.count < 2000 }
                .randomElement(using: &generator) ?? .inventory([])).encoded
            mutate(&bytes, using: &generator)
            guard let message = try? ContentMessage(decoding: bytes) else { continue }
            decoded += 1
            #expect(message.encoded == bytes)
        }
        #expect(decoded > 1000)
    }
}

@Suite("Tree of a content — 50-journal-and-playback A2") struct TreeTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var size: UInt64, chunks: Int, pages: Int, last: Int
        var testDescription: String { "\(size) bytes" }
    }

    @Test(
        "chunks, pages and the last chunk's bytes follow from the size",
        arguments: [
            Row(size: 0, chunks: 0, pages: 0, last: 0), Row(size: 1, chunks: 1, pages: 1, last: 1),
            Row(size: 65_535, chunks: 1, pages: 1, last: 65_535),
            Row(size: 65_536, chunks: 1, pages: 1, last: 65_536),
            Row(size: 65_537, chunks: 2, pages: 1, last: 1),
            Row(size: 64 << 20, chunks: 1024, pages: 1, last: 65_536),
            Row(size: 64 << 20 + 1, chunks: 1025, pages: 2, last: 1),
            Row(size: 100_000_000, chunks: 1526, pages: 2, last: 57_600),
            Row(size: 64 << 30, chunks: 1 << 20, pages: 1024, last: 65_536),
        ]
    )
    func shape(row: Row) throws {
        let shape = try #require(ContentShape(size: row.size))
        #expect(shape.chunks == row.chunks)
        #expect(shape.pages == row.pages)
        if row.chunks > 0 { #expect(shape.byteCount(ofChunk: row.chunks - 1) == row.last) }
        #expect((0..<row.pages).reduce(0) { $0 + shape.chunks(ofPage: $1).count } == row.chunks)
    }

    @Test("no content is larger than 64 GiB") func tooLarge() {
        #expect(ContentShape(size: 64 << 30 + 1) == nil)
        #expect(ContentShape(size: .max) == nil)
    }

    @Test("a record whose pages do not fit its size, or that is cut, is refused") func record()
        throws
    {
        let tree = Swarm.content(200_000).tree
        let read = try ContentRecord(decoding: tree.record)
        #expect(read.encoded == tree.record)
        #expect(read.pages == tree.pages.map { Swarm.hash(.page, $0) })
        for size in [0, 64 << 20 + 1, 64 << 30, .max] as [UInt64] {
            var writer = ByteWriter()
            writer.write(size)
            let bytes = writer.bytes + tree.record.dropFirst(8)
            #expect(throws: WireError.self) { try ContentRecord(decoding: bytes) }
        }
        for count in 0..<tree.record.count {
            let cut = Array(tree.record.prefix(count))
            #expect(throws: WireError.self) { try ContentRecord(decoding: cut) }
        }
        // As many pages as bytes never came.
        var writer = ByteWriter()
        writer.write(UInt64(64 << 30))
        writer.write(UInt32(1024))
        let claim = writer.bytes
        #expect(throws: WireError.truncated(at: 12)) { try ContentRecord(decoding: claim) }
    }
}
