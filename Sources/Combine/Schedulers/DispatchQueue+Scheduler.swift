public import Dispatch

extension DispatchQueue: Scheduler {
    /// An instant of the clock of Dispatch.
    public struct SchedulerTimeType: Strideable, Hashable, Sendable {
        /// An interval in nanoseconds.
        public typealias Stride = SchedulerInterval

        /// The instant.
        public var dispatchTime: DispatchTime

        /// The instant `time`.
        public init(_ time: DispatchTime) {
            dispatchTime = time
        }

        /// How long after this one `other` is.
        public func distance(to other: SchedulerTimeType) -> SchedulerInterval {
            let (left, right) = (
                dispatchTime.uptimeNanoseconds, other.dispatchTime.uptimeNanoseconds
            )
            return left <= right
                ? .nanoseconds(Int(clamping: right - left))
                : .nanoseconds(-Int(clamping: left - right))
        }

        /// The instant later by `interval`.
        public func advanced(by interval: SchedulerInterval) -> SchedulerTimeType {
            SchedulerTimeType(dispatchTime + interval.timeInterval)
        }

        /// Hashes the instant.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(dispatchTime.uptimeNanoseconds)
        }
    }

    /// What an action is scheduled with.
    public struct SchedulerOptions {
        /// The quality of service.
        public var qos: DispatchQoS
        /// How the work item behaves.
        public var flags: DispatchWorkItemFlags

        /// Options; all have defaults.
        public init(qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = []) {
            (self.qos, self.flags) = (qos, flags)
        }
    }

    /// The instant that it is now.
    public var now: SchedulerTimeType { SchedulerTimeType(.now()) }

    /// Nothing.
    public var minimumTolerance: SchedulerInterval { .zero }

    /// Runs `action` on the queue, after what is there.
    public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
        let options = options ?? SchedulerOptions()
        let handover = Handover(action)
        async(qos: options.qos, flags: options.flags) { handover() }
    }

    /// Runs `action` on the queue at `date`.
    public func schedule(
        after date: SchedulerTimeType,
        tolerance: SchedulerInterval,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) {
        let options = options ?? SchedulerOptions()
        let handover = Handover(action)
        asyncAfter(deadline: date.dispatchTime, qos: options.qos, flags: options.flags) {
            handover()
        }
    }
}
