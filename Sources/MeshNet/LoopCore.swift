import CLinux
import MeshWire
import Synchronization

/// The state behind an ``EventLoop``, which the loop's thread keeps alive.
///
/// The thread holds the core and not the loop, so that dropping the loop can end the thread.
final class LoopCore: LoopBackend {
    private struct Watch {
        var descriptor: Int32
        var handler: @Sendable (Readiness) -> Void
    }
    private struct Timer {
        var token: UInt64
        var deadline: Instant
        var handler: @Sendable () -> Void
    }
    private struct State {
        var jobs: [UnownedJob] = []
        var watches: [UInt64: Watch] = [:]
        var timers: [Timer] = []
        var lastToken: UInt64 = 1
        var runner: JobRunner?
        var isWaiting = false
        var isEnding = false
        var armed: Instant?

        mutating func nextToken() -> UInt64 {
            lastToken += 1
            return lastToken
        }
    }

    private let epoll: Descriptor
    private let wakeup: Descriptor
    private let alarm: Descriptor
    private let state = Mutex(State())
    private let turnHandlers = TurnHandlers()
    private let thread = Atomic<UInt>(0)
    private let turnClock = Atomic<Int64>(0)

    private static let wakeupToken: UInt64 = 0
    private static let alarmToken: UInt64 = 1
    /// Rounds of jobs in one turn before descriptors get their chance again.
    private static let jobRounds = 16

    init() throws(SystemError) {
        epoll = try Descriptor("epoll_create1", linux_epoll_create())
        wakeup = try Descriptor("eventfd", linux_eventfd_create())
        alarm = try Descriptor("timerfd_create", linux_timer_create())
        try checked(
            "epoll_ctl",
            linux_epoll_add(epoll.number, wakeup.number, true, false, Self.wakeupToken)
        )
        try checked(
            "epoll_ctl",
            linux_epoll_add(epoll.number, alarm.number, true, false, Self.alarmToken)
        )
    }

    var isCurrent: Bool { thread.load(ordering: .relaxed) == currentThread() }

    var turnInstant: Instant { Instant(nanoseconds: turnClock.load(ordering: .relaxed)) }

    var now: Instant { SystemClock.now() }

    func sleep(for duration: Duration) async {
        // Cancelled is as good as over.
        try? await Task.sleep(for: duration)
    }

    /// Nothing to do: whoever was told something runs on threads of its own.
    func spoke() {}

    func adopt(_ runner: JobRunner) {
        state.withLock { $0.runner = runner }
    }

    // MARK: The thread

    /// The loop itself; returns once the ``EventLoop`` is gone and no job waits.
    func run() {
        thread.store(currentThread(), ordering: .relaxed)
        var events = [linux_event](repeating: linux_event(), count: 64)
        while let timeout = prepareToWait() {
            // 1. Wait for readiness, a deadline or work.
            let count: Int
            do {
                count = try waitForEvents(epoll.number, into: &events, timeout: timeout)
            } catch {
                preconditionFailure("the loop cannot wait: \(error)")
            }
            state.withLock { $0.isWaiting = false }
            // 2. Read the clock once.
            let now = SystemClock.now()
            turnClock.store(now.nanoseconds, ordering: .relaxed)
            // 3. Descriptors, timers, jobs.
            for event in events[..<count] { handle(event) }
            fireTimers(now)
            runJobs()
            // 4. The turn's end.
            turnHandlers.call()
        }
    }

    /// The timeout of the next wait in milliseconds, or `nil` if the thread shall end.
    private func prepareToWait() -> Int32? {
        let (timeout, alarmAt) = state.withLock { state -> (Int32?, Instant??) in
            guard state.jobs.isEmpty else { return (0, nil) }
            guard !state.isEnding else { return (nil, nil) }
            state.isWaiting = true
            let next = state.timers.lazy.map(\.deadline).min().flatMap {
                $0 == .distantFuture ? nil : $0
            }
            guard next != state.armed else { return (-1, nil) }
            state.armed = next
            return (-1, .some(next))
        }
        if let deadline = alarmAt {
            // Zero would disarm the timer, so a deadline in the past becomes the first nanosecond.
            linux_timer_arm(alarm.number, deadline.map { max(1, $0.nanoseconds) } ?? 0)
        }
        return timeout
    }

    private func handle(_ event: linux_event) {
        guard event.token > Self.alarmToken else {
            // The alarm needs no read: arming it again forgets the expiry.
            if event.token == Self.wakeupToken { linux_eventfd_drain(wakeup.number) }
            return
        }
        // A handler earlier in this turn may have removed this one.
        guard let watch = state.withLock({ $0.watches[event.token] }) else { return }
        watch.handler(
            Readiness(
                isReadable: event.readable,
                isWritable: event.writable,
                isClosed: event.closed
            )
        )
    }

    private func fireTimers(_ now: Instant) {
        let due = state.withLock { state -> [Timer] in
            // The alarm, if it rang, is armed anew before the next wait.
            if let armed = state.armed, armed <= now { state.armed = .zero }
            let due = state.timers.filter { $0.deadline <= now }
            for index in state.timers.indices where state.timers[index].deadline <= now {
                state.timers[index].deadline = .distantFuture
            }
            return due.sorted { $0.deadline < $1.deadline }
        }
        for timer in due { timer.handler() }
    }

    private func runJobs() {
        for _ in 0..<Self.jobRounds {
            let (jobs, runner) = state.withLock { state in
                defer { state.jobs.removeAll() }
                return (state.jobs, state.runner)
            }
            guard !jobs.isEmpty, let runner else { return }
            for job in jobs { runner.run(job) }
        }
    }

    // MARK: From any thread

    func enqueue(_ job: UnownedJob) {
        wake { $0.jobs.append(job) }
    }

    /// Changes the state and wakes the thread, with one signal however many changes there are.
    private func wake(_ change: (inout State) -> Void) {
        let mustSignal = state.withLock { state -> Bool in
            change(&state)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if mustSignal { linux_eventfd_signal(wakeup.number) }
    }

    func register(
        _ descriptor: Int32,
        readable: Bool,
        writable: Bool,
        handler: @escaping @Sendable (Readiness) -> Void
    ) throws(SystemError) -> LoopRegistration {
        let token = state.withLock { state in
            let token = state.nextToken()
            state.watches[token] = Watch(descriptor: descriptor, handler: handler)
            return token
        }
        do {
            try checked(
                "epoll_ctl",
                linux_epoll_add(epoll.number, descriptor, readable, writable, token)
            )
        } catch {
            state.withLock { _ = $0.watches.removeValue(forKey: token) }
            throw error
        }
        return LoopRegistration(token: token)
    }

    func modify(
        _ registration: LoopRegistration,
        readable: Bool,
        writable: Bool
    ) throws(SystemError) {
        let token = registration.token
        guard let watch = state.withLock({ $0.watches[token] }) else { return }
        try checked(
            "epoll_ctl",
            linux_epoll_modify(epoll.number, watch.descriptor, readable, writable, token)
        )
    }

    func remove(_ registration: LoopRegistration) {
        let watch = state.withLock { $0.watches.removeValue(forKey: registration.token) }
        // A failure means that the descriptor was closed already, which also removed it.
        if let watch { linux_epoll_remove(epoll.number, watch.descriptor) }
    }

    func makeTimer(_ handler: @escaping @Sendable () -> Void) -> LoopTimer {
        state.withLock { state in
            let token = state.nextToken()
            state.timers.append(Timer(token: token, deadline: .distantFuture, handler: handler))
            return LoopTimer(token: token)
        }
    }

    func arm(_ timer: LoopTimer, at deadline: Instant?) {
        wake { state in
            guard let index = state.timers.firstIndex(where: { $0.token == timer.token }) else {
                return
            }
            state.timers[index].deadline = deadline ?? .distantFuture
        }
    }

    func remove(_ timer: LoopTimer) {
        let removed = state.withLock { state -> Timer? in
            let index = state.timers.firstIndex { $0.token == timer.token }
            return index.map { state.timers.remove(at: $0) }
        }
        // Released here, outside the lock: a handler may own whatever ends with it.
        _ = removed
    }

    func addTurnHandler(_ handler: @escaping @Sendable () -> Void) -> LoopTurnHandler {
        turnHandlers.add(handler)
    }

    func remove(_ handler: LoopTurnHandler) { turnHandlers.remove(handler) }

    func stop() {
        let dropped = state.withLock { state in
            defer {
                state.watches = [:]
                state.timers = []
            }
            return (state.watches, state.timers)
        }
        turnHandlers.removeAll()
        for watch in dropped.0.values { linux_epoll_remove(epoll.number, watch.descriptor) }
    }

    /// Ends the thread after its present turn.
    func end() {
        stop()
        wake { $0.isEnding = true }
    }
}
