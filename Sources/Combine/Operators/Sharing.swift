extension Publisher {
    /// One subscription to this publisher, shared by all subscribers from the first to the last.
    public func share() -> Publishers.Share<Self> {
        .init(upstream: self)
    }
}

extension Publishers {
    /// A publisher whose subscribers share one subscription to its upstream.
    public final class Share<Upstream: Publisher>: Publisher {
        /// What the upstream publishes.
        public typealias Output = Upstream.Output
        /// What the upstream may fail with.
        public typealias Failure = Upstream.Failure

        /// Where the values come from.
        public let upstream: Upstream
        private let audience = Audience<Output, Failure>()
        private let state = Locked<(count: Int, connection: AnyCancellable?)>((0, nil))

        /// Shares `upstream`.
        public init(upstream: Upstream) {
            self.upstream = upstream
        }

        /// Adds `subscriber`; the first one connects the upstream.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Output, S.Failure == Failure {
            Outlet.open(for: subscriber) { [self] outlet in
                _ = audience.add(outlet)
                guard outlet.isOpen else { return }
                let count = state.withLock { state in
                    state.count += 1
                    return state.count
                }
                outlet.hold(AnyCancellable { self.leave() })
                if count == 1 { connect() }
            }
        }

        private func connect() {
            let connection = upstream.sink(
                receiveCompletion: { [audience] in audience.send(completion: $0) },
                receiveValue: { [audience] in audience.send($0) }
            )
            // All may have left meanwhile; then it is released, and so cancelled, here.
            state.withLock { state in
                if state.count > 0 { state.connection = connection }
            }
        }

        private func leave() {
            let connection = state.withLock { state in
                state.count -= 1
                guard state.count == 0 else { return AnyCancellable?.none }
                defer { state.connection = nil }
                return state.connection
            }
            connection?.cancel()
        }
    }
}
