extension Publisher {
    /// Goes on with the publisher that `handler` makes of a failure.
    public func `catch`<P: Publisher>(
        _ handler: @escaping (Failure) -> P
    ) -> Publishers.Catch<Self, P> where P.Output == Output {
        handlingCompletion { completion, outlet in
            switch completion {
            case .finished: outlet.send(completion: .finished)
            case .failure(let error): outlet.forward(handler(error))
            }
        }
    }

    /// Publishes `output` in place of a failure, then finishes.
    public func replaceError(with output: Output) -> Publishers.ReplaceError<Self> {
        `catch` { _ in Just(output) }
    }

    /// Gives a publisher that cannot fail a type of failure, to be combined with others.
    public func setFailureType<E: Error>(
        to failureType: E.Type
    ) -> Publishers.SetFailureType<Self, E> where Failure == Never {
        handlingCompletion { _, outlet in outlet.send(completion: .finished) }
    }
}
