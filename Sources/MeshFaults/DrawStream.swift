import MeshWire

/// A stream of random numbers in which the n-th is computed from n (`60-lab.md` §2.6).
///
/// Nothing is drawn in sequence, so a stage that is off, or switched on later, shifts nobody's draw.
/// The key is SipHash-2-4 of `<seed>/<from>/<to>/<incarnation>/<name>`, a draw the SplitMix64
/// finaliser of key + (n + 1) · 0x9E3779B97F4A7C15.
package struct DrawStream: Hashable, Sendable {
    /// What tells this stream from every other.
    package let key: UInt64

    /// The stream of this key.
    package init(key: UInt64) {
        self.key = key
    }

    /// The stream called `name` of a directed link.
    package init(seed: UInt64, from: String, to: String, incarnation: UInt32, name: String) {
        key = SipHash.hash("\(seed)/\(from)/\(to)/\(incarnation)/\(name)".utf8)
    }

    /// The draw for the datagram `ordinal`, counted from 0.
    package func draw(_ ordinal: UInt64) -> UInt64 {
        var word = key &+ (ordinal &+ 1) &* 0x9e37_79b9_7f4a_7c15
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }

    /// The draw as a number in [0, 1).
    package func unit(_ ordinal: UInt64) -> Double {
        Double(draw(ordinal) >> 11) * 0x1p-53
    }

    /// Whether an event of this probability happens; never at 0, always at 1, without a draw.
    package func happens(_ probability: Double, _ ordinal: UInt64) -> Bool {
        if probability <= 0 { return false }
        if probability >= 1 { return true }
        return unit(ordinal) < probability
    }
}
