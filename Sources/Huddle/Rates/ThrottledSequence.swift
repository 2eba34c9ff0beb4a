extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// At most one element in each interval (`throttle` of Combine).
    ///
    /// The first comes at once. With `latest` the newest of an interval comes at its end, so the last of all
    /// comes too, at most one interval late; without it the first of an interval comes and the others
    /// are dropped. An iterator reads the sequence in a task of its own, from its first `next()` on.
    ///
    /// - Parameters:
    ///   - interval: The least time between two elements.
    ///   - latest: Whether the newest counts, not the first.
    ///   - clock: What measures the time; tests bring their own.
    /// - Returns: The elements that are let through.
    public func throttled<Time: Clock & Sendable>(
        for interval: Time.Duration,
        latest: Bool = true,
        clock: Time
    ) -> ThrottledSequence<Self, Time> {
        ThrottledSequence(base: self, interval: interval, latest: latest, clock: clock)
    }

    /// At most one element in each interval of the continuous clock.
    public func throttled(
        for interval: Duration,
        latest: Bool = true
    ) -> ThrottledSequence<Self, ContinuousClock> {
        throttled(for: interval, latest: latest, clock: ContinuousClock())
    }
}

/// What `throttled(for:latest:clock:)` makes of a sequence.
public struct ThrottledSequence<Base: AsyncSequence & Sendable, Time: Clock & Sendable>:
    AsyncSequence, Sendable
where Base.Element: Sendable {
    /// What the sequence beneath yields.
    public typealias Element = Base.Element
    /// How the sequence beneath fails.
    public typealias Failure = Base.Failure

    let base: Base
    let interval: Time.Duration
    let latest: Bool
    let clock: Time

    /// A reader of its own.
    public func makeAsyncIterator() -> Iterator {
        // Without `latest` what counts is settled as it comes, so the reader need not wait.
        let newest = Newest<Base, Time>(clock: clock, pause: latest ? nil : interval)
        return Iterator(base: base, interval: latest ? interval : nil, newest: newest)
    }

    /// Reads at the pace of the interval.
    public struct Iterator: AsyncIteratorProtocol {
        let base: Base
        let interval: Time.Duration?
        let newest: Newest<Base, Time>
        private var reading: Reading?
        private var opensAt: Time.Instant?

        init(base: Base, interval: Time.Duration?, newest: Newest<Base, Time>) {
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
            if let opensAt, newest.pending != nil, newest.clock.now < opensAt {
                await newest.sleep(until: opensAt)
            }
            guard !Task.isCancelled else { return nil }
            opensAt = interval.map { newest.clock.now.advanced(by: $0) }
            if let element = newest.take() { return element }
            try newest.end?.get()
            return nil
        }
    }
}
