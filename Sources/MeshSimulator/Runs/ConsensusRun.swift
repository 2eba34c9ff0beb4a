import MeshConsensus
import MeshFaults
import MeshWire

/// One run of consensus alone: setup, a phase with faults, and a heal after which all must be one.
package final class ConsensusRun {
    private enum Action {
        case fault(FaultAction)
        case workload(Int)
    }

    private enum Request {
        case write(AcknowledgedWrites.Write)
        case compareAndSet(expected: UInt64, value: UInt64)
        case read
    }

    private typealias Step = World<ConsensusProcess>.Step

    private let options: RunOptions
    private let swarm: Swarm
    private let world: World<ConsensusProcess>
    private var agenda: Schedule<Action>
    private var draw: SeededGenerator
    private var checkers = ConsensusCheckers()
    private var writes = AcknowledgedWrites()
    private var registers = RegisterHistory()
    private var reads = ReadFreshness()
    private var pending: [UInt64: (life: Life, request: Request)] = [:]
    private var nextRequest: UInt64 = 1
    private var nextNumber: UInt64 = 1
    private var lives: [Origin: Life] = [:]
    private var lastApplied: [Life: Position] = [:]
    private var epochsSeen: Set<Epoch> = []
    private var leaderCrash: Instant?
    private var report: RunReport

    /// When the room must stand and the faults begin.
    private static let start = Instant.zero + .seconds(3)
    /// How long a heal may take.
    private static let healLimit = Duration.seconds(10)
    /// How long the one view must hold after a heal.
    private static let stability = Duration.seconds(3)
    private static let sharedRegister: UInt64 = 1

    /// Prepares the run of `options`; `observer` sees every event of the trace.
    package init(_ options: RunOptions, observer: ((TraceEvent) -> Void)? = nil) {
        self.options = options
        let generator = SeededGenerator(seed: options.seed)
        swarm = Swarm(
            seed: options.seed,
            nodes: options.nodes,
            start: Self.start,
            duration: options.duration
        )
        world = World(seed: options.seed)
        world.trace.observer = observer
        agenda = Schedule(ties: generator.stream("run.ties"))
        draw = generator.stream("run.workload")
        report = RunReport(seed: options.seed, nodes: swarm.nodes)
        report.classes = options.hasFaults ? swarm.classes : []
    }

    /// Runs to the end or to the first violation.
    package func run() -> RunReport {
        do {
            try setUp()
            try faultPhase()
            try healPhase()
        } catch {
            report.violation = error
        }
        report.traceHash = world.trace.digest
        report.events = world.trace.count
        report.simulated = world.now - .zero
        report.lastEvents = Array(world.trace.recent.suffix(30))
        report.figures.datagrams = world.delivered.datagrams
        report.figures.views = epochsSeen.count
        report.figures.writes = writes.count
        report.figures.discarded = writes.discardedCount
        return report
    }

    private func setUp() throws(Violation) {
        for clock in swarm.clocks { try start(world.addNode(clock: clock)) }
        let founder = Int(draw.next() % UInt64(swarm.nodes))
        for index in 0..<swarm.nodes {
            let command: ConsensusProcess.Command = index == founder ? .create : .join
            let late = draw.duration(in: .zero...(.milliseconds(300)))
            world.submit(command, to: index, at: .zero + late)
        }
        try advance(to: Self.start)
        if let obstacle = Convergence().obstacle(core()) {
            throw Violation("a room forms within 3 s on a perfect network", obstacle)
        }
    }

    private func faultPhase() throws(Violation) {
        if options.hasFaults {
            for fault in swarm.script { agenda.plan(.fault(fault.action), at: fault.time) }
        }
        for index in 0..<swarm.nodes { agenda.plan(.workload(index), at: swarm.safety.lowerBound) }
        while let (time, action) = agenda.pop(until: swarm.safety.upperBound) {
            try advance(to: time)
            switch action {
            case .fault(let fault): try perform(fault)
            case .workload(let node):
                try work(node)
                let pause = draw.duration(in: .milliseconds(20)...(.milliseconds(400)))
                agenda.plan(.workload(node), at: time + pause)
            }
        }
        try advance(to: swarm.safety.upperBound)
    }

    private func healPhase() throws(Violation) {
        world.note("heal all")
        world.faults.clear()
        if options.hasFaults { world.faults.setAll(swarm.healed) }
        // Nodes that are down come back in half of the runs; else they stay dead for ever.
        let returns = draw.happens(0.5)
        for node in world.nodes where node.process == nil && returns { try restart(node.index) }
        let healed = world.now
        while let obstacle = obstacle() {
            guard world.now < healed + Self.healLimit else {
                throw Violation(Convergence.invariant, obstacle)
            }
            try advance(to: world.now + .milliseconds(20))
        }
        report.figures.heals.append(world.now - healed)
        let view = core().first?.view?.epoch
        try advance(to: world.now + Self.stability)
        guard core().allSatisfy({ $0.view?.epoch == view }) else {
            throw Violation(Convergence.stability, "\(view ?? .zero) was followed by another")
        }
        try finish()
    }

    /// What is still missing to one room in which everything is answered.
    private func obstacle() -> String? {
        if let obstacle = Convergence().obstacle(core()) { return obstacle }
        guard let waiting = pending.min(by: { $0.key < $1.key }) else { return nil }
        return "\(pending.count) requests are not answered, the first of \(waiting.value.life)"
    }

    private func finish() throws(Violation) {
        guard let survivor = core().first?.life.node, let process = world.nodes[survivor].process
        else { return }
        let machine = process.consensus.machine
        try writes.finish(isAlive: isAlive) { life, key in
            let value = machine.value(Self.register(life, key))
            return value == 0 ? nil : value
        }
        try registers.finish(isAlive: isAlive)
    }

    // MARK: - Steps

    private func advance(to time: Instant) throws(Violation) {
        while let step = world.step(until: time) { try check(step) }
    }

    private func check(_ step: Step) throws(Violation) {
        guard let index = step.node, let process = world.nodes[index].process else { return }
        let life = life(index)
        for event in step.events { try handle(event, of: life) }
        let applied = process.consensus.applied
        let isNew = lastApplied[life] != applied
        lastApplied[life] = applied
        let seen = process.observation(of: life, hashingState: isNew)
        if let epoch = seen.view?.epoch, epochsSeen.insert(epoch).inserted {
            world.note(
                "view \(epoch) of \(seen.view?.members.count ?? 0) from \(seen.view?.start ?? .zero)",
                node: index
            )
        }
        try checkers.check(seen, spins: world.nodes[index].spins)
    }

    private func handle(
        _ event: ConsensusProcess.Event,
        of life: Life
    ) throws(Violation) {
        switch event {
        case .consensus(.branchDiscarded(let entries)):
            for entry in entries { discard(entry) }
        case .consensus(.left), .consensus(.refused):
            world.note("\(event)", node: life.node)
            pending = pending.filter { $0.value.life != life }
        case .consensus(.roleChanged(let role)): world.note("role \(role)", node: life.node)
        case .consensus: break
        case .completed(let request, let result):
            guard let (_, kind) = pending.removeValue(forKey: request) else {
                throw Violation("a command is answered once", "\(life) request \(request)")
            }
            guard case .success(let completion) = result else { return }
            try complete(kind, completion)
        case .read(let request, let position):
            guard pending.removeValue(forKey: request) != nil else {
                throw Violation("a command is answered once", "\(life) read \(request)")
            }
            report.figures.reads += 1
            try reads.end(request, at: position)
        }
    }

    private func complete(_ kind: Request, _ completion: Completion) throws(Violation) {
        let position = completion.position
        reads.acknowledge(position)
        if let crash = leaderCrash {
            report.figures.failovers.append(world.now - crash)
            leaderCrash = nil
        }
        let holders = holders(of: position)
        switch kind {
        case .write(let write): writes.acknowledge(write, at: position, holders: holders)
        case .compareAndSet(let expected, let value):
            var reader = ByteReader(completion.result.raw)
            guard let before = try? reader.read(UInt64.self), before == expected else { return }
            try registers.succeed(expected: expected, value: value, at: position, holders: holders)
        case .read: break
        }
    }

    private func discard(_ entry: DiscardedEntry) {
        guard let life = lives[entry.command.origin],
            let (operation, register) = try? RegisterMachine.operation(entry.command.payload)
        else { return }
        switch operation {
        case .write(let number):
            let key = Int(register & 255)
            writes.discard(AcknowledgedWrites.Write(writer: life, key: key, number: number))
        case .compareAndSet(_, let value): registers.discard(value)
        case .add: break
        }
    }

    // MARK: - Faults and workload

    private func perform(_ fault: FaultAction) throws(Violation) {
        world.note("\(fault)")
        switch fault {
        case .conditions(let conditions): world.faults.setAll(conditions)
        case .link(let from, let to, let conditions):
            world.faults.set(conditions, from: from, to: to)
        case .partition(let partition): world.faults.partition = partition
        case .heal: world.faults.partition = Partition()
        case .crash(let node): crash(node)
        case .restart(let node): try restart(node)
        case .pause(let node, let duration): world.pause(node, for: duration)
        case .leave(let node):
            guard world.nodes[node].process != nil else { return }
            try check(world.perform(.leave, on: node))
        }
    }

    private func start(_ index: Int) throws(Violation) {
        let node = world.nodes[index]
        let incarnation = node.incarnation + 1
        let process = ConsensusProcess(
            node: index,
            incarnation: incarnation,
            seed: options.seed,
            now: node.clock.local(world.now)
        )
        lives[Origin(process.process)] = Life(node: index, incarnation: incarnation)
        try check(world.start(process, on: index))
    }

    private func restart(_ index: Int) throws(Violation) {
        if world.nodes[index].process != nil { crash(index) }
        try start(index)
        try check(world.perform(.join, on: index))
    }

    private func crash(_ index: Int) {
        let node = world.nodes[index]
        guard let process = node.process else { return }
        if process.consensus.role == .leader { leaderCrash = world.now }
        let life = life(index)
        pending = pending.filter { $0.value.life != life }
        world.crash(index)
    }

    private func work(_ index: Int) throws(Violation) {
        let node = world.nodes[index]
        guard let process = node.process, process.consensus.role != .left else { return }
        let id = nextRequest
        nextRequest += 1
        let life = life(index)
        let command: ConsensusProcess.Command
        switch draw.next() % 10 {
        case 0..<6:
            let key = Int(draw.next() % 4)
            let write = AcknowledgedWrites.Write(writer: life, key: key, number: takeNumber())
            pending[id] = (life, .write(write))
            command = .submit(
                .write(write.number),
                register: Self.register(life, key),
                request: id
            )
        case 6..<8:
            let expected = process.consensus.machine.value(Self.sharedRegister)
            let value = takeNumber()
            pending[id] = (life, .compareAndSet(expected: expected, value: value))
            command = .submit(
                .compareAndSet(expected: expected, value),
                register: Self.sharedRegister,
                request: id
            )
        default:
            guard process.consensus.role != .joining else { return }
            pending[id] = (life, .read)
            reads.begin(id)
            command = .read(request: id)
        }
        try check(world.perform(command, on: index))
    }

    private func takeNumber() -> UInt64 {
        nextNumber += 1
        return nextNumber
    }

    // MARK: - Who is who

    private func life(_ index: Int) -> Life {
        Life(node: index, incarnation: world.nodes[index].incarnation)
    }

    private func isAlive(_ life: Life) -> Bool {
        world.nodes[life.node].process.map {
            $0.consensus.role != .left && self.life(life.node) == life
        } ?? false
    }

    private func holders(of position: Position) -> [Life] {
        world.nodes.filter { node in
            guard let head = node.process?.consensus.head else { return false }
            return head.epoch == position.epoch && head.index >= position.index
        }.map { life($0.index) }
    }

    /// The processes that run and have not left for good.
    private func core() -> [Observation] {
        world.nodes.compactMap { node in
            guard let process = node.process, process.consensus.role != .left else { return nil }
            return process.observation(of: life(node.index), hashingState: false)
        }
    }

    private static func register(_ life: Life, _ key: Int) -> UInt64 {
        UInt64(life.node) << 48 | UInt64(life.incarnation) << 16 | UInt64(key & 255) | 1 << 15
    }
}
