import Huddle
import Synchronization

/// Wakes those who wait; one raised while nobody waits wakes the next.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func raise() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.isRaised = state.waiting.isEmpty
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.isRaised {
                    state.isRaised = false
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// The end of a send, for the one that waits for it.
final class Outcome: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<MessengerError?, Never>)
        case known(MessengerError?)
    }

    private let state = Mutex(State.open)

    @Sendable
    func give(_ failure: MessengerError?) {
        let waiting = state.withLock { state -> CheckedContinuation<MessengerError?, Never>? in
            defer { state = .known(failure) }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
        waiting?.resume(returning: failure)
    }

    var value: MessengerError? {
        get async {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> MessengerError?? in
                    if case .known(let failure) = state { return .some(failure) }
                    state = .waiting(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }
}

/// What is told once: the first word counts.
final class Answer: Sendable {
    private let done: Mutex<(@Sendable (MessengerError?) -> Void)?>

    init(_ done: @escaping @Sendable (MessengerError?) -> Void) {
        self.done = Mutex(done)
    }

    var isGiven: Bool { done.withLock { $0 == nil } }

    /// Whether this was the first word.
    @discardableResult
    func give(_ failure: MessengerError?) -> Bool {
        let done = done.withLock { done in
            defer { done = nil }
            return done
        }
        done?(failure)
        return done != nil
    }
}
