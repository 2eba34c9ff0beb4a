import Synchronization

/// The moment at which a running node should end, and with which exit code; the first word counts.
final class Ending: Sendable {
    private struct State {
        var code: Int32?
        var continuation: CheckedContinuation<Int32, Never>?
    }

    private let state = Mutex(State())

    /// Ends the wait; only the first call counts.
    func end(_ code: Int32) {
        let continuation = state.withLock { state -> CheckedContinuation<Int32, Never>? in
            guard state.code == nil else { return nil }
            state.code = code
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: code)
    }

    /// Ends with 130 or 143 when a signal asks for it.
    func followSignals() {
        onThread { [self] in
            while true {
                guard let number = Signals.take(within: .seconds(3600)) else { continue }
                return end(Signals.exitCode(number))
            }
        }
    }

    /// Waits for the end; one waiter only.
    func wait() async -> Int32 {
        await withCheckedContinuation { continuation in
            let code = state.withLock { state -> Int32? in
                if state.code == nil { state.continuation = continuation }
                return state.code
            }
            if let code { continuation.resume(returning: code) }
        }
    }
}
