extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// The newest element once nothing has come for `interval` (`debounce` of Combine).
    ///
    /// The last of all comes too. An iterator reads the sequence in a task of its
    /// own, from its first `next()` on.
    public func debounced<Time: Clock & Sendable>(
        for interval: Time.Duration,
        clock: Time
    ) -> DebouncedSequence<Self, Time> {
        DebouncedSequence(base: self, interval: interval, clock: clock)
    }

    /// The newest element once nothing has come for `interval` of the continuous clock.
    public func debounced(for interval: Duration) -> DebouncedSequence<Self, ContinuousClock> {
        debounced(for: interval, clock: ContinuousClock())
    }
}

/// What `debounced(for:clock:)` makes of a sequence.
public struct DebouncedSequence<Base: AsyncSequence & Sendable, Time: Clock & Sendable>:
    AsyncSequence, Sendable
where Base.Element: Sendable {
    /// What the sequence beneath yields.
    public typealias Element = Base.Element
    /// How the sequence beneath fails.
    public typealias Failure = Base.Failure

    let base: Base
    let interval: Time.Duration
    let clock: Time

    /// A reader of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base, interval: interval, newest: Newest(clock: clock))
    }

    /// Reads what stood still.
    public struct Iterator: AsyncIteratorProtocol {
        let base: Base
        let interval: Time.Duration
        let newest: Newest<Base, Time>
        private var reading: Reading?

        init(base: Base, interval: Time.Duration, newest: Newest<Base, Time>) {
            self.base = base
            self.interval = interval
            self.newest = newest
        }

        /// The next element; `nil` at the end or when the task is cancelled.
        public mutating func next() async throws(Base.Failure) -> Element? {
            try await next(isolation: nil)
        }

        /// The next element, without leaving the caller's actor for longer than it waits.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Base.Failure) -> Element? {
            if reading == nil { reading = Reading(base, into: newest) }
            await newest.wait()
            while !Task.isCancelled, let pending = newest.pending {
                let due = pending.at.advanced(by: interval)
                if due <= newest.clock.now { return newest.take() }
                await newest.sleep(until: due)
            }
            guard !Task.isCancelled else { return nil }
            try newest.end?.get()
            return nil
        }
    }
}
