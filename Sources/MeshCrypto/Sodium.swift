import CSodium
import MeshWire

/// The calls into libsodium, checked: lengths are right, return codes are read, no pointer is nil.
///
/// Nothing here probes the machine but ``hasHardwareAES``, which a driver asks once and injects.
package enum Sodium {
    /// Whether the library is initialized; the first use does it, from any thread.
    static let isReady: Bool = sodium_init() >= 0

    /// Whether this processor seals AES-256-GCM in hardware; asked once by the driver, and injected.
    package static var hasHardwareAES: Bool {
        isReady && crypto_aead_aes256gcm_is_available() != 0
    }

    /// Whether `left` and `right` are the same bytes, in constant time for equal lengths.
    package static func isEqual(_ left: RawSpan, _ right: RawSpan) -> Bool {
        guard left.byteCount == right.byteCount else { return false }
        return unsafe left.withPointer { left, count in
            unsafe right.withPointer { right, _ in unsafe sodium_memcmp(left, right, count) == 0 }
        }
    }

    /// Wipes plain bytes that held a secret for a moment.
    package static func wipe(_ bytes: inout [UInt8]) {
        let count = bytes.count
        unsafe bytes.withUnsafeMutableBytes { buffer in
            if let start = buffer.baseAddress { unsafe sodium_memzero(start, count) }
        }
    }

    /// Fills `room` from the system's generator.
    static func fillRandom(_ room: inout MutableRawSpan) {
        precondition(isReady, "libsodium initializes")
        unsafe room.withUnsafeMutableBytes { buffer in
            if let start = buffer.baseAddress { unsafe randombytes_buf(start, buffer.count) }
        }
    }
}

// MARK: - Hashes

/// A BLAKE2b computation in progress, keyed or not.
@safe
struct HashState: ~Copyable {
    private let state: UnsafeMutableRawPointer
    private let outputBytes: Int

    /// A hash of `outputBytes` (16, 32 or 64); a key, if given, has 16 to 64 bytes.
    init(key: RawSpan = RawSpan(), outputBytes: Int) {
        precondition(Sodium.isReady, "libsodium initializes")
        // `crypto_generichash` would take shorter keys; we do not (10-security §3).
        precondition(
            key.isEmpty || (16...64).contains(key.byteCount),
            "a hash key has 16 to 64 bytes: \(key.byteCount)"
        )
        let size = crypto_generichash_statebytes()
        let room = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
        let code = unsafe key.withPointer { key, count in
            unsafe crypto_generichash_init(
                OpaquePointer(room),
                count == 0 ? nil : key,
                count,
                outputBytes
            )
        }
        precondition(code == 0, "a hash of \(outputBytes) bytes exists")
        self.outputBytes = outputBytes
        unsafe state = room
    }

    /// A hash of 32 bytes for one purpose, named by at most 16 bytes that are padded with zeros.
    init(personal: [UInt8]) {
        precondition(Sodium.isReady, "libsodium initializes")
        precondition(personal.count <= 16, "a personalisation has at most 16 bytes")
        let size = crypto_generichash_statebytes()
        let room = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
        let padded = personal + Array(repeating: 0, count: 16 - personal.count)
        let code = unsafe crypto_generichash_blake2b_init_salt_personal(
            OpaquePointer(room),
            nil,
            0,
            32,
            nil,
            padded
        )
        precondition(code == 0, "a hash of 32 bytes exists")
        outputBytes = 32
        unsafe state = room
    }

    deinit {
        unsafe sodium_memzero(state, crypto_generichash_statebytes())
        unsafe state.deallocate()
    }

    /// Feeds `bytes`.
    mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withPointer { bytes, count in
            _ = unsafe crypto_generichash_update(OpaquePointer(state), bytes, UInt64(count))
        }
    }

    /// Feeds bytes that are no secret.
    mutating func update(_ bytes: [UInt8]) { update(bytes.raw) }

    /// The digest, as plain bytes.
    consuming func finish() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: outputBytes) { room, count in
            count = outputBytes
            // A buffer with capacity has a start.
            guard let start = room.baseAddress else { return }
            _ = unsafe crypto_generichash_final(OpaquePointer(state), start, outputBytes)
        }
    }

    /// The digest, as a secret.
    consuming func finishSecret() -> SecretBytes {
        var secret = SecretBytes(count: outputBytes)
        unsafe secret.withMutablePointer { room, count in
            _ = unsafe crypto_generichash_final(OpaquePointer(state), room, count)
        }
        return secret
    }
}

extension Sodium {
    /// SHA-512, as a secret.
    static func sha512(_ bytes: RawSpan) -> SecretBytes {
        var digest = SecretBytes(count: 64)
        unsafe digest.withMutablePointer { room, _ in
            unsafe bytes.withPointer { bytes, count in
                _ = unsafe crypto_hash_sha512(room, bytes, UInt64(count))
            }
        }
        return digest
    }
}

// MARK: - Curves

extension Sodium {
    /// The X25519 public key of `secretKey` (32 bytes).
    static func publicKey(_ secretKey: borrowing SecretBytes) -> [UInt8] {
        precondition(secretKey.count == 32, "an X25519 key has 32 bytes")
        return unsafe plain(32) { room in
            unsafe secretKey.bytes.withPointer { key, _ in
                unsafe crypto_scalarmult_base(room, key) == 0
            }
        } ?? []
    }

    /// The X25519 product, nil if `point` is not 32 bytes in canonical form or the result is zero.
    static func agree(_ secretKey: borrowing SecretBytes, _ point: RawSpan) -> SecretBytes? {
        guard point.byteCount == 32, secretKey.count == 32, isCanonical(point) else { return nil }
        var product = SecretBytes(count: 32)
        let isGood = unsafe product.withMutablePointer { room, _ in
            unsafe secretKey.bytes.withPointer { key, _ in
                unsafe point.withPointer { point, _ in
                    unsafe crypto_scalarmult(room, key, point) == 0
                }
            }
        }
        guard isGood else { return nil }
        return product
    }

    /// Whether the little-endian number in `point` is below 2^255 − 19; keys are public, so this may
    /// take its time.
    private static func isCanonical(_ point: RawSpan) -> Bool {
        let bytes = point.copied
        guard bytes[31] <= 0x7f else { return false }
        guard bytes[31] == 0x7f, bytes[1..<31].allSatisfy({ $0 == 0xff }) else { return true }
        return bytes[0] < 0xed
    }

    /// The Ed25519 key pair of `seed` (32 bytes): the 64 bytes libsodium signs with, and the public key.
    static func signingKey(seed: RawSpan) -> SigningKey {
        precondition(seed.byteCount == 32, "an Ed25519 seed has 32 bytes")
        precondition(isReady, "libsodium initializes")
        var secret = SecretBytes(count: 64)
        let publicKey = unsafe secret.withMutablePointer { secret, _ in
            unsafe plain(32) { room in
                unsafe seed.withPointer { seed, _ in
                    unsafe crypto_sign_seed_keypair(room, secret, seed) == 0
                }
            }
        }
        return SigningKey(secret: secret, publicKey: publicKey ?? [])
    }

    /// An Ed25519 key pair as libsodium signs with it.
    struct SigningKey: ~Copyable {
        let secret: SecretBytes
        let publicKey: [UInt8]
    }

    /// The Ed25519 signature of `message`.
    static func sign(_ message: RawSpan, with key: borrowing SecretBytes) -> [UInt8] {
        precondition(key.count == 64, "an expanded Ed25519 key has 64 bytes")
        return unsafe plain(64) { room in
            unsafe message.withPointer { message, count in
                unsafe key.bytes.withPointer { key, _ in
                    unsafe crypto_sign_detached(room, nil, message, UInt64(count), key) == 0
                }
            }
        } ?? []
    }

    /// Whether `signature` is `publicKey`'s over `message`; false for any wrong length.
    package static func verify(
        _ signature: RawSpan,
        of message: RawSpan,
        by publicKey: RawSpan
    ) -> Bool {
        guard signature.byteCount == 64, publicKey.byteCount == 32 else { return false }
        return unsafe signature.withPointer { signature, _ in
            unsafe message.withPointer { message, count in
                unsafe publicKey.withPointer { key, _ in
                    unsafe crypto_sign_verify_detached(signature, message, UInt64(count), key) == 0
                }
            }
        }
    }

    /// The ristretto255 element of 64 uniform bytes, encoded.
    static func ristrettoElement(hash: borrowing SecretBytes) -> [UInt8] {
        precondition(hash.count == 64, "an element is made of 64 bytes")
        return unsafe plain(32) { room in
            unsafe hash.bytes.withPointer { hash, _ in
                unsafe crypto_core_ristretto255_from_hash(room, hash) == 0
            }
        } ?? []
    }

    /// A scalar modulo the group's order from 64 uniform bytes; never clamped.
    static func ristrettoScalar(uniform: borrowing SecretBytes) -> SecretBytes {
        precondition(uniform.count == 64, "a scalar is made of 64 bytes")
        var scalar = SecretBytes(count: 32)
        unsafe scalar.withMutablePointer { room, _ in
            unsafe uniform.bytes.withPointer { uniform, _ in
                unsafe crypto_core_ristretto255_scalar_reduce(room, uniform)
            }
        }
        return scalar
    }

    /// The product, nil for a bad encoding and for the identity.
    static func ristrettoMultiply(
        _ scalar: borrowing SecretBytes,
        _ element: RawSpan
    ) -> SecretBytes? {
        guard scalar.count == 32, element.byteCount == 32, isReady else { return nil }
        var product = SecretBytes(count: 32)
        let isGood = unsafe product.withMutablePointer { room, _ in
            unsafe scalar.bytes.withPointer { scalar, _ in
                unsafe element.withPointer { element, _ in
                    unsafe crypto_scalarmult_ristretto255(room, scalar, element) == 0
                }
            }
        }
        guard isGood else { return nil }
        return product
    }

    /// `count` plain bytes that `body` writes; nil if it says false.
    @unsafe
    private static func plain(
        _ count: Int,
        _ body: (UnsafeMutablePointer<UInt8>) -> Bool
    ) -> [UInt8]? {
        var isGood = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { room, written in
            // A buffer with capacity has a start.
            guard let start = room.baseAddress else { return }
            unsafe start.initialize(repeating: 0, count: count)
            isGood = unsafe body(start)
            written = count
        }
        return isGood ? bytes : nil
    }
}

// MARK: - Sealing

extension Sodium {
    /// ChaCha20-Poly1305-IETF: ciphertext and tag; nil if key or nonce have the wrong length.
    package static func seal(
        _ plaintext: RawSpan,
        data: RawSpan,
        nonce: RawSpan,
        key: RawSpan
    ) -> [UInt8]? {
        guard nonce.byteCount == 12, key.byteCount == 32, isReady else { return nil }
        return unsafe plain(plaintext.byteCount + tagBytes) { room in
            unsafe plaintext.withPointer { text, count in
                unsafe data.withPointer { data, dataCount in
                    unsafe nonce.withPointer { nonce, _ in
                        unsafe key.withPointer { key, _ in
                            unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                                room,
                                nil,
                                text,
                                UInt64(count),
                                data,
                                UInt64(dataCount),
                                nil,
                                nonce,
                                key
                            ) == 0
                        }
                    }
                }
            }
        }
    }

    /// Opens what ``seal(_:data:nonce:key:)`` sealed; nil if anything is not as it was.
    package static func open(
        _ sealed: RawSpan,
        data: RawSpan,
        nonce: RawSpan,
        key: RawSpan
    ) -> [UInt8]? {
        guard nonce.byteCount == 12, key.byteCount == 32, sealed.byteCount >= tagBytes, isReady
        else { return nil }
        // One byte more, so that the buffer of an empty plaintext has a start.
        let opened = unsafe plain(sealed.byteCount - tagBytes + 1) { room in
            unsafe sealed.withPointer { sealed, count in
                unsafe data.withPointer { data, dataCount in
                    unsafe nonce.withPointer { nonce, _ in
                        unsafe key.withPointer { key, _ in
                            unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                                room,
                                nil,
                                nil,
                                sealed,
                                UInt64(count),
                                data,
                                UInt64(dataCount),
                                nonce,
                                key
                            ) == 0
                        }
                    }
                }
            }
        }
        return opened?.dropLast()
    }

    /// XChaCha20-Poly1305, as ``seal(_:data:nonce:key:)``, with a nonce of 24 bytes.
    static func sealExtended(
        _ plaintext: RawSpan,
        data: RawSpan,
        nonce: RawSpan,
        key: RawSpan
    ) -> [UInt8]? {
        guard nonce.byteCount == 24, key.byteCount == 32, isReady else { return nil }
        return unsafe plain(plaintext.byteCount + tagBytes) { room in
            unsafe plaintext.withPointer { text, count in
                unsafe data.withPointer { data, dataCount in
                    unsafe nonce.withPointer { nonce, _ in
                        unsafe key.withPointer { key, _ in
                            unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                                room,
                                nil,
                                text,
                                UInt64(count),
                                data,
                                UInt64(dataCount),
                                nil,
                                nonce,
                                key
                            ) == 0
                        }
                    }
                }
            }
        }
    }

    /// Opens what ``sealExtended(_:data:nonce:key:)`` sealed; nil if anything is not as it was.
    static func openExtended(
        _ sealed: RawSpan,
        data: RawSpan,
        nonce: RawSpan,
        key: RawSpan
    ) -> [UInt8]? {
        guard nonce.byteCount == 24, key.byteCount == 32, sealed.byteCount >= tagBytes, isReady
        else { return nil }
        let opened = unsafe plain(sealed.byteCount - tagBytes + 1) { room in
            unsafe sealed.withPointer { sealed, count in
                unsafe data.withPointer { data, dataCount in
                    unsafe nonce.withPointer { nonce, _ in
                        unsafe key.withPointer { key, _ in
                            unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                                room,
                                nil,
                                nil,
                                sealed,
                                UInt64(count),
                                data,
                                UInt64(dataCount),
                                nonce,
                                key
                            ) == 0
                        }
                    }
                }
            }
        }
        return opened?.dropLast()
    }

    /// Bytes of every tag.
    package static let tagBytes = 16
}

// MARK: - Pointers

extension RawSpan {
    /// Lends the bytes as libsodium wants them: never nil, not even for no bytes.
    @unsafe
    fileprivate func withPointer<Result: ~Copyable>(
        _ body: (UnsafePointer<UInt8>, Int) -> Result
    ) -> Result {
        unsafe withUnsafeBytes { buffer in
            if let start = buffer.baseAddress {
                return unsafe body(start.assumingMemoryBound(to: UInt8.self), buffer.count)
            }
            return unsafe withUnsafePointer(to: 0 as UInt8) { unsafe body($0, 0) }
        }
    }
}

extension SecretBytes {
    /// Lends the bytes for writing; a secret is never empty here.
    @unsafe
    fileprivate mutating func withMutablePointer<Result: ~Copyable>(
        _ body: (UnsafeMutablePointer<UInt8>, Int) -> Result
    ) -> Result {
        var span = mutableBytes
        return unsafe span.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else {
                preconditionFailure("a secret has bytes")
            }
            return unsafe body(start.assumingMemoryBound(to: UInt8.self), buffer.count)
        }
    }
}

// MARK: - Packets

/// The AEAD of one direction: a key and its suite; the counter belongs to the caller.
///
/// Nonce = four zero bytes, then the counter, little-endian; associated data = the 16 header bytes
/// (`10-security.md` §6). An AES key is expanded once and then forgotten.
@safe
struct PacketCipher: ~Copyable {
    let suite: Suite
    /// The key, or the expanded AES state.
    private let state: SecretBytes

    /// The cipher of `key` (32 bytes); the caller made sure the machine has AES if `suite` asks for it.
    init(_ suite: Suite, key: borrowing SecretBytes, slab: SecretSlab?) {
        precondition(key.count == 32, "a traffic key has 32 bytes")
        precondition(Sodium.isReady, "libsodium initializes")
        self.suite = suite
        switch suite {
        case .chacha20Poly1305:
            state = SecretBytes(key.bytes, in: slab)
        case .aes256GCM:
            precondition(Sodium.hasHardwareAES, "AES-256-GCM was chosen without hardware")
            var expanded = SecretBytes(
                count: crypto_aead_aes256gcm_statebytes(),
                in: slab
            )
            unsafe expanded.withMutablePointer { room, _ in
                precondition(
                    UInt(bitPattern: room) % 16 == 0,
                    "an AES state is aligned to 16"
                )
                unsafe key.bytes.withPointer { key, _ in
                    _ = unsafe crypto_aead_aes256gcm_beforenm(Self.aesState(room), key)
                }
            }
            state = expanded
        }
    }

    /// Seals what follows the 16-byte header at `offset`, in place, and appends the tag.
    func seal(from offset: Int, counter: UInt64, in buffer: inout [UInt8]) {
        let body = buffer.count - offset - DataHeader.byteCount
        precondition(offset >= 0 && body >= 0, "a datagram starts with its header")
        for _ in 0..<Sodium.tagBytes { buffer.append(0) }
        unsafe buffer.withUnsafeMutableBytes { raw in
            guard let base = raw.baseAddress else { return }
            let header = unsafe (base + offset).assumingMemoryBound(to: UInt8.self)
            let text = unsafe header + DataHeader.byteCount
            unsafe Self.withNonce(counter) { nonce in
                unsafe state.bytes.withPointer { key, _ in
                    switch suite {
                    case .chacha20Poly1305:
                        _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt_detached(
                            text,
                            text + body,
                            nil,
                            text,
                            UInt64(body),
                            header,
                            UInt64(DataHeader.byteCount),
                            nil,
                            nonce,
                            key
                        )
                    case .aes256GCM:
                        _ = unsafe crypto_aead_aes256gcm_encrypt_detached_afternm(
                            text,
                            text + body,
                            nil,
                            text,
                            UInt64(body),
                            header,
                            UInt64(DataHeader.byteCount),
                            nil,
                            nonce,
                            Self.aesState(key)
                        )
                    }
                }
            }
        }
    }

    /// Opens a datagram of at least 32 bytes into the front of `scratch`, which grows if it must.
    func open(_ datagram: RawSpan, counter: UInt64, into scratch: inout [UInt8]) -> Bool {
        let body = datagram.byteCount - DataHeader.byteCount - Sodium.tagBytes
        guard body >= 0 else { return false }
        // One byte at least, so that the buffer has a start.
        while scratch.count < max(body, 1) { scratch.append(0) }
        return unsafe scratch.withUnsafeMutableBytes { raw in
            guard let base = raw.baseAddress else { return false }
            let room = unsafe base.assumingMemoryBound(to: UInt8.self)
            return unsafe datagram.withPointer { header, _ in
                let text = unsafe header + DataHeader.byteCount
                return unsafe Self.withNonce(counter) { nonce in
                    unsafe state.bytes.withPointer { key, _ in
                        switch suite {
                        case .chacha20Poly1305:
                            unsafe crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                                room,
                                nil,
                                text,
                                UInt64(body),
                                text + body,
                                header,
                                UInt64(DataHeader.byteCount),
                                nonce,
                                key
                            ) == 0
                        case .aes256GCM:
                            unsafe crypto_aead_aes256gcm_decrypt_detached_afternm(
                                room,
                                nil,
                                text,
                                UInt64(body),
                                text + body,
                                header,
                                UInt64(DataHeader.byteCount),
                                nonce,
                                Self.aesState(key)
                            ) == 0
                        }
                    }
                }
            }
        }
    }

    /// The expanded state, as the library's type.
    @unsafe
    private static func aesState(
        _ bytes: UnsafePointer<UInt8>
    ) -> UnsafePointer<crypto_aead_aes256gcm_state> {
        unsafe UnsafeRawPointer(bytes).assumingMemoryBound(to: crypto_aead_aes256gcm_state.self)
    }

    /// The room of a state to expand, as the library's type.
    @unsafe
    private static func aesState(
        _ bytes: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<crypto_aead_aes256gcm_state> {
        unsafe UnsafeMutableRawPointer(bytes)
            .assumingMemoryBound(to: crypto_aead_aes256gcm_state.self)
    }

    @unsafe
    private static func withNonce<Result>(
        _ counter: UInt64,
        _ body: (UnsafePointer<UInt8>) -> Result
    ) -> Result {
        let words = (
            UInt32(0),
            UInt32(truncatingIfNeeded: counter).littleEndian,
            UInt32(truncatingIfNeeded: counter >> 32).littleEndian
        )
        return unsafe withUnsafeBytes(of: words) { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("12 bytes") }
            return unsafe body(start.assumingMemoryBound(to: UInt8.self))
        }
    }
}
