import MeshWire

/// The symmetric half of a Noise handshake: chaining key, cipher key, transcript hash (Noise §5.2).
struct SymmetricState: ~Copyable {
    private var chainingKey: SecretBytes
    private var key: SecretBytes?
    private var nonce: UInt64 = 0
    /// `h`, 64 bytes; no secret.
    private(set) var hash: [UInt8]

    /// The state of a protocol name of at most 64 bytes.
    init(protocolName: String) {
        let name = Array(protocolName.utf8)
        precondition(name.count <= 64, "a longer name would have to be hashed")
        let padded = name + [UInt8](repeating: 0, count: 64 - name.count)
        hash = padded
        key = nil
        chainingKey = SecretBytes(padded.raw)
    }

    private init(
        chainingKey: consuming SecretBytes,
        key: consuming SecretBytes?,
        nonce: UInt64,
        hash: [UInt8]
    ) {
        self.hash = hash
        self.nonce = nonce
        self.key = key
        self.chainingKey = chainingKey
    }

    /// A second state, for work that may fail.
    borrowing func duplicate() -> SymmetricState {
        SymmetricState(
            chainingKey: chainingKey.duplicate(),
            key: duplicateKey(),
            nonce: nonce,
            hash: hash
        )
    }

    private borrowing func duplicateKey() -> SecretBytes? {
        switch key {
        case .some(let key): key.duplicate()
        case .none: nil
        }
    }

    /// Whether payloads are sealed by now.
    var hasKey: Bool { key != nil }

    mutating func mixHash(_ bytes: RawSpan) {
        var state = HashState(outputBytes: 64)
        state.update(hash)
        state.update(bytes)
        hash = state.finish()
    }

    mutating func mixKey(_ material: RawSpan) {
        let expansion = NoiseHash.expand(chainingKey, material)
        key = expansion.second.part(0..<32)
        chainingKey = expansion.first.duplicate()
        nonce = 0
    }

    mutating func mixKeyAndHash(_ material: RawSpan) {
        let expansion = NoiseHash.expand(chainingKey, material)
        mixHash(expansion.second.bytes)
        key = expansion.third.part(0..<32)
        chainingKey = expansion.first.duplicate()
        nonce = 0
    }

    /// Seals `plaintext` if there is a key, and mixes what goes over the wire.
    mutating func encryptAndHash(_ plaintext: RawSpan) -> [UInt8] {
        var output: [UInt8]
        switch key {
        case .some(let key):
            output =
                Sodium.seal(
                    plaintext,
                    data: hash.raw,
                    nonce: Self.nonce(nonce).raw,
                    key: key.bytes
                ) ?? []
            // Three messages never come near the end of the counter.
            nonce += 1
        case .none:
            output = plaintext.copied
        }
        mixHash(output.raw)
        return output
    }

    /// Opens `ciphertext` if there is a key, and mixes it; nil and unchanged if it does not open.
    mutating func decryptAndHash(_ ciphertext: RawSpan) -> [UInt8]? {
        var output: [UInt8]?
        switch key {
        case .some(let key):
            output = Sodium.open(
                ciphertext,
                data: hash.raw,
                nonce: Self.nonce(nonce).raw,
                key: key.bytes
            )
            guard output != nil else { return nil }
            nonce += 1
        case .none:
            output = ciphertext.copied
        }
        mixHash(ciphertext)
        return output
    }

    /// The two keys and the hash (Noise §5.2, Split).
    consuming func split() -> NoiseKeys {
        let expansion = NoiseHash.expand(chainingKey, RawSpan())
        return NoiseKeys(
            initiatorToResponder: expansion.first.part(0..<32),
            responderToInitiator: expansion.second.part(0..<32),
            hash: hash
        )
    }

    /// Four zero bytes, then the counter, little-endian (Noise §12.3).
    static func nonce(_ counter: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: 12)
        writer.write(UInt32(0))
        writer.write(counter)
        return writer.bytes
    }
}
