package import MeshWire

/// AUTH: who somebody is, proved by a signature over the handshake (`10-security.md` §4), 112 bytes.
///
/// ```
/// 0  NodeID 32 | 32  caps u32 | 36  generation counter u32 | 40  incarnation u64 | 48  signature 64
/// ```
package struct Authentication: Hashable, Sendable {
    package static let byteCount = 112
    /// The type of the frame that carries the responder's AUTH.
    package static let frameType: UInt8 = 0x01

    package let nodeID: NodeID
    package let capabilities: Capabilities
    package let generationCounter: UInt32
    package let incarnation: UInt64
    package let signature: Signature

    /// Reads the 112 bytes; nothing is proved before `Proof` accepts it.
    package init(_ bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(bytes)
        nodeID = try reader.read()
        capabilities = Capabilities(rawValue: try reader.read())
        generationCounter = try reader.read()
        incarnation = try reader.read()
        guard let signature = Signature(try reader.readBytes(Signature.byteCount)) else {
            throw .invalid(at: 48)
        }
        self.signature = signature
        try reader.finish()
    }

    /// Our own AUTH.
    init(
        _ node: LocalNode,
        role: HandshakeRole,
        hash: [UInt8],
        noiseStatic: [UInt8],
        generationCounter: UInt32
    ) {
        nodeID = node.identity.nodeID
        capabilities = node.capabilities
        self.generationCounter = generationCounter
        incarnation = node.incarnation
        signature = node.identity.sign(
            Self.message(
                role: role,
                hash: hash,
                nodeID: node.identity.nodeID,
                noiseStatic: noiseStatic,
                capabilities: node.capabilities,
                generationCounter: generationCounter,
                incarnation: node.incarnation
            ).raw
        )
    }

    /// The 112 bytes.
    package func encode() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.write(nodeID)
        writer.write(capabilities.rawValue)
        writer.write(generationCounter)
        writer.write(incarnation)
        writer.write(signature.bytes)
        return writer.bytes
    }

    /// What an AUTH must fit: the end of a handshake, as the verifier saw it.
    package struct Proof: Hashable, Sendable {
        /// The role of the one who proves itself.
        package let role: HandshakeRole
        /// `h` as that AUTH signs it.
        package let hash: [UInt8]
        /// The Noise static key it used.
        package let noiseStatic: [UInt8]
        /// Its capabilities as said before, in P2; nil for an initiator, who said none.
        package let capabilities: Capabilities?
        /// What it must say about the generation.
        package let generationCounter: UInt32

        /// Throws unless `authentication` fits the handshake and its signature verifies.
        package func verify(_ authentication: Authentication) throws(HandshakeError) {
            guard authentication.generationCounter == generationCounter else {
                throw .wrongGeneration
            }
            if let capabilities, capabilities != authentication.capabilities {
                throw .badSignature
            }
            let message = Authentication.message(
                role: role,
                hash: hash,
                nodeID: authentication.nodeID,
                noiseStatic: noiseStatic,
                capabilities: authentication.capabilities,
                generationCounter: authentication.generationCounter,
                incarnation: authentication.incarnation
            )
            guard authentication.signature.isValid(message.raw, by: authentication.nodeID) else {
                throw .badSignature
            }
        }
    }

    private static func message(
        role: HandshakeRole,
        hash: [UInt8],
        nodeID: NodeID,
        noiseStatic: [UInt8],
        capabilities: Capabilities,
        generationCounter: UInt32,
        incarnation: UInt64
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 170)
        writer.write(Array(SignatureLabel.authentication.rawValue.utf8))
        writer.write(UInt8(0))
        writer.write(role.rawValue)
        writer.write(hash)
        writer.write(nodeID)
        writer.write(noiseStatic)
        writer.write(capabilities.rawValue)
        writer.write(generationCounter)
        writer.write(incarnation)
        return writer.bytes
    }
}

/// GRANT: what an inviter gives a joiner over the confirmed pair, 68 bytes.
///
/// ```
/// 0  RoomID 32 | 32  counter u32 | 36  RS 32
/// ```
package enum Grant {
    package static let byteCount = 68
    /// The type of the frame.
    package static let frameType: UInt8 = 0x05

    /// The bytes; a secret until they are sealed.
    package static func encode(_ secret: RoomSecret) -> [UInt8] {
        secret.context + secret.secret.bytes.copied
    }

    /// The room secret in a frame's 68 bytes.
    package static func decode(_ bytes: RawSpan) throws(WireError) -> RoomSecret {
        var reader = ByteReader(bytes)
        let room: RoomID = try reader.read()
        let counter: UInt32 = try reader.read()
        let secret = Secret(try reader.readSpan(32))
        try reader.finish()
        return RoomSecret(room: room, counter: counter, secret: secret)
    }
}
