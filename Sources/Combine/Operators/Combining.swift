extension Publisher {
    /// Publishes the latest values of both, from when each has one, at each new value of either.
    public func combineLatest<P: Publisher>(_ other: P) -> Publishers.CombineLatest<Self, P>
    where P.Failure == Failure {
        .init(self, other)
    }

    /// Publishes `transform` of the latest values of both.
    public func combineLatest<P: Publisher, T>(
        _ other: P,
        _ transform: @escaping (Output, P.Output) -> T
    ) -> Publishers.Operator<Publishers.CombineLatest<Self, P>, T, Failure>
    where P.Failure == Failure {
        combineLatest(other).map { transform($0.0, $0.1) }
    }

    /// Publishes the latest values of all three, from when each has one.
    public func combineLatest<P: Publisher, Q: Publisher>(
        _ second: P,
        _ third: Q
    ) -> Publishers.CombineLatest3<Self, P, Q> where P.Failure == Failure, Q.Failure == Failure {
        .init(self, second, third)
    }

    /// Publishes pairs: the first values of both, the second values of both, and so on.
    public func zip<P: Publisher>(_ other: P) -> Publishers.Zip<Self, P>
    where P.Failure == Failure {
        .init(self, other)
    }
}

extension Publishers {
    /// The latest values of two publishers; it finishes when both have.
    public struct CombineLatest<A: Publisher, B: Publisher>: Publisher
    where A.Failure == B.Failure {
        /// One value of each.
        public typealias Output = (A.Output, B.Output)
        /// What both may fail with.
        public typealias Failure = A.Failure

        /// The first publisher.
        public let a: A
        /// The second publisher.
        public let b: B

        /// Combines `a` and `b`.
        public init(_ a: A, _ b: B) {
            (self.a, self.b) = (a, b)
        }

        /// Subscribes to both for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            Outlet.open(for: subscriber) { outlet in
                let latest = Locked<(A.Output?, B.Output?)>((nil, nil))
                func renew(_ change: (inout (A.Output?, B.Output?)) -> Void) {
                    let pair = latest.withLock { latest in
                        change(&latest)
                        return latest
                    }
                    if case (let a?, let b?) = pair { outlet.send((a, b)) }
                }
                Gathering.open(outlet) { gathering in
                    gathering.include(a) { value in renew { $0.0 = value } }
                    gathering.include(b) { value in renew { $0.1 = value } }
                }
            }
        }
    }

    /// The latest values of three publishers; it finishes when all have.
    public struct CombineLatest3<A: Publisher, B: Publisher, C: Publisher>: Publisher
    where A.Failure == B.Failure, B.Failure == C.Failure {
        /// One value of each.
        public typealias Output = (A.Output, B.Output, C.Output)
        /// What all may fail with.
        public typealias Failure = A.Failure

        /// The first publisher.
        public let a: A
        /// The second publisher.
        public let b: B
        /// The third publisher.
        public let c: C

        /// Combines `a`, `b` and `c`.
        public init(_ a: A, _ b: B, _ c: C) {
            (self.a, self.b, self.c) = (a, b, c)
        }

        /// Subscribes to all for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            a.combineLatest(b).combineLatest(c).map { ($0.0.0, $0.0.1, $0.1) }
                .receive(subscriber: subscriber)
        }
    }

    /// Pairs of the values of two publishers, in order.
    ///
    /// It finishes when one has finished whose values are all paired.
    public struct Zip<A: Publisher, B: Publisher>: Publisher where A.Failure == B.Failure {
        /// One value of each.
        public typealias Output = (A.Output, B.Output)
        /// What both may fail with.
        public typealias Failure = A.Failure

        /// The first publisher.
        public let a: A
        /// The second publisher.
        public let b: B

        /// Pairs `a` and `b`.
        public init(_ a: A, _ b: B) {
            (self.a, self.b) = (a, b)
        }

        /// Subscribes to both for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            Outlet.open(for: subscriber) { outlet in
                let queues = Locked(Queues())
                func renew(_ change: (inout Queues) -> Void) {
                    let (pair, isOver) = queues.withLock { queues in
                        change(&queues)
                        return (queues.takePair(), queues.isOver)
                    }
                    if let pair { outlet.send(pair) }
                    if isOver { outlet.send(completion: .finished) }
                }
                func completion(
                    _ finish: @escaping (inout Queues) -> Void
                ) -> (Subscribers.Completion<Failure>) -> Void {
                    { completion in
                        if case .finished = completion {
                            renew(finish)
                        } else {
                            outlet.send(completion: completion)
                        }
                    }
                }
                outlet.listen(
                    to: a,
                    completion: completion { $0.isFirstOver = true },
                    value: { value in renew { $0.first.append(value) } }
                )
                outlet.listen(
                    to: b,
                    completion: completion { $0.isSecondOver = true },
                    value: { value in renew { $0.second.append(value) } }
                )
            }
        }

        /// The values that wait for their partners; one of the two is empty.
        private struct Queues {
            var first = Line<A.Output>()
            var second = Line<B.Output>()
            var isFirstOver = false
            var isSecondOver = false

            mutating func takePair() -> (A.Output, B.Output)? {
                guard first.count > 0, second.count > 0,
                    let a = first.popFirst(), let b = second.popFirst()
                else { return nil }
                return (a, b)
            }

            var isOver: Bool {
                (isFirstOver && first.count == 0) || (isSecondOver && second.count == 0)
            }
        }
    }
}
