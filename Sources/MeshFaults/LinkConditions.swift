/// What a directed link does to datagrams: the one fault vocabulary of the package.
///
/// Command-line options, scenario words, profiles and the simulator all use these names
/// (`60-lab.md` §2.2). The value alone does nothing; `LinkFaults` applies it. The default is a
/// perfect link.
public struct LinkConditions: Hashable, Sendable {
    /// Whether the link carries nothing at all; key `down`.
    public var isDown = false
    /// The largest UDP payload that passes, in bytes; larger ones vanish silently; key `mtu`.
    public var mtuBytes: Int?
    /// How datagrams are lost; keys `loss`, `loss_burst`, `ge`.
    public var loss = LossModel.none
    /// The probability that a datagram arrives twice or more; key `duplicate`.
    public var duplicate = 0.0
    /// How many further copies a duplicated datagram gets, 1 to 8; key `copies`.
    public var copies = 1
    /// The probability that a datagram arrives with flipped bits; key `corrupt`.
    public var corrupt = 0.0
    /// How many bits of a corrupted datagram flip, 1 to 64; key `bits`.
    public var corruptedBits = 1
    /// The capacity in bits per second; key `rate`.
    public var rateBitsPerSecond: Int64?
    /// How much may wait for the capacity; key `queue`.
    public var queue = QueueLimit.automatic
    /// The added one-way time; key `delay`.
    public var delay = Duration.zero
    /// How far the one-way time strays from ``delay``; key `jitter`.
    public var jitter = Duration.zero
    /// How the one-way time strays; key `dist`.
    public var distribution = DelayDistribution.uniform
    /// Whether a datagram never departs before its predecessor; key `keep_order`.
    public var keepsOrder = false
    /// The probability that a datagram is held back so that later ones overtake it; key `reorder`.
    public var reorder = 0.0
    /// How long a reordered datagram is held back; key `by`.
    public var reorderBy = Duration.milliseconds(5)

    /// A perfect link.
    public init() {}

    /// Whether these conditions change nothing.
    public var isPerfect: Bool { self == LinkConditions() }
}

/// How the one-way time strays from its mean.
public enum DelayDistribution: String, CaseIterable, Hashable, Sendable {
    /// Evenly within delay ± jitter.
    case uniform
    /// Normally, with jitter as the standard deviation.
    case normal
    /// With a long tail: delay + jitter·(X − 1.5)/0.866, X Pareto with α = 3.
    case pareto
}

/// How much may wait in front of a link of limited capacity.
public enum QueueLimit: Hashable, Sendable {
    /// The larger of 50 ms of the rate and 15,000 bytes.
    case automatic
    /// This many bytes, headers included.
    case bytes(Int)
    /// This many datagrams.
    case packets(Int)
    /// As many bytes as the rate carries in this time.
    case time(Duration)
}
