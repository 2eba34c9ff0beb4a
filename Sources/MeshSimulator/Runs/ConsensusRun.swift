import MeshConsensus
import MeshWire

/// One run of consensus alone, with registers as its state.
package final class ConsensusRun: SimulationRun<ConsensusProcess> {
    private enum Request {
        case write(AcknowledgedWrites.Write)
        case compareAndSet(expected: UInt64, value: UInt64)
        case read
    }

    private var pending: [UInt64: (life: Life, request: Request)] = [:]
    private var nextRequest: UInt64 = 1
    private var nextNumber: UInt64 = 1
    private var lives: [Origin: Life] = [:]

    private static let sharedRegister: UInt64 = 1

    /// Prepares the run of `options`; `observer` sees every event of the trace.
    package override init(_ options: RunOptions, observer: ((TraceEvent) -> Void)? = nil) {
        super.init(options, observer: observer)
    }

    override func makeProcess(_ life: Life, now: Instant) -> ConsensusProcess {
        let process = ConsensusProcess(
            node: life.node,
            incarnation: life.incarnation,
            seed: options.seed,
            now: now
        )
        lives[Origin(process.process)] = life
        return process
    }

    override func formRoom() throws(Violation) {
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

    override func rejoin(_ index: Int) throws(Violation) {
        try check(world.perform(.join, on: index))
    }

    override func leave(_ index: Int) throws(Violation) {
        try check(world.perform(.leave, on: index))
    }

    override func end(_ life: Life) {
        // order: a filter keeps none
        pending = pending.filter { $0.value.life != life }
    }

    override func unfinished() -> String? {
        guard let waiting = pending.min(by: { $0.key < $1.key }) else { return nil }
        return "\(pending.count) requests are not answered, the first of \(waiting.value.life)"
    }

    override func finish(_ survivor: ConsensusProcess) throws(Violation) {
        let machine = survivor.consensus.machine
        try writes.finish(isAlive: isAlive) { life, key in
            let value = machine.value(Self.register(life, key))
            return value == 0 ? nil : value
        }
        try registers.finish(isAlive: isAlive)
    }

    override func handle(_ event: ConsensusProcess.Event, of life: Life) throws(Violation) {
        switch event {
        case .consensus(.branchDiscarded(let entries)):
            world.note("discarded \(entries.count) entries", node: life.node)
            for entry in entries { discard(entry) }
        case .consensus(.left), .consensus(.refused):
            world.note("\(event)", node: life.node)
            end(life)
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
        let holders = acknowledged(position)
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

    override func writeOnce(_ index: Int) throws(Violation) {
        let life = life(index)
        let write = AcknowledgedWrites.Write(writer: life, key: 0, number: takeNumber())
        let id = nextRequest
        nextRequest += 1
        pending[id] = (life, .write(write))
        let command = ConsensusProcess.Command.submit(
            .write(write.number),
            register: Self.register(life, 0),
            request: id
        )
        try check(world.perform(command, on: index))
    }

    override func work(_ index: Int) throws(Violation) {
        guard let process = world.nodes[index].process, process.role != .left else { return }
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
            guard process.role != .joining else { return }
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

    private static func register(_ life: Life, _ key: Int) -> UInt64 {
        UInt64(life.node) << 48 | UInt64(life.incarnation) << 16 | UInt64(key & 255) | 1 << 15
    }
}
