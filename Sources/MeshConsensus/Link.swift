import MeshWire

/// What one process knows of the way to another.
struct Link: Sendable {
    var process: ProcessID
    /// Whether an authenticated connection is up.
    var isReachable = false
    /// When anything came from it.
    var lastHeard: Instant
    /// When it last spoke as a member of my view; for a leader: when it last answered me.
    var inView: Instant
    /// When a helper last vouched for it.
    var vouched: Instant
    /// Smoothed round trip and its deviation, nanoseconds; zero before the first sample.
    var roundTrip: Int64 = 0
    var deviation: Int64 = 0
    /// D's factor, raised by false suspicions.
    var factor = 1.0
    var raisedAt: Instant
    /// When it was dropped from the view for its silence.
    var evictedAt: Instant?
    var isShaky = false
    /// Probes sent since it fell silent.
    var probes = 0
    var nextProbe: Instant
    var nextBeacon: Instant
    var upSince: Instant
    /// From where it was sent entries last, how often again, and when.
    var servedFrom: UInt64 = 0
    var servedTimes = 0
    var servedAt: Instant
    /// When a beacon was last sent as an answer.
    var answeredAt: Instant

    init(process: ProcessID, now: Instant) {
        self.process = process
        lastHeard = now
        inView = now
        vouched = now
        raisedAt = now
        nextProbe = now
        nextBeacon = now
        upSince = now
        answeredAt = now - .seconds(10)
        servedAt = now - .seconds(10)
    }

    /// RTT^ of `30-consensus.md` §5: smoothed plus four deviations, at least 5 ms.
    var timeout: Duration {
        .nanoseconds(max(5_000_000, min(roundTrip &+ 4 &* deviation, 3_000_000_000)))
    }

    /// Takes a sample of the round trip (RFC 6298 §2).
    mutating func measured(_ sample: Duration) {
        let sample = sample.wholeNanoseconds
        guard sample >= 0, sample < 10_000_000_000 else { return }
        if roundTrip == 0 {
            roundTrip = sample
            deviation = sample / 2
        } else {
            deviation = (3 * deviation + abs(roundTrip - sample)) / 4
            roundTrip = (7 * roundTrip + sample) / 8
        }
    }

    /// Raises D after a suspicion that proved false.
    mutating func suspectedFalsely(now: Instant) {
        factor = min(factor * 1.5, 12)
        raisedAt = now
        evictedAt = nil
    }

    /// D's factor now: back to the start over five minutes.
    func factor(now: Instant) -> Double {
        guard factor > 1 else { return 1 }
        let age = (now - raisedAt).milliseconds / 300_000
        return age >= 1 ? 1 : 1 + (factor - 1) * (1 - age)
    }
}
