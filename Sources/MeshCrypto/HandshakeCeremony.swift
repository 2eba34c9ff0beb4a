package import MeshWire

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

/// The initiator's side of one attempt: from HS1 to HS3, as a pure function.
///
/// After a RETRY a new one is made, with the cookie and new seeds. Nothing here is changed by what
/// arrives: ``answer(_:node:now:jitter:slab:)`` works on a duplicate, so a forged HS2 costs nothing.
package struct InitiatorHandshake: ~Copyable, Sendable {
    package let keys: ModeKeys
    package let index: UInt32
    package let clientNonce: ClientNonce
    package let cookie: Cookie
    /// The datagram to send, and to send again.
    package let first: [UInt8]
    private let noise: Handshake
    private let share: PasswordShare

    /// A handshake of `keys`' mode; `code` in code mode, when a RETRY has brought its cookie.
    package init(
        keys: ModeKeys,
        code: InviteCode? = nil,
        index: UInt32,
        clientNonce: ClientNonce,
        cookie: Cookie,
        seeds: consuming HandshakeSeeds
    ) throws(HandshakeError) {
        let share = try PasswordShare(
            keys: keys,
            code: code,
            clientNonce: clientNonce,
            cookie: cookie,
            seed: seeds.share
        )
        var noise = Handshake(
            role: .initiator,
            prologue: keys.prologue(clientNonce: clientNonce, cookie: cookie),
            keys: seeds.keys(),
            psk: keys.psk
        )
        // P1 = Ya 32 | zero 48.
        let message = try noise.write(share.share + [UInt8](repeating: 0, count: 48))
        first = FirstMessage(
            mode: keys.mode,
            senderIndex: index,
            clientNonce: clientNonce,
            cookie: cookie,
            noise: message
        ).encode(mac1Key: keys.mac1Key)
        self.keys = keys
        self.index = index
        self.clientNonce = clientNonce
        self.cookie = cookie
        self.noise = noise
        self.share = share
    }

    /// What an HS2 that opens leads to.
    package struct Answer: ~Copyable, Sendable {
        /// HS3: to send, and to send again.
        package let third: [UInt8]
        package var keys: TrafficKeys
        /// What the responder's AUTH, the first frame of its first DATA, must fit.
        package let proof: Authentication.Proof

        /// The keys alone; read the rest before.
        package consuming func takeKeys() -> TrafficKeys { keys }
    }

    /// Reads HS2 and answers HS3; mac1 and indexes were checked by the caller.
    package borrowing func answer(
        _ second: LaterMessage,
        node: LocalNode,
        now: Instant,
        jitter: Duration = .zero,
        limits: KeyLimits? = nil,
        slab: SecretSlab? = nil
    ) throws(HandshakeError) -> Answer {
        guard second.header.type == .second else { throw .malformed }
        var noise = self.noise.duplicate()
        // P2 = Yb 32 | caps u32 | 0 u32.
        let payload = try noise.read(second.noise.raw)
        guard payload.count == 40, payload[36...].allSatisfy({ $0 == 0 }) else {
            throw .reserved
        }
        let capabilities = Capabilities(
            rawValue: UInt32(truncatingIfNeeded: Hash.word(Array(payload[32..<40])))
        )
        if keys.mode == .code {
            noise.setPSK(
                try share.psk(
                    role: .initiator,
                    remote: Array(payload[..<32]),
                    localEphemeral: noise.localEphemeral,
                    remoteEphemeral: noise.remoteEphemeral ?? []
                )
            )
        }
        let localStatic = noise.localStatic
        let generationCounter = keys.generationCounter
        let message = try noise.write { hash in
            Authentication(
                node,
                role: .initiator,
                hash: hash,
                noiseStatic: localStatic,
                generationCounter: generationCounter
            ).encode()
        }
        let third = LaterMessage(
            header: HandshakeHeader(
                type: .third,
                mode: keys.mode,
                senderIndex: index,
                receiverIndex: second.header.senderIndex
            ),
            noise: message
        ).encode(mac1Key: keys.mac1Key)
        let proof = Authentication.Proof(
            role: .responder,
            hash: noise.hash,
            noiseStatic: noise.remoteStatic ?? [],
            capabilities: capabilities,
            generationCounter: generationCounter
        )
        let traffic = TrafficKeys(
            noise.split(),
            TrafficKeys.Parameters(
                role: .initiator,
                localIndex: index,
                remoteIndex: second.header.senderIndex,
                initiator: node.capabilities,
                responder: capabilities,
                now: now,
                jitter: jitter,
                limits: limits
            ),
            slab: slab
        )
        return Answer(third: third, keys: traffic, proof: proof)
    }
}

/// An HS1 whose first payload opened, before any curve arithmetic: cheap to make, cheap to drop.
package struct OpenedFirst: ~Copyable, Sendable {
    package let message: FirstMessage
    package let keys: ModeKeys
    fileprivate let remoteShare: [UInt8]
    fileprivate let noise: Handshake
    fileprivate let seeds: HandshakeSeeds

    /// Opens P1; mac1 and cookie were checked by the caller.
    package init(
        _ message: FirstMessage,
        keys: ModeKeys,
        seeds: consuming HandshakeSeeds
    ) throws(HandshakeError) {
        guard message.mode == keys.mode else { throw .malformed }
        var noise = Handshake(
            role: .responder,
            prologue: keys.prologue(clientNonce: message.clientNonce, cookie: message.cookie),
            keys: HandshakeKeys(),
            psk: keys.psk
        )
        let payload = try noise.read(message.noise.raw)
        guard payload.count == 80, payload[32...].allSatisfy({ $0 == 0 }) else {
            throw .reserved
        }
        remoteShare = Array(payload[..<32])
        self.seeds = seeds
        self.message = message
        self.keys = keys
        self.noise = noise
    }
}

/// The responder's side of one handshake, half open: from HS2 to HS3, as a pure function.
package struct ResponderHandshake: ~Copyable, Sendable {
    package let keys: ModeKeys
    package let index: UInt32
    package let remoteIndex: UInt32
    package let capabilities: Capabilities
    /// The datagram to send, and to send again when the same HS1 comes again.
    package let second: [UInt8]
    private let noise: Handshake

    /// Answers an HS1: X25519, CPace in code mode, HS2.
    package init(
        _ first: consuming OpenedFirst,
        code: InviteCode? = nil,
        index: UInt32,
        node: LocalNode
    ) throws(HandshakeError) {
        let keys = first.keys
        let share = try PasswordShare(
            keys: keys,
            code: code,
            clientNonce: first.message.clientNonce,
            cookie: first.message.cookie,
            seed: first.seeds.share
        )
        var noise = first.noise.duplicate()
        noise.setKeys(first.seeds.keys())
        var payload = ByteWriter(capacity: 40)
        payload.write(share.share)
        payload.write(node.capabilities.rawValue)
        payload.write(UInt32(0))
        let message = try noise.write(payload.bytes)
        if keys.mode == .code {
            noise.setPSK(
                try share.psk(
                    role: .responder,
                    remote: first.remoteShare,
                    localEphemeral: noise.localEphemeral,
                    remoteEphemeral: noise.remoteEphemeral ?? []
                )
            )
        }
        second = LaterMessage(
            header: HandshakeHeader(
                type: .second,
                mode: keys.mode,
                senderIndex: index,
                receiverIndex: first.message.senderIndex
            ),
            noise: message
        ).encode(mac1Key: keys.mac1Key)
        self.keys = keys
        self.index = index
        remoteIndex = first.message.senderIndex
        capabilities = node.capabilities
        self.noise = noise
    }

    /// Whether an HS3's static key opens: whether it answers our HS2 at all, guess or not.
    package borrowing func opensStatic(of third: LaterMessage) -> Bool {
        noise.opensStatic(of: third.noise.raw)
    }

    /// What an HS3 that verifies leads to.
    package struct Accepted: ~Copyable, Sendable {
        /// Who the initiator is, proved.
        package let peer: Authentication
        package var keys: TrafficKeys
        /// Our AUTH: the first frame of DATA 0, see ``Authentication/frameType``.
        package let authentication: Authentication

        /// The keys alone; read the rest before.
        package consuming func takeKeys() -> TrafficKeys { keys }
    }

    /// Reads HS3; mac1, indexes and source were checked by the caller.
    ///
    /// Throws ``HandshakeError/staticForged`` for what answers nothing of ours (no guess), anything
    /// else for a wrong psk or a lie. Nothing here is changed either way.
    package borrowing func accept(
        _ third: LaterMessage,
        node: LocalNode,
        now: Instant,
        jitter: Duration = .zero,
        limits: KeyLimits? = nil,
        slab: SecretSlab? = nil
    ) throws(HandshakeError) -> Accepted {
        guard third.header.type == .third else { throw .malformed }
        var noise = self.noise.duplicate()
        let payload = try noise.read(third.noise.raw)
        let peer: Authentication
        do { peer = try Authentication(payload.raw) } catch { throw .reserved }
        let proof = Authentication.Proof(
            role: .initiator,
            hash: noise.payloadHash,
            noiseStatic: noise.remoteStatic ?? [],
            capabilities: nil,
            generationCounter: keys.generationCounter
        )
        try proof.verify(peer)
        guard peer.nodeID != node.identity.nodeID else { throw .ownIdentity }
        let authentication = Authentication(
            LocalNode(
                identity: node.identity,
                // What P2 said, should the setting have changed since.
                capabilities: capabilities,
                incarnation: node.incarnation
            ),
            role: .responder,
            hash: noise.hash,
            noiseStatic: noise.localStatic,
            generationCounter: keys.generationCounter
        )
        let traffic = TrafficKeys(
            noise.split(),
            TrafficKeys.Parameters(
                role: .responder,
                localIndex: index,
                remoteIndex: remoteIndex,
                initiator: peer.capabilities,
                responder: capabilities,
                now: now,
                jitter: jitter,
                limits: limits
            ),
            slab: slab
        )
        return Accepted(peer: peer, keys: traffic, authentication: authentication)
    }
}
