import MeshConsensus
import MeshWire

/// Several processes on a virtual network in virtual time; same seed, same run.
///
/// After every step of a process its invariants are checked (`30-consensus.md` §15); what fails is
/// collected in ``failures`` with the time and the number of the invariant.
struct Cluster {
    final class Node {
        let process: ProcessID
        var consensus: Consensus<Ledger>
        var isAlive = true
        var pausedUntil: Instant?
        var deadline: Instant?
        var timerOrder: UInt64 = 0
        var sequence: UInt64 = 0
        var open: [UInt64: (ticket: Ticket, at: Instant, level: WriteLevel)] = [:]
        /// Last values, which never fall.
        var promised = Epoch.zero
        var epoch = Epoch.zero
        var commit = Position.zero
        var applied = Position.zero
        var isOut: Bool { consensus.role == .left }
        var isPrimary: Bool { consensus.isPrimary }

        init(process: ProcessID, consensus: consuming Consensus<Ledger>) {
            self.process = process
            self.consensus = consensus
        }
    }

    struct Acknowledged {
        var origin: Origin
        var sequence: UInt64
        var position: Position
        var level: WriteLevel
        var at: Instant
        var latency: Duration
    }

    enum Step {
        case deliver(from: Int, to: Int, bytes: [UInt8])
        case timer(Int, order: UInt64)
    }

    var now = Instant(nanoseconds: 1_000_000_000)
    var nodes: [Node] = []
    var random: SeededGenerator
    var loss = 0.0
    var duplication = 0.0
    var delay: ClosedRange<Duration> = .microseconds(500)...(.milliseconds(4))
    /// Group of each node: messages pass inside a group only.
    var groups: [Int] = []
    /// Directed pairs that are cut besides.
    var cuts: Set<[Int]> = []
    var failures: [String] = []
    var acknowledged: [Acknowledged] = []
    var refusals: [SubmitError] = []
    var discarded: Set<Ledger.Line> = []
    var events: [(node: Int, at: Instant, event: ConsensusEvent)] = []
    var readAnswers: [(node: Int, ticket: Ticket, position: Position, at: Instant)] = []
    var keepsEvents = false
    var keepsMessages = false
    var messages: [(from: Int, to: Int, bytes: [UInt8])] = []
    var trace: UInt64 = 1
    var messageCount = 0
    var largeCount = 0

    private var heap: [(at: Instant, order: UInt64, step: Step)] = []
    private var order: UInt64 = 0
    private var viewsSeen: [Epoch: View] = [:]
    private var hashAt: [Position: Digest] = [:]
    private var stateAt: [Digest: UInt64] = [:]
    let configuration: ConsensusConfiguration

    /// How each process signs heads, if it does.
    let signing: ((ProcessID) -> Signing)?

    init(
        seed: UInt64,
        count: Int,
        change: (inout ConsensusConfiguration) -> Void = { _ in },
        signing: ((ProcessID) -> Signing)? = nil
    ) {
        self.signing = signing
        random = SeededGenerator(seed: seed)
        var configuration = ConsensusConfiguration(room: .zero)
        change(&configuration)
        self.configuration = configuration
        for _ in 0..<count { _ = add() }
    }

    // MARK: Script

    /// Adds a process that is in no room yet.
    mutating func add(nodeID: NodeID? = nil, ability: UInt8 = 0) -> Int {
        let index = nodes.count
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: index + 1), count: 32)
        bytes[31] = UInt8(truncatingIfNeeded: index >> 8)
        let node = nodeID ?? NodeID(bytes) ?? .zero
        // Tags grow with the index in the upper byte, so that traces are readable; the rest is random.
        let incarnation = random.next()
        let tag = UInt64(index + 1) << 56 | incarnation >> 8
        let process = ProcessID(nodeID: node, incarnation: incarnation, tag: tag)
        nodes.append(
            Node(
                process: process,
                consensus: Consensus(
                    configuration: configuration,
                    process: process,
                    ability: ability,
                    machine: Ledger(),
                    digest: quickDigest,
                    verify: { $0.signature.first != 0xff },
                    signing: signing?(process),
                    seed: random.next(),
                    now: now
                )
            )
        )
        groups.append(0)
        for other in 0..<index where nodes[other].isAlive {
            nodes[other].consensus.reachable(process, now: now)
            nodes[index].consensus.reachable(nodes[other].process, now: now)
            drain(other)
        }
        drain(index)
        return index
    }

    /// The first process founds the room, the others join by it.
    mutating func form() {
        nodes[0].consensus.create(now: now)
        drain(0)
        for index in nodes.indices.dropFirst() { join(index, via: 0) }
    }

    /// Takes what a process has to say after it was told something from outside.
    mutating func wake(_ index: Int) { drain(index) }

    mutating func join(_ index: Int, via: Int) {
        nodes[index].consensus.join(via: nodes[via].process, now: now)
        drain(index)
    }

    mutating func crash(_ index: Int) {
        nodes[index].isAlive = false
        for other in nodes.indices where other != index && nodes[other].isAlive {
            // The others' transport keeps the pair: only silence tells.
            _ = other
        }
    }

    mutating func pause(_ index: Int, for duration: Duration) {
        nodes[index].pausedUntil = now + duration
    }

    mutating func leave(_ index: Int) {
        nodes[index].consensus.leave(now: now)
        drain(index)
    }

    /// Submits a command of `index`; answers whether it was taken.
    @discardableResult
    mutating func submit(
        _ index: Int,
        level: WriteLevel = .majority,
        requiresPrimary: Bool = false,
        isForged: Bool = false,
        size: Int = 1
    ) -> Ticket? {
        guard nodes[index].isAlive, nodes[index].pausedUntil == nil else { return nil }
        let sequence = nodes[index].sequence + 1
        let lowest = nodes[index].open.keys.min() ?? sequence
        var command = Command(
            type: 1,
            level: level,
            requiresPrimary: requiresPrimary,
            origin: Origin(nodes[index].process),
            sequence: sequence,
            acknowledgedUpTo: lowest - 1,
            payload: Array(repeating: UInt8(truncatingIfNeeded: sequence % 251), count: size)
        )
        if isForged { command.signature[0] = 0xff }
        do {
            let ticket = try nodes[index].consensus.submit(command, now: now)
            nodes[index].sequence = sequence
            nodes[index].open[sequence] = (ticket, now, level)
            drain(index)
            return ticket
        } catch {
            refusals.append(error)
            return nil
        }
    }

    mutating func read(_ index: Int, _ level: ReadLevel, after: Position? = nil) -> Ticket {
        let ticket = nodes[index].consensus.read(level, after: after, now: now)
        drain(index)
        return ticket
    }

    /// Hands bytes to a process as if they came from another; what follows is thrown away.
    mutating func inject(_ bytes: [UInt8], from: Int, to: Int) {
        guard nodes[to].isAlive else { return }
        nodes[to].consensus.receive(bytes.raw, from: nodes[from].process, now: now)
        var output = ConsensusOutput()
        _ = nodes[to].consensus.poll(into: &output)
    }

    // MARK: Running

    mutating func run(for duration: Duration) {
        let end = now + duration
        while let first = heap.first, first.at <= end, failures.isEmpty { step() }
        now = max(now, end)
    }

    /// Runs until `condition`; answers how long it took, or `nil` after `limit`.
    mutating func run(
        within limit: Duration,
        until condition: (borrowing Cluster) -> Bool
    ) -> Duration? {
        let start = now
        while !condition(self) {
            guard let first = heap.first, first.at <= start + limit, failures.isEmpty else {
                now = start + limit
                return nil
            }
            step()
        }
        return now - start
    }

    /// Runs until all of `indices` are equal and have no open command, looked at every 20 ms.
    mutating func settle(_ indices: [Int], within limit: Duration = .seconds(3)) -> Bool {
        let end = now + limit
        while now < end, failures.isEmpty {
            if indices.allSatisfy({ nodes[$0].open.isEmpty }), isEqualState(indices) { return true }
            run(for: .milliseconds(20))
        }
        return false
    }

    private mutating func step() {
        let next = pop()
        now = max(now, next.at)
        switch next.step {
        case .timer(let index, let order):
            guard nodes[index].isAlive, nodes[index].timerOrder == order else { return }
            if let until = nodes[index].pausedUntil {
                guard now >= until else {
                    schedule(.timer(index, order: order), at: until)
                    return
                }
                nodes[index].pausedUntil = nil
            }
            nodes[index].consensus.advance(to: now)
            drain(index)
        case .deliver(let from, let to, let bytes):
            guard nodes[to].isAlive, groups[from] == groups[to], !cuts.contains([from, to]) else {
                return
            }
            if let until = nodes[to].pausedUntil {
                // The kernel's buffer holds it.
                schedule(next.step, at: max(until, now) + .microseconds(10))
                return
            }
            nodes[to].consensus.receive(bytes.raw, from: nodes[from].process, now: now)
            drain(to)
        }
    }

    private mutating func drain(_ index: Int) {
        var output = ConsensusOutput()
        let deadline = nodes[index].consensus.poll(into: &output)
        for event in output.events { note(event, index) }
        for message in output.messages { transmit(message, index) }
        check(index)
        order += 1
        nodes[index].timerOrder = order
        if let deadline {
            schedule(.timer(index, order: order), at: max(deadline, now + .microseconds(1)))
        }
    }

    private mutating func transmit(_ message: OutgoingMessage, _ from: Int) {
        messageCount += 1
        checkMessage(message, from)
        guard let to = nodes.firstIndex(where: { $0.process == message.to }) else { return }
        if keepsMessages, messages.count < 60_000 { messages.append((from, to, message.bytes)) }
        mix(UInt64(message.bytes.count) &* 31 &+ UInt64(message.bytes[0]))
        var latency = random.duration(in: delay)
        if message.isLarge {
            largeCount += 1
            // The reliable lane resends; half a round trip and a time-out for each loss.
            while random.happens(loss) { latency = latency + .milliseconds(30) }
        } else if random.happens(loss) {
            return
        }
        schedule(.deliver(from: from, to: to, bytes: message.bytes), at: now + latency)
        if !message.isLarge, random.happens(duplication) {
            let again = latency + random.duration(in: delay) * 3
            schedule(.deliver(from: from, to: to, bytes: message.bytes), at: now + again)
        }
    }

    private mutating func note(_ event: ConsensusEvent, _ index: Int) {
        if keepsEvents { events.append((index, now, event)) }
        switch event {
        case .completed(let ticket, let result):
            guard
                let sequence = nodes[index].open.first(where: { $0.value.ticket == ticket })?.key,
                let open = nodes[index].open.removeValue(forKey: sequence)
            else { return }
            switch result {
            case .success(let completion):
                acknowledged.append(
                    Acknowledged(
                        origin: Origin(nodes[index].process),
                        sequence: sequence,
                        position: completion.position,
                        level: open.level,
                        at: now,
                        latency: now - open.at
                    )
                )
            case .failure(let error): refusals.append(error)
            }
        case .branchDiscarded(let entries):
            for entry in entries {
                discarded.insert(
                    .init(
                        origin: entry.command.origin,
                        sequence: entry.command.sequence,
                        amount: entry.command.payload.first.map(UInt64.init) ?? 0
                    )
                )
            }
        case .readReady(let ticket, let position):
            readAnswers.append((index, ticket, position, now))
        case .viewInstalled(let view):
            if let known = viewsSeen[view.epoch] {
                if known != view { fail(1, "epoch \(view.epoch) names two views", index) }
            } else {
                viewsSeen[view.epoch] = view
            }
        default: break
        }
    }

    // MARK: Invariants

    mutating func fail(_ number: Int, _ text: String, _ index: Int) {
        failures.append("invariant \(number) at \(now) on \(index): \(text)")
    }

    private mutating func check(_ index: Int) {
        let node = nodes[index]
        guard node.consensus.role == .member || node.consensus.role == .leader else { return }
        let promised = node.consensus.promised
        let epoch = node.consensus.view?.epoch ?? .zero
        let commit = node.consensus.commit
        let applied = node.consensus.applied
        if promised < nodes[index].promised { fail(2, "promised fell to \(promised)", index) }
        if epoch < nodes[index].epoch { fail(2, "the view fell to \(epoch)", index) }
        if commit < nodes[index].commit {
            fail(2, "commit fell from \(nodes[index].commit) to \(commit)", index)
        }
        if applied < nodes[index].applied {
            fail(2, "applied fell from \(nodes[index].applied) to \(applied)", index)
        }
        if epoch > promised { fail(3, "view \(epoch) above the promise \(promised)", index) }
        if applied > commit { fail(2, "applied \(applied) beyond commit \(commit)", index) }
        nodes[index].promised = promised
        nodes[index].epoch = epoch
        nodes[index].commit = commit
        let hasApplied = applied != nodes[index].applied
        nodes[index].applied = applied
        let head = node.consensus.head
        let headHash = node.consensus.headHash
        if let known = hashAt[head] {
            if known != headHash { fail(5, "two entries at \(head)", index) }
        } else {
            hashAt[head] = headHash
        }
        guard hasApplied else { return }
        let machine = node.consensus.machine
        if machine.hasDouble { fail(9, "a command had two effects", index) }
        let hash = node.consensus.appliedHash
        if let known = hashAt[applied] {
            if known != hash { fail(4, "two histories at \(applied)", index) }
        } else {
            hashAt[applied] = hash
        }
        if let known = stateAt[hash] {
            if known != machine.fingerprint { fail(10, "two states at \(applied)", index) }
        } else {
            stateAt[hash] = machine.fingerprint
        }
    }

    /// Invariant 3: an acknowledgment never leaves below the sender's promise.
    private mutating func checkMessage(_ message: OutgoingMessage, _ from: Int) {
        if message.bytes.count <= Limits.controlBytes, message.isLarge {
            fail(15, "a small message marked large", from)
        }
        guard message.bytes[0] == 0x05 else { return }
        let header = message.bytes[20..<36]
        var reader = ByteReader(Array(header).raw)
        guard let epoch = try? reader.readEpoch() else { return }
        if epoch < nodes[from].consensus.promised {
            fail(3, "acknowledged in \(epoch) below its promise", from)
        }
    }

    // MARK: Facts

    /// The members that can still be reached by somebody and have not left.
    var live: [Int] {
        nodes.indices.filter { nodes[$0].isAlive && !nodes[$0].isOut }
    }

    /// Those of `indices` that are members of some view.
    func members(_ indices: [Int]) -> [Int] {
        indices.filter {
            nodes[$0].consensus.role == .member || nodes[$0].consensus.role == .leader
        }
    }

    /// Whether the live processes `indices` share one usable view of exactly themselves.
    func isOneView(_ indices: [Int]) -> Bool {
        guard let first = indices.first, let view = nodes[first].consensus.view,
            view.members.count == indices.count
        else { return false }
        return indices.allSatisfy { index in
            let node = nodes[index]
            return node.consensus.view?.epoch == view.epoch && node.consensus.isUsable
                && view.contains(nodes[index].process)
        }
    }

    /// Whether all of `indices` have applied the same history and hold the same bytes.
    func isEqualState(_ indices: [Int]) -> Bool {
        guard let first = indices.first else { return true }
        let bytes = nodes[first].consensus.snapshot
        return indices.allSatisfy { nodes[$0].consensus.snapshot == bytes }
    }

    /// The process that leads, if one does among `indices`.
    func leader(_ indices: [Int]) -> Int? {
        indices.first { nodes[$0].consensus.role == .leader && nodes[$0].consensus.isUsable }
    }

    /// The index of the process with this tag.
    func index(tag: UInt64) -> Int? { nodes.firstIndex { $0.process.tag == tag } }

    func describe(_ indices: [Int]) -> String {
        indices.map { index in
            let node = nodes[index]
            let tags = node.consensus.view?.tags.compactMap { self.index(tag: $0) } ?? []
            return
                "[\(index) \(node.consensus.role) view \(node.consensus.view?.epoch.counter ?? 0)@"
                + "\(node.consensus.leader.flatMap { self.index(tag: $0.tag) } ?? -1) \(tags) promised "
                + "\(node.consensus.promised.counter) usable \(node.consensus.isUsable) head "
                + "\(node.consensus.head.index) commit \(node.consensus.commit.index) open "
                + "\(nodes[index].open.count)]"
        }.joined(separator: "\n")
    }

    private mutating func mix(_ word: UInt64) {
        trace = (trace ^ word ^ UInt64(bitPattern: now.nanoseconds)) &* 0x9e37_79b9_7f4a_7c15
        trace ^= trace >> 31
    }

    // MARK: The heap

    private mutating func schedule(_ step: Step, at: Instant) {
        order += 1
        heap.append((at, order, step))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard isBefore(child, parent) else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func pop() -> (at: Instant, order: UInt64, step: Step) {
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && isBefore(child, least) {
                least = child
            }
            guard least != parent else { break }
            heap.swapAt(parent, least)
            parent = least
        }
        return first
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].at, heap[left].order) < (heap[right].at, heap[right].order)
    }
}
