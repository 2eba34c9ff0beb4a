package import MeshWire

/// The keys of one pair: one to seal, one to open, known by two indexes.
package struct TrafficKeys: ~Copyable, Sendable {
    /// Our own index: in the header of what comes in.
    package let localIndex: UInt32
    /// The other's index: in the header of what goes out.
    package let remoteIndex: UInt32
    package let suite: Suite
    package var sealing: SealingKey
    package var opening: OpeningKey
    /// When the keys were made.
    package let created: Instant
    private let rekeyAge: Duration
    private let limits: KeyLimits

    /// What a handshake's end decides.
    package struct Parameters: Sendable {
        package var role: HandshakeRole
        package var localIndex: UInt32
        package var remoteIndex: UInt32
        package var initiator: Capabilities
        package var responder: Capabilities
        /// When the keys are made.
        package var now: Instant
        /// Taken off the soft limit's age, 0 to 10 s, so that pairs do not rekey in step.
        package var jitter: Duration = .zero
        /// Replaces the suite's limits: for tests.
        package var limits: KeyLimits?

        package init(
            role: HandshakeRole,
            localIndex: UInt32,
            remoteIndex: UInt32,
            initiator: Capabilities,
            responder: Capabilities,
            now: Instant,
            jitter: Duration = .zero,
            limits: KeyLimits? = nil
        ) {
            self.role = role
            self.localIndex = localIndex
            self.remoteIndex = remoteIndex
            self.initiator = initiator
            self.responder = responder
            self.now = now
            self.jitter = jitter
            self.limits = limits
        }
    }

    /// Derives the keys (`10-security.md` §4.1); the Noise keys die here.
    package init(
        _ noise: consuming NoiseKeys,
        _ parameters: Parameters,
        slab: SecretSlab? = nil
    ) {
        let suite = Suite(parameters.initiator, parameters.responder)
        let toResponder = Self.derive(
            noise.initiatorToResponder,
            .initiator,
            parameters,
            hash: noise.hash
        )
        let toInitiator = Self.derive(
            noise.responderToInitiator,
            .responder,
            parameters,
            hash: noise.hash
        )
        let limits = parameters.limits ?? KeyLimits(suite)
        let stop = parameters.now + limits.hardAge
        self.suite = suite
        self.limits = limits
        localIndex = parameters.localIndex
        remoteIndex = parameters.remoteIndex
        created = parameters.now
        rekeyAge = limits.softAge - parameters.jitter
        let outbound: PacketCipher
        let inbound: PacketCipher
        switch parameters.role {
        case .initiator:
            outbound = PacketCipher(suite, key: toResponder, slab: slab)
            inbound = PacketCipher(suite, key: toInitiator, slab: slab)
        case .responder:
            outbound = PacketCipher(suite, key: toInitiator, slab: slab)
            inbound = PacketCipher(suite, key: toResponder, slab: slab)
        }
        sealing = SealingKey(outbound, limits: limits, stop: stop)
        opening = OpeningKey(inbound, limits: limits, stop: stop)
    }

    /// The traffic key of one direction, 32 bytes.
    static func derive(
        _ noiseKey: borrowing SecretBytes,
        _ direction: HandshakeRole,
        _ parameters: Parameters,
        hash: [UInt8]
    ) -> SecretBytes {
        var x = ByteWriter(capacity: 74)
        x.write(Suite(parameters.initiator, parameters.responder).rawValue)
        x.write(UInt8(direction == .initiator ? 0 : 1))
        x.write(parameters.initiator.rawValue)
        x.write(parameters.responder.rawValue)
        x.write(hash)
        return Hash.derive(.traffic, key: noiseKey.bytes, x.bytes.raw)
    }

    /// Whether a rekey is due: by packets sealed, by the highest counter opened, or by age.
    ///
    /// Both ends see it, since each counts both directions.
    package func wantsRekey(now: Instant) -> Bool {
        sealing.counter >= limits.softPackets
            || (opening.highest ?? 0) >= limits.softPackets
            || opening.failures >= limits.failures
            || now >= rekeyInstant
    }

    /// When age alone makes a rekey due.
    package var rekeyInstant: Instant { created + rekeyAge }

    /// When the keys stop by age.
    package var stopInstant: Instant { created + limits.hardAge }
}
