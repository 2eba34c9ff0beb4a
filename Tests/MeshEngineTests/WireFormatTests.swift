import Foundation
@testable import MeshConsensus
import MeshContent
import MeshCrypto
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire
import Testing

/// The blocks named *golden* of the article `WireFormat` hold the bytes this code makes.
///
/// `HUDDLE_REWRITE=1 swift test --filter WireFormatTests` writes them; the change is then reviewed
/// as a difference of the article.
@Suite("Wire format")
struct WireFormatTests {
    private static let article = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/Huddle/Huddle.docc/WireFormat.md")

    @Test("the article's golden lines are what the code makes, and every vector stands there")
    func golden() throws {
        var text = try String(contentsOf: Self.article, encoding: .utf8)
        let vectors = Self.vectors
        if ProcessInfo.processInfo.environment["HUDDLE_REWRITE"] != nil {
            text = Self.rewritten(text, vectors)
            try text.write(to: Self.article, atomically: true, encoding: .utf8)
        }
        let written = Self.goldenLines(text)
        #expect(written.map(\.name).sorted() == vectors.keys.sorted())
        for (name, hex) in written {
            #expect(hex == vectors[name].map { hexadecimal($0) }, "\(name)")
        }
    }

    @Test("every golden vector is read back as what it was made of")
    func readBack() throws {
        for (name, bytes) in Self.vectors where name.hasPrefix("frame.") {
            let frames = try Self.frames(bytes)
            #expect(frames.count == 1, "\(name)")
        }
        for (name, bytes) in Self.vectors where name.hasPrefix("message.") {
            let (header, message) = try Message.decode(bytes.raw)
            #expect(message.encoded(header) == bytes, "\(name)")
        }
        for (name, bytes) in Self.vectors where name.hasPrefix("entry.") {
            #expect(try Entry(decoding: bytes).bytes == bytes, "\(name)")
        }
    }

    @Test("the golden packets hold the frames the article says: an empty fragment, the same FAST")
    func packets() throws {
        let contents = Self.vectors.mapValues { try? Self.frames($0).filter { $0 != .padding } }
        let cancel = try #require(contents["packet.cancel"] ?? nil)
        let place = try #require(
            cancel.firstIndex(of: .cancel(channel: 0, first: 0, count: 1))
        )
        try #require(place > 0)
        guard case .message(let header, let bytes) = cancel[place - 1] else {
            Issue.record("no fragment stands before CANCEL: \(cancel)")
            return
        }
        #expect(bytes.isEmpty)
        #expect(header.fragment?.total == 3000)
        #expect(header.fragment.map { $0.offset > 0 } == true)
        func isFast(_ frame: Frame) -> Bool { if case .fast = frame { true } else { false } }
        let latest = try #require(contents["packet.latest"] ?? nil).filter(isFast)
        let settled = try #require(contents["packet.settled"] ?? nil).filter(isFast)
        #expect(latest.count == 1)
        #expect(settled == latest)
    }

    private static func frames(_ bytes: [UInt8]) throws(WireError) -> [Frame] {
        var reader = ByteReader(bytes.raw)
        var frames: [Frame] = []
        while reader.remaining > 0 { frames.append(try Frame(reading: &reader)) }
        return frames
    }

    private static func goldenLines(_ text: String) -> [(name: String, hex: String)] {
        var lines: [(String, String)] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = line == "```golden"
            } else if isInside {
                let parts = line.split(separator: "=", maxSplits: 1)
                let name = parts.first?.trimmingCharacters(in: .whitespaces) ?? ""
                let hex = parts.dropFirst().first?.trimmingCharacters(in: .whitespaces) ?? ""
                lines.append((name, hex))
            }
        }
        return lines
    }

    private static func rewritten(_ text: String, _ vectors: [String: [UInt8]]) -> String {
        var isInside = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.hasPrefix("```") {
                isInside = line == "```golden"
            } else if isInside {
                let name = line.split(separator: "=").first?
                    .trimmingCharacters(in: .whitespaces)
                if let name, let bytes = vectors[name] {
                    return "\(name) = \(hexadecimal(bytes))"
                }
            }
            return String(line)
        }
        return lines.joined(separator: "\n")
    }

    private static func node(_ byte: UInt8) -> NodeID {
        NodeID(Array(repeating: byte, count: 32)) ?? .zero
    }

    private static func process(_ byte: UInt8) -> ProcessID {
        let node = node(byte)
        let incarnation = UInt64(byte) * 0x0101
        return ProcessID(
            nodeID: node,
            incarnation: incarnation,
            tag: Hash.processTag(node, incarnation: incarnation)
        )
    }

    private static let session = SessionID(Array(repeating: 0x5e, count: 16)) ?? .zero

    private static let vectors: [String: [UInt8]] = {
        var vectors: [String: [UInt8]] = [:]
        for (name, frame) in frameVectors {
            var bytes: [UInt8] = []
            frame.encode(into: &bytes)
            vectors["frame.\(name)"] = bytes
        }
        for (name, message) in messageVectors {
            vectors["message.\(name)"] = message.encoded(header)
        }
        for (name, body) in entryVectors {
            vectors["entry.\(name)"] = Entry(position: position, body: body).bytes
        }
        vectors["command.signed"] = command.signedBytes
        for (name, message) in contentVectors { vectors["content.\(name)"] = message.encoded }
        for (name, command) in roomVectors { vectors["room.\(name)"] = command.payload }
        vectors["participantID"] =
            Participant.id(
                session: session,
                process: process(1),
                nonce: 3,
                digest: { Hash.digest(.participant, $0) }
            ).bytes
        vectors["directory"] =
            DirectoryMessage(entries: [
                DirectoryMessage.Entry(
                    nodeID: node(1),
                    address: SocketAddress(192, 168, 0, 7, port: 18_518)
                )
            ]).encoded
        vectors["envelope"] = Envelope(
            source: Envelope.Name(number: 2, check: 0x0403_0201),
            target: Envelope.Name(number: 300, check: 8)
        ).encode(Array("hi".utf8))
        vectors["envelope.mark"] = Envelope(
            source: Envelope.Name(number: 2, check: 0x0403_0201),
            target: Envelope.Name(number: 300, check: 8),
            mark: StateMark(position: position, stream: 70)
        ).encode([])
        vectors["room.append"] =
            RoomCommand.append(
                LogDraft(
                    number: 3,
                    answers: MoveID(
                        participant: ParticipantID(Array(repeating: 7, count: 16)) ?? .zero,
                        number: 9
                    ),
                    payload: Array("e4".utf8)
                )
            ).payload
        vectors["envelope.receipt"] = Envelope(
            source: Envelope.Name(number: 2, check: 0x0403_0201),
            target: Envelope.Name(number: 300, check: 8),
            receipt: 70_000
        ).encode(Array("hi".utf8))
        for (name, bytes) in packetVectors() { vectors["packet.\(name)"] = bytes }
        return vectors
    }()

    /// What one connection puts into its packets, in the steps that the article tells.
    private static func packetVectors() -> [(String, [UInt8])] {
        var now = Instant(nanoseconds: 1_000_000_000)
        var connection = Connection(configuration: TransportConfiguration(), seed: 1, now: now)
        connection.adopt(space: 0, resumed: false, now: now)
        var number: UInt64 = 0
        func packet() -> [UInt8] {
            var bytes: [UInt8] = []
            let isFilled = connection.build(
                space: 0,
                number: number,
                into: &bytes,
                now: now
            )
            if isFilled { number += 1 }
            return bytes
        }
        let settings = packet()
        let message = [UInt8](repeating: 7, count: 3000)
        let token = try? connection.send(message, on: 0, now: now)
        _ = packet()
        if let token { connection.cancel(token, now: now) }
        let cancel = packet()
        let channel = (try? connection.openChannel(name: Array("pen".utf8), class: .normal)) ?? 0
        _ = packet()
        var bytes: [UInt8] = []
        AcknowledgmentFrame(ranges: [0...3], delay: 0).encode(into: &bytes)
        try? connection.receive(bytes.raw, space: 0, number: 0, now: now)
        let options = SendOptions(lane: .fast, key: 1, isLatest: true)
        _ = try? connection.send([0xcc], on: channel, options: options, now: now)
        let latest = packet()
        now += .milliseconds(100)
        connection.advance(to: now)
        return [
            ("settings", settings), ("cancel", cancel), ("latest", latest), ("settled", packet()),
        ]
    }

    private static let content = ContentID(Array(repeating: 0x0c, count: 32)) ?? .zero

    private static let contentVectors: [(String, ContentMessage)] = [
        ("inventory", .inventory([.init(content, .all), .init(.zero, .part)])),
        ("have", .have(content, [0..<3, 1000..<1016])),
        ("wantTree", .wantTree(content, .record)),
        ("want", .want(content, isUrgent: false, [0, 1, 300])),
        ("chunk", .chunk(content, 300, [1, 2, 3])),
        ("refuse", .refuse(content, .tree(.page(1)), .busy)),
    ]

    private static let frameVectors: [(String, Frame)] = [
        ("ping", .ping),
        ("close", .close(.leaving, text: "bye")),
        (
            "acknowledgment",
            .acknowledgment(
                AcknowledgmentFrame(ranges: [8...10, 3...4], delay: 250)
            )
        ),
        (
            "settings",
            .settings([Setting(1, 5000), Setting(6, 16 << 20)])
        ),
        (
            "message",
            .message(
                MeshWire.MessageHeader(channel: 2, sequence: 7, acknowledgesAtOnce: true),
                Array("hi".utf8)
            )
        ),
        (
            "fragment",
            .message(
                MeshWire.MessageHeader(
                    channel: 2,
                    sequence: 8,
                    fragment: MeshWire.MessageHeader.Fragment(total: 3000, offset: 1100)
                ),
                [0xaa, 0xbb]
            )
        ),
        (
            "fast",
            .fast(FastHeader(channel: 3, key: 1, sequence: 9, isLatest: true), [0xcc])
        ),
        ("cancel", .cancel(channel: 2, first: 7, count: 1)),
        ("resume", .resume([ResumePoint(channel: 2, next: 7)])),
        ("channelOpen", .channelOpen(channel: 2, class: .normal, name: Array("talk".utf8))),
        ("channelClose", .channelClose(channel: 2, final: 12)),
        ("window", .window(channel: 2, limit: 262_144)),
        ("windowAll", .windowAll(limit: 1 << 20)),
        ("control", .control(machine: 1, [1, 2, 3])),
    ]

    private static let epoch = Epoch(counter: 4, proposer: process(1).tag)
    private static let position = Position(epoch: epoch, index: 9)
    private static let header = MeshConsensus.MessageHeader(
        sender: process(1).tag,
        receiver: process(2).tag,
        epoch: epoch,
        roomTag: 0x6655_4433_2211
    )

    private static let messageVectors: [(String, Message)] = [
        (
            "heartbeat",
            .heartbeat(
                Message.Heartbeat(
                    sequence: 17,
                    commit: 8,
                    head: 9,
                    hashPrefix: 0x0102_0304_0506_0708,
                    hasQuorum: true,
                    health: 1,
                    heardFrom: 0b11,
                    promised: epoch,
                    sentAt: 1_000_000,
                    echoed: 0
                )
            )
        ),
        ("acknowledgment", .acknowledgment(match: 9, durable: 0)),
        (
            "probe",
            .probe(
                Message.Probe(nonce: 5, target: process(2).tag, leaderAge: 120, hasQuorum: false)
            )
        ),
        (
            "relay",
            .relay(
                Message.Relay(
                    origin: process(1).tag,
                    target: process(2).tag,
                    counter: 7,
                    isDeaf: true,
                    inner: Message.acknowledgment(match: 9, durable: 0).encoded(header),
                    signature: Array(repeating: 0x99, count: 64)
                )
            )
        ),
        ("prevote", .prevote(head: position)),
        (
            "prepare",
            .prepare(
                Message.Prepare(
                    tags: [process(1).tag, process(2).tag],
                    head: position,
                    reason: .change,
                    proof: [epoch]
                )
            )
        ),
        (
            "join",
            .join(
                Message.Join(
                    ability: 128,
                    policy: 0,
                    heads: [Message.Head(index: 9, hash: node(7).digest)]
                )
            )
        ),
        ("readIndex", .readIndex(nonce: 6)),
    ]

    private static let command = MeshConsensus.Command(
        type: 0x20,
        origin: Origin(process(2)),
        sequence: 3,
        acknowledgedUpTo: 1,
        session: session,
        payload: RoomCommand.put(key: "k", value: [1]).payload,
        signature: Array(repeating: 0x99, count: 64)
    )

    private static let entryVectors: [(String, EntryBody)] = [
        ("noop", .noop),
        (
            "view",
            .view(
                View(
                    epoch: epoch,
                    members: [Member(process: process(1), ability: 128, joined: .zero)],
                    departed: [process(2)],
                    parents: [Epoch(counter: 3, proposer: process(1).tag)],
                    required: [
                        PrimaryConfiguration(
                            epoch: epoch,
                            tags: [process(1).tag],
                            isCommitted: true
                        )
                    ],
                    start: position,
                    startHash: node(8).digest,
                    primary: true
                )
            )
        ),
        ("command", .command(command)),
    ]

    private static let roomVectors: [(String, RoomCommand)] = [
        ("setProfile", .setProfile(name: "Grace")),
        (
            "startSession",
            .startSession(
                SessionBlueprint(
                    activity: Activity(
                        identifier: "org.example.draw",
                        payload: [7],
                        metadata: [8]
                    ),
                    slot: "activity",
                    expected: session
                )
            )
        ),
        (
            "compareAndSet",
            .compareAndSet(key: "turn", expected: .version(position), value: [2])
        ),
        ("join", .join(nonce: 0x0102_0304_0506_0708)),
        (
            "addAttachment",
            .addAttachment(
                JournalEntry(
                    id: AttachmentID(Array(repeating: 0x0a, count: 16)) ?? .zero,
                    kind: .file,
                    size: 100_000_000,
                    root: content,
                    name: "a.png",
                    type: "public.png",
                    files: 1,
                    metadata: [7]
                )
            )
        ),
        ("add", .add(key: "likes", amount: -1)),
    ]
}

extension NodeID {
    /// The same bytes as a digest.
    fileprivate var digest: Digest { Digest(bytes) ?? .zero }
}
