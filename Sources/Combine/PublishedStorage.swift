import Foundation

/// The value of a published property and those that hear of its changes.
///
/// A class, so that the property and its publishers share it. The lock inside guards the value
/// against readers on other threads; who assigns on two threads at once gets both values
/// published, in any order.
final class PublishedStorage<Value> {
    /// What a thread is doing with the subscribers, in a property that spares them.
    private enum Activity { case emission, replay }

    private struct State {
        var value: Value
        var objectWillChange: ObservableObjectPublisher?
        /// Innermost last.
        var activities: [(thread: ObjectIdentifier, activity: Activity)] = []
        var feeds: [CombineIdentifier: AnyCancellable] = [:]
    }

    private let state: Locked<State>
    /// Replays the value that was announced last, which during an emission is not stored yet.
    private let audience: Audience<Value, Never>
    private let spares: Bool

    init(_ value: Value, spares: Bool) {
        state = Locked(State(value: value))
        audience = Audience(latest: value)
        self.spares = spares
    }

    /// The stored value; a new one is published first.
    var value: Value {
        get { state.withLock { $0.value } }
        set {
            objectWillChange?.send()
            during(.emission) { audience.send(newValue) }
            // Released after the lock: a value's deinit is code of the app.
            _ = state.withLock { state in
                let old = state.value
                state.value = newValue
                return old
            }
            audience.latest = newValue
        }
    }

    /// Hears of each change before the subscribers do, if its object is observed.
    var objectWillChange: ObservableObjectPublisher? {
        get { state.withLock { $0.objectWillChange } }
        set { state.withLock { $0.objectWillChange = newValue } }
    }

    /// Adds a subscriber and replays to it.
    func add(_ outlet: Outlet<Value, Never>) {
        let around = current
        let latest = audience.add(outlet)
        switch around {
        case nil:
            guard let latest else { return }
            during(.replay) { outlet.send(latest) }
        case .emission: during(.replay) { outlet.send(value) }
        case .replay: return
        }
    }

    /// Keeps what `subscribe` returns as long as the storage, or until it calls its argument.
    func feed(_ subscribe: (_ completion: @escaping () -> Void) -> AnyCancellable) {
        let key = CombineIdentifier()
        let isOver = Locked(false)
        let feed = subscribe { [weak self] in
            isOver.replace(with: true)
            _ = self?.state.withLock { $0.feeds.removeValue(forKey: key) }
        }
        state.withLock { state in
            // A publisher may end before it returns.
            if !isOver.value { state.feeds[key] = feed }
        }
    }

    private func during(_ activity: Activity, _ work: () -> Void) {
        guard spares else { return work() }
        let thread = ObjectIdentifier(Thread.current)
        state.withLock { $0.activities.append((thread, activity)) }
        work()
        state.withLock { state in
            guard let mine = state.activities.lastIndex(where: { $0.thread == thread }) else {
                return
            }
            state.activities.remove(at: mine)
        }
    }

    /// What the calling thread is in the middle of.
    private var current: Activity? {
        guard spares else { return nil }
        let thread = ObjectIdentifier(Thread.current)
        return state.withLock { $0.activities.last { $0.thread == thread }?.activity }
    }
}
