/// A publisher of one value that comes later, or of a failure.
public final class Future<Output, Failure: Error>: Publisher {
    /// Fulfils the future; only the first call counts.
    public typealias Promise = (Result<Output, Failure>) -> Void

    private struct State {
        var result: Result<Output, Failure>?
        var outlets: [Outlet<Output, Failure>] = []
    }

    private let state = Locked(State())

    /// Calls `attemptToFulfill` at once, with the promise that it fulfils now or later.
    public init(_ attemptToFulfill: @escaping (@escaping Promise) -> Void) {
        attemptToFulfill { self.fulfil($0) }
    }

    /// Hands `subscriber` the result, as soon as there is one.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        Outlet.open(for: subscriber) { [state] outlet in
            let result = state.withLock { state in
                if state.result == nil { state.outlets.append(outlet) }
                return state.result
            }
            if let result { outlet.send(result) }
        }
    }

    private func fulfil(_ result: Result<Output, Failure>) {
        let outlets = state.withLock { state in
            guard state.result == nil else { return [Outlet<Output, Failure>]() }
            state.result = result
            defer { state.outlets = [] }
            return state.outlets
        }
        for outlet in outlets { outlet.send(result) }
    }
}

extension Outlet {
    /// Passes the value and the end on, or the failure.
    fileprivate func send(_ result: Result<Output, Failure>) {
        switch result {
        case .success(let value):
            send(value)
            send(completion: .finished)
        case .failure(let error):
            send(completion: .failure(error))
        }
    }
}
