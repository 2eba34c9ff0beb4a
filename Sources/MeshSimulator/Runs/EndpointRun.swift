import MeshTransport
import MeshWire

/// One run of the transport alone: pairs of endpoints and messages on both lanes.
package final class EndpointRun: SimulationRun<EndpointProcess> {
    private struct Sent {
        var stream: ReliableOrder.Stream
        var number: UInt64
    }

    private var sent: [UInt64: Sent] = [:]
    private var nextNumber: UInt64 = 1
    private var lives: [ProcessID: Life] = [:]
    private var reliable = ReliableOrder()
    private var fast = FastFreshness()
    private var leavers: Set<Int> = []

    private static let channels = ["chat", "moves"]

    /// Prepares the run of `options`; `observer` sees every event of the trace.
    package override init(_ options: RunOptions, observer: ((TraceEvent) -> Void)? = nil) {
        super.init(options, observer: observer)
    }

    override class var layer: SimulatedLayer { .transport }

    override func makeProcess(_ life: Life, now: Instant) -> EndpointProcess {
        let process = EndpointProcess(life: life, seed: options.seed, now: now)
        process.addresses = (0..<swarm.nodes).filter { $0 != life.node }.map {
            world.address(of: $0)
        }
        lives[process.process] = life
        return process
    }

    override func formRoom() throws(Violation) {
        try advance(to: Self.start)
        if let obstacle = unfinished() {
            throw Violation("all pairs come up within 3 s on a perfect network", obstacle)
        }
    }

    override func rejoin(_ index: Int) throws(Violation) { leavers.remove(index) }

    override func leave(_ index: Int) throws(Violation) {
        leavers.insert(index)
        end(life(index))
        try check(world.perform(.close, on: index))
    }

    override func end(_ life: Life) {
        reliable.end { $0.sender == life || $0.receiver == life }
    }

    private var live: [(index: Int, process: EndpointProcess)] {
        world.nodes.compactMap { node in
            guard let process = node.process, !leavers.contains(node.index) else { return nil }
            return (node.index, process)
        }
    }

    override func unfinished() -> String? {
        for left in live {
            for right in live where left.index != right.index {
                guard left.process.isConnected(right.process.process) else {
                    return "n\(left.index) has no pair with n\(right.index)"
                }
            }
        }
        return reliable.obstacle
    }

    override func finish() throws(Violation) {
        report.figures.reliable = reliable.deliveredCount
        report.figures.fast = fast.deliveredCount
        try reliable.finish()
    }

    override func handle(_ event: EndpointProcess.Event, of life: Life) throws(Violation) {
        switch event {
        case .connected(let peer):
            world.note(
                "connected \(name(peer.peer, peer.incarnation)) resumed \(peer.resumed)",
                node: life.node
            )
        case .disconnected(let peer, let incarnation, let reason):
            world.note("disconnected \(name(peer, incarnation)) \(reason)", node: life.node)
        case .violation(let peer):
            throw Violation("no endpoint of ours breaks the protocol", "\(life) says \(peer) does")
        case .refused(let request):
            guard let entry = sent.removeValue(forKey: request) else { return }
            reliable.fail(entry.number, on: entry.stream)
        case .outcome(let request, let outcome):
            guard let entry = sent.removeValue(forKey: request) else { return }
            if outcome != .delivered { reliable.fail(entry.number, on: entry.stream) }
        case .message(let peer, let incarnation, let message):
            try receive(peer, incarnation, message, life)
        }
    }

    private func receive(
        _ peer: NodeID,
        _ incarnation: UInt64,
        _ message: ReceivedMessage,
        _ life: Life
    ) throws(Violation) {
        let probe: ProbeMessage
        do {
            probe = try ProbeMessage(message.bytes)
        } catch {
            throw Violation("a message arrives as it was sent", "\(life) got other bytes: \(error)")
        }
        guard name(peer, incarnation) == probe.sender.description else {
            throw Violation(
                "a message is from the peer it names",
                "\(life) got one of \(probe.sender) from \(name(peer, incarnation))"
            )
        }
        switch message.lane {
        case .reliable:
            let stream = ReliableOrder.Stream(
                sender: probe.sender,
                channel: probe.stream,
                receiver: life
            )
            try reliable.receive(probe.number, on: stream)
        case .fast:
            try fast.receive(probe.number, key: message.key, from: probe.sender, at: life)
        }
    }

    override func work(_ index: Int) throws(Violation) {
        guard let process = world.nodes[index].process, !leavers.contains(index),
            !world.nodes[index].isPaused
        else { return }
        let life = life(index)
        for (other, peer) in live where other != index && process.isConnected(peer.process) {
            nextNumber += 1
            let number = nextNumber
            let isFast = draw.happens(0.4)
            let stream = isFast ? 1 + Int(draw.next() % 3) : Int(draw.next() % 2)
            let padding =
                draw.happens(isFast ? 0.1 : 0.05)
                ? Int(draw.next() % (isFast ? 6000 : 120_000)) : Int(draw.next() % 300)
            let message = ProbeMessage(
                sender: life,
                stream: stream,
                number: number,
                padding: padding
            )
            var options = SendOptions(lane: isFast ? .fast : .reliable)
            if isFast {
                options.key = UInt64(stream)
                options.reportsOutcome = false
            } else {
                options.acknowledgesAtOnce = draw.happens(0.3)
                let entry = Sent(
                    stream: .init(sender: life, channel: stream, receiver: self.life(other)),
                    number: number
                )
                sent[number] = entry
                reliable.send(number, on: entry.stream)
            }
            let command = EndpointProcess.Command.send(
                to: peer.process.nodeID,
                channel: isFast ? "pointer" : Self.channels[stream],
                message.encoded,
                options,
                request: number
            )
            try check(world.perform(command, on: index))
        }
    }

    private func name(_ peer: NodeID, _ incarnation: UInt64) -> String {
        // order: at most one matches
        lives.first { $0.key.nodeID == peer && $0.key.incarnation == incarnation }?
            .value.description ?? "a stranger"
    }
}
