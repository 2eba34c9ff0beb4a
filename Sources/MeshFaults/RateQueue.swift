import MeshWire

/// A link of limited capacity with a bounded queue in front (`60-lab.md` §2.4).
///
/// A datagram starts when it has arrived and the link is free, and takes 8 · size / rate. What does
/// not fit into the queue is dropped at the tail and counted apart from loss.
struct RateQueue: Sendable {
    /// Bytes of IPv4 and UDP headers that take capacity too.
    static let overheadBytes = 28

    private var isFree = Instant(nanoseconds: .min)
    /// When each waiting datagram will have been sent, in order; only for limits in packets.
    private var finishes: [Instant] = []

    /// When a datagram of `byteCount` bytes has been sent; `nil` if the queue has no room for it.
    mutating func pass(
        _ byteCount: Int,
        now: Instant,
        _ conditions: LinkConditions
    ) -> Instant? {
        guard let rate = conditions.rateBitsPerSecond, rate > 0 else { return now }
        let bits = Double(byteCount + Self.overheadBytes) * 8
        let waiting = isFree > now ? isFree - now : .zero
        let waitingBytes = Double(waiting.wholeNanoseconds) / 1e9 * Double(rate) / 8
        let limitBytes: Double
        switch conditions.queue {
        case .automatic: limitBytes = max(Double(rate) / 8 * 0.05, 15_000)
        case .bytes(let bytes): limitBytes = Double(bytes)
        case .time(let time):
            limitBytes = Double(rate) / 8 * Double(time.wholeNanoseconds) / 1e9
        case .packets(let count):
            finishes.removeAll { $0 <= now }
            if finishes.count >= count { return nil }
            limitBytes = .infinity
        }
        if waiting > .zero, waitingBytes + bits / 8 > limitBytes { return nil }
        let finish = max(now, isFree) + .nanoseconds(Int64(min(bits / Double(rate) * 1e9, 1e17)))
        isFree = finish
        if case .packets = conditions.queue { finishes.append(finish) }
        return finish
    }
}
