extension Publisher {
    /// Publishes all of this publisher and of `other`, as they come.
    public func merge<P: Publisher>(with other: P) -> Publishers.Merge<Self, P>
    where P.Output == Output, P.Failure == Failure {
        .init(self, other)
    }
}

extension Publishers {
    /// All values of two publishers, as they come.
    public struct Merge<A: Publisher, B: Publisher>: Publisher
    where A.Output == B.Output, A.Failure == B.Failure {
        /// What both publish.
        public typealias Output = A.Output
        /// What both may fail with.
        public typealias Failure = A.Failure

        /// The first publisher.
        public let a: A
        /// The second publisher.
        public let b: B

        /// Merges `a` and `b`.
        public init(_ a: A, _ b: B) {
            (self.a, self.b) = (a, b)
        }

        /// Subscribes to both for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            MergeMany([AnyPublisher(a), AnyPublisher(b)]).receive(subscriber: subscriber)
        }
    }

    /// All values of any number of publishers, as they come.
    public struct MergeMany<Upstream: Publisher>: Publisher {
        /// What all publish.
        public typealias Output = Upstream.Output
        /// What all may fail with.
        public typealias Failure = Upstream.Failure

        /// The publishers.
        public let publishers: [Upstream]

        /// Merges `publishers`.
        public init(_ publishers: Upstream...) {
            self.publishers = publishers
        }

        /// Merges `publishers`.
        public init<S: Swift.Sequence>(_ publishers: S) where S.Element == Upstream {
            self.publishers = Array(publishers)
        }

        /// Subscribes to all for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            Sequence<[Upstream], Failure>(sequence: publishers).flatMap { $0 }
                .receive(subscriber: subscriber)
        }
    }
}
