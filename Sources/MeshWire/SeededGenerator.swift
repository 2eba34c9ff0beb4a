/// A generator of random numbers that repeats for the same seed: xoshiro256** (Blackman, Vigna).
///
/// For chance in protocols (jitter, sampling) and in the simulator; never for keys.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    /// The generator of `seed`; equal seeds give equal numbers on every machine.
    package init(seed: UInt64) {
        // SplitMix64 spreads the seed, as the authors of xoshiro advise.
        var mixed = seed
        func next() -> UInt64 {
            mixed &+= 0x9e37_79b9_7f4a_7c15
            var word = mixed
            word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
            word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
            return word ^ (word >> 31)
        }
        state = (next(), next(), next(), next())
    }

    /// An independent generator for the part called `name`, so that a new part shifts no other.
    package func stream(_ name: String, _ index: UInt64 = 0) -> SeededGenerator {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a, good enough to tell names apart
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return SeededGenerator(seed: state.0 ^ hash ^ (index &* 0xd134_2543_de82_ef95))
    }

    package mutating func next() -> UInt64 {
        func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 {
            word << count | word >> (64 - count)
        }
        let result = rotate(state.1 &* 5, 7) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = rotate(state.3, 45)
        return result
    }

    /// A number in [0, 1), the same on every machine.
    package mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Whether an event of this probability happens.
    package mutating func happens(_ probability: Double) -> Bool {
        unit() < probability
    }

    /// A duration drawn evenly from `range`.
    package mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        let low = range.lowerBound.wholeNanoseconds
        let high = range.upperBound.wholeNanoseconds
        return .nanoseconds(Int64.random(in: low...high, using: &self))
    }
}
