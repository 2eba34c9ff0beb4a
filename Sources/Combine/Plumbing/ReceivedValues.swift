/// What an asynchronous iterator has received and was not asked for yet.
final class ReceivedValues<Value, Failure: Error>: Sendable {
    private struct State {
        var values: [Value] = []
        /// Those before are taken.
        var start = 0
        var completion: Subscribers.Completion<Failure>?
        var waiting: [CheckedContinuation<Void, Never>] = []
        var subscription: AnyCancellable?

        var hasNews: Bool { start < values.count || completion != nil }

        mutating func take() -> Value? {
            guard start < values.count else { return nil }
            defer {
                start += 1
                if start == values.count { (values, start) = ([], 0) }
            }
            return values[start]
        }
    }

    /// The most values that are kept; memory is bounded where nobody asks.
    private static var capacity: Int { 1_024 }

    private let state = Locked(State())

    init<P: Publisher>(of publisher: P) where P.Output == Value, P.Failure == Failure {
        let subscription = publisher.sink(
            receiveCompletion: { [weak self] in self?.finish($0) },
            receiveValue: { [weak self] in self?.append($0) }
        )
        state.withLock { $0.subscription = subscription }
    }

    func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Value? {
        while true {
            let (value, completion) = state.withLock { state in
                if let value = state.take() { return (Optional(value), Completion?.none) }
                defer { if state.completion != nil { state.completion = .finished } }
                return (nil, state.completion)
            }
            if let value { return value }
            switch completion {
            case .finished: return nil
            case .failure(let error): throw error
            case nil: await news(isolation: actor)
            }
        }
    }

    private typealias Completion = Subscribers.Completion<Failure>

    /// Returns as soon as there is a value or the end; cancellation of the task is the end.
    private func news(isolation actor: isolated (any Actor)?) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: actor) { continuation in
                let isReady = state.withLock { state in
                    if !state.hasNews { state.waiting.append(continuation) }
                    return state.hasNews
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            finish(.finished)
        }
    }

    private func append(_ value: Value) {
        change { state in
            state.values.append(value)
            guard state.values.count - state.start > Self.capacity else { return }
            state.start += 1
            guard state.start >= Self.capacity else { return }
            state.values.removeFirst(state.start)
            state.start = 0
        }
    }

    private func finish(_ completion: Completion) {
        let subscription = state.withLock { state in
            defer { state.subscription = nil }
            return state.subscription
        }
        subscription?.cancel()
        change { state in
            if state.completion == nil { state.completion = completion }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let waiting = state.withLock { state in
            body(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
