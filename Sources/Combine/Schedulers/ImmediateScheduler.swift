/// A scheduler that runs every action at once, inside of the call; it has no time.
public struct ImmediateScheduler: Scheduler, Sendable {
    /// It takes no options.
    public typealias SchedulerOptions = Never

    /// The one scheduler of this kind.
    public static let shared = ImmediateScheduler()

    private init() {}

    /// The only instant there is.
    public struct SchedulerTimeType: Strideable, Sendable {
        /// An interval of any length, which is not waited for.
        public typealias Stride = SchedulerInterval

        /// Always 0.
        public func distance(to other: SchedulerTimeType) -> SchedulerInterval { .zero }

        /// The same instant.
        public func advanced(by interval: SchedulerInterval) -> SchedulerTimeType { self }
    }

    /// The only instant there is.
    public var now: SchedulerTimeType { SchedulerTimeType() }

    /// Nothing.
    public var minimumTolerance: SchedulerInterval { .zero }

    /// Runs `action`.
    public func schedule(options: Never?, _ action: @escaping () -> Void) {
        action()
    }

    /// Runs `action`.
    public func schedule(
        after date: SchedulerTimeType,
        tolerance: SchedulerInterval,
        options: Never?,
        _ action: @escaping () -> Void
    ) {
        action()
    }

    /// Runs `action` once.
    public func schedule(
        after date: SchedulerTimeType,
        interval: SchedulerInterval,
        tolerance: SchedulerInterval,
        options: Never?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        action()
        return AnyCancellable {}
    }
}
