/// A subject that keeps no value: it publishes to those that are subscribed when it is sent.
public final class PassthroughSubject<Output, Failure: Error>: Subject {
    private let audience = Audience<Output, Failure>()
    private let upstreams = Upstreams()

    /// Makes a subject that nobody hears yet.
    public init() {}

    /// Hands `subscriber` what is sent from now on.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Failure {
        Outlet.open(for: subscriber) { [audience] in _ = audience.add($0) }
    }

    /// Publishes `value`.
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
