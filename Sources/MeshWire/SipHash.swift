/// SipHash-2-4 with a 64-bit result (Aumasson, Bernstein 2012), fed piece by piece.
///
/// For names of random streams and for trace hashes: short, equal on every machine, and not for
/// secrets. Bytes and integers may be fed in any order; feeding is associative.
@usableFromInline
package struct SipHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var tail: UInt64 = 0
    private var byteCount: UInt64 = 0

    /// A hash under the key of two little-endian words; the default is the bytes 00 01 … 0f.
    package init(key0: UInt64 = 0x0706_0504_0302_0100, key1: UInt64 = 0x0f0e_0d0c_0b0a_0908) {
        v0 = key0 ^ 0x736f_6d65_7073_6575
        v1 = key1 ^ 0x646f_7261_6e64_6f6d
        v2 = key0 ^ 0x6c79_6765_6e65_7261
        v3 = key1 ^ 0x7465_6462_7974_6573
    }

    /// The hash of `bytes` alone.
    package static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash = SipHash()
        for byte in bytes { hash.update(byte) }
        return hash.finish()
    }

    /// The hash of `bytes` alone.
    package static func hash(_ bytes: [UInt8]) -> UInt64 {
        var hash = SipHash()
        hash.update(bytes.raw)
        return hash.finish()
    }

    /// Feeds one byte.
    package mutating func update(_ byte: UInt8) {
        tail |= UInt64(byte) << (8 * (byteCount & 7))
        byteCount &+= 1
        if byteCount & 7 == 0 {
            absorb(tail)
            tail = 0
        }
    }

    /// Feeds an integer as its eight little-endian bytes.
    package mutating func update(_ word: UInt64) {
        let shift = 8 * (byteCount & 7)
        let block = tail | word << shift
        byteCount &+= 8
        absorb(block)
        tail = shift == 0 ? 0 : word >> (64 - shift)
    }

    /// Feeds bytes.
    package mutating func update(_ bytes: some Collection<UInt8>) {
        for byte in bytes { update(byte) }
    }

    /// Feeds borrowed bytes.
    package mutating func update(_ span: RawSpan) {
        var offset = 0
        while let word: UInt64 = span.integer(at: offset) {
            update(word)
            offset += 8
        }
        while let byte: UInt8 = span.integer(at: offset) {
            update(byte)
            offset += 1
        }
    }

    /// The hash of all that was fed; the value itself can be fed on.
    package func finish() -> UInt64 {
        var copy = self
        copy.absorb(tail | byteCount << 56)
        copy.v2 ^= 0xff
        for _ in 0..<4 { copy.round() }
        return copy.v0 ^ copy.v1 ^ copy.v2 ^ copy.v3
    }

    private mutating func absorb(_ block: UInt64) {
        v3 ^= block
        round()
        round()
        v0 ^= block
    }

    private mutating func round() {
        func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 {
            word << count | word >> (64 - count)
        }
        v0 = v0 &+ v1
        v1 = rotate(v1, 13) ^ v0
        v0 = rotate(v0, 32)
        v2 = v2 &+ v3
        v3 = rotate(v3, 16) ^ v2
        v0 = v0 &+ v3
        v3 = rotate(v3, 21) ^ v0
        v2 = v2 &+ v1
        v1 = rotate(v1, 17) ^ v2
        v2 = rotate(v2, 32)
    }
}
