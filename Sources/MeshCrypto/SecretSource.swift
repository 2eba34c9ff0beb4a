package import MeshWire

/// Where keys and nonces come from: injected, so that the core never asks the machine.
package protocol SecretSource: Sendable {
    /// Fills all of `bytes` with random bytes.
    mutating func fill(_ bytes: inout MutableRawSpan)
    /// A source of its own for a part of the program: the two never give the same bytes.
    mutating func fork() -> any SecretSource
}

/// The system's generator, for everything real.
package struct SystemSecrets: SecretSource {
    package init() {}

    package mutating func fill(_ bytes: inout MutableRawSpan) {
        Sodium.fillRandom(&bytes)
    }

    package mutating func fork() -> any SecretSource { self }
}

/// A generator that repeats for the same seed: for the simulator and for tests, never for a real node.
package struct SeededSecrets: SecretSource {
    private let key: [UInt8]
    private var block: UInt64 = 0

    /// The source of `seed`; equal seeds give equal bytes on every machine.
    package init(seed: UInt64) {
        var writer = ByteWriter()
        writer.write(Array("huddle simulated secrets".utf8))
        writer.write(seed)
        key = Hash.plain(writer.bytes.raw, outputBytes: 32)
    }

    package mutating func fork() -> any SecretSource { SeededSecrets(seed: word()) }

    package mutating func fill(_ bytes: inout MutableRawSpan) {
        var offset = 0
        while offset < bytes.byteCount {
            var counter = ByteWriter()
            counter.write(block)
            block &+= 1
            var state = HashState(key: key.raw, outputBytes: 64)
            state.update(counter.bytes)
            for byte in state.finish() where offset < bytes.byteCount {
                bytes.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
                offset += 1
            }
        }
    }
}

extension SecretSource {
    /// `count` random bytes that need not be secret: nonces, identifiers.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        let bytes = secretBytes(count)
        return bytes.bytes.copied
    }

    /// `count` random bytes that are a secret.
    package mutating func secretBytes(_ count: Int) -> SecretBytes {
        var secret = SecretBytes(count: count)
        var span = secret.mutableBytes
        fill(&span)
        return secret
    }

    /// 32 random bytes that several may hold: a room secret, a link secret.
    package mutating func secret() -> Secret { Secret(secretBytes(32)) }

    /// A random word.
    package mutating func word() -> UInt64 { Hash.word(bytes(8)) }

    /// A random identifier of 16 bytes: a client nonce, an invite's id, a session.
    package mutating func identifier<Kind>(
        _: ShortIdentifier<Kind>.Type = ShortIdentifier<Kind>.self
    ) -> ShortIdentifier<Kind> {
        ShortIdentifier(bytes(16)) ?? .zero
    }

    /// A random identifier of 32 bytes: a room.
    package mutating func identifier<Kind>(
        _: WideIdentifier<Kind>.Type = WideIdentifier<Kind>.self
    ) -> WideIdentifier<Kind> {
        WideIdentifier(bytes(32)) ?? .zero
    }

    /// A random index of a handshake, never zero; the caller sees that it is locally unique.
    package mutating func index() -> UInt32 {
        while true {
            let index = UInt32(truncatingIfNeeded: word())
            if index != 0 { return index }
        }
    }
}
