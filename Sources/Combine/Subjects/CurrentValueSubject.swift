/// A subject that keeps the last value and gives it to each new subscriber first.
public final class CurrentValueSubject<Output, Failure: Error>: Subject {
    private let audience: Audience<Output, Failure>
    private let upstreams = Upstreams()

    /// Starts with `value`.
    public init(_ value: Output) {
        audience = Audience(latest: value)
    }

    /// The value; setting it, also in place, publishes it, and it is stored first.
    public var value: Output {
        get {
            guard let latest = audience.latest else {
                preconditionFailure("a subject that starts with a value has lost it")
            }
            return latest
        }
        set { send(newValue) }
    }

    /// Hands `subscriber` the value and what is sent from now on.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        Outlet.open(for: subscriber) { [audience] outlet in
            if let latest = audience.add(outlet) { outlet.send(latest) }
        }
    }

    /// Stores and publishes `value`.
    public func send(_ value: Output) {
        audience.send(value)
    }

    /// Ends the subject; what is sent later is ignored.
    public func send(completion: Subscribers.Completion<Failure>) {
        upstreams.cancel()
        audience.send(completion: completion)
    }

    /// Requests everything from `subscription` and keeps it until the subject ends or is released.
    public func send(subscription: any Subscription) {
        upstreams.hold(subscription)
    }
}
