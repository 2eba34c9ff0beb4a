/// Something that runs actions now or at a time of its own clock.
public protocol Scheduler<SchedulerTimeType> {
    /// An instant of its clock.
    associatedtype SchedulerTimeType: Strideable
    where SchedulerTimeType.Stride: SchedulerTimeIntervalConvertible

    /// What an action may be scheduled with.
    associatedtype SchedulerOptions

    /// The instant that it is now.
    var now: SchedulerTimeType { get }

    /// The least deviation that may be asked for.
    var minimumTolerance: SchedulerTimeType.Stride { get }

    /// Runs `action` as soon as possible.
    func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void)

    /// Runs `action` at `date`.
    func schedule(
        after date: SchedulerTimeType,
        tolerance: SchedulerTimeType.Stride,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    )

    /// Runs `action` at `date` and then each `interval`, until the result is cancelled.
    func schedule(
        after date: SchedulerTimeType,
        interval: SchedulerTimeType.Stride,
        tolerance: SchedulerTimeType.Stride,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) -> any Cancellable
}

extension Scheduler {
    /// Runs `action` as soon as possible.
    public func schedule(_ action: @escaping () -> Void) {
        schedule(options: nil, action)
    }

    /// Runs `action` at `date`.
    public func schedule(after date: SchedulerTimeType, _ action: @escaping () -> Void) {
        schedule(after: date, tolerance: minimumTolerance, options: nil, action)
    }

    /// Runs `action` at `date` and then each `interval`, until the result is cancelled.
    public func schedule(
        after date: SchedulerTimeType,
        interval: SchedulerTimeType.Stride,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        schedule(
            after: date,
            interval: interval,
            tolerance: minimumTolerance,
            options: nil,
            action
        )
    }

    /// Runs `action` at `date` and then each `interval`, by scheduling it anew each time.
    public func schedule(
        after date: SchedulerTimeType,
        interval: SchedulerTimeType.Stride,
        tolerance: SchedulerTimeType.Stride,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        let isCancelled = Locked(false)
        func arm(_ date: SchedulerTimeType) {
            schedule(after: date, tolerance: tolerance, options: options) {
                guard !isCancelled.value else { return }
                // A scheduler that is late skips nothing, and never falls behind by more than one.
                arm(Swift.max(date, now).advanced(by: interval))
                action()
            }
        }
        arm(date)
        return AnyCancellable { isCancelled.replace(with: true) }
    }
}

/// An interval that can be written in units of time.
public protocol SchedulerTimeIntervalConvertible {
    /// So many seconds.
    static func seconds(_ count: Int) -> Self
    /// So many seconds.
    static func seconds(_ count: Double) -> Self
    /// So many milliseconds.
    static func milliseconds(_ count: Int) -> Self
    /// So many microseconds.
    static func microseconds(_ count: Int) -> Self
    /// So many nanoseconds.
    static func nanoseconds(_ count: Int) -> Self
}
