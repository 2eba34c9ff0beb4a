import MeshWire

/// Which end of a handshake; the letter stands in the signature of its AUTH.
package enum HandshakeRole: UInt8, Sendable {
    case initiator = 0x49
    case responder = 0x52

    /// The other end.
    package var other: HandshakeRole { self == .initiator ? .responder : .initiator }
}

/// A Noise handshake of 25519, ChaChaPoly and BLAKE2b (Noise revision 34), as a pure function.
///
/// Keys are injected; there is no clock and no socket. A read or write that throws leaves the state
/// as it was: the work happens on a duplicate, which is wiped. `split` consumes the handshake and
/// everything secret in it.
package struct Handshake: ~Copyable {
    package let role: HandshakeRole
    private let pattern: HandshakePattern
    private var symmetric: SymmetricState
    private var keys: HandshakeKeys
    private var psk: Secret?
    private var nextMessage = 0
    /// The other's static key, once read.
    package private(set) var remoteStatic: [UInt8]?
    /// The other's ephemeral key, once read.
    package private(set) var remoteEphemeral: [UInt8]?
    /// `h` as it was just before the newest payload was sealed or opened: what its AUTH signs.
    package private(set) var payloadHash: [UInt8] = []

    /// A handshake before its first message; `remoteStatic` only if the pattern knows it before.
    package init(
        _ pattern: HandshakePattern = .xxpsk3,
        role: HandshakeRole,
        prologue: [UInt8],
        keys: consuming HandshakeKeys,
        psk: Secret? = nil,
        remoteStatic: [UInt8]? = nil
    ) {
        var symmetric = SymmetricState(protocolName: pattern.protocolName)
        symmetric.mixHash(prologue.raw)
        let isInitiator = role == .initiator
        if pattern.initiatorIsKnown {
            symmetric.mixHash((isInitiator ? keys.staticKey : remoteStatic ?? []).raw)
        }
        if pattern.responderIsKnown {
            symmetric.mixHash((isInitiator ? remoteStatic ?? [] : keys.staticKey).raw)
        }
        self.role = role
        self.pattern = pattern
        self.psk = psk
        self.remoteStatic = remoteStatic
        remoteEphemeral = nil
        self.keys = keys
        self.symmetric = symmetric
    }

    private init(duplicating other: borrowing Handshake) {
        role = other.role
        pattern = other.pattern
        psk = other.psk
        nextMessage = other.nextMessage
        remoteStatic = other.remoteStatic
        remoteEphemeral = other.remoteEphemeral
        payloadHash = other.payloadHash
        keys = other.keys.duplicate()
        symmetric = other.symmetric.duplicate()
    }

    /// A second handshake in the same state.
    package borrowing func duplicate() -> Handshake { Handshake(duplicating: self) }

    /// Our static public key of this handshake.
    package var localStatic: [UInt8] { keys.staticKey }
    /// Our ephemeral public key of this handshake.
    package var localEphemeral: [UInt8] { keys.ephemeralKey }
    /// The transcript hash, 64 bytes; final once all messages are through.
    package var hash: [UInt8] { symmetric.hash }
    /// Whether all messages are through.
    package var isFinished: Bool { nextMessage == pattern.messages.count }

    /// Sets our keys when they are needed: a responder reads the first message without any.
    package mutating func setKeys(_ keys: consuming HandshakeKeys) { self.keys = keys }

    /// Sets the psk when it becomes known: in code mode, after the second message.
    package mutating func setPSK(_ psk: Secret) { self.psk = psk }

    /// Writes the next message around `payload`.
    package mutating func write(_ payload: [UInt8]) throws(HandshakeError) -> [UInt8] {
        try write { _ in payload }
    }

    /// Writes the next message around the payload that `make` answers for the hash it may sign.
    package mutating func write(
        _ make: (_ payloadHash: [UInt8]) -> [UInt8]
    ) throws(HandshakeError) -> [UInt8] {
        guard isOurTurn, !keys.isEmpty else { throw .malformed }
        var work = duplicate()
        var message: [UInt8] = []
        for token in pattern.messages[nextMessage] {
            switch token {
            case .e:
                let key = work.keys.ephemeralKey
                message += key
                work.mixEphemeral(key)
            case .s:
                let key = work.keys.staticKey
                message += work.symmetric.encryptAndHash(key.raw)
            case .ee, .es, .se, .ss, .psk:
                try work.mix(token)
            }
        }
        work.payloadHash = work.symmetric.hash
        let payload = make(work.payloadHash)
        message += work.symmetric.encryptAndHash(payload.raw)
        work.nextMessage += 1
        self = work
        return message
    }

    /// Reads the next message and answers its payload.
    package mutating func read(_ message: RawSpan) throws(HandshakeError) -> [UInt8] {
        guard !isOurTurn, !isFinished else { throw .malformed }
        var work = duplicate()
        var rest = ByteReader(message)
        do {
            for token in pattern.messages[nextMessage] {
                switch token {
                case .e:
                    let point = try rest.readBytes(32)
                    work.remoteEphemeral = point
                    work.mixEphemeral(point)
                case .s:
                    let sealed = try rest.readSpan(work.symmetric.hasKey ? 48 : 32)
                    guard let point = work.symmetric.decryptAndHash(sealed) else {
                        throw HandshakeError.staticForged
                    }
                    work.remoteStatic = point
                case .ee, .es, .se, .ss, .psk:
                    try work.mix(token)
                }
            }
            work.payloadHash = work.symmetric.hash
            let sealed = try rest.readSpan(rest.remaining)
            guard let payload = work.symmetric.decryptAndHash(sealed) else {
                throw HandshakeError.payloadForged
            }
            work.nextMessage += 1
            self = work
            return payload
        } catch let error as HandshakeError {
            throw error
        } catch {
            throw .malformed
        }
    }

    /// Whether the next message's sealed static key opens: true only for an answer to what we sent.
    ///
    /// Changes nothing. For a next message that begins with `s`, as the third of XXpsk3 does.
    package borrowing func opensStatic(of message: RawSpan) -> Bool {
        guard !isOurTurn, !isFinished, pattern.messages[nextMessage].first == .s,
            symmetric.hasKey, message.byteCount >= 48
        else { return false }
        var work = symmetric.duplicate()
        return work.decryptAndHash(message.extracting(0..<48)) != nil
    }

    /// Ends the handshake: the key initiator to responder, the one back, and the final hash.
    ///
    /// The keys serve the derivation of ``TrafficKeys`` only (`10-security.md` §4.1).
    package consuming func split() -> NoiseKeys {
        precondition(isFinished, "all messages are through")
        return symmetric.split()
    }

    private var isOurTurn: Bool {
        !isFinished && nextMessage.isMultiple(of: 2) == (role == .initiator)
    }

    private mutating func mixEphemeral(_ point: [UInt8]) {
        symmetric.mixHash(point.raw)
        if pattern.usesPSK { symmetric.mixKey(point.raw) }
    }

    private mutating func mix(_ token: HandshakeToken) throws(HandshakeError) {
        guard token != .psk else {
            guard let psk else { throw .malformed }
            symmetric.mixKeyAndHash(psk.bytes)
            return
        }
        // The token names the initiator's key first; ours is the second letter if we respond.
        let isInitiator = role == .initiator
        let usesOurStatic = token == .ss || token == (isInitiator ? .se : .es)
        let usesTheirStatic = token == .ss || token == (isInitiator ? .es : .se)
        guard let point = usesTheirStatic ? remoteStatic : remoteEphemeral else {
            throw .malformed
        }
        guard let product = keys.agree(point, usesStatic: usesOurStatic) else { throw .badPoint }
        symmetric.mixKey(product.bytes)
    }
}

/// The two keys of one handshake on our side, new for each (`10-security.md` §1.4).
package struct HandshakeKeys: ~Copyable, Sendable {
    private let secretStatic: SecretBytes
    private let secretEphemeral: SecretBytes
    /// The static public key.
    package let staticKey: [UInt8]
    /// The ephemeral public key.
    package let ephemeralKey: [UInt8]

    /// New keys.
    package init(from source: inout some SecretSource) {
        self.init(
            staticKey: source.secretBytes(32),
            ephemeralKey: source.secretBytes(32)
        )
    }

    /// Keys from private keys of 32 bytes: for known answers.
    package init(staticKey: consuming SecretBytes, ephemeralKey: consuming SecretBytes) {
        self.staticKey = Sodium.publicKey(staticKey)
        self.ephemeralKey = Sodium.publicKey(ephemeralKey)
        secretStatic = staticKey
        secretEphemeral = ephemeralKey
    }

    /// No keys yet: enough to read a message without a Diffie-Hellman token.
    package init() {
        staticKey = []
        ephemeralKey = []
        secretStatic = SecretBytes(count: 0)
        secretEphemeral = SecretBytes(count: 0)
    }

    /// Whether there are no keys yet.
    package var isEmpty: Bool { ephemeralKey.isEmpty }

    private init(duplicating other: borrowing HandshakeKeys) {
        staticKey = other.staticKey
        ephemeralKey = other.ephemeralKey
        secretStatic = other.secretStatic.duplicate()
        secretEphemeral = other.secretEphemeral.duplicate()
    }

    borrowing func duplicate() -> HandshakeKeys { HandshakeKeys(duplicating: self) }

    borrowing func agree(_ point: [UInt8], usesStatic: Bool) -> SecretBytes? {
        usesStatic
            ? Sodium.agree(secretStatic, point.raw) : Sodium.agree(secretEphemeral, point.raw)
    }
}

/// What a finished handshake leaves: two keys and the hash of all that was said.
package struct NoiseKeys: ~Copyable, Sendable {
    package let initiatorToResponder: SecretBytes
    package let responderToInitiator: SecretBytes
    /// The final `h`, 64 bytes.
    package let hash: [UInt8]
}
