/// How often something may be done: at a steady rate, and at first some more at once.
///
/// Holds one instant for each that is counted, so who counts for many keeps little.
package struct Pace: Hashable, Sendable {
    /// The time that each takes.
    package let interval: Duration
    /// How many may come at once after a rest.
    package let burst: Int

    /// A pace of `perSecond` a second, at least 1, and `burst` at once, at least 1.
    package init(perSecond: Int, burst: Int) {
        interval = .nanoseconds(1_000_000_000 / Int64(max(perSecond, 1)))
        self.burst = max(burst, 1)
    }

    /// How many a second.
    package var perSecond: Int { Int(1_000_000_000 / interval.wholeNanoseconds) }

    /// When the next may be done, of one whose times so far end at `end`.
    package func next(after end: Instant) -> Instant {
        end - .nanoseconds(interval.wholeNanoseconds * Int64(burst - 1))
    }

    /// The end of the times once one more is done at `now`.
    package func taking(_ end: Instant, at now: Instant) -> Instant {
        max(end, now) + interval
    }
}
