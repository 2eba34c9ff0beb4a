import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Handshake — 10-security §4, §5")
struct HandshakeTests {
    struct Mode: Sendable, CustomTestStringConvertible {
        var keys: ModeKeys
        var code: InviteCode?
        /// Every bit in one mode; a part of them in the others, whose messages have the same form.
        var step: Int { keys.mode == .member ? 1 : 7 }
        var testDescription: String { "\(keys.mode)" }
    }

    static let code = InviteCode("07-4K9QXMC")
    static let modes = [
        Mode(keys: .member(knownRoom)),
        Mode(keys: .link(Secret(fill(0x66)))),
        Mode(keys: .code(invite: KnownRun.invite, slot: 7), code: code),
    ]

    static func dial(_ mode: Mode, cookie: Cookie = .zero) throws -> InitiatorHandshake {
        try InitiatorHandshake(
            keys: mode.keys,
            code: mode.code,
            index: KnownRun.initiatorIndex,
            clientNonce: KnownRun.clientNonce,
            cookie: cookie,
            seeds: KnownRun.initiatorSeeds(mode.keys.mode)
        )
    }

    static func respond(_ mode: Mode, to first: [UInt8]) throws -> ResponderHandshake {
        let message = try FirstMessage(bytes: first)
        let opened = try OpenedFirst(
            message,
            keys: mode.keys,
            seeds: KnownRun.responderSeeds(mode.keys.mode)
        )
        return try ResponderHandshake(
            opened,
            code: mode.code,
            index: KnownRun.responderIndex,
            node: KnownRun.responder
        )
    }

    @Test("both ends agree in every mode: identities, suite, keys", arguments: modes)
    func agreement(mode: Mode) throws {
        var run = try Run(keys: mode.keys, code: mode.code)
        #expect(run.peer.nodeID == KnownRun.initiator.identity.nodeID)
        #expect(run.peer.incarnation == 5)
        #expect(run.authentication.nodeID == KnownRun.responder.identity.nodeID)
        try run.proof.verify(run.authentication)
        let expected: UInt32 = mode.keys.mode == .member ? 1 : 0
        #expect(run.peer.generationCounter == expected)
        let data = try run.dataZero()
        var scratch: [UInt8] = []
        let opened = run.initiator.opening.open(data.raw, into: &scratch, now: .zero)
        #expect(opened == .packet(byteCount: 128))
        #expect(scratch[0] == Authentication.frameType)
        let frame = Array(scratch[1...112])
        let read = try Authentication(frame.raw)
        #expect(read == run.authentication)
    }

    @Test("a bit flipped in HS1 is refused, by mac1 and by the payload", arguments: modes)
    func flipFirst(mode: Mode) throws {
        let first = try Self.dial(mode).first
        for bit in stride(from: 0, to: first.count * 8, by: mode.step) {
            var damaged = first
            damaged[bit / 8] ^= 1 << (bit % 8)
            let hasMac = Mac1.isValid(damaged.raw, key: mode.keys.mac1Key)
            #expect(!hasMac, "bit \(bit)")
            // Without mac1 only what the transcript does not cover can pass: the sender's index.
            guard bit < 176 * 8, !(32..<64).contains(bit) else { continue }
            if (try? Self.respond(mode, to: damaged)) != nil {
                Issue.record("bit \(bit) was accepted")
            }
        }
        _ = try Self.respond(mode, to: first)
    }

    @Test("a bit flipped in HS2 is refused, and the untouched HS2 still opens", arguments: modes)
    func flipSecond(mode: Mode) throws {
        let dial = try Self.dial(mode)
        let second = try Self.respond(mode, to: dial.first).second
        for bit in stride(from: 0, to: second.count * 8, by: mode.step) {
            var damaged = second
            damaged[bit / 8] ^= 1 << (bit % 8)
            let hasMac = Mac1.isValid(damaged.raw, key: mode.keys.mac1Key)
            #expect(!hasMac, "bit \(bit)")
            guard (16 * 8..<152 * 8).contains(bit) else { continue }
            if let message = try? LaterMessage(bytes: damaged),
                (try? dial.answer(message, node: KnownRun.initiator, now: .zero)) != nil
            {
                Issue.record("bit \(bit) was accepted")
            }
        }
        _ = try dial.answer(LaterMessage(bytes: second), node: KnownRun.initiator, now: .zero)
    }

    @Test("a bit flipped in HS3 is refused, and the untouched HS3 still opens", arguments: modes)
    func flipThird(mode: Mode) throws {
        let dial = try Self.dial(mode)
        let responder = try Self.respond(mode, to: dial.first)
        let second = try LaterMessage(bytes: responder.second)
        let third = try dial.answer(second, node: KnownRun.initiator, now: .zero).third
        for bit in stride(from: 0, to: third.count * 8, by: mode.step) {
            var damaged = third
            damaged[bit / 8] ^= 1 << (bit % 8)
            let hasMac = Mac1.isValid(damaged.raw, key: mode.keys.mac1Key)
            #expect(!hasMac, "bit \(bit)")
            guard (16 * 8..<192 * 8).contains(bit),
                let message = try? LaterMessage(bytes: damaged)
            else { continue }
            // The static key stands in the first 48 bytes: one that does not open is no guess.
            let answersUs = responder.opensStatic(of: message)
            #expect(answersUs == (bit >= 64 * 8), "bit \(bit)")
            let expected: HandshakeError = bit < 64 * 8 ? .staticForged : .payloadForged
            let error = Self.error { () throws(HandshakeError) in
                _ = try responder.accept(message, node: KnownRun.responder, now: .zero)
            }
            #expect(error == expected, "bit \(bit)")
        }
        let untouched = try LaterMessage(bytes: third)
        _ = try responder.accept(untouched, node: KnownRun.responder, now: .zero)
    }

    @Test("no message of another length is one", arguments: modes)
    func lengths(mode: Mode) throws {
        let run = try Run(keys: mode.keys, code: mode.code)
        for message in [run.first, run.second, run.third] {
            for count in 0..<message.count {
                let cut = Array(message[..<count])
                #expect(throws: WireError.self) { _ = try HandshakeHeader(cut.raw) }
                let hasMac = Mac1.isValid(cut.raw, key: mode.keys.mac1Key)
                #expect(!hasMac)
            }
            for extra in 1...64 {
                let longer = message + fill(0, extra)
                #expect(throws: WireError.self) { _ = try HandshakeHeader(longer.raw) }
            }
        }
    }

    @Test("another room, generation, secret, link or code never agrees")
    func strangers() throws {
        let otherSecret = RoomSecret(room: knownRoom.room, counter: 1, secret: Secret(fill(0x12)))
        let otherCounter = RoomSecret(room: knownRoom.room, counter: 2, secret: Secret(fill(0x11)))
        let otherRoom = RoomSecret(room: .zero, counter: 1, secret: Secret(fill(0x11)))
        for other in [otherSecret, otherCounter, otherRoom] {
            #expect(throws: HandshakeError.payloadForged) {
                _ = try Run(keys: .member(knownRoom), responderKeys: .member(other))
            }
        }
        #expect(throws: HandshakeError.payloadForged) {
            _ = try Run(keys: .link(Secret(fill(1))), responderKeys: .link(Secret(fill(2))))
        }
        let keys = ModeKeys.code(invite: KnownRun.invite, slot: 7)
        var source = SeededSecrets(seed: 1)
        let wrong = InviteCode(slot: 7, from: &source)
        // HS1 and HS2 cannot tell; HS3 does, as a guess.
        #expect(throws: HandshakeError.payloadForged) {
            _ = try Run(keys: keys, code: Self.code, responderCode: wrong)
        }
        #expect(throws: HandshakeError.payloadForged) {
            _ = try Run(
                keys: keys,
                responderKeys: .code(invite: KnownRun.invite, slot: 8),
                code: Self.code
            )
        }
    }

    @Test("a handshake with oneself is refused")
    func oneself() {
        #expect(throws: HandshakeError.ownIdentity) {
            _ = try Run(keys: .member(knownRoom), responder: KnownRun.initiator)
        }
    }

    @Test(
        "an AUTH whose capabilities differ from P2's, or of another generation, is refused — S10, S62"
    )
    func lies() throws {
        let run = try Run(keys: .member(knownRoom))
        func forged(
            _ capabilities: UInt32,
            _ counter: UInt32,
            _ role: HandshakeRole = .responder
        )
            -> Authentication
        {
            Authentication(
                LocalNode(
                    identity: KnownRun.responder.identity,
                    capabilities: Capabilities(rawValue: capabilities),
                    incarnation: 6
                ),
                role: role,
                hash: run.proof.hash,
                noiseStatic: run.proof.noiseStatic,
                generationCounter: counter
            )
        }
        let honest = forged(3, 1)
        #expect(honest == run.authentication)
        try run.proof.verify(honest)
        let proof = run.proof
        #expect(throws: HandshakeError.badSignature) { try proof.verify(forged(2, 1)) }
        #expect(throws: HandshakeError.wrongGeneration) { try proof.verify(forged(3, 2)) }
        #expect(throws: HandshakeError.badSignature, "the role is signed") {
            try proof.verify(forged(3, 1, .initiator))
        }
        let bytes = honest.encode()
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << (bit % 8)
            let lie = try Authentication(damaged.raw)
            #expect(throws: HandshakeError.self, "bit \(bit)") { try proof.verify(lie) }
        }
    }

    struct SuiteRow: Sendable, CustomTestStringConvertible {
        var initiator: UInt32
        var responder: UInt32
        var suite: Suite
        var testDescription: String { "\(initiator) and \(responder): \(suite)" }
    }

    @Test(
        "AES is chosen only if both sides announce it — S60",
        arguments: [
            SuiteRow(initiator: 1, responder: 1, suite: .aes256GCM),
            SuiteRow(initiator: 1, responder: 2, suite: .chacha20Poly1305),
            SuiteRow(initiator: 0, responder: 3, suite: .chacha20Poly1305),
            SuiteRow(initiator: 0xffff_fffe, responder: 0xffff_ffff, suite: .chacha20Poly1305),
            SuiteRow(initiator: 0xffff_ffff, responder: 0x8000_0001, suite: .aes256GCM),
        ]
    )
    func suiteChoice(row: SuiteRow) throws {
        guard suites.contains(row.suite) else { return }
        func node(_ seed: UInt8, _ word: UInt32) -> LocalNode {
            LocalNode(
                identity: Identity(seed: fill(seed).raw),
                capabilities: Capabilities(rawValue: word),
                incarnation: 1
            )
        }
        var run = try Run(
            keys: .member(knownRoom),
            initiator: node(1, row.initiator),
            responder: node(2, row.responder)
        )
        #expect(run.initiator.suite == row.suite)
        #expect(run.responder.suite == row.suite)
        #expect(run.peer.capabilities.rawValue == row.initiator, "unknown bits are kept")
        let data = try run.dataZero()
        var scratch: [UInt8] = []
        let opened = run.initiator.opening.open(data.raw, into: &scratch, now: .zero)
        #expect(opened == .packet(byteCount: 128))
    }

    @Test("small-order, zero and non-canonical points abort — S09")
    func badPoints() throws {
        let points = [
            fill(0), [1] + fill(0, 31), fill(0xff),
            // p − 1, p, p + 1, 2^255 − 1
            [0xec] + fill(0xff, 30) + [0x7f], [0xed] + fill(0xff, 30) + [0x7f],
            [0xee] + fill(0xff, 30) + [0x7f], fill(0xff, 31) + [0x7f],
            // The two of order 8.
            try hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
            try hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        ]
        let pattern = HandshakePattern(
            name: "NN",
            initiatorIsKnown: false,
            responderIsKnown: false,
            messages: [[.e], [.e, .ee]]
        )
        for point in points {
            var responder = Handshake(
                pattern,
                role: .responder,
                prologue: [],
                keys: HandshakeKeys(
                    staticKey: SecretBytes(fill(1)),
                    ephemeralKey: SecretBytes(fill(2))
                )
            )
            _ = try responder.read(bytes: point)
            #expect(throws: HandshakeError.badPoint, "\(hexadecimal(point))") {
                _ = try responder.write([])
            }
        }
    }

    @Test("a share that is no element, or the identity, aborts in code mode — S09")
    func badShares() throws {
        let mode = Self.modes[2]
        for share in [fill(0), fill(0xff), [1] + fill(0, 31)] {
            // P1 is sealed under a public key, so that anybody can put any share there.
            var noise = Handshake(
                role: .initiator,
                prologue: mode.keys.prologue(clientNonce: KnownRun.clientNonce, cookie: .zero),
                keys: HandshakeKeys(
                    staticKey: SecretBytes(fill(1)),
                    ephemeralKey: SecretBytes(fill(2))
                )
            )
            let message = try noise.write(share + fill(0, 48))
            let first = FirstMessage(
                mode: .code,
                senderIndex: 1,
                clientNonce: KnownRun.clientNonce,
                cookie: .zero,
                noise: message
            ).encode(mac1Key: mode.keys.mac1Key)
            #expect(throws: HandshakeError.badShare) { _ = try Self.respond(mode, to: first) }
        }
    }

    @Test("P1 with reserved bytes set is refused")
    func reservedPayload() throws {
        let mode = Self.modes[0]
        for offset in [32, 79] {
            var noise = Handshake(
                role: .initiator,
                prologue: mode.keys.prologue(clientNonce: KnownRun.clientNonce, cookie: .zero),
                keys: HandshakeKeys(
                    staticKey: SecretBytes(fill(1)),
                    ephemeralKey: SecretBytes(fill(2))
                )
            )
            var payload = fill(0, 80)
            payload[offset] = 1
            let first = FirstMessage(
                mode: .member,
                senderIndex: 1,
                clientNonce: KnownRun.clientNonce,
                cookie: .zero,
                noise: try noise.write(payload)
            ).encode(mac1Key: mode.keys.mac1Key)
            #expect(throws: HandshakeError.reserved) { _ = try Self.respond(mode, to: first) }
        }
    }

    @Test("a message out of turn is refused")
    func turns() throws {
        func side(_ role: HandshakeRole) -> Handshake {
            Handshake(
                role: role,
                prologue: [],
                keys: HandshakeKeys(
                    staticKey: SecretBytes(fill(1)),
                    ephemeralKey: SecretBytes(fill(2))
                )
            )
        }
        var initiator = side(.initiator)
        var responder = side(.responder)
        #expect(throws: HandshakeError.malformed) { _ = try responder.write([]) }
        #expect(throws: HandshakeError.malformed) { _ = try initiator.read(bytes: fill(0, 48)) }
        let first = try initiator.write([])
        #expect(throws: HandshakeError.malformed) { _ = try initiator.write([]) }
        _ = try responder.read(bytes: first)
        #expect(throws: HandshakeError.malformed) { _ = try responder.read(bytes: first) }
    }

    static func error(_ body: () throws(HandshakeError) -> Void) -> HandshakeError? {
        do throws(HandshakeError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
