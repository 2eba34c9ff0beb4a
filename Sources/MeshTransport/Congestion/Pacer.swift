import MeshWire

/// A token bucket in bytes; it may go into debt by one packet.
struct Pacer: Hashable, Sendable {
    /// The shortest time between two timers (quic-go#2601).
    static let tick: Duration = .milliseconds(1)

    private var tokens: Double
    private var filled: Instant

    init(packetBytes: Int, now: Instant) {
        tokens = Double(packetBytes * Drift.initialPackets / 2)
        filled = now
    }

    /// Lets time pass at `rate` bytes a second; the bucket holds 1 ms of it, 2 packets at least.
    mutating func refill(rate: Double, packetBytes: Int, base: Duration, now: Instant) {
        let elapsed = Double((now - filled).wholeNanoseconds) / 1e9
        guard elapsed > 0 else { return }
        let packets = base < .milliseconds(1) ? 16 : 2
        let depth = max(rate / 1000, Double(packets * packetBytes))
        tokens = min(tokens + elapsed * rate, max(depth, tokens))
        filled = now
    }

    /// Whether a packet may leave; `debt` bytes may be borrowed.
    func isOpen(debt: Int = 0) -> Bool { tokens + Double(debt) > 0 }

    mutating func spend(_ bytes: Int) { tokens -= Double(bytes) }

    /// When a packet may leave again, a tick from now at the earliest.
    func opens(rate: Double, packetBytes: Int, now: Instant) -> Instant {
        let seconds = (Double(packetBytes) - tokens) / max(rate, 1)
        return now + max(Self.tick, .nanoseconds(Int64(min(seconds, 3600) * 1e9)))
    }
}
