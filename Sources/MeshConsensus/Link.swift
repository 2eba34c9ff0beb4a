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
    /// When anything last came from it without help.
    var directAt: Instant
    /// The helper that carries what is sent to it, while it is not heard or hears nothing.
    var relay: ProcessID?
    /// Whether it is not heard directly, and a helper carries.
    var isDeaf = false
    /// When a relayed message of it came, and when the last that said that it does not hear me.
    var relayedAt: Instant
    var deafAt: Instant
    /// When a relayed message was last sent to it.
    var relaySentAt: Instant
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
        directAt = now
        relayedAt = now - .seconds(10)
        deafAt = now - .seconds(10)
        relaySentAt = now - .seconds(10)
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

    /// Something came from it without help, so it is heard again.
    mutating func heardDirectly(now: Instant) {
        directAt = now
        guard isDeaf else { return }
        isDeaf = false
        if now - deafAt >= Relaying.hold { relay = nil }
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
