import Synchronization

/// The newest element of a sequence that a task of its own reads, and when it came.
///
/// One reader. The task ends with the sequence, or when the last reference to its ``Reading`` is gone.
final class Newest<Base: AsyncSequence & Sendable, Time: Clock>: Sendable
where Base.Element: Sendable, Time: Sendable {
    struct Arrival: Sendable {
        var element: Base.Element
        var at: Time.Instant
    }

    private struct State {
        var pending: Arrival?
        /// What comes before it is dropped.
        var opensAt: Time.Instant?
        var end: Result<Void, Base.Failure>?
        var waiter: CheckedContinuation<Void, Never>?
    }

    let clock: Time
    private let pause: Time.Duration?
    private let state = Mutex(State())

    /// With a `pause` what comes within it after an element that counted is dropped.
    init(clock: Time, pause: Time.Duration? = nil) {
        self.clock = clock
        self.pause = pause
    }

    func read(_ base: Base) async {
        var elements = base.makeAsyncIterator()
        do throws(Base.Failure) {
            while let element = try await elements.next(isolation: nil) { put(element) }
            finish(.success(()))
        } catch {
            finish(.failure(error))
        }
    }

    /// Waits for an element or the end, and leaves it where it is.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    guard state.pending == nil, state.end == nil, !Task.isCancelled else {
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            wake(isCancelled: true) { _ in }
        }
    }

    /// Waits until `moment`, or until the task is cancelled.
    func sleep(until moment: Time.Instant) async {
        try? await clock.sleep(until: moment, tolerance: nil)
    }

    /// The element that waits, if any.
    var pending: Arrival? { state.withLock { $0.pending } }

    /// How the sequence ended, if it did and nothing waits any more.
    var end: Result<Void, Base.Failure>? { state.withLock { $0.pending == nil ? $0.end : nil } }

    func take() -> Base.Element? {
        state.withLock { state in
            defer { state.pending = nil }
            return state.pending?.element
        }
    }

    private func put(_ element: Base.Element) {
        let arrival = Arrival(element: element, at: clock.now)
        wake { state in
            if let pause {
                if let opensAt = state.opensAt, arrival.at < opensAt { return }
                state.opensAt = arrival.at.advanced(by: pause)
            }
            state.pending = arrival
        }
    }

    private func finish(_ end: Result<Void, Base.Failure>) { wake { $0.end = end } }

    /// Changes the state, and lets the reader go on if there is something for it.
    private func wake(isCancelled: Bool = false, _ change: (inout sending State) -> Void) {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            change(&state)
            guard state.pending != nil || state.end != nil || isCancelled else { return nil }
            let waiter = state.waiter
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }
}

/// The task that reads a sequence; it ends with the iterator that owns this.
final class Reading: Sendable {
    private let task: Task<Void, Never>

    init<Base, Time>(_ base: Base, into newest: Newest<Base, Time>) {
        task = Task { await newest.read(base) }
    }

    deinit { task.cancel() }
}
