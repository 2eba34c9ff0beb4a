package import MeshWire

/// The secrets that cookies are made with: a responder under load keeps no state but these.
///
/// A cookie is BLAKE2b-128 keyed(secret, `srcIP 16 ‖ srcPort u16 ‖ clientNonce ‖ mode ‖ inviteID`),
/// valid for this and the last secret; a secret lives 120 s (`10-security.md` §4).
package struct CookieJar: Sendable {
    /// How long a secret makes cookies.
    package static let lifetime: Duration = .seconds(120)

    private var current: Secret
    private var previous: Secret?
    private var rotation: Instant

    /// A jar with a first secret.
    package init(now: Instant, from source: inout some SecretSource) {
        current = source.secret()
        previous = nil
        rotation = now + Self.lifetime
    }

    /// Replaces the secret if it is old; call before use.
    package mutating func rotate(now: Instant, from source: inout some SecretSource) {
        guard now >= rotation else { return }
        // After a long silence the last secret is too old as well.
        previous = now >= rotation + Self.lifetime ? nil : current
        current = source.secret()
        rotation = now + Self.lifetime
    }

    /// The cookie for a request; `invite` is the one concerned, zero in modes without one.
    package func cookie(
        for address: SocketAddress,
        clientNonce: ClientNonce,
        mode: HandshakeMode,
        invite: InviteID
    ) -> Cookie {
        let mac = Self.mac(current, address, clientNonce, mode, invite)
        return Cookie(mac) ?? .zero
    }

    /// Whether `cookie` was made for this request; constant time.
    package func isValid(
        _ cookie: Cookie,
        for address: SocketAddress,
        clientNonce: ClientNonce,
        mode: HandshakeMode,
        invite: InviteID
    ) -> Bool {
        let bytes = cookie.bytes
        let isCurrent = Sodium.isEqual(
            bytes.raw,
            Self.mac(current, address, clientNonce, mode, invite).raw
        )
        guard let previous else { return isCurrent }
        let isPrevious = Sodium.isEqual(
            bytes.raw,
            Self.mac(previous, address, clientNonce, mode, invite).raw
        )
        return isCurrent || isPrevious
    }

    private static func mac(
        _ secret: Secret,
        _ address: SocketAddress,
        _ clientNonce: ClientNonce,
        _ mode: HandshakeMode,
        _ invite: InviteID
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 51)
        writer.write(address.addressBytes)
        writer.write(address.port)
        writer.write(clientNonce)
        writer.write(mode.rawValue)
        writer.write(invite)
        return Hash.mac(key: secret.bytes, writer.bytes.raw)
    }
}
