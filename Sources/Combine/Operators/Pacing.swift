extension Publisher {
    /// Publishes a value when none has followed it for `dueTime`; a last one before the end.
    public func debounce<S: Scheduler>(
        for dueTime: S.SchedulerTimeType.Stride,
        scheduler: S,
        options: S.SchedulerOptions? = nil
    ) -> Publishers.Debounce<Self, S> {
        holding(scheduler, options) { held, outlet in
            { value in
                let serial = held.put(value)
                scheduler.schedule(
                    after: scheduler.now.advanced(by: dueTime),
                    tolerance: scheduler.minimumTolerance,
                    options: options
                ) {
                    if let value = held.take(ifStill: serial) { outlet.send(value) }
                }
            }
        }
    }

    /// Publishes the first value at once and then at most one in each `interval`: the last one
    /// that came in it if `latest`, else the first.
    ///
    /// A value that is left is published when its interval ends, or the publisher if that is
    /// earlier.
    public func throttle<S: Scheduler>(
        for interval: S.SchedulerTimeType.Stride,
        scheduler: S,
        latest: Bool
    ) -> Publishers.Throttle<Self, S> {
        holding(scheduler, nil) { held, outlet in
            let isPacing = Locked(false)
            func openInterval() {
                guard let value = held.take() else {
                    isPacing.replace(with: false)
                    // A value that came between the two lines above found the pace still on.
                    if held.isEmpty || isPacing.replace(with: true) { return }
                    return openInterval()
                }
                scheduler.schedule(after: scheduler.now.advanced(by: interval), openInterval)
                outlet.send(value)
            }
            return { value in
                if latest || held.isEmpty { held.put(value) }
                if !isPacing.replace(with: true) { scheduler.schedule(openInterval) }
            }
        }
    }

    /// An operator that holds a value back; it is published before the end.
    private func holding<S: Scheduler>(
        _ scheduler: S,
        _ options: S.SchedulerOptions?,
        _ handler: @escaping (HeldValue<Output>, Outlet<Output, Failure>) -> (Output) -> Void
    ) -> Publishers.Filter<Self> {
        .init(upstream: self) { upstream, outlet in
            let held = HeldValue<Output>()
            outlet.listen(
                to: upstream,
                completion: { completion in
                    scheduler.schedule(options: options) {
                        if case .finished = completion, let value = held.take() {
                            outlet.send(value)
                        }
                        outlet.send(completion: completion)
                    }
                },
                value: handler(held, outlet)
            )
        }
    }
}

/// The value that waits for its time, and a number that changes with each.
private final class HeldValue<Value> {
    private let state = Locked<(value: Value?, serial: Int)>((nil, 0))

    var isEmpty: Bool { state.withLock { $0.value == nil } }

    /// Puts `value` in place of what waits; returns its number.
    @discardableResult
    func put(_ value: Value) -> Int {
        // The old value leaves the lock before it is released.
        let (_, serial) = state.withLock { state in
            let old = state.value
            state = (value, state.serial &+ 1)
            return (old, state.serial)
        }
        return serial
    }

    /// Takes the value out, if it still is the one of that number.
    func take(ifStill serial: Int? = nil) -> Value? {
        state.withLock { state in
            guard serial == nil || serial == state.serial else { return nil }
            defer { state.value = nil }
            return state.value
        }
    }
}
