import Dispatch
import Synchronization

/// Which simulation of the process works on the main thread; the others wait until it has no more to do.
enum MainTurns {
    private struct State {
        var active: SimulationCore?
        var waiting: [SimulationCore] = []
    }

    private static let shared = Shared()

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    /// Marks the main queue, which need not always be the same thread.
    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller is on the main queue.
    static var isMain: Bool { DispatchQueue.getSpecific(key: mark) == true }

    /// The simulation whose turn it is: what the main queue does meanwhile is its work.
    static var active: SimulationCore? { shared.state.withLock { $0.active } }

    /// A simulation has something to do; once until it says that it ``end(_:)``s.
    static func ask(_ simulation: SimulationCore) {
        let isNext = shared.state.withLock { state in
            guard state.active == nil else {
                state.waiting.append(simulation)
                return false
            }
            state.active = simulation
            return true
        }
        if isNext { begin(simulation) }
    }

    /// A simulation has no more to do for now.
    static func end(_ simulation: SimulationCore) {
        let next = shared.state.withLock { state in
            state.active = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            return state.active
        }
        if let next { begin(next) }
    }

    private static func begin(_ simulation: SimulationCore) {
        DispatchQueue.main.async { simulation.work() }
    }
}
