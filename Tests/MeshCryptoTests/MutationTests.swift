import MeshWire
import Testing

@testable import MeshCrypto

/// A fixed number of seeded mutations of every parser; the long runs are those of `Tools/fuzz`.
///
/// Property first, crash second: what still parses is encoded to the same bytes again, and nothing
/// that is sealed or signed is ever accepted after a change.
@Suite("Mutations of every parser — S31, S32")
struct MutationTests {
    static let count = 8_000

    /// Changes bytes in one of the ways that find bugs: flips, cuts, growth, extremes, swapped parts.
    static func mutate(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<3, using: &generator) {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0 where !bytes.isEmpty:
                let place = Int.random(in: bytes.indices, using: &generator)
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1:
                bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
            case 2:
                bytes += (0..<Int.random(in: 1..<70, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
            case 3 where !bytes.isEmpty:
                let place = Int.random(in: bytes.indices, using: &generator)
                bytes[place] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &generator) ?? 0
            case 4 where bytes.count > 8:
                let place = Int.random(in: 0..<bytes.count - 8, using: &generator)
                for offset in 0..<8 { bytes[place + offset] = 0xff }
            default:
                guard bytes.count > 1 else { break }
                let first = Int.random(in: bytes.indices, using: &generator)
                let second = Int.random(in: bytes.indices, using: &generator)
                bytes.swapAt(first, second)
            }
        }
        return bytes
    }

    struct Corpus {
        var hello: [UInt8]
        var retry: [UInt8]
        var first: [UInt8]
        var second: [UInt8]
        var third: [UInt8]
        var data: [UInt8]
        var beacon: [UInt8]
        var invite: [UInt8]
        var probe: [UInt8]

        init() throws {
            let greeting = HandshakeMessageTests.hello.encode()
            let mac1 = Mac1.of(greeting.raw)
            hello = greeting
            retry = RetryMessage(
                mode: .code,
                receiverIndex: 9,
                cookie: KnownRun.cookie,
                invite: KnownRun.invite
            ).encode(requestMac1: mac1)
            var run = try Run(keys: .member(knownRoom))
            first = run.first
            second = run.second
            third = run.third
            data = try run.dataZero()
            var source = SeededSecrets(seed: 32)
            beacon = DiscoveryTests.key.seal(DiscoveryTests.beacon, from: &source)
            invite = DiscoveryTests.invites[0].encode()
            probe = InviteProbe(nonce: KnownRun.clientNonce).encode()
        }

        var all: [[UInt8]] {
            [hello, retry, first, second, third, data, beacon, invite, probe]
        }
    }

    @Test("datagrams that still parse encode to the same bytes; none passes a mac or a seal")
    func datagrams() throws {
        let corpus = try Corpus()
        let originals = Set(corpus.all)
        let mac1 = Mac1.of(corpus.hello.raw)
        let keys = ModeKeys.member(knownRoom)
        var run = try Run(keys: keys)
        var scratch: [UInt8] = []
        var generator = SeededGenerator(seed: 0x5eed)
        var parsed = 0
        for number in 0..<Self.count {
            let base = corpus.all[number % corpus.all.count]
            let bytes = Self.mutate(base, &generator)
            guard !originals.contains(bytes) else { continue }
            if let message = try? HelloMessage(bytes: bytes) {
                parsed += 1
                #expect(message.encode().prefix(176) == bytes.prefix(176))
            }
            if let message = try? FirstMessage(bytes: bytes) {
                parsed += 1
                #expect(message.encode(mac1Key: keys.mac1Key).prefix(176) == bytes.prefix(176))
            }
            if let message = try? LaterMessage(bytes: bytes) {
                parsed += 1
                let body = bytes.count - 16
                #expect(message.encode(mac1Key: keys.mac1Key).prefix(body) == bytes.prefix(body))
            }
            let retry = try? RetryMessage(bytes: bytes, requestMac1: mac1)
            #expect(retry == nil)
            if let message = try? InviteBeacon(bytes: bytes) {
                parsed += 1
                #expect(message.encode() == bytes)
            }
            if let message = try? InviteProbe(bytes: bytes) {
                parsed += 1
                #expect(message.encode() == bytes)
            }
            let hasMac = Mac1.isValid(bytes.raw, key: keys.mac1Key)
            #expect(!hasMac)
            let beacon = DiscoveryTests.key.open(bytes.raw)
            #expect(beacon == nil)
            let opened = run.initiator.opening.open(bytes.raw, into: &scratch, now: .zero)
            #expect(opened == .forged || opened == .exhausted)
        }
        #expect(parsed > Self.count / 10, "the mutations reach behind the first checks")
        let untouched = run.initiator.opening.open(corpus.data.raw, into: &scratch, now: .zero)
        #expect(untouched == .packet(byteCount: 128))
    }

    @Test("a handshake survives any message behind a valid mac1")
    func noise() throws {
        let mode = HandshakeTests.modes[0]
        let dial = try HandshakeTests.dial(mode)
        let first = try FirstMessage(bytes: dial.first)
        let responder = try HandshakeTests.respond(mode, to: dial.first)
        let second = try LaterMessage(bytes: responder.second)
        let answer = try dial.answer(second, node: KnownRun.initiator, now: .zero)
        let third = try LaterMessage(bytes: answer.third)
        var generator = SeededGenerator(seed: 0xfee1)
        for _ in 0..<150 {
            var message = first
            message.noise = Self.mutate(first.noise, &generator)
            if message.noise != first.noise {
                let isOpened =
                    (try? OpenedFirst(
                        message,
                        keys: mode.keys,
                        seeds: KnownRun.responderSeeds(.member)
                    )) != nil
                #expect(!isOpened)
            }
            var reply = second
            reply.noise = Self.mutate(second.noise, &generator)
            if reply.noise != second.noise {
                let isAnswered =
                    (try? dial.answer(reply, node: KnownRun.initiator, now: .zero)) != nil
                #expect(!isAnswered)
            }
            var last = third
            last.noise = Self.mutate(third.noise, &generator)
            if last.noise != third.noise {
                _ = responder.opensStatic(of: last)
                let isAccepted =
                    (try? responder.accept(last, node: KnownRun.responder, now: .zero)) != nil
                #expect(!isAccepted)
            }
        }
        _ = try dial.answer(second, node: KnownRun.initiator, now: .zero)
        _ = try responder.accept(third, node: KnownRun.responder, now: .zero)
    }

    @Test("frames, files and texts of this module never trap, and read back what they accept")
    func rest() throws {
        var generator = SeededGenerator(seed: 0x7e47)
        let authentication = try Run(keys: .member(knownRoom)).authentication.encode()
        let file = KeyFileFormat.encode(Identity(seed: fill(7).raw)).bytes.copied
        let grant = Grant.encode(knownRoom)
        let link = Array(
            InviteLink(
                secret: Secret(fill(0xfb)),
                isSingleUse: true,
                inviter: InviteTests.inviter,
                addresses: [SocketAddress(10, 0, 0, 1, port: 9)]
            ).text.utf8
        )
        let code = Array("07-4K9QXMC".utf8)
        let print = Array(KnownRun.initiator.identity.nodeID.fingerprint.utf8)
        for _ in 0..<Self.count / 4 {
            let frame = Self.mutate(authentication, &generator)
            if let read = try? Authentication(frame.raw) { #expect(read.encode() == frame) }
            let given = Self.mutate(grant, &generator)
            if let read = try? Grant.decode(given.raw) { #expect(Grant.encode(read) == given) }
            let damaged = Self.mutate(file, &generator)
            let identity = KeyFileFormat.decode(damaged.raw)
            #expect(identity == nil || damaged == file)
            let text = String(decoding: Self.mutate(link, &generator), as: UTF8.self)
            if let read = InviteLink(text) { #expect(InviteLink(read.text) != nil) }
            let spelled = String(decoding: Self.mutate(code, &generator), as: UTF8.self)
            if let read = InviteCode(spelled) { #expect(InviteCode(read.text)?.text == read.text) }
            let shown = String(decoding: Self.mutate(print, &generator), as: UTF8.self)
            if let read = NodeID(fingerprint: shown) {
                #expect(NodeID(fingerprint: read.fingerprint) == read)
            }
        }
    }
}
