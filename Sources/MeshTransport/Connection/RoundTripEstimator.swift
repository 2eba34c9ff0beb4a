import MeshWire

/// The round-trip time and its spread (RFC 9002 §5), with a minimum of the last 10 s.
struct RoundTripEstimator: Hashable, Sendable {
    /// Before the first sample: longer than any LAN, shorter than RFC 9002's 333 ms.
    static let initial: Duration = .milliseconds(100)
    static let minimumWindow: Duration = .seconds(10)

    private(set) var latest: Duration = .zero
    private(set) var smoothed = initial
    private(set) var variation = initial / 2
    private(set) var hasSample = false
    // Two halves of the window, so that an old minimum leaves after 10 s at the latest.
    private var minima: (current: Duration, previous: Duration) = (.seconds(3600), .seconds(3600))
    private var halfStarted = Instant.zero

    /// The least round-trip time of the last 5 to 10 s; the smoothed one before any sample.
    var minimum: Duration {
        hasSample ? min(minima.current, minima.previous) : smoothed
    }

    /// Takes a sample; `delay` is what the peer says it waited, already capped (RFC 9002 §5.3).
    mutating func update(_ sample: Duration, delay: Duration, now: Instant) {
        let sample = max(sample, .nanoseconds(1))
        latest = sample
        if now - halfStarted > Self.minimumWindow / 2 {
            minima = (sample, hasSample ? minima.current : sample)
            halfStarted = now
        }
        minima.current = min(minima.current, sample)
        guard hasSample else {
            hasSample = true
            smoothed = sample
            variation = sample / 2
            return
        }
        // The delay counts only where it cannot take the sample below the minimum.
        let adjusted = sample - delay >= minimum ? sample - delay : sample
        let difference = smoothed > adjusted ? smoothed - adjusted : adjusted - smoothed
        variation = (variation * 3 + difference) / 4
        smoothed = (smoothed * 7 + adjusted) / 8
    }

    /// 1.5 × smoothed + 4 × variation + the peer's delay (`20-transport.md` §3).
    func probeTimeout(peerDelay: Duration) -> Duration {
        smoothed * 3 / 2 + max(variation * 4, .milliseconds(1)) + peerDelay
    }

    static func == (left: Self, right: Self) -> Bool {
        left.latest == right.latest && left.smoothed == right.smoothed
            && left.variation == right.variation && left.minimum == right.minimum
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(smoothed)
        hasher.combine(variation)
    }
}
