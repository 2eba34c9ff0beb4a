package import MeshWire

/// The labels of all derivations; each is used in one place (`10-security.md` §3).
package enum Label: String, CaseIterable, Sendable {
    case generation = "huddle/1 gen"
    case discovery = "huddle/1 discovery"
    case nodeReference = "huddle/1 node ref"
    case view = "huddle/1 view"
    case meshPSK = "huddle/1 mesh psk"
    case mac1 = "huddle/1 mac1"
    case bindMember = "huddle/1 bind member"
    case linkPSK = "huddle/1 link psk"
    case mac1Link = "huddle/1 mac1 link"
    case bindLink = "huddle/1 bind link"
    case passwordPSK = "huddle/1 cpace psk"
    case mac1Invite = "huddle/1 mac1 invite"
    case bindInvite = "huddle/1 bind invite"
    case retry = "huddle/1 retry"
    case traffic = "huddle/1 traffic"
    case keyFile = "huddle/1 key file"
    case commit = "huddle/1 commit"
    case process = "huddle/1 process"
    case entry = "huddle/1 entry"
    case snapshot = "huddle/1 snapshot"
    case participant = "huddle/1 participant"
}

/// The two functions of every derivation, both BLAKE2b (`10-security.md` §3).
///
/// `H(label, x) = BLAKE2b(label ‖ 00 ‖ x)` and `K(key, label, x)` the same, keyed; 32 bytes, or 16
/// for `H16`, which is not a cut of 32.
package enum Hash {
    /// H(label, x) of 32 bytes.
    package static func digest(_ label: Label, _ x: RawSpan) -> [UInt8] {
        state(label, x, key: RawSpan(), outputBytes: 32).finish()
    }

    /// H(label, x) of 32 bytes, as an identifier.
    package static func digest(_ label: Label, _ x: [UInt8]) -> Digest {
        Digest(digest(label, x.raw) as [UInt8]) ?? .zero
    }

    /// H16(label, x) of 16 bytes.
    package static func digest16(_ label: Label, _ x: RawSpan) -> [UInt8] {
        state(label, x, key: RawSpan(), outputBytes: 16).finish()
    }

    /// The first 8 bytes of H(label, x), read as a little-endian number.
    package static func tag(_ label: Label, _ x: RawSpan) -> UInt64 {
        word(digest(label, x))
    }

    /// H(label, x) where the result is a secret.
    package static func secret(_ label: Label, _ x: RawSpan) -> SecretBytes {
        state(label, x, key: RawSpan(), outputBytes: 32).finishSecret()
    }

    /// K(key, label, x) where the result is a secret; the key has 16 to 64 bytes.
    package static func derive(_ label: Label, key: RawSpan, _ x: RawSpan) -> SecretBytes {
        precondition((16...64).contains(key.byteCount), "a key has 16 to 64 bytes")
        return state(label, x, key: key, outputBytes: 32).finishSecret()
    }

    /// BLAKE2b-128 keyed, without a label: mac1, RETRY's mac and the cookie.
    package static func mac(key: RawSpan, _ bytes: RawSpan) -> [UInt8] {
        precondition((16...64).contains(key.byteCount), "a key has 16 to 64 bytes")
        var state = HashState(key: key, outputBytes: 16)
        state.update(bytes)
        return state.finish()
    }

    /// BLAKE2b without key or label, of 16, 32 or 64 bytes.
    package static func plain(_ bytes: RawSpan, outputBytes: Int) -> [UInt8] {
        var state = HashState(outputBytes: outputBytes)
        state.update(bytes)
        return state.finish()
    }

    /// BLAKE2b-256 for one purpose, without key or salt (`50-journal-and-playback.md` A2).
    package static func personal(_ purpose: String, _ bytes: RawSpan) -> Digest {
        var state = HashState(personal: Array(purpose.utf8))
        state.update(bytes)
        return Digest(state.finish()) ?? .zero
    }

    /// The tag of a process, the first 8 bytes of H over node and incarnation (`30-consensus.md` §2).
    package static func processTag(_ nodeID: NodeID, incarnation: UInt64) -> UInt64 {
        var x = ByteWriter()
        x.write(nodeID)
        x.write(incarnation)
        return tag(.process, x.bytes.raw)
    }

    /// The view tag of a beacon (`10-security.md` §8).
    package static func viewTag(_ room: RoomID, _ epoch: Epoch) -> UInt64 {
        var x = ByteWriter()
        x.write(room)
        x.write(epoch)
        return tag(.view, x.bytes.raw)
    }

    /// The first 8 bytes, read as a little-endian number.
    static func word(_ bytes: [UInt8]) -> UInt64 {
        bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func state(
        _ label: Label,
        _ x: RawSpan,
        key: RawSpan,
        outputBytes: Int
    ) -> HashState {
        var state = HashState(key: key, outputBytes: outputBytes)
        state.update(Array(label.rawValue.utf8) + [0])
        state.update(x)
        return state
    }
}

/// HMAC and HKDF over BLAKE2b as Noise wants them: block 128, hash 64 (Noise §4.3, §12.8).
enum NoiseHash {
    /// HMAC-BLAKE2b of `bytes`; a key here has 64 bytes at most.
    static func hmac(
        key: borrowing SecretBytes,
        _ bytes: RawSpan,
        _ suffix: RawSpan = RawSpan()
    ) -> SecretBytes {
        precondition(key.count <= 128, "a longer key would have to be hashed first")
        let innerPad = key.padded(to: 128, xor: 0x36)
        let outerPad = key.padded(to: 128, xor: 0x5c)
        var inner = HashState(outputBytes: 64)
        inner.update(innerPad.bytes)
        inner.update(bytes)
        inner.update(suffix)
        let digest = inner.finishSecret()
        var outer = HashState(outputBytes: 64)
        outer.update(outerPad.bytes)
        outer.update(digest.bytes)
        return outer.finishSecret()
    }

    /// One link of HKDF's chain: HMAC of the output before and the number of this one.
    static func link(
        key: borrowing SecretBytes,
        _ previous: borrowing SecretBytes,
        number: UInt8
    ) -> SecretBytes {
        let suffix = [number]
        return hmac(key: key, previous.bytes, suffix.raw)
    }

    /// The outputs of HKDF; each of 64 bytes.
    struct Expansion: ~Copyable {
        let first: SecretBytes
        let second: SecretBytes
        let third: SecretBytes
    }

    /// HKDF with three outputs; who needs two pays for one HMAC more and leaves it.
    static func expand(
        _ chainingKey: borrowing SecretBytes,
        _ material: RawSpan
    ) -> Expansion {
        let temporary = hmac(key: chainingKey, material)
        let first = link(key: temporary, SecretBytes(count: 0), number: 1)
        let second = link(key: temporary, first, number: 2)
        let third = link(key: temporary, second, number: 3)
        return Expansion(first: first, second: second, third: third)
    }
}
