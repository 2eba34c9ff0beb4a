/// The subscribers of one source, in the order in which they subscribed.
///
/// No lock is held while a subscriber runs: a subscriber may send, subscribe and cancel. Those
/// that come during an emission are not part of it; those cancelled during it get nothing more.
final class Audience<Output, Failure: Error> {
    private struct State {
        var outlets: [Outlet<Output, Failure>] = []
        var completion: Subscribers.Completion<Failure>?
        /// The value that a newcomer gets first, if the source has one.
        var latest: Output?
    }

    private let state: Locked<State>

    /// A source that replays `latest`, or none that replays nothing.
    init(latest: Output? = nil) {
        state = Locked(State(latest: latest))
    }

    /// The value that was sent last, in a source that replays.
    var latest: Output? {
        get { state.withLock { $0.latest } }
        set {
            // A value's deinit is code of the app: the old one is released outside of the lock.
            let old = state.withLock { state in
                defer { state.latest = newValue }
                return state.latest
            }
            _ = consume old
        }
    }

    /// Adds `outlet` and returns the value to replay to it, as of the same instant.
    ///
    /// After the end it gets the completion instead.
    func add(_ outlet: Outlet<Output, Failure>) -> Output? {
        let (completion, latest) = state.withLock { state in
            if state.completion == nil { state.outlets.append(outlet) }
            return (state.completion, state.latest)
        }
        if let completion {
            outlet.send(completion: completion)
            return nil
        }
        outlet.hold(
            AnyCancellable { [weak self, weak outlet] in
                self?.state.withLock { $0.outlets.removeAll { $0 === outlet } }
            }
        )
        return latest
    }

    /// Sends `value` to all that are there now.
    func send(_ value: Output) {
        let (outlets, old) = state.withLock { state in
            let old = state.latest
            if old != nil, state.completion == nil { state.latest = value }
            return (state.outlets, old)
        }
        _ = consume old
        for outlet in outlets { outlet.send(value) }
    }

    /// Ends the source; only the first completion counts.
    func send(completion: Subscribers.Completion<Failure>) {
        let outlets = state.withLock { state in
            guard state.completion == nil else { return [Outlet<Output, Failure>]() }
            state.completion = completion
            defer { state.outlets = [] }
            return state.outlets
        }
        for outlet in outlets { outlet.send(completion: completion) }
    }
}
