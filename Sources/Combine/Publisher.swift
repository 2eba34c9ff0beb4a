/// A source of values over time, which ends at most once, with success or a failure.
///
/// Demand is unlimited in this implementation: a publisher starts at the first request above
/// `.none` and from then on hands out all it has. So there is no back-pressure.
public protocol Publisher<Output, Failure> {
    /// What is published.
    associatedtype Output

    /// The error that may end the publisher; `Never` if none can.
    associatedtype Failure: Error

    /// Hands `subscriber` a subscription and, once it requests, all values.
    ///
    /// Publishers implement this; subscribers are attached by `subscribe(_:)`.
    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure
}

extension Publisher {
    /// Attaches `subscriber`.
    public func subscribe<S: Subscriber>(_ subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        receive(subscriber: subscriber)
    }

    /// Sends all values and the completion on through `subject`, until the result is cancelled.
    public func subscribe<S: Subject>(_ subject: S) -> AnyCancellable
    where S.Output == Output, S.Failure == Failure {
        sink(receiveCompletion: subject.send(completion:), receiveValue: subject.send(_:))
    }

    /// Hides the type of the publisher.
    public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> {
        AnyPublisher(self)
    }
}

/// A publisher that hides the type of another.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
    private let attach: (AnySubscriber<Output, Failure>) -> Void

    /// Hides `publisher`.
    public init<P: Publisher>(_ publisher: P) where P.Output == Output, P.Failure == Failure {
        attach = { publisher.receive(subscriber: $0) }
    }

    /// Attaches `subscriber` to the hidden publisher.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        attach(AnySubscriber(subscriber))
    }
}
