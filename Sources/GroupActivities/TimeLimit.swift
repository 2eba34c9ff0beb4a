import Huddle
import Synchronization

/// How long answers of programs and people are waited for.
package enum TimeLimit {
    /// The clock that limits are measured by where a test moves one; else it is that of the conversation's node.
    @TaskLocal package static var clock: (any Clock<Duration>)?

    /// How long ``GroupActivityPolicy/activation`` may take (`40-groupactivities.md` §3.1).
    static let activation = Duration.seconds(60)
    /// How long ``GroupActivityPolicy/willReplace`` may hold a replacement back (`40-groupactivities.md` §9.6).
    static let replacement = Duration.seconds(10)
    /// How long an activity's metadata may take (`40-groupactivities.md` §8).
    static let metadata = Duration.seconds(5)
    /// How long an invitation stands that nobody accepts (`40-groupactivities.md` §8).
    static let sharing = Duration.seconds(600)

    /// The value of `body`; `nil` once `limit` is over or the caller's task is cancelled.
    ///
    /// The body's task is cancelled then and not waited for, since it need not heed that. It runs where the
    /// caller does.
    static func value<Value>(
        within limit: Duration,
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping () async -> sending Value
    ) async -> Value? {
        let race = Race<Value>()
        let (clock, conversation) = (clock, Conversation.current)
        let work = Task {
            _ = isolation
            race.finish(await body())
        }
        let timer = Task {
            if let clock {
                try? await clock.sleep(for: limit)
            } else {
                await conversation.sleep(for: limit)
            }
            // Cancelled, the body was faster.
            if !Task.isCancelled { race.finish(nil) }
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        return await withTaskCancellationHandler {
            await race.first()?.value
        } onCancel: {
            race.finish(nil)
        }
    }
}

/// The first of several words, for the one that waits for it.
private final class Race<Value>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<UncheckedBox<Value>?, Never>)
        case over(UncheckedBox<Value>?)
        case taken
    }

    private let state = Mutex(State.open)

    func finish(_ value: sending Value?) {
        // Handed over once: to the one that waits, who alone reads it.
        let value = value.map { UncheckedBox($0) }
        let waiting = state.withLock {
            state -> CheckedContinuation<UncheckedBox<Value>?, Never>? in
            switch state {
            case .open:
                state = .over(value)
                return nil
            case .awaited(let continuation):
                state = .taken
                return continuation
            case .over, .taken: return nil
            }
        }
        waiting?.resume(returning: value)
    }

    func first(
        isolation: isolated (any Actor)? = #isolation
    ) async -> UncheckedBox<Value>? {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state -> UncheckedBox<Value>?? in
                if case .over(let value) = state {
                    state = .taken
                    return .some(value)
                }
                state = .awaited(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
