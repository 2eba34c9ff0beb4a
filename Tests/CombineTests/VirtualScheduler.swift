import Combine

/// A scheduler whose time passes only when a test says so.
final class VirtualScheduler: Scheduler {
    typealias SchedulerTimeType = VirtualTime
    typealias SchedulerOptions = Never

    /// Nanoseconds since the start.
    struct VirtualTime: Strideable {
        var elapsed: SchedulerInterval = .zero
        func distance(to other: Self) -> SchedulerInterval { other.elapsed - elapsed }
        func advanced(by interval: SchedulerInterval) -> Self { Self(elapsed: elapsed + interval) }
    }

    private struct Entry {
        var due: SchedulerInterval
        var serial: Int
        var action: () -> Void
    }

    private(set) var now = VirtualTime()
    private var entries: [Entry] = []
    private var serial = 0
    let minimumTolerance = SchedulerInterval.zero

    func schedule(options: Never?, _ action: @escaping () -> Void) {
        schedule(after: now, tolerance: .zero, options: nil, action)
    }

    func schedule(
        after date: VirtualTime,
        tolerance: SchedulerInterval,
        options: Never?,
        _ action: @escaping () -> Void
    ) {
        serial += 1
        entries.append(Entry(due: date.elapsed, serial: serial, action: action))
    }

    /// Lets `interval` pass and runs what falls due, in order.
    func advance(by interval: SchedulerInterval) {
        let end = now.elapsed + interval
        while let next = entries.indices
            .filter({ entries[$0].due <= end })
            .min(by: {
                (entries[$0].due, entries[$0].serial) < (entries[$1].due, entries[$1].serial)
            })
        {
            let entry = entries.remove(at: next)
            now.elapsed = max(now.elapsed, entry.due)
            entry.action()
        }
        now.elapsed = end
    }
}
