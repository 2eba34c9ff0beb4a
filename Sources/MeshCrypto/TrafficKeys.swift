package import MeshWire

/// What seals the packets of a pair.
package enum Suite: UInt8, Sendable {
    case chacha20Poly1305 = 1
    case aes256GCM = 2

    /// The suite of two capability words: AES only if both sides announce hardware for it.
    package init(_ initiator: Capabilities, _ responder: Capabilities) {
        let both = initiator.intersection(responder)
        self = both.contains(.hardwareAES) ? .aes256GCM : .chacha20Poly1305
    }
}

/// A word of capabilities; unknown bits are kept, since signatures and keys take the word as it came.
package struct Capabilities: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The machine seals AES-256-GCM in hardware.
    package static let hardwareAES = Capabilities(rawValue: 1)
    /// Datagrams above 1,500 bytes may be sent to it.
    package static let jumboReceive = Capabilities(rawValue: 2)
}

/// The header of a DATA packet, 16 bytes, all of it associated data:
///
/// ```
/// 0  0x10 | 1  0 0 0 | 4  receiverIndex u32 | 8  counter u64
/// ```
package struct DataHeader: Hashable, Sendable {
    /// Bytes of the header.
    package static let byteCount = 16
    /// Bytes of the shortest DATA packet.
    package static let datagramMinimum = byteCount + Sodium.tagBytes

    /// The receiver's own index of the pair.
    package var receiverIndex: UInt32
    /// The packet's number under its key.
    package var counter: UInt64

    package init(receiverIndex: UInt32, counter: UInt64) {
        self.receiverIndex = receiverIndex
        self.counter = counter
    }

    /// Reads the header of a datagram of at least 32 bytes; nil if it is no DATA.
    package init?(_ datagram: RawSpan) {
        guard datagram.byteCount >= Self.datagramMinimum else { return nil }
        var reader = ByteReader(datagram)
        guard let word: UInt32 = try? reader.read(), word == UInt32(MessageType.data.rawValue),
            let index: UInt32 = try? reader.read(), let counter: UInt64 = try? reader.read()
        else { return nil }
        receiverIndex = index
        self.counter = counter
    }

    /// Appends the header with counter zero; the key sets the counter when it seals.
    package static func append(receiverIndex: UInt32, to buffer: inout [UInt8]) {
        let index = receiverIndex
        buffer.append(MessageType.data.rawValue)
        for _ in 0..<3 { buffer.append(0) }
        for shift in stride(from: 0, to: 32, by: 8) {
            buffer.append(UInt8(truncatingIfNeeded: index >> UInt32(shift)))
        }
        for _ in 0..<8 { buffer.append(0) }
    }
}

/// When a key must be replaced and when it stops (`10-security.md` §6).
package struct KeyLimits: Hashable, Sendable {
    /// Packets after which a rekey is due.
    package var softPackets: UInt64
    /// Packets after which nothing is sealed, and the first counter that is not opened.
    package var hardPackets: UInt64
    /// Failed opens after which the key closes.
    package var failures: UInt64 = 1 << 36
    /// The age at which a rekey is due, before jitter.
    package var softAge: Duration = .seconds(120)
    /// The age at which nothing is sealed or opened.
    package var hardAge: Duration = .seconds(180)

    /// The limits of a suite: RFC 9001 §6.6 for AES.
    package init(_ suite: Suite) {
        switch suite {
        case .chacha20Poly1305: (softPackets, hardPackets) = (1 << 32, 1 << 40)
        case .aes256GCM: (softPackets, hardPackets) = (1 << 22, 1 << 23)
        }
    }
}

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
