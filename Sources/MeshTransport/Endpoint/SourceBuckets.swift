internal import MeshWire

/// A budget that fills at a steady rate and holds so much at most.
struct TokenBucket: Sendable {
    private var tokens: Double
    private var filled: Instant
    private let perSecond: Double
    private let burst: Double

    /// A full bucket.
    init(perSecond: Double, burst: Double, now: Instant) {
        self.perSecond = perSecond
        self.burst = burst
        tokens = burst
        filled = now
    }

    /// Whether a token is there.
    mutating func has(now: Instant) -> Bool {
        let elapsed = now - filled
        if elapsed > .zero {
            tokens = min(burst, tokens + elapsed.milliseconds / 1000 * perSecond)
            filled = now
        }
        return tokens >= 1
    }

    /// Takes a token, if there is one.
    mutating func take(now: Instant) -> Bool {
        guard has(now: now) else { return false }
        tokens -= 1
        return true
    }
}

/// The buckets of sources that proved their address by a cookie: a table of fixed size.
///
/// A source is an IPv4 address, an IPv6 /64, or on loopback an address and a port: processes of one
/// machine are no crowd. Sources whose keyed hashes fall on one slot share its bucket, so that no
/// number of sources makes the table grow (`10-security.md` §9).
struct SourceBuckets: Sendable {
    private var slots: [TokenBucket?]
    private let key: (UInt64, UInt64)
    private let rate: (perSecond: Double, burst: Double)

    /// Empty buckets; `key` keeps a stranger from choosing the slot of another.
    init(key: (UInt64, UInt64), rate: (perSecond: Double, burst: Double), slots: Int = 1024) {
        self.key = key
        self.rate = rate
        self.slots = Array(repeating: nil, count: slots)
    }

    /// Whether `source` may cost one more handshake now.
    mutating func take(_ source: SocketAddress, now: Instant) -> Bool {
        let slot = Int(hash(source) % UInt64(slots.count))
        var bucket =
            slots[slot] ?? TokenBucket(perSecond: rate.perSecond, burst: rate.burst, now: now)
        let taken = bucket.take(now: now)
        slots[slot] = bucket
        return taken
    }

    /// The keyed hash of the part of the address that names a source.
    private func hash(_ source: SocketAddress) -> UInt64 {
        let isWide = !source.isIPv4 && !source.isLoopback && source.high >> 48 != 0xfe80
        var hash = SipHash(key0: key.0, key1: key.1)
        hash.update(source.high)
        hash.update(isWide ? 0 : source.low)
        hash.update(source.isLoopback ? UInt64(source.port) : 0)
        return hash.finish()
    }
}
