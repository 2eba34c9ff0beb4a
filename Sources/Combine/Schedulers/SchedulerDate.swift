public import Foundation

/// An instant of the calendar's clock, as run loops and operation queues have it.
public struct SchedulerDate: Strideable, Hashable, Codable, Sendable {
    /// An interval in nanoseconds.
    public typealias Stride = SchedulerInterval

    /// The instant.
    public var date: Date

    /// The instant `date`.
    public init(_ date: Date) {
        self.date = date
    }

    /// How long after this one `other` is.
    public func distance(to other: SchedulerDate) -> SchedulerInterval {
        .seconds(other.date.timeIntervalSince(date))
    }

    /// The instant later by `interval`.
    public func advanced(by interval: SchedulerInterval) -> SchedulerDate {
        SchedulerDate(date.addingTimeInterval(interval.seconds))
    }
}

/// A scheduler whose clock is the calendar's and that takes no options.
public protocol DateScheduler: Scheduler
where SchedulerTimeType == SchedulerDate, SchedulerOptions == SchedulerNoOptions {}

/// The options of a scheduler that has none.
public struct SchedulerNoOptions: Sendable {}

extension DateScheduler {
    /// The instant that it is now.
    public var now: SchedulerDate { SchedulerDate(Date()) }

    /// Nothing.
    public var minimumTolerance: SchedulerInterval { .zero }

    /// Runs `action` by way of `queue`, at `date`.
    func schedule(
        after date: SchedulerDate,
        on queue: DispatchQueue,
        _ action: @escaping @Sendable () -> Void
    ) {
        let wait = now.distance(to: date)
        queue.asyncAfter(deadline: .now() + max(.zero, wait).timeInterval, execute: action)
    }
}

extension OperationQueue: DateScheduler {
    /// An instant of the calendar's clock.
    public typealias SchedulerTimeType = SchedulerDate
    /// It takes no options.
    public typealias SchedulerOptions = SchedulerNoOptions

    /// Runs `action` as an operation of the queue.
    public func schedule(options: SchedulerNoOptions?, _ action: @escaping () -> Void) {
        let handover = Handover(action)
        addOperation { handover() }
    }

    /// Adds `action` to the queue at `date`.
    public func schedule(
        after date: SchedulerDate,
        tolerance: SchedulerInterval,
        options: SchedulerNoOptions?,
        _ action: @escaping () -> Void
    ) {
        let handover = Handover(action)
        schedule(after: date, on: .global()) { self.addOperation { handover() } }
    }
}

extension RunLoop: DateScheduler {
    /// An instant of the calendar's clock.
    public typealias SchedulerTimeType = SchedulerDate
    /// It takes no options.
    public typealias SchedulerOptions = SchedulerNoOptions

    /// Runs `action` in the loop.
    ///
    /// The main loop's actions go to the main queue, which the loop serves too, since a program
    /// with an asynchronous entry point never runs the loop itself on Linux.
    public func schedule(options: SchedulerNoOptions?, _ action: @escaping () -> Void) {
        let handover = Handover(action)
        if self === RunLoop.main {
            DispatchQueue.main.async { handover() }
        } else {
            perform { handover() }
            // A loop that sleeps does not see what it was given; a timer wakes it.
            add(Timer(timeInterval: 0, repeats: false) { _ in }, forMode: .default)
        }
    }

    /// Runs `action` in the loop at `date`.
    public func schedule(
        after date: SchedulerDate,
        tolerance: SchedulerInterval,
        options: SchedulerNoOptions?,
        _ action: @escaping () -> Void
    ) {
        let handover = Handover(action)
        if self === RunLoop.main {
            schedule(after: date, on: .main) { handover() }
        } else {
            let timer = Timer(fire: date.date, interval: 0, repeats: false) { _ in handover() }
            add(timer, forMode: .default)
        }
    }
}
