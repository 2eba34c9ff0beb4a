import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Noise — published vectors of cacophony")
struct NoiseVectorTests {
    static let file = "core-patterns.cacophony.json"

    struct File: Decodable { var vectors: [Vector] }

    struct Vector: Decodable, Sendable {
        struct Message: Decodable, Sendable { var payload: String, ciphertext: String }
        var protocol_name: String
        var init_prologue: String
        var resp_prologue: String
        var init_static: String?
        var resp_static: String?
        var init_ephemeral: String
        var resp_ephemeral: String
        var init_remote_static: String?
        var resp_remote_static: String?
        var init_psks: [String]?
        var resp_psks: [String]?
        var handshake_hash: String
        var messages: [Message]
    }

    /// The sixteen patterns, Noise §7.5 and §9.4.
    static let patterns: [HandshakePattern] = [
        make("NN", [[.e], [.e, .ee]]),
        make("NK", responder: true, [[.e, .es], [.e, .ee]]),
        make("KK", initiator: true, responder: true, [[.e, .es, .ss], [.e, .ee, .se]]),
        make("XK", responder: true, [[.e, .es], [.e, .ee], [.s, .se]]),
        make("IK", responder: true, [[.e, .es, .s, .ss], [.e, .ee, .se]]),
        make("XX", [[.e], [.e, .ee, .s, .es], [.s, .se]]),
        make("IX", [[.e, .s], [.e, .ee, .se, .s, .es]]),
        make("NNpsk0", [[.psk, .e], [.e, .ee]]),
        make("NNpsk2", [[.e], [.e, .ee, .psk]]),
        make("NKpsk2", responder: true, [[.e, .es], [.e, .ee, .psk]]),
        make("XKpsk3", responder: true, [[.e, .es], [.e, .ee], [.s, .se, .psk]]),
        .xxpsk3,
        make("KKpsk0", initiator: true, responder: true, [[.psk, .e, .es, .ss], [.e, .ee, .se]]),
        make("KKpsk2", initiator: true, responder: true, [[.e, .es, .ss], [.e, .ee, .se, .psk]]),
        make("IKpsk1", responder: true, [[.e, .es, .s, .ss, .psk], [.e, .ee, .se]]),
        make("IKpsk2", responder: true, [[.e, .es, .s, .ss], [.e, .ee, .se, .psk]]),
    ]

    static func make(
        _ name: String,
        initiator: Bool = false,
        responder: Bool = false,
        _ messages: [[HandshakeToken]]
    ) -> HandshakePattern {
        HandshakePattern(
            name: name,
            initiatorIsKnown: initiator,
            responderIsKnown: responder,
            messages: messages
        )
    }

    @Test(
        "every message, the hash and the transport messages of a pattern are the published ones",
        .enabled(if: Vectors.exist(file), "the vectors are not there"),
        arguments: patterns.map(\.name)
    )
    func pattern(name: String) throws {
        let pattern = try #require(Self.patterns.first { $0.name == name })
        let vectors = try Vectors.load(Self.file, as: File.self).vectors
        let vector = try #require(vectors.first { $0.protocol_name == pattern.protocolName })
        var initiator = try Self.side(.initiator, pattern, vector)
        var responder = try Self.side(.responder, pattern, vector)
        var number = 0
        for message in vector.messages.prefix(pattern.messages.count) {
            let payload = try hex(message.payload)
            let isFromInitiator = number.isMultiple(of: 2)
            let written = try isFromInitiator ? initiator.write(payload) : responder.write(payload)
            #expect(hexadecimal(written) == message.ciphertext, "message \(number)")
            let read =
                try isFromInitiator
                ? responder.read(bytes: written) : initiator.read(bytes: written)
            #expect(read == payload, "message \(number)")
            number += 1
        }
        #expect(hexadecimal(initiator.hash) == vector.handshake_hash)
        #expect(hexadecimal(responder.hash) == vector.handshake_hash)
        let keys = initiator.split()
        let others = responder.split()
        let areEqual =
            keys.initiatorToResponder.equals(others.initiatorToResponder.bytes)
            && keys.responderToInitiator.equals(others.responderToInitiator.bytes)
        #expect(areEqual)
        for (index, message) in vector.messages.enumerated().dropFirst(pattern.messages.count) {
            let counter = UInt64((index - pattern.messages.count) / 2)
            let key =
                index.isMultiple(of: 2)
                ? keys.initiatorToResponder.bytes.copied
                : keys.responderToInitiator.bytes.copied
            let payload = try hex(message.payload)
            let nonce = SymmetricState.nonce(counter)
            let sealed = Sodium.seal(
                payload.raw,
                data: RawSpan(),
                nonce: nonce.raw,
                key: key.raw
            )
            #expect(hexadecimal(sealed ?? []) == message.ciphertext, "message \(index)")
        }
    }

    private static func side(
        _ role: HandshakeRole,
        _ pattern: HandshakePattern,
        _ vector: Vector
    ) throws -> Handshake {
        let isInitiator = role == .initiator
        let prologue = try hex(isInitiator ? vector.init_prologue : vector.resp_prologue)
        let keys = HandshakeKeys(
            staticKey: SecretBytes(
                try hex((isInitiator ? vector.init_static : vector.resp_static) ?? zeros)
            ),
            ephemeralKey: SecretBytes(
                try hex(isInitiator ? vector.init_ephemeral : vector.resp_ephemeral)
            )
        )
        let psk = try (isInitiator ? vector.init_psks : vector.resp_psks)?.first.map {
            Secret(try hex($0))
        }
        // A remote key that is not given is that of the other's private key.
        let given = isInitiator ? vector.init_remote_static : vector.resp_remote_static
        let secret = isInitiator ? vector.resp_static : vector.init_static
        var remote: [UInt8]?
        if isInitiator ? pattern.responderIsKnown : pattern.initiatorIsKnown {
            let derived = Sodium.publicKey(SecretBytes(try hex(secret ?? zeros)))
            remote = try given.map { try hex($0) } ?? derived
        }
        return Handshake(
            pattern,
            role: role,
            prologue: prologue,
            keys: keys,
            psk: psk,
            remoteStatic: remote
        )
    }

    private static let zeros = String(repeating: "00", count: 32)
}
