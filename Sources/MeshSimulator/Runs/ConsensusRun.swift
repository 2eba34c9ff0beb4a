import MeshConsensus
import MeshWire

/// One run of consensus alone, with registers as its state.
package final class ConsensusRun: SimulationRun<ConsensusProcess> {
    private enum Request {
        case write(AcknowledgedWrites.Write)
        case compareAndSet(expected: UInt64, value: UInt64)
        case add(requiresPrimary: Bool)
        /// Of these registers.
        case read([UInt64])
    }

    private var pending: [UInt64: (life: Life, request: Request)] = [:]
    private var nextRequest: UInt64 = 1
    /// Lives whose part in the room is over; what they were asked after is refused, unheard.
    private var over: Set<Life> = []
    private var nextNumber: UInt64 = 1
    private var lives: [Origin: Life] = [:]
    /// The request of each payload; payloads are unique, since each has a number of its own.
    private var requests: [[UInt8]: UInt64] = [:]
    /// How far each view's commands were seen to be applied by anybody.
    private var appliedThrough: [Epoch: UInt64] = [:]

    private var once = ExactlyOnce()

    private static let sharedRegister: UInt64 = 1
    private static let counter: UInt64 = 2

    /// Prepares the run of `options`; `observer` sees every event of the trace.
    package override init(_ options: RunOptions, observer: ((TraceEvent) -> Void)? = nil) {
        super.init(options, observer: observer)
    }

    override class var layer: SimulatedLayer { .consensus }
    override class var shape: Swarm.Shape { .wide }
    /// The length of a run unless the options say otherwise.
    private static let length = Duration.seconds(120)
    /// The last part of a run is the heal: 20 s, or half of a short one.
    override class func faultTime(_ options: RunOptions) -> Duration? {
        let length = options.duration ?? Self.length
        return max(length / 2, length - .seconds(23))
    }
    override var end: Instant {
        swarm.safety.upperBound
            + min(.seconds(20), swarm.safety.upperBound - swarm.safety.lowerBound)
    }
    /// Rooms are busy or quiet, whatever their size: one thing to twenty a second in the whole room.
    override func pause(_ draw: inout SeededGenerator) -> Duration {
        var pace = SeededGenerator(seed: options.seed).stream("run.pace")
        return draw.duration(in: .zero...(.milliseconds(100 << (pace.next() % 5)) * swarm.nodes))
    }

    override func advance(to time: Instant) throws(Violation) { try advanceInline(to: time) }
    override func check(_ step: Step) throws(Violation) { try checkInline(step) }

    override func makeProcess(_ life: Life, now: Instant) -> ConsensusProcess {
        let process = ConsensusProcess(
            node: life.node,
            incarnation: life.incarnation,
            seed: options.seed,
            planted: options.planted,
            policy: policy,
            now: now,
            identity: identity(life.node)
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

    override func adoptPrimary(_ index: Int) throws(Violation) {
        try check(world.perform(.adoptPrimary, on: index))
    }

    override func leave(_ index: Int) throws(Violation) {
        try check(world.perform(.leave, on: index))
    }

    override func end(_ life: Life) {
        over.insert(life)
        // order: a filter keeps none
        pending = pending.filter { $0.value.life != life }
    }

    override func see(_ seen: Observation) throws(Violation) {
        if let epoch = seen.misacknowledged {
            try Acknowledgments().check(epoch, promised: seen.promised, by: seen.life)
        }
    }

    override func unfinished() -> String? {
        // Sequenced by a primary that is no more, a command that requires one waits on.
        let isPrimary = world.nodes.contains { $0.process?.consensus.isPrimary == true }
        let due = pending.filter { item in  // order: only the least is looked at
            if case .add(requiresPrimary: true) = item.value.request { isPrimary } else { true }
        }
        guard let waiting = due.min(by: { $0.key < $1.key }) else { return nil }
        let life = waiting.value.life
        let process = world.nodes[life.node].process
        return
            "\(due.count) requests are not answered, the first, \(waiting.value.request), of "
            + "\(life): \(process?.consensus.diagnostics ?? "")"
    }

    override var diagnosis: String {
        world.nodes.compactMap { node in
            node.process.map { "\(life(node.index)) \($0.consensus.diagnostics)" }
        }.joined(separator: " | ")
    }

    override func finish(_ survivor: ConsensusProcess) throws(Violation) {
        let states = world.nodes.compactMap { node in
            node.process.flatMap { process -> ReplicatedState.Whole? in
                guard process.role == .member || process.role == .leader else { return nil }
                let bytes = process.consensus.snapshot
                return .init(life: life(node.index), applied: process.applied, bytes: bytes)
            }
        }
        try ReplicatedState().check(states)
        let machine = survivor.consensus.machine
        try writes.finish(isAlive: isAlive) { life, key in
            let value = machine.value(Self.register(life, key))
            return value == 0 ? nil : value
        }
        try registers.finish(isAlive: isAlive)
        let reader = Life(node: -1, incarnation: 0)
        for (offset, register) in history.registers.enumerated() {
            let id = (nextRequest + UInt64(offset)) * 4
            history.look(
                id,
                machine.value(register),
                in: register,
                by: reader,
                at: survivor.applied
            )
        }
    }

    override func handle(_ event: ConsensusProcess.Event, of life: Life) throws(Violation) {
        switch event {
        case .consensus(.evidence(let against, let head, let other)):
            throw Violation(
                Equivocation.invariant,
                "\(life) against \(against): \(head) and \(other.map { "\($0)" } ?? "its log")"
            )
        case .consensus(.branchDiscarded(let entries)):
            world.note("discarded \(entries.count) entries", node: life.node)
            for entry in entries { discard(entry.command) }
        case .consensus(.merged(let report)):
            world.note(
                "merged \(report.loser) into \(report.winner), fork \(report.fork)",
                node: life.node
            )
            note(report)
            // Of a command that ran on two branches the loss of either copy is the loss of both.
            for command in report.commands where command.outcome == .conflict {
                discard(command.command)
            }
            for command in report.commands where command.outcome == .superseded {
                guard
                    let (operation, _) = try? RegisterMachine.operation(command.command.payload),
                    case .compareAndSet(_, let value) = operation
                else { continue }
                registers.discard(value)
            }
            for change in world.nodes[life.node].process?.consensus.machine.merged ?? []
            where change.position == report.position {
                history.assign(change.number, to: change.register, at: change.position)
            }
        case .consensus(.left), .consensus(.refused):
            world.note("\(event)", node: life.node)
            end(life)
        case .consensus(.applied(let position, let command, let result)):
            note(command, at: position)
            try once.apply(command, result, at: position, history.branches)
        case .consensus(.roleChanged(let role)): world.note("role \(role)", node: life.node)
        case .consensus: break
        case .completed(let request, let result):
            guard let (_, kind) = pending.removeValue(forKey: request) else {
                if over.contains(life) { return }
                throw Violation("a command is answered once", "\(life) request \(request)")
            }
            guard case .success(let completion) = result else { return }
            var reader = ByteReader(completion.result.raw)
            if let before = try? reader.read(UInt64.self) {  // early answers have no result
                history.answer(request * 4, .held(before), at: completion.position)
            }
            try complete(kind, completion)
        case .refused(let request):
            guard pending.removeValue(forKey: request) != nil || over.contains(life) else {
                throw Violation("a command is answered once", "\(life) read \(request)")
            }
            reads.forget(request)
        case .read(let request, let position):
            guard case (_, .read(let registers))? = pending.removeValue(forKey: request) else {
                if over.contains(life) { return }
                throw Violation("a command is answered once", "\(life) read \(request)")
            }
            report.figures.reads += 1
            try reads.end(request, at: position)
            guard let process = world.nodes[life.node].process else { return }
            for (offset, register) in registers.enumerated() {
                let number = process.consensus.machine.value(register)
                history.answer(
                    request * 4 + UInt64(offset),
                    .held(number),
                    at: process.applied
                )
            }
        }
    }

    /// The log shows where a command takes effect, also where nobody hears of it.
    private func note(_ command: MeshConsensus.Command, at position: Position) {
        guard appliedThrough[position.epoch] ?? 0 < position.index else { return }
        appliedThrough[position.epoch] = position.index
        if let request = requests[command.payload] { history.apply(request * 4, at: position) }
    }

    private func complete(_ kind: Request, _ completion: Completion) throws(Violation) {
        let position = completion.position
        let holders = try acknowledged(position)
        switch kind {
        case .write(let write): writes.acknowledge(write, at: position, holders: holders)
        case .compareAndSet(let expected, let value):
            var reader = ByteReader(completion.result.raw)
            guard let before = try? reader.read(UInt64.self), before == expected else { return }
            try registers.succeed(expected: expected, value: value, at: position, holders: holders)
        case .add, .read: break
        }
    }

    private func discard(_ command: MeshConsensus.Command) {
        guard let life = lives[command.origin],
            let (operation, register) = try? RegisterMachine.operation(command.payload)
        else { return }
        switch operation {
        case .write(let number):
            let key = Int(register & 255)
            writes.discard(AcknowledgedWrites.Write(writer: life, key: key, number: number))
        case .compareAndSet(_, let value): registers.discard(value)
        case .add: break
        }
    }

    override func work(_ index: Int) throws(Violation) {
        guard let process = world.nodes[index].process, process.role != .left else { return }
        switch draw.next() % 10 {
        case 0..<6:
            let key = Int(draw.next() % 4)
            if key < 3 { return try write(index, key: key) }
            let number = takeNumber()
            try submit(
                .add(number),
                to: Self.counter,
                .add(requiresPrimary: number % 2 == 0),
                on: index
            )
        case 6..<8:
            let expected = process.consensus.machine.value(Self.sharedRegister)
            let value = takeNumber()
            try submit(
                .compareAndSet(expected: expected, value),
                to: Self.sharedRegister,
                .compareAndSet(expected: expected, value: value),
                on: index
            )
        default:
            guard process.role != .joining else { return }
            try read(index)
        }
    }

    private func write(_ index: Int, key: Int) throws(Violation) {
        let write = AcknowledgedWrites.Write(writer: life(index), key: key, number: takeNumber())
        let register = Self.register(write.writer, key)
        try submit(.write(write.number), to: register, .write(write), on: index)
    }

    private func submit(
        _ operation: RegisterMachine.Operation,
        to register: UInt64,
        _ request: Request,
        on index: Int
    ) throws(Violation) {
        let id = take(request, index)
        remark = "\(operation) to \(hexadecimal(register))"
        requests[RegisterMachine.payload(operation, register: register)] = id
        let action: Linearizability.Action =
            switch operation {
            case .write(let value): .write(value)
            case .compareAndSet(let expected, let value): .compareAndSet(expected: expected, value)
            case .add(let amount): .add(amount)
            }
        history.call(id * 4, action, on: register, by: life(index))
        let requiresPrimary = if case .add(requiresPrimary: true) = request { true } else { false }
        let command = ConsensusProcess.Command.submit(
            operation,
            register: register,
            request: id,
            requiresPrimary: requiresPrimary
        )
        try check(world.perform(command, on: index))
    }

    /// Reads what several write, what all add to, and one register more, of a single writer.
    private func read(_ index: Int) throws(Violation) {
        var registers = [Self.sharedRegister, Self.counter]
        let known = history.registers
        if !known.isEmpty { registers.append(known[Int(nextRequest % UInt64(known.count))]) }
        let id = take(.read(registers), index)
        remark = "read"
        for (offset, register) in registers.enumerated() {
            history.call(id * 4 + UInt64(offset), .read, on: register, by: life(index))
        }
        reads.begin(id)
        try check(world.perform(.read(request: id), on: index))
    }

    private func take(_ request: Request, _ index: Int) -> UInt64 {
        defer { nextRequest += 1 }
        pending[nextRequest] = (life(index), request)
        return nextRequest
    }

    private func takeNumber() -> UInt64 {
        nextNumber += 1
        return nextNumber
    }

    private static func register(_ life: Life, _ key: Int) -> UInt64 {
        UInt64(life.node) << 48 | UInt64(life.incarnation) << 16 | UInt64(key & 255) | 1 << 15
    }
}
