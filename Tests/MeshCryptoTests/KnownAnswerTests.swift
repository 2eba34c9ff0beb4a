import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Known answers — 10-security §3, §4, §4.1, §9")
struct KnownAnswerTests {
    @Test("the mesh psk and the beacon key are derived as the chapter says")
    func roomKeys() {
        let psk = hexadecimal(knownRoom.derive(.meshPSK).bytes.copied)
        let beacon = hexadecimal(knownRoom.derive(.discovery).bytes.copied)
        #expect(
            psk
                == "336fa6deff75358c3baff2df21c9a07e1afd02344bdfad81836ce627caca9034"
        )
        #expect(
            beacon
                == "d15b989458acfa41ef8a64082f2450f1ed2b073883444e9ce010e94f21c3266e"
        )
    }

    struct TrafficRow: Sendable, CustomTestStringConvertible {
        var initiator: UInt32
        var key: String
        var testDescription: String { "capsI \(initiator), capsR 1" }
    }

    @Test(
        "a traffic key takes both capability words and the suite",
        arguments: [
            TrafficRow(
                initiator: 1,
                key: "52ad57c6ee01700f503743644e930a65c9d0381ae76f0229815e51324faa016e"
            ),
            TrafficRow(
                initiator: 0,
                key: "88fb86fa427796081a0475fc68a2db1bb82b54c5b352f0bda82953efb3bf922d"
            ),
        ]
    )
    func trafficKey(row: TrafficRow) {
        let key = TrafficKeys.derive(
            SecretBytes(Array(0...0x1f)),
            .initiator,
            TrafficKeys.Parameters(
                role: .initiator,
                localIndex: 1,
                remoteIndex: 2,
                initiator: Capabilities(rawValue: row.initiator),
                responder: Capabilities(rawValue: 1),
                now: .zero
            ),
            hash: Array(0...0x3f)
        )
        let bytes = key.bytes.copied
        #expect(hexadecimal(bytes) == row.key)
    }

    @Test("a key file ends with its check, and reads back")
    func keyFile() throws {
        let identity = Identity(seed: ([UInt8](0...0x1f)).raw)
        let file = KeyFileFormat.encode(identity)
        let bytes = file.bytes.copied
        #expect(bytes.count == 64)
        #expect(Array(bytes[..<16]) == Array("huddle/1".utf8) + [1, 0, 0, 0, 0, 0, 0, 0])
        #expect(Array(bytes[16..<48]) == Array(0...0x1f))
        #expect(hexadecimal(bytes[48...]) == "c4d988352b265659ba8a511332d6255d")
        let decoded = KeyFileFormat.decode(file.bytes)?.nodeID
        #expect(decoded == identity.nodeID)
    }

    @Test("a key file with any bit changed, or of another length, is refused")
    func keyFileDamaged() {
        let file = KeyFileFormat.encode(Identity(seed: fill(7).raw)).bytes.copied
        for bit in 0..<file.count * 8 {
            var damaged = file
            damaged[bit / 8] ^= 1 << (bit % 8)
            let identity = KeyFileFormat.decode(damaged.raw)
            #expect(identity == nil, "bit \(bit)")
        }
        for count in 0..<64 {
            let cut = Array(file[..<count])
            let identity = KeyFileFormat.decode(cut.raw)
            #expect(identity == nil)
        }
        let longer = file + [0]
        let identity = KeyFileFormat.decode(longer.raw)
        #expect(identity == nil)
    }

    @Test("the fingerprint is the whole key in Crockford base32, and reads back")
    func fingerprintOfIdentity() {
        let nodeID = Identity(seed: ([UInt8](0...0x1f)).raw).nodeID
        let text = "0EGGFFZK SR8BW7BG VMCEEJY0 K5KY9NHG KEJGTQRX VJ3684JN 66W0"
        #expect(nodeID.fingerprint == text)
        #expect(nodeID.shortFingerprint == "0EGGFFZK")
        #expect(NodeID(fingerprint: text) == nodeID)
        #expect(NodeID(fingerprint: text.lowercased().replacing(" ", with: "-")) == nodeID)
        #expect(NodeID(fingerprint: text.dropLast()) == nil)
        #expect(NodeID(fingerprint: text.dropLast() + "1") == nil, "spare bits are zero")
        #expect(NodeID(fingerprint: text + "0") == nil)
        #expect(NodeID(fingerprint: text.replacing("Z", with: "U")) == nil, "U is no symbol")
    }

    // MARK: Whole runs

    @Test("the member run gives the chapter's bytes in every datagram")
    func memberRun() throws {
        var run = try Run(keys: .member(knownRoom))
        #expect(fingerprint(run.first) == "7954e3bd1922d9a37855973eb5a1ffa7")
        #expect(fingerprint(run.second) == "ca6f4ee1ba7919c2ae7d7ff7e0bdd221")
        #expect(fingerprint(run.third) == "da094e84fb68302dc7d4735185b6888f")
        #expect([run.first.count, run.second.count, run.third.count] == [192, 168, 208])
        #expect(run.initiator.suite == .aes256GCM)
        let data = try run.dataZero()
        #expect(data.count == 160)
        #expect(fingerprint(data) == "caa444bdf9840b9580b53566bbc08849")
        try run.proof.verify(run.authentication)
    }

    @Test("the code run gives the chapter's bytes in every datagram")
    func codeRun() throws {
        let code = try #require(InviteCode("07-4K9QXMC"))
        let hello = HelloMessage(
            senderIndex: KnownRun.initiatorIndex,
            clientNonce: KnownRun.clientNonce,
            invite: KnownRun.invite,
            slot: code.slot
        ).encode()
        #expect(fingerprint(hello) == "ff9c43071df2d3f1b53a70957f496bea")
        let retry = RetryMessage(
            mode: .code,
            receiverIndex: KnownRun.initiatorIndex,
            cookie: KnownRun.cookie,
            invite: KnownRun.invite
        ).encode(requestMac1: Mac1.of(hello.raw))
        #expect(fingerprint(retry) == "13d36081e2e25ef1f13d9236e44b0e3d")

        let session = PasswordExchange.session(
            clientNonce: KnownRun.clientNonce,
            cookie: KnownRun.cookie
        )
        #expect(hexadecimal(session) == "884ffc1ae693e37d9d3d71fdb784d882")
        let password = code.password.bytes.copied
        let generator = PasswordExchange.generator(
            password: password.raw,
            channel: PasswordExchange.channel(slot: code.slot, invite: KnownRun.invite),
            session: session
        )
        #expect(
            hexadecimal(generator)
                == "58dc48f4e9de406196b5c9691ad60dd89e59ee04ea2bfadceb090c949e88d45c"
        )

        var run = try Run(
            keys: .code(invite: KnownRun.invite, slot: code.slot),
            code: code,
            cookie: KnownRun.cookie
        )
        #expect(fingerprint(run.first) == "35f0f23b52fe31b04aa536c2cccc0630")
        #expect(fingerprint(run.second) == "118a8475c717ed12d3752526601fb396")
        #expect(fingerprint(run.third) == "968aef420e748bd8fe57441ee6bf0d44")
        #expect(fingerprint(try run.dataZero()) == "f04a230093921bc1faaed46eec81bff3")
        try run.proof.verify(run.authentication)
    }

    @Test("both traffic keys of both runs are the chapter's")
    func runKeys() throws {
        let code = try #require(InviteCode("07-4K9QXMC"))
        let member = try Self.trafficKeys(.member(knownRoom), code: nil, cookie: .zero)
        #expect(fingerprint(member) == "d25ad13e98bf99a429622a1bf5530e30")
        let joining = try Self.trafficKeys(
            .code(invite: KnownRun.invite, slot: code.slot),
            code: code,
            cookie: KnownRun.cookie
        )
        #expect(fingerprint(joining) == "473cbe97fc8a0f86718456f9dfd3f0e0")
    }

    /// Both traffic keys, made beside the ceremony from the Noise messages alone.
    private static func trafficKeys(
        _ keys: ModeKeys,
        code: InviteCode?,
        cookie: Cookie
    ) throws -> [UInt8] {
        let run = try Run(keys: keys, code: code, cookie: cookie)
        let seeds = KnownRun.responderSeeds(keys.mode)
        var noise = Handshake(
            role: .responder,
            prologue: keys.prologue(clientNonce: KnownRun.clientNonce, cookie: cookie),
            keys: seeds.keys(),
            psk: keys.psk
        )
        let first = try FirstMessage(bytes: run.first)
        let payload = try noise.read(bytes: first.noise)
        let share = try PasswordShare(
            keys: keys,
            code: code,
            clientNonce: KnownRun.clientNonce,
            cookie: cookie,
            seed: seeds.share
        )
        _ = try noise.write(share.share + [3, 0, 0, 0, 0, 0, 0, 0])
        if keys.mode == .code {
            noise.setPSK(
                try share.psk(
                    role: .responder,
                    remote: Array(payload[..<32]),
                    localEphemeral: noise.localEphemeral,
                    remoteEphemeral: noise.remoteEphemeral ?? []
                )
            )
        }
        let third = try LaterMessage(bytes: run.third)
        _ = try noise.read(bytes: third.noise)
        let ends = noise.split()
        let parameters = TrafficKeys.Parameters(
            role: .responder,
            localIndex: 1,
            remoteIndex: 2,
            initiator: Capabilities(rawValue: 1),
            responder: Capabilities(rawValue: 3),
            now: .zero
        )
        let there = TrafficKeys.derive(
            ends.initiatorToResponder,
            .initiator,
            parameters,
            hash: ends.hash
        )
        let back = TrafficKeys.derive(
            ends.responderToInitiator,
            .responder,
            parameters,
            hash: ends.hash
        )
        return there.bytes.copied + back.bytes.copied
    }
}
