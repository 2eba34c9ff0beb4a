import MeshFaults
package import MeshWire

/// Virtual time, a virtual network and the nodes on it; one thread, one agenda, one seed.
///
/// A world does one thing at a time: ``step(until:)`` takes the next event of the agenda, lets the
/// node it concerns handle it, and sends what that node wants to send through ``faults``. The same
/// seed and the same calls give the same ``trace``.
package final class World<Process: SimulatedProcess> {
    /// What a step did.
    package struct Step {
        /// When, on the world's clock.
        package var time: Instant
        /// The node that acted, if one did.
        package var node: Int?
        /// What its process told the application, in order.
        package var events: [Process.Event] = []
    }

    /// The world's time.
    package private(set) var time = Instant.zero
    /// The nodes, by their number.
    package private(set) var nodes: [SimulatedNode<Process>] = []
    /// The network's faults; may be changed between steps.
    package var faults: Links
    /// The record of the run.
    package var trace = Trace()
    /// How many datagrams were delivered, and how many bytes.
    package private(set) var delivered: (datagrams: UInt64, bytes: UInt64) = (0, 0)
    /// Whether datagrams are remembered for ``flood(_:count:isReplay:)``.
    package var keepsRecent = false
    /// One kind of message that is lost, as if the network hated it.
    package var drops: Drops?

    /// Messages of some codes are lost with this probability; all others pass.
    package struct Drops: Hashable, Sendable {
        package var codes: [UInt8]
        package var probability: Double

        package init(codes: [UInt8], probability: Double) {
            self.codes = codes
            self.probability = probability
        }
    }

    /// What every datagram spends on the way besides the faults.
    package var baseDelay = Duration.microseconds(50)
    /// Says of a datagram, and from and to whom it goes, whether it reaches the links at all.
    package var gate: ((_ bytes: [UInt8], _ from: Int, _ to: Int) -> Bool)?

    private var agenda: Agenda
    private var datagrams = Slots<[UInt8]>()
    private var commands = Slots<Process.Command?>()
    private var deliveries: [Delivery] = []
    private var moves: UInt8 = 0
    /// The chance of drops and floods.
    private var mischief: SeededGenerator
    /// The last datagrams that were sent, for a flood that replays them.
    private var recent: [(bytes: [UInt8], from: Int, to: Int)] = []
    private static var recentCount: Int { 256 }

    /// An empty world of this seed.
    package init(seed: UInt64) {
        let generator = SeededGenerator(seed: seed)
        var network = generator.stream("network")
        agenda = Agenda(ties: generator.stream("ties"))
        faults = Links(seed: network.next())
        mischief = generator.stream("mischief")
    }

    /// Adds a machine without a process and answers its number.
    package func addNode(clock: VirtualClock = VirtualClock()) -> Int {
        let index = nodes.count
        let address = address(of: index)
        nodes.append(SimulatedNode(index: index, address: address, clock: clock))
        faults.addNode()
        return index
    }

    /// Where the node of this number receives, whether it was added yet or not.
    package func address(of index: Int) -> SocketAddress { address(of: index, network: 0) }

    private func address(of index: Int, network: UInt8) -> SocketAddress {
        SocketAddress(
            10,
            network,
            UInt8(index >> 8),
            UInt8(index & 255),
            port: UInt16(20_000 + index)
        )
    }

    /// Gives a node a new address; what is sent to the old one is lost.
    package func move(_ index: Int) {
        let node = nodes[index]
        // A network of its own for each move: 10.1, 10.2 and so on.
        repeat { moves &+= 1 } while moves == node.network
        node.network = moves
        node.address = address(of: index, network: moves)
    }

    /// The node that receives at `address`.
    package func node(at address: SocketAddress) -> Int? {
        // The number stands in the address's last two bytes.
        let index = Int(address.low & 0xffff)
        return index < nodes.count && nodes[index].address == address ? index : nil
    }

    /// Starts a process on a node that has none, and answers what it says first.
    @discardableResult
    package func start(_ process: Process, on index: Int) -> Step {
        let node = nodes[index]
        precondition(node.process == nil, "node \(index) runs a process already")
        node.incarnation += 1
        node.process = process
        record(index, .start)
        node.drive(now: time)
        return settle(node)
    }

    /// Ends a node's process without a word, as SIGKILL does.
    package func crash(_ index: Int) {
        let node = nodes[index]
        node.diesBeforeSending = false
        node.batch.removeAll()
        node.events.removeAll()
        node.process = nil
        node.deadline = nil
        node.armed = nil
        node.planned = nil
        node.isPaused = false
        node.waiting.removeAll()
        record(index, .crash)
    }

    /// Stops a node's process for `duration`, as SIGSTOP and SIGCONT do.
    package func pause(_ index: Int, for duration: Duration) {
        let node = nodes[index]
        guard node.process != nil, !node.isPaused else { return }
        node.isPaused = true
        record(index, .pause, "for \(duration)")
        agenda.plan(
            Agenda.Entry(
                time: time + duration,
                kind: .resume,
                node: Int32(index),
                incarnation: node.incarnation
            )
        )
    }

    /// Lets a node's process die after its next stimulus, before it has sent or said anything.
    package func crashBeforeSending(_ index: Int) {
        guard nodes[index].process != nil else { return }
        nodes[index].diesBeforeSending = true
    }

    /// Lets a node take so long for each stimulus; zero: as fast as the wind.
    package func slow(_ index: Int, cost: Duration) {
        nodes[index].cost = cost
    }

    /// Moves a node's clock by `offset`, forward or, while the node stood still, back by at most the
    /// time it stood: no clock of a process runs backwards.
    package func moveClock(_ index: Int, by offset: Duration) {
        let node = nodes[index]
        node.clock.offset += offset
        node.arm(now: time)
        arm(node)
    }

    /// Throws `count` datagrams at a node within a millisecond: bytes without meaning, or such as
    /// were sent before, to it or to others.
    package func flood(_ index: Int, count: Int, isReplay: Bool) {
        let addressed = recent.filter { $0.to == index }
        for _ in 0..<count {
            var bytes: [UInt8] = []
            var from = Int(mischief.next() % UInt64(nodes.count))
            if isReplay,
                let old = (mischief.happens(0.8) ? addressed : recent).randomElement(
                    using: &mischief
                )
            {
                bytes = old.bytes
                from = old.from
            } else {
                for _ in 0..<Int(mischief.next() % 1200) {
                    bytes.append(UInt8(truncatingIfNeeded: mischief.next()))
                }
            }
            let late = mischief.duration(in: .zero...(.milliseconds(1)))
            deliver(from: nodes[from], to: index, after: late) { $0 = bytes }
        }
    }

    /// Gives a command to a node's process at `instant`; a process started later never gets it.
    package func submit(_ command: Process.Command, to index: Int, at instant: Instant) {
        agenda.plan(
            Agenda.Entry(
                time: max(time, instant),
                kind: .command,
                node: Int32(index),
                incarnation: nodes[index].incarnation,
                slot: commands.put(nil) { $0 = command }
            )
        )
    }

    /// Gives a command to a node's process now, and answers what it says to that.
    ///
    /// Between steps only. A stopped process gets it when it resumes, a dead one never.
    package func perform(_ command: Process.Command, on index: Int) -> Step {
        drive(nodes[index], command) ?? Step(time: time, node: index)
    }

    /// Does the next thing on the agenda; `nil` when nothing is left until `limit`.
    ///
    /// The world's time is then `limit`.
    package func step(until limit: Instant) -> Step? {
        while let entry = agenda.pop(until: limit) {
            time = entry.time
            if let step = perform(entry) { return step }
        }
        time = max(time, limit)
        return nil
    }

    /// Records a remark of the run in the trace.
    package func note(_ text: String, node: Int? = nil) {
        record(node, .note, text)
    }

    // 1. Wait for readiness, deadline or command: the agenda's next entry.
    private func perform(_ entry: Agenda.Entry) -> Step? {
        let node = nodes[Int(entry.node)]
        switch entry.kind {
        case .datagram:
            if mustWait(node, entry) { return nil }
            // The bytes leave their slot for as long as the node handles them.
            var bytes: [UInt8] = []
            datagrams.exchange(entry.slot, &bytes)
            let step = deliver(bytes, entry, to: node)
            datagrams.exchange(entry.slot, &bytes)
            datagrams.release(entry.slot)
            return step
        case .timer: return wake(node, entry)
        case .command:
            var command: Process.Command?
            commands.exchange(entry.slot, &command)
            commands.release(entry.slot)
            guard let command, node.incarnation == entry.incarnation else { return nil }
            return drive(node, command)
        case .resume:
            guard node.incarnation == entry.incarnation, node.isPaused else { return nil }
            return resume(node)
        }
    }

    /// Whether a slow node is busy still, so that the datagram was put off or, behind too many
    /// others, lost.
    private func mustWait(_ node: SimulatedNode<Process>, _ entry: Agenda.Entry) -> Bool {
        guard node.cost > .zero || node.backlog > 0 else { return false }
        if entry.isPutOff { node.backlog -= 1 }
        guard node.busyUntil > time else {
            node.busyUntil = time + node.cost
            return false
        }
        guard node.backlog < SimulatedNode<Process>.socketBuffer else {
            datagrams.release(entry.slot)
            return true
        }
        node.backlog += 1
        var later = entry
        later.isPutOff = true
        later.time = node.busyUntil
        agenda.plan(later)
        return true
    }

    private func deliver(
        _ bytes: [UInt8],
        _ entry: Agenda.Entry,
        to node: SimulatedNode<Process>
    ) -> Step? {
        guard node.process != nil else { return nil }
        delivered.datagrams &+= 1
        delivered.bytes &+= UInt64(bytes.count)
        let sender = address(of: Int(entry.from), network: entry.network)
        guard !node.isPaused else {
            keep(.datagram(bytes, from: sender), for: node)
            return nil
        }
        let event = TraceEvent(
            time: time,
            node: node.index,
            kind: .datagram,
            byteCount: bytes.count,
            from: Int(entry.from)
        )
        trace.record(event, bytes: bytes)
        // 2. Read the clock once: the node asks its own inside `drive` and nowhere else.
        node.drive(datagram: bytes.raw, from: sender, now: time)
        return settle(node)
    }

    /// Handles the pending wake-up of a node; its deadline may have moved to later meanwhile.
    private func wake(_ node: SimulatedNode<Process>, _ entry: Agenda.Entry) -> Step? {
        guard node.incarnation == entry.incarnation, node.planned == entry.time else { return nil }
        node.planned = nil
        guard let armed = node.armed, !node.isPaused else { return nil }
        if armed > time {
            arm(node)
            return nil
        }
        if node.cost > .zero {
            guard node.busyUntil <= time else {
                node.armed = node.busyUntil
                arm(node)
                return nil
            }
            node.busyUntil = time + node.cost
        }
        node.spins = node.lastWake == time ? node.spins + 1 : 0
        node.lastWake = time
        record(node.index, .timer)
        node.driveTimer(now: time)
        return settle(node)
    }

    private func arm(_ node: SimulatedNode<Process>) {
        guard let armed = node.armed, armed < node.planned ?? .distantFuture else { return }
        node.planned = armed
        agenda.plan(
            Agenda.Entry(
                time: armed,
                kind: .timer,
                node: Int32(node.index),
                incarnation: node.incarnation
            )
        )
    }

    private func drive(_ node: SimulatedNode<Process>, _ command: Process.Command) -> Step? {
        guard node.process != nil else { return nil }
        guard !node.isPaused else {
            keep(.command(command), for: node)
            return nil
        }
        record(node.index, .command)
        node.drive(command: command, now: time)
        return settle(node)
    }

    /// Keeps a stimulus for a stopped process: datagrams as its socket's buffer would, commands all.
    private func keep(_ stimulus: Stimulus<Process.Command>, for node: SimulatedNode<Process>) {
        if case .datagram = stimulus, node.waiting.count >= SimulatedNode<Process>.socketBuffer {
            return
        }
        node.waiting.append(stimulus)
    }

    private func resume(_ node: SimulatedNode<Process>) -> Step {
        node.isPaused = false
        record(node.index, .resume)
        let waiting = node.waiting
        node.waiting.removeAll()
        for stimulus in waiting {
            switch stimulus {
            case .datagram(let bytes, let sender):
                node.drive(datagram: bytes.raw, from: sender, now: time)
            case .command(let command): node.drive(command: command, now: time)
            }
        }
        // A deadline that passed meanwhile is handled late, as by a real timer.
        if let armed = node.armed, armed <= time { node.driveTimer(now: time) }
        return settle(node)
    }

    // 5. Send the batch, hand out the events, arm the deadline, go to 1.
    private func settle(_ node: SimulatedNode<Process>) -> Step {
        if node.diesBeforeSending {
            crash(node.index)
            return Step(time: time, node: node.index)
        }
        if !node.batch.isEmpty {
            for entry in node.batch.entries {
                switch entry.destination {
                case .address(let address):
                    if let to = self.node(at: address) { send(entry, of: node, to: to) }
                case .discovery:
                    for to in nodes.indices where to != node.index {
                        send(entry, of: node, to: to)
                    }
                }
            }
            node.batch.removeAll()
        }
        var step = Step(time: time, node: node.index)
        if !node.events.isEmpty {
            step.events = node.events
            node.events.removeAll(keepingCapacity: true)
        }
        arm(node)
        return step
    }

    /// Sends bytes in the name of a node, as somebody who kept or forged a datagram could.
    package func inject(_ bytes: [UInt8], from: Int, to: Int) {
        deliver(from: nodes[from], to: to, after: baseDelay) { $0 = bytes }
    }

    private func deliver(
        from node: SimulatedNode<Process>,
        to: Int,
        after delay: Duration,
        _ fill: (inout [UInt8]) -> Void
    ) {
        agenda.plan(
            Agenda.Entry(
                time: time + delay,
                kind: .datagram,
                node: Int32(to),
                from: Int32(node.index),
                network: node.network,
                slot: datagrams.put([], fill)
            )
        )
    }

    private func send(_ entry: DatagramBatch.Entry, of node: SimulatedNode<Process>, to: Int) {
        if let gate, !gate(node.batch.bytes(of: entry), node.index, to) { return }
        if let drops, isDropped(entry, of: node, drops) { return }
        if keepsRecent { remember(entry, of: node, to: to) }
        faults.submit(
            byteCount: entry.byteCount,
            from: node.index,
            to: to,
            now: time,
            into: &deliveries
        )
        for delivery in deliveries {
            deliver(from: node, to: to, after: baseDelay + delivery.delay) { copy in
                copy.removeAll(keepingCapacity: true)
                node.batch.copy(entry, into: &copy)
                delivery.corrupt(&copy)
            }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    private func isDropped(
        _ entry: DatagramBatch.Entry,
        of node: SimulatedNode<Process>,
        _ drops: Drops
    ) -> Bool {
        let bytes = node.batch.bytes(of: entry)
        guard let code = Process.messageCode(in: bytes), drops.codes.contains(code) else {
            return false
        }
        return mischief.happens(drops.probability)
    }

    private func remember(_ entry: DatagramBatch.Entry, of node: SimulatedNode<Process>, to: Int) {
        if recent.count >= Self.recentCount { recent.removeFirst(Self.recentCount / 2) }
        recent.append((node.batch.bytes(of: entry), node.index, to))
    }

    private func record(_ node: Int?, _ kind: TraceEvent.Kind, _ text: String = "") {
        trace.record(TraceEvent(time: time, node: node, kind: kind, text: text))
    }
}
