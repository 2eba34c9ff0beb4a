package import MeshWire

/// The initiator's side of one attempt: from HS1 to HS3, as a pure function.
///
/// After a RETRY a new one is made, with the cookie and new seeds. Nothing here is changed by what
/// arrives: `answer` works on a duplicate, so a forged HS2 costs nothing.
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
