extension Publisher {
    /// Hands values and the end on by `scheduler`.
    public func receive<S: Scheduler>(
        on scheduler: S,
        options: S.SchedulerOptions? = nil
    ) -> Publishers.ReceiveOn<Self, S> {
        scheduled { scheduler.schedule(options: options, $0) }
    }

    /// Hands values and the end on by `scheduler`, each later by `interval`.
    public func delay<S: Scheduler>(
        for interval: S.SchedulerTimeType.Stride,
        tolerance: S.SchedulerTimeType.Stride? = nil,
        scheduler: S,
        options: S.SchedulerOptions? = nil
    ) -> Publishers.Delay<Self, S> {
        scheduled { action in
            scheduler.schedule(
                after: scheduler.now.advanced(by: interval),
                tolerance: tolerance ?? scheduler.minimumTolerance,
                options: options,
                action
            )
        }
    }

    private func scheduled(
        _ schedule: @escaping (@escaping () -> Void) -> Void
    ) -> Publishers.Filter<Self> {
        .init(upstream: self) { upstream, outlet in
            let line = ScheduledLine()
            outlet.listen(
                to: upstream,
                completion: { completion in
                    line.append({ outlet.send(completion: completion) }, schedule)
                },
                value: { value in line.append({ outlet.send(value) }, schedule) }
            )
        }
    }
}
