import MeshWire

/// How large a datagram the path carries, found out while data flows (DPLPMTUD, RFC 8899).
///
/// A probe is a packet of PING and PAD. It is searched in halves through the sizes that links have; the loss of a
/// probe says nothing of congestion. What once arrived may be swallowed later, without a word, by a path that changed:
/// a row of large packets that all vanish while smaller ones arrive is such a black hole.
struct PathSearch: Sendable {
    /// UDP payloads that fill common links under IPv6 or IPv4: tunnels, Ethernet, jumbo frames, loopback.
    static let sizes = [
        Limits.datagramFloorBytes, 1232, 1372, 1392, 1412, 1452, 1472, 8932, 8952, 8972, 65_488,
    ]
    /// Where the search begins: Ethernet under IPv4.
    static let likely = 6
    /// Datagrams up to this size leave whatever the rate; larger ones take a millisecond at most.
    static let ordinaryBytes = sizes[likely]
    /// Full datagrams that leave before the search begins: who sends little needs no large ones.
    static let patience = 8
    /// After so long a size that failed is tried again (RFC 8899's PMTU_RAISE_TIMER).
    static let raiseInterval: Duration = .seconds(600)

    /// The size in use, as a place in ``sizes``.
    private(set) var current = 0
    /// The largest size that arrived.
    private var known = 0
    /// The least size that did not; all of them for none.
    private var failed = sizes.count
    private var failedAt = Instant.zero
    /// What is tried first.
    private var first: Int? = likely
    /// The probe under way.
    private var underWay: Int?
    /// Probes of the size tried now that did not arrive.
    private var misses = 0
    private var filled = 0

    /// Large packets in a row that vanished, since one arrived.
    private var vanished = 0
    /// When the latest large packet left that arrived.
    private var lastArrival = Instant.zero

    /// Bytes of the datagrams that leave now.
    var datagramBytes: Int { Self.sizes[current] }

    /// A full datagram left.
    mutating func left(full isFull: Bool) {
        if isFull, filled < Self.patience { filled += 1 }
    }

    /// The size of the probe that may leave now, if there is something to find out.
    ///
    /// `maximum` is what both sides take, `rate` bytes a second.
    mutating func probe(maximum: Int, rate: Double, now: Instant) -> Int? {
        guard filled == Self.patience, underWay == nil else { return nil }
        if failed < Self.sizes.count, now - failedAt >= Self.raiseInterval {
            failed = Self.sizes.count
        }
        let limit = min(maximum, Self.limit(rate: rate))
        let above = min(failed, Self.sizes.partition { $0 > limit })
        guard known + 1 < above else { return nil }
        let place = first.map { min($0, above - 1) } ?? (known + above) / 2
        underWay = place
        return Self.sizes[place]
    }

    /// A datagram of `byteCount` that left at `sent` is acknowledged.
    mutating func arrived(_ byteCount: Int, sent: Instant) {
        guard byteCount > Limits.datagramFloorBytes else { return }
        lastArrival = max(lastArrival, sent)
        vanished = 0
    }

    /// The probe of so many bytes arrived.
    mutating func probeArrived(_ byteCount: Int) {
        let place = Self.sizes.partition { $0 >= byteCount }
        if underWay == place { underWay = nil }
        misses = 0
        first = nil
        known = max(known, min(place, Self.sizes.count - 1))
        if failed <= known { failed = Self.sizes.count }
    }

    /// The probe of so many bytes is lost; `loss` is the share of all packets that are.
    mutating func probeLost(_ byteCount: Int, loss: Double, now: Instant) {
        let place = Self.sizes.partition { $0 >= byteCount }
        guard underWay == place else { return }
        underWay = nil
        misses += 1
        guard misses >= Self.enough(loss: loss, chance: 1e-3, between: 3...10) else { return }
        misses = 0
        first = nil
        failed = max(place, known + 1)
        failedAt = now
    }

    /// A datagram of `byteCount` that left at `sent` is lost; whether that makes it a black hole.
    ///
    /// Then the floor is back in use, and what had worked is tried first: if the path was silent altogether for a while,
    /// one round trip restores it.
    mutating func lost(_ byteCount: Int, sent: Instant, loss: Double) -> Bool {
        guard current > 0, byteCount > Limits.datagramFloorBytes, sent > lastArrival else {
            return false
        }
        vanished += 1
        guard vanished >= Self.enough(loss: loss, chance: 1e-6, between: 8...16) else {
            return false
        }
        vanished = 0
        first = known
        known = 0
        current = 0
        misses = 0
        return true
    }

    /// Takes into use what is known to arrive and is not too long for the rate; whether it changed.
    mutating func fit(rate: Double) -> Bool {
        let limit = Self.limit(rate: rate)
        let place = min(known, max(Self.sizes.partition { $0 > limit } - 1, 0))
        // Twice the room on the way down: a rate that wavers does not change the size each round.
        guard place > current || Self.limit(rate: 2 * rate) < Self.sizes[current] else {
            return false
        }
        defer { current = place }
        return place != current
    }

    /// What takes a millisecond at this rate; a longer datagram would hold up all that come behind it.
    private static func limit(rate: Double) -> Int {
        max(ordinaryBytes, Int(min(rate / 1000, Double(Limits.datagramCeilingBytes))))
    }

    /// How many losses in a row chance alone does not explain.
    private static func enough(loss: Double, chance: Double, between range: ClosedRange<Int>) -> Int
    {
        var (count, left) = (0, 1.0)
        while left > chance, count < range.upperBound {
            left *= loss
            count += 1
        }
        return max(count, range.lowerBound)
    }
}

extension [Int] {
    /// The place of the first element that `isBehind` names; the elements in front of it are not named.
    fileprivate func partition(_ isBehind: (Int) -> Bool) -> Int {
        firstIndex(where: isBehind) ?? count
    }
}
