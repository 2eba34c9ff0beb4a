import MeshWire

/// A simulation's clock, for the parts of a program that are given their clock.
///
/// Whoever sleeps by it sleeps in virtual time: `advance(by:)` and the other waits of the simulation wake
/// it. A program that calls `Task.sleep` or a clock of the system waits by the wall instead, which no
/// simulation can hurry or see.
public struct SimulationClock: Clock {
    /// A point in a simulation's time.
    public struct Instant: InstantProtocol {
        /// How long after the simulation's beginning it is.
        public let elapsed: Duration

        /// The instant `duration` later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(elapsed: elapsed + duration)
        }

        /// The time from here to `other`.
        public func duration(to other: Instant) -> Duration {
            other.elapsed - elapsed
        }

        /// Orders by time.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.elapsed < right.elapsed
        }
    }

    let core: SimulationCore

    /// The present instant.
    public var now: Instant { Instant(elapsed: core.now - .zero) }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until `deadline`, in virtual time.
    ///
    /// - Throws: `CancellationError` if the task is cancelled or the simulation ends before.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        await core.sleep(until: .zero + deadline.elapsed)
        try Task.checkCancellation()
        guard now >= deadline else { throw CancellationError() }
    }
}
