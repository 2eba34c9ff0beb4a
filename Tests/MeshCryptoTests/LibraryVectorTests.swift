import Foundation
import MeshWire
import Testing

@testable import MeshCrypto

@Suite("ChaCha20-Poly1305 and Ed25519 — Wycheproof, through our wrappers")
struct WycheproofTests {
    struct AEADFile: Decodable {
        struct Group: Decodable { var tests: [Case] }
        struct Case: Decodable {
            var tcId: Int
            var key: String, iv: String, aad: String, msg: String, ct: String, tag: String
            var result: String
        }
        var testGroups: [Group]
    }

    @Test(
        "every case of the AEAD is answered as marked, and other nonce lengths are refused",
        .enabled(if: Vectors.exist("wycheproof-chacha20_poly1305.json"), "no vectors")
    )
    func chacha() throws {
        let file = try Vectors.load("wycheproof-chacha20_poly1305.json", as: AEADFile.self)
        var refused = 0
        for test in file.testGroups.flatMap(\.tests) {
            let (key, nonce, data) = (try hex(test.key), try hex(test.iv), try hex(test.aad))
            let sealed = try hex(test.ct) + hex(test.tag)
            let message = try hex(test.msg)
            let opened = Sodium.open(sealed.raw, data: data.raw, nonce: nonce.raw, key: key.raw)
            #expect((opened == message) == (test.result == "valid"), "case \(test.tcId)")
            let ours = Sodium.seal(message.raw, data: data.raw, nonce: nonce.raw, key: key.raw)
            if nonce.count == 12 {
                #expect((ours == sealed) == (test.result == "valid"), "case \(test.tcId)")
            } else {
                refused += 1
                #expect(ours == nil && opened == nil, "case \(test.tcId)")
            }
        }
        #expect(refused == 9)
    }

    struct SignatureFile: Decodable {
        struct Group: Decodable {
            var publicKey: Key
            var tests: [Case]
        }
        struct Key: Decodable { var pk: String }
        struct Case: Decodable { var tcId: Int, msg: String, sig: String, result: String }
        var testGroups: [Group]
    }

    @Test(
        "every signature is answered as marked",
        .enabled(if: Vectors.exist("wycheproof-ed25519.json"), "no vectors")
    )
    func ed25519() throws {
        let file = try Vectors.load("wycheproof-ed25519.json", as: SignatureFile.self)
        var count = 0
        for group in file.testGroups {
            let key = try hex(group.publicKey.pk)
            for test in group.tests {
                let (signature, message) = (try hex(test.sig), try hex(test.msg))
                let isValid = Sodium.verify(signature.raw, of: message.raw, by: key.raw)
                #expect(isValid == (test.result == "valid"), "case \(test.tcId)")
                count += 1
            }
        }
        #expect(count == 151)
    }
}

@Suite("ristretto255 — RFC 9496 appendix A")
struct RistrettoTests {
    struct File: Decodable {
        struct FromHash: Decodable { var hash: String, point: String }
        var invalid_encodings: [String]
        var from_hash: [FromHash]
    }

    @Test(
        "bad encodings are refused, hashes map to the published elements",
        .enabled(if: Vectors.exist("ristretto255-rfc9496.json"), "no vectors")
    )
    func vectors() throws {
        let file = try Vectors.load("ristretto255-rfc9496.json", as: File.self)
        #expect(file.invalid_encodings.count == 30)
        for encoding in file.invalid_encodings {
            let point = try hex(encoding)
            let isRefused = product(fill(3), point) == nil
            #expect(isRefused, "\(encoding)")
        }
        for row in file.from_hash {
            let element = Sodium.ristrettoElement(hash: SecretBytes(try hex(row.hash)))
            #expect(hexadecimal(element) == row.point)
        }
    }
}

@Suite("CPace — vectors of draft-irtf-cfrg-cpace")
struct CPaceVectorTests {
    static let file = "cpace-ristretto255-sha512.json"

    struct File: Decodable { var vectors: [String: [String: Text]] }

    /// A value that is text in most places and something else in a few.
    struct Text: Decodable {
        var value: String
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = (try? container.decode(String.self)) ?? ""
        }
    }

    static func group(_ words: String) throws -> [String: String] {
        let vectors = try Vectors.load(file, as: File.self).vectors
        let found = vectors.first { $0.key.contains(words) }
        return try #require(found, "\(words)").value.mapValues(\.value)
    }

    @Test(
        "lengths are prepended as LEB128",
        .enabled(if: Vectors.exist(file), "no vectors")
    )
    func prefix() throws {
        let rows = try Self.group("prepend\\_len")
        func expect(_ name: String, _ bytes: [UInt8]) throws {
            let text = try #require(rows["prepend_len(\(name))"])
            #expect(hexadecimal(PasswordExchange.concatenate([bytes])) == text.lowercased())
        }
        try expect("b''", [])
        try expect("b'1234'", Array("1234".utf8))
        try expect("bytes(range(127))", Array(0..<127))
        try expect("bytes(range(128))", Array(0..<128))
    }

    @Test(
        "the transcript of initiator and responder is the published one",
        .enabled(if: Vectors.exist(file), "no vectors")
    )
    func transcript() throws {
        let rows = try Self.group("transcript\\_ir")
        let expected = try #require(rows["transcript_ir(b'123',b'PartyA',b'234',b'PartyB')"])
        let transcript = PasswordExchange.transcript(
            Array("123".utf8),
            Array("PartyA".utf8),
            Array("234".utf8),
            Array("PartyB".utf8)
        )
        #expect(hexadecimal(transcript) == expected.lowercased())
    }

    @Test(
        "generator, shares and session key are the published ones",
        .enabled(if: Vectors.exist(file), "no vectors")
    )
    func run() throws {
        let rows = try Self.group("Corresponding C programming")
        let generated = try Self.group("calculate\\_generator")
        func value(_ name: String) throws -> [UInt8] { try hex(#require(rows[name])) }
        let (password, channel, session) = (try value("PRS"), try value("CI"), try value("sid"))
        let secret = PasswordExchange.generatorString(
            password: password.raw,
            channel: channel,
            session: session
        )
        let string = secret.bytes.copied
        let published = generated["generator_string(G.DSI,PRS,CI,sid,H.s_in_bytes)"]
        #expect(hexadecimal(string) == published?.lowercased())
        let generator = PasswordExchange.generator(
            password: password.raw,
            channel: channel,
            session: session
        )
        #expect(generator == (try value("g")))
        let (ya, yb) = (try value("ya"), try value("yb"))
        let shareA = product(ya, generator)
        let shareB = product(yb, generator)
        let (initiator, responder) = (try value("Ya"), try value("Yb"))
        #expect(shareA == initiator)
        #expect(shareB == responder)
        let transcript = PasswordExchange.transcript(
            initiator,
            try value("ADa"),
            responder,
            try value("ADb")
        )
        let bytesA = sessionKey(ya, remote: responder, session, transcript)
        let bytesB = sessionKey(yb, remote: initiator, session, transcript)
        let published2 = try value("ISK_IR")
        #expect(bytesA == published2)
        #expect(bytesB == published2)
    }

    @Test(
        "invalid points abort",
        .enabled(if: Vectors.exist(file), "no vectors")
    )
    func invalid() throws {
        let rows = try Self.group("Invalid inputs")
        for name in ["Invalid Y1", "Invalid Y2"] {
            let point = try hex(#require(rows[name]))
            let isRefused = sessionKey(fill(5), remote: point, [], []) == nil
            #expect(isRefused, "\(name)")
        }
    }
}

private func product(_ scalar: [UInt8], _ point: [UInt8]) -> [UInt8]? {
    let secret = SecretBytes(scalar)
    guard let product = Sodium.ristrettoMultiply(secret, point.raw) else { return nil }
    return product.bytes.copied
}

private func sessionKey(
    _ scalar: [UInt8],
    remote: [UInt8],
    _ session: [UInt8],
    _ transcript: [UInt8]
) -> [UInt8]? {
    let secret = SecretBytes(scalar)
    guard
        let key = PasswordExchange.sessionKey(
            scalar: secret,
            remote: remote.raw,
            session: session,
            transcript: transcript
        )
    else { return nil }
    return key.bytes.copied
}
