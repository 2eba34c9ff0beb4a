package import MeshFaults
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

    private enum Action {
        case datagram(to: Int, from: Int, sender: SocketAddress, [UInt8])
        case timer(Int, incarnation: UInt32, deadline: Instant)
        case command(Int, incarnation: UInt32, Process.Command)
        case resume(Int, incarnation: UInt32)
    }

    /// The world's time.
    package private(set) var time = Instant.zero
    /// The nodes, by their number.
    package private(set) var nodes: [SimulatedNode<Process>] = []
    /// The network's faults; may be changed between steps.
    package var faults: FaultEngine<Int>
    /// The record of the run.
    package var trace = Trace()
    /// How many datagrams were delivered, and how many bytes.
    package private(set) var delivered: (datagrams: UInt64, bytes: UInt64) = (0, 0)
    /// What every datagram spends on the way besides the faults.
    package var baseDelay = Duration.microseconds(50)
    /// Says of a datagram, and from and to whom it goes, whether it reaches the links at all.
    package var gate: ((_ bytes: [UInt8], _ from: Int, _ to: Int) -> Bool)?

    private var schedule: Schedule<Action>
    private var addresses: [SocketAddress: Int] = [:]
    private var moves = 0

    /// An empty world of this seed.
    package init(seed: UInt64) {
        let generator = SeededGenerator(seed: seed)
        var network = generator.stream("network")
        schedule = Schedule(ties: generator.stream("ties"))
        faults = FaultEngine(seed: network.next())
    }

    /// Adds a machine without a process and answers its number.
    package func addNode(clock: VirtualClock = VirtualClock()) -> Int {
        let index = nodes.count
        let address = address(of: index)
        nodes.append(SimulatedNode(index: index, address: address, clock: clock))
        addresses[address] = index
        return index
    }

    /// Where the node of this number receives, whether it was added yet or not.
    package func address(of index: Int) -> SocketAddress {
        SocketAddress(
            10,
            0,
            UInt8(index >> 8),
            UInt8(index & 255),
            port: UInt16(20_000 + index)
        )
    }

    /// Gives a node a new address; what is sent to the old one is lost.
    package func move(_ index: Int) {
        let node = nodes[index]
        addresses[node.address] = nil
        var address = node.address
        // A network of its own for each move: 10.1, 10.2 and so on.
        while addresses[address] != nil || address == node.address {
            moves += 1
            let port = UInt16(20_000 + index)
            address = SocketAddress(10, UInt8(moves & 255), 0, UInt8(index & 255), port: port)
        }
        node.address = address
        addresses[address] = index
    }

    /// The node that receives at `address`.
    package func node(at address: SocketAddress) -> Int? { addresses[address] }

    /// Starts a process on a node that has none, and answers what it says first.
    @discardableResult
    package func start(_ process: Process, on index: Int) -> Step {
        let node = nodes[index]
        precondition(node.process == nil, "node \(index) runs a process already")
        node.incarnation += 1
        node.process = process
        record(index, .start)
        node.drive(nil, now: time)
        return settle(node)
    }

    /// Ends a node's process without a word, as SIGKILL does.
    package func crash(_ index: Int) {
        let node = nodes[index]
        node.process = nil
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
        schedule.plan(.resume(index, incarnation: node.incarnation), at: time + duration)
    }

    /// Gives a command to a node's process at `instant`; a process started later never gets it.
    package func submit(_ command: Process.Command, to index: Int, at instant: Instant) {
        schedule.plan(
            .command(index, incarnation: nodes[index].incarnation, command),
            at: max(time, instant)
        )
    }

    /// Gives a command to a node's process now, and answers what it says to that.
    ///
    /// Between steps only. A stopped process gets it when it resumes, a dead one never.
    package func perform(_ command: Process.Command, on index: Int) -> Step {
        drive(index, nodes[index].incarnation, .command(command), .command)
            ?? Step(time: time, node: index)
    }

    /// Does the next thing on the agenda; `nil` when nothing is left until `limit`.
    ///
    /// The world's time is then `limit`.
    package func step(until limit: Instant) -> Step? {
        while let (planned, action) = schedule.pop(until: limit) {
            time = planned
            if let step = perform(action) { return step }
        }
        time = max(time, limit)
        return nil
    }

    /// Records a remark of the run in the trace.
    package func note(_ text: String, node: Int? = nil) {
        record(node, .note, text)
    }

    // 1. Wait for readiness, deadline or command: the agenda's next entry.
    private func perform(_ action: Action) -> Step? {
        switch action {
        case .datagram(let to, let from, let sender, let bytes):
            guard nodes[to].process != nil else { return nil }
            let incarnation = nodes[to].incarnation
            delivered.datagrams &+= 1
            delivered.bytes &+= UInt64(bytes.count)
            return drive(to, incarnation, .datagram(bytes, from: sender), .datagram, from: from)
        case .timer(let index, let incarnation, let deadline):
            return wake(nodes[index], incarnation, planned: deadline)
        case .command(let index, let incarnation, let command):
            return drive(index, incarnation, .command(command), .command)
        case .resume(let index, let incarnation):
            let node = nodes[index]
            guard node.incarnation == incarnation, node.isPaused else { return nil }
            return resume(node)
        }
    }

    /// Handles the pending wake-up of a node; its deadline may have moved to later meanwhile.
    private func wake(
        _ node: SimulatedNode<Process>,
        _ incarnation: UInt32,
        planned: Instant
    ) -> Step? {
        guard node.incarnation == incarnation, node.planned == planned else { return nil }
        node.planned = nil
        guard let armed = node.armed, !node.isPaused else { return nil }
        if armed > time {
            arm(node)
            return nil
        }
        node.spins = node.lastWake == time ? node.spins + 1 : 0
        node.lastWake = time
        return drive(node.index, incarnation, .timer, .timer)
    }

    private func arm(_ node: SimulatedNode<Process>) {
        guard let armed = node.armed, armed < node.planned ?? .distantFuture else { return }
        node.planned = armed
        schedule.plan(
            .timer(node.index, incarnation: node.incarnation, deadline: armed),
            at: armed
        )
    }

    private func drive(
        _ index: Int,
        _ incarnation: UInt32,
        _ stimulus: Stimulus<Process.Command>,
        _ kind: TraceEvent.Kind,
        from: Int? = nil
    ) -> Step? {
        let node = nodes[index]
        guard node.incarnation == incarnation, node.process != nil else { return nil }
        guard !node.isPaused else {
            if case .timer = stimulus { return nil }
            if node.waiting.count < SimulatedNode<Process>.socketBuffer {
                node.waiting.append(stimulus)
            }
            return nil
        }
        if case .datagram(let bytes, _) = stimulus {
            let event = TraceEvent(
                time: time,
                node: index,
                kind: kind,
                byteCount: bytes.count,
                from: from
            )
            trace.record(event, bytes: bytes)
        } else {
            record(index, kind)
        }
        // 2. Read the clock once: the node asks its own inside `drive` and nowhere else.
        node.drive(stimulus, now: time)
        return settle(node)
    }

    private func resume(_ node: SimulatedNode<Process>) -> Step {
        node.isPaused = false
        record(node.index, .resume)
        let waiting = node.waiting
        node.waiting.removeAll()
        for stimulus in waiting { node.drive(stimulus, now: time) }
        // A deadline that passed meanwhile is handled late, as by a real timer.
        if let armed = node.armed, armed <= time { node.drive(.timer, now: time) }
        return settle(node)
    }

    // 5. Send the batch, hand out the events, arm the deadline, go to 1.
    private func settle(_ node: SimulatedNode<Process>) -> Step {
        for entry in node.batch.entries {
            switch entry.destination {
            case .address(let address):
                if let to = addresses[address] { send(entry, of: node, to: to) }
            case .discovery:
                for to in nodes.indices where to != node.index { send(entry, of: node, to: to) }
            }
        }
        node.batch.removeAll()
        let events = node.events
        node.events.removeAll(keepingCapacity: true)
        arm(node)
        return Step(time: time, node: node.index, events: events)
    }

    /// Sends bytes in the name of a node, as somebody who kept or forged a datagram could.
    package func inject(_ bytes: [UInt8], from: Int, to: Int) {
        schedule.plan(
            .datagram(to: to, from: from, sender: nodes[from].address, bytes),
            at: time + baseDelay
        )
    }

    private func send(_ entry: DatagramBatch.Entry, of node: SimulatedNode<Process>, to: Int) {
        if let gate, !gate(node.batch.bytes(of: entry), node.index, to) { return }
        let deliveries = faults.submit(
            byteCount: entry.byteCount,
            from: node.index,
            to: to,
            now: time
        )
        guard !deliveries.isEmpty else { return }
        let bytes = node.batch.bytes(of: entry)
        for delivery in deliveries {
            var copy = bytes
            delivery.corrupt(&copy)
            schedule.plan(
                .datagram(to: to, from: node.index, sender: node.address, copy),
                at: time + baseDelay + delivery.delay
            )
        }
    }

    private func record(_ node: Int?, _ kind: TraceEvent.Kind, _ text: String = "") {
        trace.record(TraceEvent(time: time, node: node, kind: kind, text: text))
    }
}
