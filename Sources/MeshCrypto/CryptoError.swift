/// Why a handshake message was refused; each is silence on the wire and one counter.
package enum HandshakeError: Error, Hashable, Sendable {
    /// The message is shorter than its tokens, or it is not this side's turn.
    case malformed
    /// A Diffie-Hellman point is not canonical, or its product is zero.
    case badPoint
    /// The sealed static key does not open: nobody we spoke to sent this.
    case staticForged
    /// The payload does not open: another key, room, mode, version, or a forgery.
    case payloadForged
    /// A password share is no group element, or the identity.
    case badShare
    /// The payload opened and its reserved bytes are not zero, or it has another length.
    case reserved
    /// The identity's signature does not verify.
    case badSignature
    /// The generation counter is not that of the mode's secret.
    case wrongGeneration
    /// The peer says that it is ourselves.
    case ownIdentity
}

/// Why nothing was sealed; local misuse, never a trap (`10-security.md` §11).
package enum KeyError: Error, Hashable, Sendable {
    /// The key sealed as many packets as it may.
    case exhausted
    /// The key is older than it may be, or was closed.
    case expired
    /// The buffer holds no header at the given place.
    case tooShort
}
