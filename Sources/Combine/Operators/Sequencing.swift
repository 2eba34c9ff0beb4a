extension Publisher {
    /// Publishes all of this publisher and then all of `publisher`.
    public func append<P: Publisher>(_ publisher: P) -> Publishers.Filter<Self>
    where P.Output == Output, P.Failure == Failure {
        handlingCompletion { completion, outlet in
            guard case .finished = completion else { return outlet.send(completion: completion) }
            outlet.forward(publisher)
        }
    }

    /// Publishes `elements` after all others.
    public func append(_ elements: Output...) -> Publishers.Filter<Self> {
        append(Publishers.Sequence(sequence: elements))
    }

    /// Publishes all of `publisher` first.
    public func prepend<P: Publisher>(_ publisher: P) -> Publishers.Filter<P>
    where P.Output == Output, P.Failure == Failure {
        publisher.append(self)
    }

    /// Publishes `elements` first.
    public func prepend(
        _ elements: Output...
    ) -> Publishers.Filter<Publishers.Sequence<[Output], Failure>> {
        prepend(Publishers.Sequence(sequence: elements))
    }

    /// Publishes all that the publishers made of the values publish.
    ///
    /// It finishes when this publisher and all of those have; `maxPublishers` is ignored, as all
    /// demand is unlimited.
    public func flatMap<T, P: Publisher>(
        maxPublishers: Subscribers.Demand = .unlimited,
        _ transform: @escaping (Output) -> P
    ) -> Publishers.FlatMap<P, Self> where P.Output == T, P.Failure == Failure {
        .init(upstream: self) { upstream, outlet in
            Gathering.open(outlet) { gathering in
                gathering.include(upstream) { gathering.include(transform($0), outlet.send(_:)) }
            }
        }
    }

    /// Publishes what the newest of the published publishers publishes.
    public func switchToLatest() -> Publishers.SwitchToLatest<Output, Self>
    where Output: Publisher, Output.Failure == Failure {
        .init(upstream: self) { upstream, outlet in
            let newest = Locked<Gathering<Output.Output, Failure>.Member?>(nil)
            Gathering.open(outlet) { gathering in
                gathering.include(upstream) { publisher in
                    if let last = newest.replace(with: nil) { gathering.drop(last) }
                    newest.replace(with: gathering.include(publisher, outlet.send(_:)))
                }
            }
        }
    }
}
