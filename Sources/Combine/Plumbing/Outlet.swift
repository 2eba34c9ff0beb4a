/// One live subscription, seen from its publisher: what is sent in, the subscriber receives.
///
/// Every publisher of the module is a closure that is handed an outlet at the first request. The
/// outlet closes once, by completion or cancellation; from then on it passes nothing on, and all
/// that was held for it is cancelled.
final class Outlet<Output, Failure: Error>: Subscription {
    private struct Open {
        let downstream: AnySubscriber<Output, Failure>
        /// The publisher's work, until the first request.
        var connect: ((Outlet) -> Void)?
        /// What feeds the outlet.
        var upstreams: [any Cancellable] = []
    }

    /// Nil once closed.
    private let state: Locked<Open?>

    private init(_ open: Open) {
        state = Locked(open)
    }

    /// Subscribes `subscriber`; `connect` runs at its first request, on its thread.
    static func open<S: Subscriber>(
        for subscriber: S,
        connect: @escaping (Outlet) -> Void
    ) where S.Input == Output, S.Failure == Failure {
        let outlet = Outlet(Open(downstream: AnySubscriber(subscriber), connect: connect))
        subscriber.receive(subscription: outlet)
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        let connect = state.withLock { open in
            let connect = open?.connect
            open?.connect = nil
            return connect
        }
        connect?(self)
    }

    /// Passes `value` on, if still open.
    func send(_ value: Output) {
        // The demand it returns adds nothing to an unlimited one.
        _ = state.withLock { $0?.downstream }?.receive(value)
    }

    /// Passes the end on and closes.
    func send(completion: Subscribers.Completion<Failure>) {
        guard let open = state.replace(with: nil) else { return }
        open.downstream.receive(completion: completion)
        for upstream in open.upstreams { upstream.cancel() }
    }

    func cancel() {
        guard let open = state.replace(with: nil) else { return }
        for upstream in open.upstreams { upstream.cancel() }
    }

    /// Whether anything sent is still passed on.
    var isOpen: Bool { state.withLock { $0 != nil } }

    /// Keeps `upstream` until the outlet closes, then cancels it; at once if it is closed.
    func hold(_ upstream: any Cancellable) {
        let isOpen = state.withLock { open in
            open?.upstreams.append(upstream)
            return open != nil
        }
        if !isOpen { upstream.cancel() }
    }

    /// Hears `publisher` as long as the outlet is open.
    @discardableResult
    func listen<P: Publisher>(
        to publisher: P,
        completion: @escaping (Subscribers.Completion<P.Failure>) -> Void,
        value: @escaping (P.Output) -> Void
    ) -> any Cancellable & AnyObject {
        weak var ended: Subscribers.Sink<P.Output, P.Failure>?
        let sink = Subscribers.Sink<P.Output, P.Failure>(
            receiveCompletion: { [weak self] in
                if let ended { self?.drop(ended) }
                completion($0)
            },
            receiveValue: value
        )
        ended = sink
        hold(sink)
        publisher.subscribe(sink)
        return sink
    }

    /// Cancels one of the upstreams and lets go of it; the outlet stays open.
    func drop(_ upstream: any Cancellable & AnyObject) {
        state.withLock { open in
            open?.upstreams.removeAll { ($0 as AnyObject) === upstream }
        }
        upstream.cancel()
    }
}
