/// A publisher that publishes what it is sent.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
    /// Publishes `value`.
    func send(_ value: Output)

    /// Ends the subject; what is sent later is ignored.
    func send(completion: Subscribers.Completion<Failure>)

    /// Requests everything from `subscription` and keeps it until the subject ends or is released.
    func send(subscription: any Subscription)
}

extension Subject where Output == Void {
    /// Publishes a value without content.
    public func send() {
        send(())
    }
}

/// The subscriptions that feed a subject; cancelled when it ends or is released.
final class Upstreams {
    private let subscriptions = Locked([any Subscription]())

    deinit { cancel() }

    func hold(_ subscription: any Subscription) {
        subscriptions.withLock { $0.append(subscription) }
        subscription.request(.unlimited)
    }

    func cancel() {
        for subscription in subscriptions.replace(with: []) { subscription.cancel() }
    }
}
