import Dispatch
import MeshFaults
import MeshNet
import MeshSimulator
import MeshWire
import Synchronization

/// The queue, clock and agenda behind a ``Simulation``; it works on the main thread.
///
/// It runs whatever is ready, in the order in which it came, until nothing is: jobs of nodes and of the
/// program's tasks. Between them it steps behind what waits on the main thread, so that the main actor does
/// its part: both in turn, on one thread, in one order. Only then, and only while somebody waits for it,
/// does time move, to the next thing on the agenda. Things planned for the same instant come in an order
/// drawn from the seed.
final class SimulationCore: Sendable {
    /// What is ready to run.
    enum Work {
        case job(UnownedJob, SimulatedLoop)
        case global(GlobalJob)
        case call(@Sendable () -> Void)
    }

    /// What will happen.
    enum Event {
        case timer(SimulatedLoop, UInt64)
        case sleeper(UInt64)
        case datagram([UInt8], from: SocketAddress, to: SimulatedLink)
    }

    /// What somebody waits for, for which time moves.
    struct Goal {
        let number: UInt64
        /// When it is given up; `nil` while time does not move for it yet.
        var deadline: Instant?
        /// Whether it is reached, asked now and then.
        let check: (@Sendable () -> Bool)?
        var nextCheck: Instant
        /// Whether it was reached; `nil` while that is open.
        var result: Bool?
        var continuation: CheckedContinuation<Bool, Never>?

        /// Whether time moves for it.
        var isOpen: Bool { result == nil && deadline != nil }
    }

    struct State {
        var ready: [Work] = []
        var agenda: Schedule<Event>
        var goals: [Goal] = []
        var sleepers: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// The nodes whose turn this is.
        var touched: [SimulatedLoop] = []
        /// Whether the main thread may have something to do.
        var isMainDue = false
        var lastNumber: UInt64 = 0
        /// How often something was ready at this instant.
        var rounds = 0
        /// How often it has stepped behind the main thread's queue since anything came.
        var steps = 0
        /// Whether it has its turn on the main thread, or waits for it.
        var isWorking = false
        /// Whether the simulation is over: time stands still, nothing more is planned.
        var isClosed = false

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    let network: SimulatedWires
    let state: Mutex<State>
    private let clock = Atomic<Int64>(0)
    private let thread = Atomic<UInt>(0)

    /// How often a goal is asked whether it is reached.
    private static let checks = Duration.milliseconds(10)
    /// How often it steps behind the main thread's queue with nothing coming of it, before an instant is over.
    ///
    /// Each time the main thread does what waited there; what that enqueues there itself waits for the next.
    private static let steps = 3
    /// Rounds at one instant, after which the main thread does something else.
    private static let roundsInRow = 64
    /// Rounds after which an instant is over: a task that yields until something comes is always ready.
    private static let rounds = 1024
    /// Events in a row, after which the main thread does something else.
    private static let events = 1024

    init(seed: UInt64) {
        let generator = SeededGenerator(seed: seed)
        var draws = generator.stream("network")
        network = SimulatedWires(seed: draws.next())
        state = Mutex(State(agenda: Schedule(ties: generator.stream("ties"))))
        GlobalJobs.begin()
    }

    /// Whether the simulation was let go.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    var isCurrent: Bool { thread.load(ordering: .relaxed) == currentThread() }

    var now: Instant { Instant(nanoseconds: clock.load(ordering: .relaxed)) }

    // MARK: On the main thread

    /// Does what there is to do, up to where the main thread has something else to do first.
    func work() {
        thread.store(currentThread(), ordering: .relaxed)
        var events = 0
        while true {
            if runReady() {
                let rounds = countRound()
                if rounds.isMultiple(of: Self.roundsInRow) { break }
                if rounds < Self.rounds { continue }
            } else if mustStepBack() || events >= Self.events {
                break
            }
            if endGoals() { continue }
            if moveTime() {
                events += 1
                continue
            }
            if isOver() {
                thread.store(0, ordering: .relaxed)
                return MainTurns.end(self)
            }
        }
        thread.store(0, ordering: .relaxed)
        DispatchQueue.main.async { self.work() }
    }

    private func countRound() -> Int {
        state.withLock { state in
            state.rounds += 1
            return state.rounds
        }
    }

    /// Whether what waits on the main thread comes first.
    private func mustStepBack() -> Bool {
        state.withLock { state in
            guard state.isMainDue else { return false }
            state.steps += 1
            if state.steps <= Self.steps { return true }
            state.isMainDue = false
            state.steps = 0
            return false
        }
    }

    /// Whether nothing came meanwhile; the next that comes asks for a turn.
    private func isOver() -> Bool {
        state.withLock { state in
            guard state.ready.isEmpty, !state.goals.contains(where: \.isOpen) else {
                return false
            }
            state.isWorking = false
            return true
        }
    }

    /// Runs what is ready now, then ends the turns; whether there was anything.
    private func runReady() -> Bool {
        let ready = state.withLock { state in
            defer { state.ready = [] }
            if !state.ready.isEmpty {
                state.isMainDue = true
                state.steps = 0
            }
            return state.ready
        }
        for work in ready {
            switch work {
            case .job(let job, let loop): loop.run(job)
            case .global(let job): job.run()
            case .call(let body): body()
            }
        }
        let touched = state.withLock { state in
            defer { state.touched = [] }
            return state.touched
        }
        for loop in touched { loop.endTurn() }
        return !ready.isEmpty || !touched.isEmpty
    }

    /// Tells those whose goals are reached, or cannot be any more; whether there were any.
    private func endGoals() -> Bool {
        let now = now
        let due = state.withLock { state in
            state.goals.filter { $0.isOpen && $0.check != nil && $0.nextCheck <= now }
        }
        let reached = due.filter { $0.check?() == true }.map(\.number)
        let ended = state.withLock { state -> [(CheckedContinuation<Bool, Never>, Bool)] in
            for index in state.goals.indices where state.goals[index].isOpen {
                if reached.contains(state.goals[index].number) {
                    state.goals[index].result = true
                } else if state.isClosed || state.goals[index].deadline ?? now <= now {
                    state.goals[index].result = false
                } else if state.goals[index].nextCheck <= now {
                    state.goals[index].nextCheck = now + Self.checks
                }
            }
            return state.takeEnded()
        }
        for (continuation, result) in ended { continuation.resume(returning: result) }
        if !ended.isEmpty { noteSpoken() }
        return !ended.isEmpty
    }

    /// Moves to the next thing that happens and does it, while there are goals.
    private func moveTime() -> Bool {
        let next = state.withLock { state -> (Instant, Event?)? in
            state.rounds = 0
            let open = state.goals.filter(\.isOpen)
            let checks = open.filter { $0.check != nil }.map(\.nextCheck)
            guard let limit = (open.compactMap(\.deadline) + checks).min() else { return nil }
            guard let next = state.agenda.pop(until: limit) else { return (max(limit, now), nil) }
            return (max(next.time, now), next.action)
        }
        guard let (instant, event) = next else { return false }
        clock.store(instant.nanoseconds, ordering: .relaxed)
        switch event {
        case .timer(let loop, let token)?: loop.fire(token, at: instant)
        case .sleeper(let number)?: wake(number)
        case .datagram(let bytes, let sender, let link)?:
            network.note(bytes, from: sender, to: link.address, at: instant)
            link.deliver(bytes, from: sender)
        case nil: break
        }
        return true
    }

    // MARK: From any thread

    /// Changes the state, and asks for a turn if there is something to do.
    @discardableResult
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, mustAsk) = state.withLock { state in
            let result = body(&state)
            let isWanted = !state.ready.isEmpty || state.goals.contains(where: \.isOpen)
            defer { state.isWorking = state.isWorking || isWanted }
            return (result, isWanted && !state.isWorking)
        }
        if mustAsk { MainTurns.ask(self) }
        return result
    }

    func add(_ work: Work) {
        change { $0.ready.append(work) }
    }

    /// Whether it takes a job of the global pool; not any more once it is over.
    func take(_ job: GlobalJob) -> Bool {
        change { state in
            guard !state.isClosed else { return false }
            state.ready.append(.global(job))
            return true
        }
    }

    func plan(_ event: Event, at instant: Instant) {
        state.withLock { state in
            if !state.isClosed { state.agenda.plan(event, at: instant) }
        }
    }

    /// A node has done something in this turn.
    func touch(_ loop: SimulatedLoop) {
        state.withLock { state in
            if !state.touched.contains(where: { $0 === loop }) { state.touched.append(loop) }
        }
    }

    /// The main actor may have been told something.
    func noteSpoken() {
        state.withLock { state in
            state.isMainDue = true
            state.steps = 0
        }
    }

    /// Ends it: `body` runs in its turn, then no time passes any more and nothing is taken.
    func close(_ body: @escaping @Sendable () -> Void) {
        add(
            .call {
                body()
                let sleepers = self.state.withLock { state in
                    state.isClosed = true
                    state.agenda = Schedule(ties: SeededGenerator(seed: 0))
                    defer { state.sleepers = [:] }
                    return state.sleepers.sorted { $0.key < $1.key }
                }
                for (_, continuation) in sleepers { continuation.resume() }
            }
        )
    }
}

// MARK: Waiting

extension SimulationCore {
    /// Ends when the clock shows `deadline`, or when the task is cancelled.
    func sleep(until deadline: Instant) async {
        let number = state.withLock { $0.nextNumber() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustGoOn = state.withLock { state in
                    guard !state.isClosed, !Task.isCancelled, deadline > now else { return true }
                    state.sleepers[number] = continuation
                    state.agenda.plan(.sleeper(number), at: deadline)
                    return false
                }
                if mustGoOn { continuation.resume() }
            }
        } onCancel: {
            wake(number)
        }
    }

    private func wake(_ number: UInt64) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
        guard let sleeper else { return }
        sleeper.resume()
        noteSpoken()
    }

    /// A goal for which time moves from now on, for at most `limit`.
    ///
    /// - Parameters:
    ///   - limit: How long it may take; then it is given up.
    ///   - check: Asked in the simulation's turn whether it is reached; if absent, ``reach(_:)`` says so.
    /// - Returns: The goal's number, for ``end(of:)``.
    func aim(within limit: Duration, _ check: (@Sendable () -> Bool)? = nil) -> UInt64 {
        let number = prepare(check)
        open(number, within: limit)
        return number
    }

    /// A goal for which time moves once it is opened, when what will reach it is on its way.
    func prepare(_ check: (@Sendable () -> Bool)? = nil) -> UInt64 {
        state.withLock { state in
            let number = state.nextNumber()
            state.goals.append(Goal(number: number, check: check, nextCheck: now))
            return number
        }
    }

    /// Lets time move for a goal, for at most `limit`.
    func open(_ number: UInt64, within limit: Duration) {
        change { state in
            for index in state.goals.indices where state.goals[index].number == number {
                state.goals[index].deadline = now + limit
            }
        }
    }

    /// A goal is reached.
    func reach(_ number: UInt64) {
        let ended = state.withLock { state in
            for index in state.goals.indices
            where state.goals[index].number == number && state.goals[index].result == nil {
                state.goals[index].result = true
            }
            return state.takeEnded()
        }
        for (continuation, result) in ended { continuation.resume(returning: result) }
    }

    /// Waits for the end of a goal: `true` if it was reached, `false` if its time was over.
    func end(of number: UInt64) async -> Bool {
        await withCheckedContinuation { continuation in
            let ended = state.withLock { state in
                for index in state.goals.indices where state.goals[index].number == number {
                    state.goals[index].continuation = continuation
                }
                return state.takeEnded()
            }
            for (continuation, result) in ended { continuation.resume(returning: result) }
        }
    }
}

extension SimulationCore.State {
    /// Takes out the goals that have ended and that somebody waits for.
    mutating func takeEnded() -> [(CheckedContinuation<Bool, Never>, Bool)] {
        var ended: [(CheckedContinuation<Bool, Never>, Bool)] = []
        goals.removeAll { goal in
            guard let result = goal.result, let continuation = goal.continuation else {
                return false
            }
            ended.append((continuation, result))
            return true
        }
        return ended
    }
}
