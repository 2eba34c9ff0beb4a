import Foundation

/// A value behind a lock.
///
/// `Mutex` asks for values that may leave their isolation; subscribers and closures of an app may
/// not, and still must be guarded.
final class Locked<State>: @unchecked Sendable {
    // Sendable: every access to `state` is inside the lock. What is taken out is used by the rule
    // of the whole module: the caller that sends a value decides the thread it is received on.
    private let lock = NSLock()
    private var state: State

    init(_ state: State) {
        self.state = state
    }

    /// Runs `body`, which may not call code of the app, inside the lock.
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&state)
    }

    /// The value as it is.
    var value: State { withLock { $0 } }

    /// Puts `next` in and returns what was there, so that it is released outside of the lock.
    @discardableResult
    func replace(with next: State) -> State {
        withLock { state in
            let previous = state
            state = next
            return previous
        }
    }
}

/// Carries a value across to the scheduler, queue or task that its owner chose.
///
/// Neither values nor closures of this module are `Sendable`, as with Apple; who names a scheduler
/// promises that they may be used there.
struct Handover<Value>: @unchecked Sendable {
    // Sendable by that promise.
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

extension Handover where Value == () -> Void {
    func callAsFunction() {
        value()
    }
}
