import MeshNet
import MeshWire
import Synchronization

/// What drives one simulated node's `EventLoop`: the simulation's queue, agenda and clock.
final class SimulatedLoop: LoopBackend {
    private struct Timer {
        var deadline: Instant?
        let handler: @Sendable () -> Void
    }

    private struct State {
        var runner: JobRunner?
        var timers: [UInt64: Timer] = [:]
        var lastToken: UInt64 = 0
    }

    private let core: SimulationCore
    private let state = Mutex(State())
    private let turnHandlers = TurnHandlers()

    init(core: SimulationCore) {
        self.core = core
    }

    var isCurrent: Bool { core.isCurrent }
    var turnInstant: Instant { core.now }
    var now: Instant { core.now }

    func sleep(for duration: Duration) async {
        await core.sleep(until: core.now + duration)
    }

    func spoke() {
        core.noteSpoken()
    }

    // MARK: Jobs and turns

    func adopt(_ runner: JobRunner) {
        state.withLock { $0.runner = runner }
    }

    func enqueue(_ job: UnownedJob) {
        core.add(.job(job, self))
    }

    /// Runs one of the node's jobs, in its turn.
    func run(_ job: UnownedJob) {
        let runner = state.withLock { $0.runner }
        core.touch(self)
        runner?.run(job)
    }

    /// The end of a turn, where the node sends what it has to send.
    func endTurn() { turnHandlers.call() }

    // MARK: Timers

    func makeTimer(_ handler: @escaping @Sendable () -> Void) -> LoopTimer {
        state.withLock { state in
            state.lastToken += 1
            state.timers[state.lastToken] = Timer(handler: handler)
            return LoopTimer(token: state.lastToken)
        }
    }

    func arm(_ timer: LoopTimer, at deadline: Instant?) {
        let now = core.now
        let planned = state.withLock { state -> Instant? in
            let deadline = deadline.flatMap { $0 == .distantFuture ? nil : max($0, now) }
            guard let former = state.timers[timer.token], former.deadline != deadline else {
                return nil
            }
            state.timers[timer.token]?.deadline = deadline
            return deadline
        }
        if let planned { core.plan(.timer(self, timer.token), at: planned) }
    }

    /// Calls the handler if the timer still stands for this instant.
    func fire(_ token: UInt64, at instant: Instant) {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            guard let timer = state.timers[token], timer.deadline == instant else { return nil }
            state.timers[token]?.deadline = nil
            return timer.handler
        }
        guard let handler else { return }
        core.touch(self)
        handler()
    }

    func remove(_ timer: LoopTimer) {
        let removed = state.withLock { $0.timers.removeValue(forKey: timer.token) }
        // Released here, outside the lock: a handler may own whatever ends with it.
        _ = removed
    }

    func addTurnHandler(_ handler: @escaping @Sendable () -> Void) -> LoopTurnHandler {
        turnHandlers.add(handler)
    }

    func remove(_ handler: LoopTurnHandler) { turnHandlers.remove(handler) }

    func stop() {
        turnHandlers.removeAll()
        let dropped = state.withLock { state in
            defer { state.timers = [:] }
            return state.timers
        }
        _ = dropped
    }

    func end() {
        stop()
    }

    // MARK: Descriptors, of which a simulation has none

    /// `EPERM`, what the system says of a descriptor that nothing can be waited for at.
    private static let notPermitted: Int32 = 1

    func register(
        _ descriptor: Int32,
        readable: Bool,
        writable: Bool,
        handler: @escaping @Sendable (Readiness) -> Void
    ) throws(SystemError) -> LoopRegistration {
        throw SystemError(call: "epoll_ctl", code: Self.notPermitted)
    }

    func modify(
        _ registration: LoopRegistration,
        readable: Bool,
        writable: Bool
    ) throws(SystemError) {}

    func remove(_ registration: LoopRegistration) {}
}
