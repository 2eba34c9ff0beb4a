/// A publisher of one value.
public struct Just<Output>: Publisher {
    /// It cannot fail.
    public typealias Failure = Never

    /// The value.
    public let output: Output

    /// Publishes `output`, then finishes.
    public init(_ output: Output) {
        self.output = output
    }

    /// Hands `subscriber` the value and the end.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
        Outlet.open(for: subscriber) { outlet in
            outlet.send(output)
            outlet.send(completion: .finished)
        }
    }
}

/// A publisher of no value.
public struct Empty<Output, Failure: Error>: Publisher {
    /// Whether it finishes at once, or never.
    public let completeImmediately: Bool

    /// Finishes at once, or never.
    public init(completeImmediately: Bool = true) {
        self.completeImmediately = completeImmediately
    }

    /// Finishes at once, or never, with types that the context does not give.
    public init(
        completeImmediately: Bool = true,
        outputType: Output.Type,
        failureType: Failure.Type
    ) {
        self.init(completeImmediately: completeImmediately)
    }

    /// Hands `subscriber` the end, if there is one.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        Outlet.open(for: subscriber) { outlet in
            if completeImmediately { outlet.send(completion: .finished) }
        }
    }
}

/// A publisher that only fails.
public struct Fail<Output, Failure: Error>: Publisher {
    /// The failure.
    public let error: Failure

    /// Fails with `error`.
    public init(error: Failure) {
        self.error = error
    }

    /// Fails with `error`, for an output that the context does not give.
    public init(outputType: Output.Type, failure: Failure) {
        error = failure
    }

    /// Hands `subscriber` the failure.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        Outlet.open(for: subscriber) { $0.send(completion: .failure(error)) }
    }
}

/// A publisher that is made anew for each subscriber.
public struct Deferred<DeferredPublisher: Publisher>: Publisher {
    /// What the made publisher publishes.
    public typealias Output = DeferredPublisher.Output
    /// What the made publisher may fail with.
    public typealias Failure = DeferredPublisher.Failure

    /// Makes the publisher.
    public let createPublisher: () -> DeferredPublisher

    /// Calls `createPublisher` for each subscriber.
    public init(createPublisher: @escaping () -> DeferredPublisher) {
        self.createPublisher = createPublisher
    }

    /// Attaches `subscriber` to a new publisher.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        createPublisher().receive(subscriber: subscriber)
    }
}

extension Publishers {
    /// A publisher of the elements of a sequence.
    public struct Sequence<Elements: Swift.Sequence, Failure: Error>: Publisher {
        /// What the sequence holds.
        public typealias Output = Elements.Element

        /// The elements.
        public let sequence: Elements

        /// Publishes each element of `sequence`, then finishes.
        public init(sequence: Elements) {
            self.sequence = sequence
        }

        /// Hands `subscriber` the elements and the end.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            Outlet.open(for: subscriber) { outlet in
                for element in sequence {
                    guard outlet.isOpen else { return }
                    outlet.send(element)
                }
                outlet.send(completion: .finished)
            }
        }
    }
}

extension Sequence {
    /// Publishes each element, then finishes.
    public var publisher: Publishers.Sequence<Self, Never> { .init(sequence: self) }
}
