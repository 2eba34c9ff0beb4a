/// A token of a Noise pattern (Noise §7.1).
package enum HandshakeToken: String, Sendable {
    /// The sender's ephemeral key, in clear.
    case e
    /// The sender's static key, sealed once there is a key.
    case s
    /// Diffie-Hellman of both ephemerals.
    case ee
    /// Of the initiator's ephemeral and the responder's static.
    case es
    /// Of the initiator's static and the responder's ephemeral.
    case se
    /// Of both statics.
    case ss
    /// The pre-shared key.
    case psk
}

/// A Noise pattern as data: what is known before, and the tokens of each message.
///
/// Huddle speaks ``xxpsk3`` only; the others exist so that all published vectors run.
package struct HandshakePattern: Sendable {
    /// The pattern's name, `XXpsk3`.
    package let name: String
    /// Whether the responder knows the initiator's static key before.
    package let initiatorIsKnown: Bool
    /// Whether the initiator knows the responder's static key before.
    package let responderIsKnown: Bool
    /// The tokens of each message; the initiator sends the first.
    package let messages: [[HandshakeToken]]

    /// Whether a psk occurs, in which case every `e` is mixed into the key, too (Noise §9.2).
    package var usesPSK: Bool { messages.contains { $0.contains(.psk) } }

    /// The full protocol name (Noise §8).
    package var protocolName: String { "Noise_\(name)_25519_ChaChaPoly_BLAKE2b" }

    /// The pattern of every Huddle handshake: `e | e ee s es | s se psk`.
    package static let xxpsk3 = HandshakePattern(
        name: "XXpsk3",
        initiatorIsKnown: false,
        responderIsKnown: false,
        messages: [[.e], [.e, .ee, .s, .es], [.s, .se, .psk]]
    )

    /// A pattern by its parts.
    package init(
        name: String,
        initiatorIsKnown: Bool,
        responderIsKnown: Bool,
        messages: [[HandshakeToken]]
    ) {
        self.name = name
        self.initiatorIsKnown = initiatorIsKnown
        self.responderIsKnown = responderIsKnown
        self.messages = messages
    }
}
