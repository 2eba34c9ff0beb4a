import MeshWire

/// Who we are in a handshake.
package struct LocalNode: Sendable {
    package let identity: Identity
    /// Our capabilities; without ``Capabilities/hardwareAES`` if the setting says so.
    package let capabilities: Capabilities
    /// Random, new at each start.
    package let incarnation: UInt64

    package init(identity: Identity, capabilities: Capabilities, incarnation: UInt64) {
        self.identity = identity
        self.capabilities = capabilities
        self.incarnation = incarnation
    }
}

/// What is drawn for one handshake on one side: Noise static, ephemeral, and the password share.
///
/// Cheap to draw: the public keys are computed when a message needs them.
package struct HandshakeSeeds: ~Copyable, Sendable {
    private let staticKey: SecretBytes
    private let ephemeralKey: SecretBytes
    let share: SecretBytes

    /// New seeds; in code mode the share is a uniform scalar, never clamped.
    package init(mode: HandshakeMode, from source: inout some SecretSource) {
        staticKey = source.secretBytes(32)
        ephemeralKey = source.secretBytes(32)
        let uniform = source.secretBytes(64)
        share =
            mode == .code
            ? Sodium.ristrettoScalar(uniform: uniform) : uniform.part(0..<32)
    }

    /// Given seeds of 32 bytes each: for known answers.
    package init(staticKey: [UInt8], ephemeralKey: [UInt8], share: [UInt8]) {
        self.staticKey = SecretBytes(staticKey.raw)
        self.ephemeralKey = SecretBytes(ephemeralKey.raw)
        self.share = SecretBytes(share.raw)
    }

    /// The key pairs; two scalar multiplications.
    borrowing func keys() -> HandshakeKeys {
        HandshakeKeys(
            staticKey: staticKey.duplicate(),
            ephemeralKey: ephemeralKey.duplicate()
        )
    }
}
