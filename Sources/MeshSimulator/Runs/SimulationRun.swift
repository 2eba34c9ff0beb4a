import MeshConsensus
import MeshFaults
import MeshWire

/// One run: setup, a phase with faults, and a heal after which all must be one.
///
/// Subclasses bring the process and the workload; the phases, the faults and the invariants of
/// consensus are the same at every height.
package class SimulationRun<Process: MeshProcess> {
    typealias Step = World<Process>.Step

    private enum Action {
        case fault(FaultAction)
        case workload(Int)
    }

    let options: RunOptions
    /// The rule that the room follows.
    let policy: PartitionPolicy
    let swarm: Swarm
    /// What is simulated, as scripts name it.
    class var layer: SimulatedLayer { preconditionFailure("a run knows its layer") }
    /// What the last thing of the workload was, in words.
    var remark = ""
    let world: World<Process>
    /// The chance of the workload.
    var draw: SeededGenerator
    var report: RunReport
    var writes = AcknowledgedWrites()
    var registers = RegisterHistory()
    /// The commands that a merge gave up: a second copy on another branch goes with them.
    private var lost: [Origin: Set<UInt64>] = [:]
    var reads = ReadFreshness()
    var history = ClientHistory()
    private var holders = Holders()
    private var primaries = PrimaryChain()
    private var single = SingleHistory()

    private let chance: SeededGenerator
    private var played: [RunScript.Line] = []
    /// Whether nodes that are down come back when all is healed.
    private let returns: Bool
    private var agenda: Schedule<Action>
    private var checkers = ConsensusCheckers()
    /// The second of the world that is counted, and the steps of each node in it.
    private var second: Int64 = -1
    private var stepsInSecond: [Int] = []
    private var transfersBefore: [Int] = []
    /// What each node's process showed last: what did not change needs no check.
    private var lastMarks: [(incarnation: UInt32, marks: ConsensusMarks)?] = []
    private var epochsSeen: Set<Epoch> = []
    /// The second machine of each node whose identity appeared twice.
    var clones: [Int: Int] = [:]
    /// When a leader crashed, and of which epoch, until a write is accepted by the next.
    private(set) var leaderCrash: (time: Instant, epoch: Epoch)?

    /// When the room must stand and the faults begin.
    class var start: Instant { .zero + .seconds(3) }
    /// How long a heal may take.
    class var healLimit: Duration { .seconds(10) }
    /// How long the one view must hold after a heal.
    class var stability: Duration { .seconds(3) }
    /// The same in one run of 16, as long as the chapter asks (`30-consensus.md` §15, 26).
    class var longStability: Duration { .seconds(60) }

    /// How large the runs of this kind are.
    class var shape: Swarm.Shape { .small }
    /// How long the phase with faults lasts; `nil`: as the seed says.
    class func faultTime(_ options: RunOptions) -> Duration? { options.duration }
    /// When a run with faults ends at the earliest: until then the healed room must stay as it is.
    var end: Instant { .zero }
    /// The time between two things that one node's workload does.
    func pause(_ draw: inout SeededGenerator) -> Duration {
        draw.duration(in: .milliseconds(20)...(.milliseconds(400)))
    }

    /// Prepares the run of `options`; `observer` sees every event of the trace.
    init(_ options: RunOptions, observer: ((TraceEvent) -> Void)?) {
        self.options = options
        let generator = SeededGenerator(seed: options.seed)
        chance = generator.stream("run.workload")
        var heal = generator.stream("run.heal")
        returns = options.script?.returns ?? heal.happens(0.5)
        policy = options.policy ?? Self.policy(generator.stream("run.policy"))
        swarm = Self.swarm(options)
        world = World(seed: options.seed)
        world.trace.observer = observer
        agenda = Schedule(ties: generator.stream("run.ties"))
        draw = chance
        report = RunReport(seed: options.seed, nodes: swarm.nodes)
        report.classes = options.hasFaults ? swarm.classes : []
        world.keepsRecent = options.hasFaults && hasFloods
    }

    /// Runs to the end or to the first violation.
    package func run() -> RunReport {
        do {
            for clock in swarm.clocks { try start(world.addNode(clock: clock)) }
            try formRoom()
            try faultPhase()
            try healPhase()
        } catch {
            report.violation = error
        }
        var script = RunScript(
            layer: Self.layer,
            seed: options.seed,
            clocks: swarm.clocks,
            safety: swarm.safety,
            healed: options.hasFaults ? swarm.healed : LinkConditions(),
            returns: returns,
            planted: options.planted,
            lines: played
        )
        script.policy = policy
        report.script = script
        report.traceHash = world.trace.digest
        report.events = world.trace.count
        report.simulated = world.time - .zero
        report.lastEvents = Array(world.trace.recent.suffix(30))
        report.figures.datagrams = world.delivered.datagrams
        report.figures.views = epochsSeen.count
        report.figures.writes = writes.count
        report.figures.discarded = writes.discardedCount
        return report
    }

    // MARK: - What a subclass brings

    /// The process of a node's next incarnation.
    func makeProcess(_ life: Life, now: Instant) -> Process {
        preconditionFailure("a run brings its process")
    }

    /// Makes the first room of all nodes, by ``start``.
    func formRoom() throws(Violation) {}

    /// Lets a new process on a node go back to the room.
    func rejoin(_ index: Int) throws(Violation) {}

    /// Lets a node leave the room gracefully.
    func leave(_ index: Int) throws(Violation) {}

    /// Takes what a process told its application.
    func handle(_ event: Process.Event, of life: Life) throws(Violation) {}

    /// Looks at a process after a step.
    func see(_ seen: Observation) throws(Violation) {}

    /// Does one thing of the workload on a node.
    func work(_ index: Int) throws(Violation) {}

    /// Lets a person say that a component is the room from now on.
    func adoptPrimary(_ index: Int) throws(Violation) {}

    /// Forgets what a life that is over waited for.
    func end(_ life: Life) {}

    /// What is still missing besides one view and equal states; `nil` if nothing.
    func unfinished() -> String? { nil }

    /// What the processes are at, for people who look into a run.
    var diagnosis: String { "" }

    /// Checks what only the end shows.
    func finish() throws(Violation) {}

    /// Compares what was promised with the state of a process that survived.
    func finish(_ survivor: Process) throws(Violation) {}

    // MARK: - Phases

    /// The rule that a seed's room follows: each half of the rooms.
    private static func policy(_ draw: consuming SeededGenerator) -> PartitionPolicy {
        switch draw.next() % 8 {
        case 0..<4: .available
        case 4: .majority(survivor: .seconds(5))
        default: .majority
        }
    }

    /// What happens to the run: drawn from the seed, or what a script says.
    private static func swarm(_ options: RunOptions) -> Swarm {
        var swarm = Swarm(
            seed: options.seed,
            nodes: options.nodes,
            start: start,
            duration: faultTime(options),
            shape: shape,
            only: options.classes
        )
        // A run is as its script would be, so that the script gives the same run.
        swarm.healed = swarm.healed.written
        for place in swarm.script.indices {
            switch swarm.script[place].action {
            case .conditions(let conditions):
                swarm.script[place].action = .conditions(conditions.written)
            case .link(let from, let to, let conditions):
                swarm.script[place].action = .link(from: from, to: to, conditions.written)
            default: break
            }
        }
        guard let script = options.script else { return swarm }
        swarm.nodes = script.clocks.count
        swarm.clocks = script.clocks
        swarm.safety = script.safety
        swarm.healed = script.healed
        swarm.script = []
        swarm.classes = []
        return swarm
    }

    /// Whether datagrams must be kept, since they will be thrown at somebody again.
    private var hasFloods: Bool {
        let faults = swarm.script.map { RunScript.Line.fault($0) }
        return (faults + (options.script?.lines ?? [])).contains { line in
            if case .fault(let fault) = line, case .flood = fault.action { true } else { false }
        }
    }

    private func faultPhase() throws(Violation) {
        guard options.script == nil else { return try play(options.script?.lines ?? []) }
        var pauses = chance.stream("run.pauses")
        var ordinal: UInt64 = 0
        if options.hasFaults {
            for fault in swarm.script { agenda.plan(.fault(fault.action), at: fault.time) }
        }
        for index in 0..<swarm.nodes { agenda.plan(.workload(index), at: swarm.safety.lowerBound) }
        while let (time, action) = agenda.pop(until: swarm.safety.upperBound) {
            switch action {
            case .fault(let fault): try play(.fault(PlannedFault(time: time, action: fault)))
            case .workload(let node):
                ordinal += 1
                try play(.work(time: time, node: node, ordinal: ordinal, remark: ""))
                agenda.plan(.workload(node), at: time + pause(&pauses))
            }
        }
        try advance(to: swarm.safety.upperBound)
    }

    /// The first process that knows the room says so, once it has had time to hear the others.
    private func adoptPrimary() throws(Violation) {
        try advance(to: world.time + .seconds(1))
        guard let first = core().first(where: { $0.role == .suspended })?.life.node else { return }
        try adoptPrimary(first)
    }

    private func play(_ lines: [RunScript.Line]) throws(Violation) {
        for line in lines { try play(line) }
        try advance(to: swarm.safety.upperBound)
    }

    /// Does one thing and notes it.
    private func play(_ line: RunScript.Line) throws(Violation) {
        try advance(to: line.time)
        played.append(line)
        switch line {
        case .fault(let fault): try perform(fault.action)
        case .work(_, let node, let ordinal, _):
            // Chance of its own, so that the rest stays as it is when this is left out.
            draw = chance.stream("run.work", ordinal)
            remark = ""
            defer {
                played[played.count - 1] = .work(
                    time: line.time,
                    node: node,
                    ordinal: ordinal,
                    remark: remark
                )
            }
            try work(node)
        }
    }

    private func healPhase() throws(Violation) {
        world.note("heal all")
        world.faults.clear()
        world.drops = nil
        for index in world.nodes.indices { world.slow(index, cost: .zero) }
        if options.hasFaults { world.faults.setAll(swarm.healed) }
        // Nodes that are down come back in half of the runs; else they stay dead for ever.
        for index in 0..<swarm.nodes where world.nodes[index].process == nil && returns {
            try restart(index)
        }
        // A process that stands still is no part of a healed core; it goes on by itself.
        while world.nodes.contains(where: \.isPaused) {
            try advance(to: world.time + .milliseconds(20))
        }
        let isDecided = try adoptIfLost()
        let healed = world.time
        try converge(since: healed, isDecided: isDecided)
        report.figures.heals.append(world.time - healed)
        // What was begun before the heal, such as taking in one who died meanwhile, comes to its end.
        try advance(to: max(world.time, healed + .milliseconds(500)))
        try converge(since: healed)
        let view = core().first?.view?.epoch
        let stability = options.seed % 16 == 0 ? Self.longStability : Self.stability
        try advance(to: max(end, world.time + stability))
        guard core().allSatisfy({ $0.view?.epoch == view }) else {
            throw Violation(Convergence.stability, "\(view ?? .zero) was followed by another")
        }
        try finish()
        if let survivor = core().first?.life.node, let process = world.nodes[survivor].process {
            try finish(process)
        }
        try history.check()
        report.figures.operations = history.count
        report.figures.searches = history.searches.made
        report.figures.undecided = history.searches.undecided
    }

    /// Lets a person say that this is the room now, where those who had the weight are gone for good.
    private func adoptIfLost() throws(Violation) -> Bool {
        guard policy.isMajority, weight.isLost else { return false }
        world.note("no component has the weight")
        try adoptPrimary()
        return true
    }

    /// Waits until the live core is one room with nothing unfinished.
    ///
    /// Those who were leaving at the heal take their weight with them; that is looked at again, once.
    private func converge(since healed: Instant, isDecided: Bool = true) throws(Violation) {
        let size = core().count
        var isDecided = isDecided
        while let obstacle = Convergence().obstacle(core()) ?? unfinished() {
            guard world.time < healed + Self.healLimit else {
                throw Violation(Convergence.invariant, "\(obstacle); \(diagnosis)")
            }
            try advance(to: world.time + .milliseconds(20))
            if !isDecided, core().count < size { isDecided = try adoptIfLost() }
        }
    }

    // MARK: - Steps

    /// Lets the world go on until `time`.
    ///
    /// Overridden by a run that wants this loop compiled for its own process: unspecialised, it
    /// spends more time in metadata than in the process.
    func advance(to time: Instant) throws(Violation) { try advanceInline(to: time) }

    /// Hands a step's events out and checks the invariants of the process that acted.
    func check(_ step: Step) throws(Violation) { try checkInline(step) }

    @inline(__always)
    final func advanceInline(to time: Instant) throws(Violation) {
        while let step = world.step(until: time) { try checkInline(step) }
    }

    @inline(__always)
    final func checkInline(_ step: Step) throws(Violation) {
        guard let index = step.node else { return }
        guard let process = world.nodes[index].process else { return end(life(index)) }
        let life = Life(node: index, incarnation: world.nodes[index].incarnation)
        try count(index)
        // What it holds now is noted before what it tells.
        let seen = observe(index, process, life)
        if let seen {
            if let view = seen.view, let before = seen.follows {
                history.branches.note(view.epoch, after: before)
            }
            holders.check(seen)
        }
        for event in step.events { try handle(event, of: life) }
        try Bounds().check(life, spins: world.nodes[index].spins)
        guard let seen else { return }
        if let view = seen.view, epochsSeen.insert(view.epoch).inserted {
            world.note("view \(view.epoch) of \(view.members.count) at \(view.start)", node: index)
        }
        try see(seen)
        try primaries.check(seen, history.branches)
        if policy.isMajority { try single.check(seen) }
        try checkers.check(seen)
    }

    /// What is to be seen of a process, if that changed.
    @inline(__always)
    private final func observe(_ index: Int, _ process: Process, _ life: Life) -> Observation? {
        guard let marks = process.marks else { return nil }
        while lastMarks.count <= index { lastMarks.append(nil) }
        let last = lastMarks[index].flatMap { $0.incarnation == life.incarnation ? $0.marks : nil }
        guard marks != last else { return nil }
        lastMarks[index] = (life.incarnation, marks)
        return process.observation(of: life, hashingState: marks.applied != last?.applied)
    }

    @inline(__always)
    private final func count(_ index: Int) throws(Violation) {
        let now = world.time.nanoseconds / 1_000_000_000
        if now != second {
            second = now
            for index in stepsInSecond.indices {
                stepsInSecond[index] = 0
                transfersBefore[index] = world.nodes[index].process?.transfers ?? 0
            }
        }
        while stepsInSecond.count <= index {
            stepsInSecond.append(0)
            transfersBefore.append(0)
        }
        stepsInSecond[index] += 1
        guard stepsInSecond[index] > Bounds.stepsPerSecond else { return }
        // What a large message holds must pass; and no more than a link's worth in a second.
        let transfers = world.nodes[index].process?.transfers ?? 0
        let pieces = max(transfers - transfersBefore[index], 0)
        let moved = min(pieces, Bounds.piecesPerSecond(nodes: swarm.nodes))
        guard stepsInSecond[index] - moved > Bounds.stepsPerSecond else { return }
        try Bounds().check(
            life(index),
            stepsInSecond: stepsInSecond[index] - moved,
            nodes: swarm.nodes
        )
    }

    /// A write took effect; answers who holds it.
    func acknowledged(_ position: Position) throws(Violation) -> [Life] {
        reads.acknowledge(position)
        try holders.acknowledge(position, history.branches)
        if let crash = leaderCrash, position.epoch > crash.epoch {
            report.figures.failovers.append(world.time - crash.time)
            leaderCrash = nil
        }
        return world.nodes.filter { node in
            guard let head = node.process?.head else { return false }
            return head.epoch == position.epoch && head.index >= position.index
        }.map { life($0.index) }
    }

    /// A branch was merged: what its commands lost is said, and only that may be missing at the end.
    func note(_ report: MergeReport) {
        if !report.isComplete {
            // Its log was compacted: the states were merged and nobody can tell of single commands.
            writes.discard { report.covers($0) }
            registers.discard { report.covers($0) }
        }
        for (place, command) in report.commands.enumerated() {
            switch command.outcome {
            case .conflict: discard(command)
            case .superseded:
                registers.discard(at: command.position)
                // Superseded by a later one of its writer that was lost.
                let isLost = report.commands[place...].contains {
                    $0.outcome == .conflict
                        && $0.command.origin == command.command.origin
                }
                if isLost { discard(command) }
            case .duplicate:
                // It ran on a branch that was merged before, and what became of it there is its fate.
                if lost[command.command.origin]?.contains(command.command.sequence) == true {
                    discard(command)
                }
            case .applied, .joined: break
            }
        }
    }

    private func discard(_ command: MergedCommand) {
        lost[command.command.origin, default: []].insert(command.command.sequence)
        writes.discard(at: command.position)
        registers.discard(at: command.position)
    }

    // MARK: - Lives

    func start(_ index: Int) throws(Violation) {
        let node = world.nodes[index]
        let life = Life(node: index, incarnation: node.incarnation + 1)
        let process = makeProcess(life, now: node.clock.local(world.time))
        try check(world.start(process, on: index))
    }

    func restart(_ index: Int) throws(Violation) {
        if world.nodes[index].process != nil { crash(index) }
        try start(index)
        try rejoin(index)
    }

    func crash(_ index: Int) {
        let node = world.nodes[index]
        guard let process = node.process else { return }
        if process.role == .leader {
            let seen = process.observation(of: life(index), hashingState: false)
            leaderCrash = (world.time, seen?.view?.epoch ?? .zero)
        }
        end(life(index))
        world.crash(index)
    }

    // MARK: - Who is who

    func life(_ index: Int) -> Life {
        Life(node: index, incarnation: world.nodes[index].incarnation)
    }

    /// Whether this life runs and has not left for good.
    func isAlive(_ life: Life) -> Bool {
        guard let process = world.nodes[life.node].process, self.life(life.node) == life else {
            return false
        }
        return process.role != nil && process.role != .left
    }

    /// Whether those who run could form a view.
    private var weight: Weight {
        Weight(core().map { ($0, world.nodes[$0.life.node].process?.required) })
    }

    /// The processes that run and have not left for good.
    func core() -> [Observation] {
        world.nodes.compactMap { node in
            guard let process = node.process, process.role != .left else { return nil }
            return process.observation(of: life(node.index), hashingState: false)
        }
    }
}
