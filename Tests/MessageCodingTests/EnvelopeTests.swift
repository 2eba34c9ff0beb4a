import MeshCrypto
import MeshWire
import MessageCoding
import Testing

@Suite("Envelope — 40-groupactivities §6") struct EnvelopeTests {
    @Test("each kind has its bytes and is read again") func layouts() throws {
        let type: UInt64 = 0x0807_0605_0403_0201
        let rows: [(MessageEnvelope, String)] = [
            (.raw(), "1000"), (.raw(flags: .catchUp), "1004"),
            (.value(type: type), "11000102030405060708"),
            (.value(type: type, flags: [.catchUp, .wantsReceipt]), "110c0102030405060708"),
            (.value(type: type, isFinal: true), "13000102030405060708"),
        ]
        for (envelope, hex) in rows {
            let bytes = envelope.encode([0xaa])
            #expect(bytes.hex == hex + "aa")
            let (back, payload) = try MessageEnvelope.decode(bytes)
            #expect(back == envelope && payload == [0xaa])
        }
        let name = try TypeName(custom: "x")
        let (back, payload) = try MessageEnvelope.decode(MessageEnvelope.binding(name, type: type))
        #expect(back.kind == .bindName && back.type == type)
        #expect(TypeName(received: payload) == name)
    }

    @Test(
        "what this version does not know is refused and says why",
        arguments: [
            ("", MessageEnvelope.Refusal.truncated), ("10", .truncated),
            ("110001020304050607", .truncated),
            ("0000", .unknownVersion(0)), ("2100", .unknownVersion(2)),
            ("14000000000000000000", .unknownKind(4)),
            ("1f00", .unknownKind(15)), ("1001", .unknownFlags(1)), ("1002", .unknownFlags(2)),
            ("1014", .unknownFlags(20)), ("12000000000000000000", .badName),
            ("12000000000000000000ff", .badName), ("120000000000000000003d", .badName),
        ]
    )
    func refusals(hex: String, refusal: MessageEnvelope.Refusal) {
        #expect(throws: refusal) { try MessageEnvelope.decode([UInt8](hex: hex)) }
    }

    @Test("a payload of the limit is read, one byte more is not") func limit() throws {
        let whole = [UInt8](repeating: 0, count: MessageLimits.payloadBytes)
        #expect(
            try MessageEnvelope.decode(MessageEnvelope.raw().encode(whole)).payload.count == 262_144
        )
        #expect(throws: MessageEnvelope.Refusal.tooLarge(size: 262_145, limit: 262_144)) {
            try MessageEnvelope.decode(MessageEnvelope.raw().encode(whole + [0]))
        }
    }

    @Test("the hash of a name is the head of BLAKE2b-256") func hash() throws {
        let name = try TypeName(of: Int.self)
        let hash = name.hash { Hash.plain($0, outputBytes: 32) }
        let input = Array("huddle.type.1\0Swift.Int".utf8)
        let digest = Hash.plain(input.raw, outputBytes: 32)
        #expect(hash == digest.raw.integer(at: 0))
        #expect(try TypeName(of: UInt.self).hash { Hash.plain($0, outputBytes: 32) } != hash)
    }
}
