extension Publisher {
    /// Calls the closures with the end and with each value, until the result is released.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        let sink = Subscribers.Sink(
            receiveCompletion: receiveCompletion,
            receiveValue: receiveValue
        )
        subscribe(sink)
        return AnyCancellable(sink)
    }

    /// Calls `receiveValue` with each value, until the result is released.
    public func sink(
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable where Failure == Never {
        sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
    }

    /// Assigns each value to a property of `object`, which is kept until the end.
    public func assign<Root>(
        to keyPath: ReferenceWritableKeyPath<Root, Output>,
        on object: Root
    ) -> AnyCancellable where Failure == Never {
        sink { object[keyPath: keyPath] = $0 }
    }

    /// Calls the closures at the events of each subscription, before they are passed on.
    public func handleEvents(
        receiveSubscription: ((any Subscription) -> Void)? = nil,
        receiveOutput: ((Output) -> Void)? = nil,
        receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil,
        receiveCancel: (() -> Void)? = nil,
        receiveRequest: ((Subscribers.Demand) -> Void)? = nil
    ) -> Publishers.HandleEvents<Self> {
        .init(upstream: self) { upstream, outlet in
            receiveSubscription?(outlet)
            receiveRequest?(.unlimited)
            let isOver = Locked(false)
            outlet.hold(AnyCancellable { if !isOver.value { receiveCancel?() } })
            outlet.listen(
                to: upstream,
                completion: { completion in
                    isOver.replace(with: true)
                    receiveCompletion?(completion)
                    outlet.send(completion: completion)
                },
                value: { value in
                    receiveOutput?(value)
                    outlet.send(value)
                }
            )
        }
    }
}
