/// A point on the node's one clock, `CLOCK_BOOTTIME`, in nanoseconds.
///
/// The clock counts time asleep and never steps. Every machine takes `now` as an argument; nothing
/// below `MeshNet` reads a clock. Arithmetic saturates, so that a far deadline cannot trap.
@frozen
public struct Instant: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// Nanoseconds since the clock's origin.
    public var nanoseconds: Int64

    /// The instant `nanoseconds` after the clock's origin.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's origin.
    public static let zero = Instant(nanoseconds: 0)

    /// Later than every deadline.
    public static let distantFuture = Instant(nanoseconds: .max)

    /// The instant `duration` later, saturated at the ends of the clock.
    @inlinable
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(
            duration.wholeNanoseconds
        )
        guard !overflow else {
            return Instant(nanoseconds: duration < .zero ? .min : .max)
        }
        return Instant(nanoseconds: sum)
    }

    /// The instant `duration` earlier, saturated at the ends of the clock.
    @inlinable
    public static func - (instant: Instant, duration: Duration) -> Instant {
        let (difference, overflow) = instant.nanoseconds.subtractingReportingOverflow(
            duration.wholeNanoseconds
        )
        guard !overflow else {
            return Instant(nanoseconds: duration < .zero ? .max : .min)
        }
        return Instant(nanoseconds: difference)
    }

    /// The time from `earlier` to `later`, negative if they stand the other way round.
    @inlinable
    public static func - (later: Instant, earlier: Instant) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(
            earlier.nanoseconds
        )
        return .nanoseconds(overflow ? (later < earlier ? .min : .max) : difference)
    }

    /// Moves this instant by `duration`.
    @inlinable
    public static func += (instant: inout Instant, duration: Duration) {
        instant = instant + duration
    }

    /// Whether `left` is earlier than `right`.
    @inlinable
    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Instant: CustomStringConvertible {
    /// Seconds since the clock's origin, with six decimals.
    public var description: String {
        let microseconds = nanoseconds / 1000
        let fraction = String(abs(microseconds % 1_000_000))
        let zeros = String(repeating: "0", count: 6 - fraction.count)
        return "\(microseconds < 0 ? "-" : "")\(abs(microseconds / 1_000_000)).\(zeros)\(fraction)"
    }
}

extension Duration {
    /// The duration in whole nanoseconds, saturated at the ends of `Int64`.
    @inlinable
    public var wholeNanoseconds: Int64 {
        // Up to 18 s a duration is one word of attoseconds: no library call, no wide division.
        if _high == 0 { return Int64(_low / 1_000_000_000) }
        if _high == -1, _low != 0 { return -Int64((~_low &+ 1) / 1_000_000_000) }
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// `duration`, `count` times; within 292 years, beyond which it saturates.
    ///
    /// The library's operator works on any integer and 128 bits, which costs a hot path dearly.
    @inlinable
    package static func * (duration: Duration, count: Int) -> Duration {
        let (product, overflow) = duration.wholeNanoseconds.multipliedReportingOverflow(
            by: Int64(count)
        )
        guard !overflow else {
            return .nanoseconds((duration < .zero) == (count < 0) ? Int64.max : .min)
        }
        return .nanoseconds(product)
    }

    /// The `count`-th part of `duration`, in whole nanoseconds.
    @inlinable
    package static func / (duration: Duration, count: Int) -> Duration {
        .nanoseconds(duration.wholeNanoseconds / Int64(count))
    }

    /// The duration in milliseconds, as a floating-point number, for figures that people read.
    @inlinable
    public var milliseconds: Double {
        Double(wholeNanoseconds) / 1_000_000
    }
}
