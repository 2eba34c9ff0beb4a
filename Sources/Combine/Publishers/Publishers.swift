/// The publishers that operators make.
public enum Publishers {
    /// The publisher of most operators: what it does with one subscriber is a closure.
    ///
    /// Its aliases bear Apple's names, so that a function can say what it returns.
    public struct Operator<Upstream: Publisher, Output, Failure: Error>: Publisher {
        /// Where its values come from.
        public let upstream: Upstream
        let connect: (Upstream, Outlet<Output, Failure>) -> Void

        /// Subscribes to the upstream for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            Outlet.open(for: subscriber) { connect(upstream, $0) }
        }
    }

    /// An operator whose values and failures are those of its upstream.
    public typealias Filter<Upstream: Publisher> = Operator<
        Upstream, Upstream.Output, Upstream.Failure
    >
    /// The publisher of `map`.
    public typealias Map<Upstream: Publisher, Output> = Operator<
        Upstream, Output, Upstream.Failure
    >
    /// The publisher of `map` with a key path.
    public typealias MapKeyPath<Upstream: Publisher, Output> = Map<Upstream, Output>
    /// The publisher of `compactMap`.
    public typealias CompactMap<Upstream: Publisher, Output> = Map<Upstream, Output>
    /// The publisher of `scan`.
    public typealias Scan<Upstream: Publisher, Output> = Map<Upstream, Output>
    /// The publisher of `removeDuplicates`.
    public typealias RemoveDuplicates<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `dropFirst`.
    public typealias Drop<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `prefix`.
    public typealias Output<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `first`.
    public typealias First<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `first(where:)`.
    public typealias FirstWhere<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `receive(on:)`.
    public typealias ReceiveOn<Upstream: Publisher, Context: Scheduler> = Filter<Upstream>
    /// The publisher of `delay`.
    public typealias Delay<Upstream: Publisher, Context: Scheduler> = Filter<Upstream>
    /// The publisher of `debounce`.
    public typealias Debounce<Upstream: Publisher, Context: Scheduler> = Filter<Upstream>
    /// The publisher of `throttle`.
    public typealias Throttle<Upstream: Publisher, Context: Scheduler> = Filter<Upstream>
    /// The publisher of `handleEvents`.
    public typealias HandleEvents<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `print`.
    public typealias Print<Upstream: Publisher> = Filter<Upstream>
    /// The publisher of `flatMap`.
    public typealias FlatMap<NewPublisher: Publisher, Upstream: Publisher> = Operator<
        Upstream, NewPublisher.Output, NewPublisher.Failure
    >
    /// The publisher of `switchToLatest`.
    public typealias SwitchToLatest<P: Publisher, Upstream: Publisher> = FlatMap<P, Upstream>
    /// The publisher of `setFailureType`.
    public typealias SetFailureType<Upstream: Publisher, Failure: Error> = Operator<
        Upstream, Upstream.Output, Failure
    >
    /// The publisher of `catch`.
    public typealias Catch<Upstream: Publisher, NewPublisher: Publisher> = Operator<
        Upstream, Upstream.Output, NewPublisher.Failure
    >
    /// The publisher of `replaceError`.
    public typealias ReplaceError<Upstream: Publisher> = Operator<
        Upstream, Upstream.Output, Never
    >
}

extension Publisher {
    /// An operator that handles each value with the closure made for the subscription, and passes
    /// the completion on.
    func handlingValues<Result>(
        _ handler: @escaping (Outlet<Result, Failure>) -> (Output) -> Void
    ) -> Publishers.Map<Self, Result> {
        .init(upstream: self) { upstream, outlet in
            outlet.listen(
                to: upstream,
                completion: outlet.send(completion:),
                value: handler(outlet)
            )
        }
    }

    /// An operator that passes each value on and handles the completion.
    func handlingCompletion<NewFailure: Error>(
        _ handler: @escaping (Subscribers.Completion<Failure>, Outlet<Output, NewFailure>) -> Void
    ) -> Publishers.SetFailureType<Self, NewFailure> {
        .init(upstream: self) { upstream, outlet in
            outlet.listen(
                to: upstream,
                completion: { handler($0, outlet) },
                value: outlet.send(_:)
            )
        }
    }
}

extension Outlet {
    /// Passes all of `publisher` on, with its completion.
    func forward<P: Publisher>(_ publisher: P) where P.Output == Output, P.Failure == Failure {
        listen(to: publisher, completion: send(completion:), value: send(_:))
    }
}
