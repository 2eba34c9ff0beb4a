// CPace-ristretto255-SHA512 in the initiator/responder form (draft-irtf-cfrg-cpace):
//
//   pad = zeros(max(0, 127 − |lv(PRS)| − |lv(DSI)|))
//   g   = ristretto_from_hash(SHA512(lv_cat(DSI, PRS, pad, CI, sid)))
//   ISK = SHA512(lv_cat("CPaceRistretto255_ISK", sid, K) ‖ lv_cat(Ya, ADa) ‖ lv_cat(Yb, ADb))
import MeshWire

/// The functions of CPace; what is Huddle's own stands in ``PasswordShare``.
enum PasswordExchange {
    static let domain = Array("CPaceRistretto255".utf8)

    /// LEB128 length, then the bytes, for each of `parts`.
    static func concatenate(_ parts: [[UInt8]]) -> [UInt8] {
        parts.reduce(into: []) { output, part in
            var length = part.count
            while length >= 0x80 {
                output.append(UInt8(length & 0x7f) | 0x80)
                length >>= 7
            }
            output.append(UInt8(length))
            output += part
        }
    }

    /// What is hashed to the generator; a secret, since PRS is in it.
    static func generatorString(
        password: RawSpan,
        channel: [UInt8],
        session: [UInt8]
    ) -> SecretBytes {
        var password = password.copied
        let lengths = concatenate([password]).count + concatenate([domain]).count
        let pad = [UInt8](repeating: 0, count: max(0, 127 - lengths))
        var plain = concatenate([domain, password, pad, channel, session])
        let secret = SecretBytes(plain.raw)
        Sodium.wipe(&plain)
        Sodium.wipe(&password)
        return secret
    }

    /// The generator of a password, a channel identifier and a session, encoded.
    static func generator(password: RawSpan, channel: [UInt8], session: [UInt8]) -> [UInt8] {
        let string = generatorString(password: password, channel: channel, session: session)
        return Sodium.ristrettoElement(hash: Sodium.sha512(string.bytes))
    }

    /// The intermediate session key, 64 bytes; nil if the other's share is no element, or the identity.
    static func sessionKey(
        scalar: borrowing SecretBytes,
        remote: RawSpan,
        session: [UInt8],
        transcript: [UInt8]
    ) -> SecretBytes? {
        guard let product = Sodium.ristrettoMultiply(scalar, remote) else { return nil }
        // K is wiped with `product`, and its copies here.
        var k = product.bytes.copied
        var plain = concatenate([domain + Array("_ISK".utf8), session, k]) + transcript
        let secret = SecretBytes(plain.raw)
        Sodium.wipe(&plain)
        Sodium.wipe(&k)
        return Sodium.sha512(secret.bytes)
    }

    /// lv_cat(Ya, ADa) ‖ lv_cat(Yb, ADb).
    static func transcript(
        _ initiator: [UInt8],
        _ initiatorData: [UInt8],
        _ responder: [UInt8],
        _ responderData: [UInt8]
    ) -> [UInt8] {
        concatenate([initiator, initiatorData]) + concatenate([responder, responderData])
    }

    /// CI of an invite; the joiner is the initiator, the inviter the responder.
    static func channel(slot: UInt8, invite: InviteID) -> [UInt8] {
        concatenate([
            Array("huddle/1 join I".utf8), Array("huddle/1 join R".utf8), [slot], invite.bytes,
        ])
    }

    /// sid = BLAKE2b-128(clientNonce ‖ cookie).
    static func session(clientNonce: ClientNonce, cookie: Cookie) -> [UInt8] {
        Hash.plain((clientNonce.bytes + cookie.bytes).raw, outputBytes: 16)
    }
}

/// The share of one side in one handshake: Ya or Yb.
///
/// In code mode it is CPace's share; in every other mode 32 random bytes, so that all look alike.
struct PasswordShare: ~Copyable {
    /// The 32 bytes sent.
    let share: [UInt8]
    private let scalar: SecretBytes
    private let session: [UInt8]

    /// The share for `keys`' mode; `seed` is the scalar in code mode, else the bytes themselves.
    init(
        keys: ModeKeys,
        code: InviteCode?,
        clientNonce: ClientNonce,
        cookie: Cookie,
        seed: borrowing SecretBytes
    ) throws(HandshakeError) {
        let session = PasswordExchange.session(clientNonce: clientNonce, cookie: cookie)
        guard keys.mode == .code else {
            share = seed.bytes.copied
            scalar = SecretBytes(count: 0)
            self.session = session
            return
        }
        guard let code else { throw .malformed }
        let password = code.password
        let generator = PasswordExchange.generator(
            password: password.bytes,
            channel: PasswordExchange.channel(slot: keys.slot, invite: keys.invite),
            session: session
        )
        guard let point = Sodium.ristrettoMultiply(seed, generator.raw) else { throw .badShare }
        share = point.bytes.copied
        scalar = seed.duplicate()
        self.session = session
    }

    /// The psk of code mode: H("huddle/1 cpace psk", ISK).
    borrowing func psk(
        role: HandshakeRole,
        remote: [UInt8],
        localEphemeral: [UInt8],
        remoteEphemeral: [UInt8]
    ) throws(HandshakeError) -> Secret {
        let transcript =
            role == .initiator
            ? PasswordExchange.transcript(share, localEphemeral, remote, remoteEphemeral)
            : PasswordExchange.transcript(remote, remoteEphemeral, share, localEphemeral)
        let isk = PasswordExchange.sessionKey(
            scalar: scalar,
            remote: remote.raw,
            session: session,
            transcript: transcript
        )
        guard let isk else { throw .badShare }
        return Secret(Hash.secret(.passwordPSK, isk.bytes))
    }
}
