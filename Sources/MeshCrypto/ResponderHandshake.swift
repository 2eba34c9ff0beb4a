package import MeshWire

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
