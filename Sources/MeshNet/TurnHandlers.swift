import Synchronization

/// What a loop calls at the end of each turn, in the order of addition.
package final class TurnHandlers: Sendable {
    private struct State {
        var handlers: [(token: UInt64, handler: @Sendable () -> Void)] = []
        var lastToken: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls all that were there when this began, but for those that an earlier one removed.
    package func call() {
        for (token, handler) in state.withLock({ $0.handlers }) {
            let isThere = state.withLock { $0.handlers.contains { $0.token == token } }
            if isThere { handler() }
        }
    }

    package func add(_ handler: @escaping @Sendable () -> Void) -> LoopTurnHandler {
        state.withLock { state in
            state.lastToken += 1
            state.handlers.append((state.lastToken, handler))
            return LoopTurnHandler(token: state.lastToken)
        }
    }

    // What is removed is released outside the lock: a handler may own whatever ends with it.

    package func remove(_ handler: LoopTurnHandler) {
        let removed = state.withLock { state in
            let index = state.handlers.firstIndex { $0.token == handler.token }
            return index.map { state.handlers.remove(at: $0) }
        }
        _ = removed
    }

    package func removeAll() {
        let removed = state.withLock { state in
            defer { state.handlers = [] }
            return state.handlers
        }
        _ = removed
    }
}
