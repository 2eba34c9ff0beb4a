extension Publisher where Failure == Never {
    /// The values as an asynchronous sequence; each iterator is a subscriber of its own.
    public var values: AsyncPublisher<Self> { AsyncPublisher(self) }
}

extension Publisher {
    /// The values as an asynchronous sequence, which throws the failure.
    public var values: AsyncThrowingPublisher<Self> { AsyncThrowingPublisher(self) }
}

/// The values of a publisher as an asynchronous sequence.
///
/// An iterator subscribes when it is made, and keeps what it was not asked for yet: the newest
/// 1 024 values, the older ones are dropped. It ends with the publisher, or when its task is
/// cancelled.
public struct AsyncPublisher<P: Publisher>: AsyncSequence where P.Failure == Never {
    /// What the publisher publishes.
    public typealias Element = P.Output
    /// It cannot fail.
    public typealias Failure = Never

    private let publisher: P

    /// The values of `publisher`.
    public init(_ publisher: P) {
        self.publisher = publisher
    }

    /// Subscribes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(received: ReceivedValues(of: publisher))
    }

    /// One subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let received: ReceivedValues<P.Output, Never>

        /// The next value, or nil at the end.
        public mutating func next() async -> P.Output? {
            await next(isolation: #isolation)
        }

        /// The next value, or nil at the end, without leaving `actor`.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> P.Output? {
            await received.next(isolation: actor)
        }
    }
}

/// The values of a publisher that may fail, as an asynchronous sequence that throws.
///
/// It keeps and ends as ``AsyncPublisher`` does.
public struct AsyncThrowingPublisher<P: Publisher>: AsyncSequence {
    /// What the publisher publishes.
    public typealias Element = P.Output
    /// What the publisher may fail with.
    public typealias Failure = P.Failure

    private let publisher: P

    /// The values of `publisher`.
    public init(_ publisher: P) {
        self.publisher = publisher
    }

    /// Subscribes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(received: ReceivedValues(of: publisher))
    }

    /// One subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let received: ReceivedValues<P.Output, P.Failure>

        /// The next value, or nil at the end; throws the publisher's failure once.
        public mutating func next() async throws(P.Failure) -> P.Output? {
            try await next(isolation: #isolation)
        }

        /// The next value, or nil at the end, without leaving `actor`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(P.Failure) -> P.Output? {
            try await received.next(isolation: actor)
        }
    }
}
