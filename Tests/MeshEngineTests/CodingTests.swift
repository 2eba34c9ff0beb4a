import MeshEngine
import MeshWire
import Testing

@Suite("Envelope and directory")
struct CodingTests {
    @Test("an envelope comes back with its payload")
    func envelope() throws {
        let envelope = Envelope(
            source: Envelope.Name(number: 7, check: 0x0403_0201),
            target: Envelope.Name(number: 70_000, check: 8)
        )
        let bytes = envelope.encode([1, 2, 3])
        #expect(bytes == [0x10, 0, 7, 0x80, 0x01, 0x11, 0x70, 1, 2, 3, 4, 8, 0, 0, 0, 1, 2, 3])
        var reader = ByteReader(bytes.raw)
        let read = try Envelope(reading: &reader)
        #expect(read == envelope)
        #expect(Array(bytes.dropFirst(bytes.count - reader.remaining)) == [1, 2, 3])
    }

    @Test("the number of a receipt comes back, alone and behind a mark")
    func receipt() throws {
        let position = Position(epoch: Epoch(counter: 3, proposer: 4), index: 5)
        for mark in [nil, StateMark(position: position, stream: 70)] {
            let envelope = Envelope(
                source: Envelope.Name(number: 7, check: 1),
                target: Envelope.Name(number: 8, check: 2),
                mark: mark,
                receipt: 70_000
            )
            let bytes = envelope.encode([5])
            #expect(bytes[1] == (mark == nil ? 8 : 9))
            var reader = ByteReader(bytes.raw)
            #expect(try Envelope(reading: &reader) == envelope)
            #expect(reader.remaining == 1)
        }
    }

    @Test("a mark comes back, and every cut of it is refused")
    func mark() throws {
        let position = Position(epoch: Epoch(counter: 3, proposer: 4), index: 5)
        let envelope = Envelope(
            source: Envelope.Name(number: 7, check: 1),
            target: Envelope.Name(number: 8, check: 2),
            mark: StateMark(position: position, stream: 70)
        )
        let bytes = envelope.encode([])
        #expect(bytes.count == 2 + 1 + 1 + 8 + 24 + 2)
        #expect(bytes[1] == 1)
        var reader = ByteReader(bytes.raw)
        #expect(try Envelope(reading: &reader) == envelope)
        #expect(reader.remaining == 0)
        for count in bytes.indices {
            #expect(throws: WireError.self) {
                var reader = ByteReader(Array(bytes[..<count]).raw)
                _ = try Envelope(reading: &reader)
            }
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var bytes: [UInt8]
        var error: WireError
        var because: String
        var testDescription: String { because }
    }

    static let badEnvelopes = [
        Row(bytes: [], error: .truncated(at: 0), because: "no byte"),
        Row(bytes: [0x20, 0, 1, 1], error: .unknownType(0x20, at: 0), because: "a later version"),
        Row(bytes: [0x11, 0, 1, 1], error: .unknownType(0x11, at: 0), because: "a later kind"),
        Row(bytes: [0x10, 2, 1, 1], error: .reserved(at: 1), because: "a flag of a later version"),
        Row(bytes: [0x10, 3, 1, 1], error: .reserved(at: 1), because: "a mark of a later version"),
        Row(
            bytes: [0x10, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9],
            error: .truncated(at: 12),
            because: "half a mark"
        ),
        Row(bytes: [0x10, 0, 1], error: .truncated(at: 3), because: "no target"),
        Row(bytes: [0x10, 0, 1, 1, 9, 9, 9], error: .truncated(at: 4), because: "half a check"),
        Row(bytes: [0x10, 0, 0x40, 1, 1], error: .overlongInteger(at: 2), because: "a long form"),
    ]

    @Test("bytes that are no envelope are refused with the reason", arguments: badEnvelopes)
    func badEnvelope(row: Row) {
        let error = #expect(throws: WireError.self) {
            var reader = ByteReader(row.bytes.raw)
            _ = try Envelope(reading: &reader)
        }
        #expect(error == row.error)
    }

    @Test("a channel's name carries session and name, and nothing else passes for one")
    func channelName() throws {
        let session = try #require(SessionID((0..<16).map { UInt8($0) }))
        let name = SessionChannelName(session: session, name: "Grüße")
        #expect(SessionChannelName(name.bytes) == name)
        #expect(SessionChannelName(Array(name.bytes.prefix(15))) == nil)
        #expect(SessionChannelName(session.bytes + [0xff]) == nil)
        #expect(SessionChannelName(session.bytes)?.name == "")
    }

    @Test("a directory comes back, and every cut and every foreign byte is refused or harmless")
    func directory() throws {
        let node = try #require(NodeID((0..<32).map { UInt8($0) }))
        let entries = [
            DirectoryMessage.Entry(
                nodeID: node,
                address: SocketAddress(192, 168, 1, 7, port: 4242)
            ),
            DirectoryMessage.Entry(
                nodeID: .zero,
                address: SocketAddress(high: 0xfe80 << 48, low: 9, scope: 3, port: 1)
            ),
        ]
        let message = DirectoryMessage(entries: entries)
        let bytes = message.encoded
        #expect(bytes.count == 1 + 2 * 54)
        #expect(try DirectoryMessage(reading: bytes.raw) == message)
        for count in 0..<bytes.count {
            let cut = Array(bytes.prefix(count))
            #expect(throws: WireError.self) { try DirectoryMessage(reading: cut.raw) }
        }
        #expect(throws: WireError.trailing(at: bytes.count)) {
            let longer = bytes + [0]
            return try DirectoryMessage(reading: longer.raw)
        }
        #expect(throws: WireError.overLimit(21, at: 0)) {
            try DirectoryMessage(reading: [21].raw)
        }
    }

    @Test("a directory never holds more entries than a control message")
    func directoryLimit() {
        let entry = DirectoryMessage.Entry(
            nodeID: .zero,
            address: SocketAddress(10, 0, 0, 1, port: 1)
        )
        let message = DirectoryMessage(entries: Array(repeating: entry, count: 64))
        #expect(message.entries.count == DirectoryMessage.entryLimit)
        #expect(message.encoded.count <= Limits.controlBytes)
    }
}
