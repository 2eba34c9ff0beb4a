/// What an asynchronous iterator has received and was not asked for yet.
final class ReceivedValues<Value, Failure: Error>: Sendable {
    private struct State {
        var values = Line<Value>()
        var completion: Subscribers.Completion<Failure>?
        var waiting: [CheckedContinuation<Void, Never>] = []
        var subscription: AnyCancellable?

        var hasNews: Bool { values.count > 0 || completion != nil }
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
                if let value = state.values.popFirst() {
                    return (Optional(value), Completion?.none)
                }
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
        // The oldest leaves the lock before it is released.
        _ = change { state in
            state.values.append(value)
            return state.values.count > Self.capacity ? state.values.popFirst() : nil
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

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, waiting) = state.withLock { state in
            let result = body(&state)
            defer { state.waiting = [] }
            return (result, state.waiting)
        }
        for continuation in waiting { continuation.resume() }
        return result
    }
}
