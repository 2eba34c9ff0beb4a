package import MeshFaults
package import MeshTransport
package import MeshWire

/// Connections that send through one bottleneck, in virtual time: the transport's laboratory.
///
/// Every flow is a pair of connections with the real state machine of the transport. What the senders send shares
/// one link, what the receivers answer another. The same seed gives the same run.
package struct FlowRun {
    /// What one flow sends.
    package enum Source: Hashable, Sendable {
        /// As much as there is room for, in messages of this many bytes.
        case bulk(messageBytes: Int)
        /// One message in an interval.
        case steady(bytes: Int, every: Duration)
    }

    /// One flow, from its first message to its last.
    package struct Plan: Hashable, Sendable {
        package var source: Source
        package var start: Duration
        package var stop: Duration
        package var trafficClass: TrafficClass

        package init(
            _ source: Source,
            start: Duration = .zero,
            stop: Duration = .seconds(100_000),
            class trafficClass: TrafficClass = .normal
        ) {
            self.source = source
            self.start = start
            self.stop = stop
            self.trafficClass = trafficClass
        }
    }

    /// What happened to a flow so far.
    package struct Figures: Hashable, Sendable {
        /// Bytes of messages that arrived, in order.
        package var deliveredBytes: UInt64 = 0
        /// Bytes of messages that were sent.
        package var offeredBytes: UInt64 = 0
        /// What left the sender, headers of 28 bytes included.
        package var wireBytes: UInt64 = 0
        package var packets: UInt64 = 0
        /// How long each message of a steady flow took, in order.
        package var latencies: [Duration] = []
    }

    /// How long packets waited in front of the bottleneck.
    package struct QueueFigures: Hashable, Sendable {
        package var packets: UInt64 = 0
        package var total: Duration = .zero
        package var longest: Duration = .zero

        package var mean: Duration { packets == 0 ? .zero : total / Int(packets) }
    }

    /// The two ends of a flow.
    private enum End: Int { case sender, receiver }

    private enum Event {
        case packet(flow: Int, to: End, number: UInt64, bytes: [UInt8])
        case timer(flow: Int, of: End)
        case message(flow: Int)
    }

    private struct Flow {
        let plan: Plan
        /// Sender and receiver, each with the next packet number and when it is looked at next.
        var ends: [Connection]
        var numbers: [UInt64] = [0, 0]
        var armed: [Instant] = [.distantFuture, .distantFuture]
        var channel: ChannelNumber = 0
        var figures = Figures()
        /// When the messages that are under way were sent, in order.
        var sent: [Instant] = []
    }

    /// The rate and the queue that the senders share; may change at any time.
    package var bottleneck: LinkFaults
    /// What happens to their packets behind it.
    package var forward: LinkFaults
    /// What the receivers' link does.
    package var backward: LinkFaults
    /// How long the run has lasted.
    package var elapsed: Duration { now - Self.start }
    /// The figures of each flow.
    package var figures: [Figures] { flows.map(\.figures) }

    /// How long packets waited in front of the bottleneck, since the last ``takeQueue()``.
    private var queue = QueueFigures()
    private var flows: [Flow]
    private var schedule: Schedule<Event>
    private var now = Self.start

    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let space: UInt32 = 1
    private static let headerBytes: UInt64 = 28

    package init(
        seed: UInt64,
        rateBitsPerSecond: Int64?,
        queue: QueueLimit = .automatic,
        path: LinkConditions,
        flows plans: [Plan],
        configuration: TransportConfiguration = TransportConfiguration()
    ) {
        let generator = SeededGenerator(seed: seed)
        schedule = Schedule(ties: generator.stream("ties"))
        var bottleneck = LinkConditions()
        bottleneck.rateBitsPerSecond = rateBitsPerSecond
        bottleneck.queue = queue
        self.bottleneck = LinkFaults(bottleneck, seed: seed, from: "sender", to: "path")
        forward = LinkFaults(path, seed: seed, from: "path", to: "receiver")
        backward = LinkFaults(path, seed: seed, from: "receiver", to: "sender")
        let now = now
        flows = plans.enumerated().map { place, plan in
            var draws = generator.stream("flow", UInt64(place))
            func connection() -> Connection {
                var connection = Connection(
                    configuration: configuration,
                    seed: draws.next(),
                    now: now
                )
                connection.adopt(space: Self.space, resumed: false, now: now)
                return connection
            }
            return Flow(plan: plan, ends: [connection(), connection()])
        }
        for (place, plan) in plans.enumerated() {
            schedule.plan(.message(flow: place), at: now + plan.start)
        }
    }

    /// The transport's own figures of a flow's sender.
    package func statistics(of flow: Int) -> TransportStatistics {
        flows[flow].ends[End.sender.rawValue].statistics
    }

    /// What packets waited since the last call, their own time on the wire included.
    package mutating func takeQueue() -> QueueFigures {
        defer { queue = QueueFigures() }
        return queue
    }

    /// Lets time pass until the run has lasted so long.
    package mutating func run(until end: Duration) {
        let limit = Self.start + end
        while let (time, event) = schedule.pop(until: limit) {
            now = max(now, time)
            switch event {
            case .packet(let flow, let end, let number, let bytes):
                take(bytes, number, flow, end)
            case .timer(let flow, let end):
                guard flows[flow].armed[end.rawValue] == time else { continue }
                flows[flow].armed[end.rawValue] = .distantFuture
                flows[flow].ends[end.rawValue].advance(to: now)
                settle(flow, end)
            case .message(let flow):
                offer(flow)
                settle(flow, .sender)
            }
        }
        now = limit
    }

    // MARK: One end

    private mutating func take(_ bytes: [UInt8], _ number: UInt64, _ flow: Int, _ end: End) {
        do {
            try flows[flow].ends[end.rawValue].receive(
                bytes.raw,
                space: Self.space,
                number: number,
                now: now
            )
        } catch {
            preconditionFailure("both ends keep the protocol: \(error)")
        }
        settle(flow, end)
    }

    /// Takes what an end has to say and to send, and notes when to look at it again.
    private mutating func settle(_ flow: Int, _ end: End) {
        while let event = flows[flow].ends[end.rawValue].nextEvent() {
            if case .received(let message) = event { arrived(message.bytes.count, flow) }
        }
        // Acknowledged bytes make room.
        if end == .sender, case .bulk = flows[flow].plan.source { offer(flow) }
        send(flow, end)
        let due = flows[flow].ends[end.rawValue].deadline(now: now).map { max($0, now) }
        guard let due, due != flows[flow].armed[end.rawValue] else { return }
        flows[flow].armed[end.rawValue] = due
        schedule.plan(.timer(flow: flow, of: end), at: due)
    }

    private mutating func arrived(_ count: Int, _ flow: Int) {
        flows[flow].figures.deliveredBytes += UInt64(count)
        let place = flows[flow].figures.latencies.count
        guard place < flows[flow].sent.count else { return }
        flows[flow].figures.latencies.append(now - flows[flow].sent[place])
    }

    private mutating func send(_ flow: Int, _ end: End) {
        let capacity = flows[flow].ends[end.rawValue].datagramBytes
        var deliveries: [Delivery] = []
        while true {
            var content: [UInt8] = []
            content.reserveCapacity(capacity)
            let number = flows[flow].numbers[end.rawValue]
            let isBuilt = flows[flow].ends[end.rawValue].build(
                space: Self.space,
                number: number,
                into: &content,
                now: now
            )
            guard isBuilt else { return }
            flows[flow].numbers[end.rawValue] += 1
            deliveries.removeAll(keepingCapacity: true)
            let size = content.count + Limits.sealOverheadBytes
            switch end {
            case .sender:
                flows[flow].figures.packets += 1
                flows[flow].figures.wireBytes += UInt64(size) + Self.headerBytes
                guard let wait = bottleneck.submit(byteCount: size, now: now).first?.delay else {
                    continue
                }
                note(wait)
                forward.submit(byteCount: size, now: now + wait, into: &deliveries)
                for place in deliveries.indices { deliveries[place].delay += wait }
            case .receiver:
                backward.submit(byteCount: size, now: now, into: &deliveries)
            }
            let other: End = end == .sender ? .receiver : .sender
            for delivery in deliveries {
                schedule.plan(
                    .packet(flow: flow, to: other, number: number, bytes: content),
                    at: now + delivery.delay
                )
            }
        }
    }

    private mutating func note(_ wait: Duration) {
        queue.packets += 1
        queue.total += wait
        queue.longest = max(queue.longest, wait)
    }

    /// Gives a flow's sender what its source has.
    private mutating func offer(_ flow: Int) {
        let plan = flows[flow].plan
        guard now >= Self.start + plan.start, elapsed < plan.stop else { return }
        if flows[flow].channel == 0 {
            let channel = try? flows[flow].ends[End.sender.rawValue].openChannel(
                name: [1],
                class: plan.trafficClass
            )
            flows[flow].channel = channel ?? 0
        }
        switch plan.source {
        case .bulk(let bytes):
            while offer(bytes, flow) {}
        case .steady(let bytes, let interval):
            flows[flow].sent.append(now)
            _ = offer(bytes, flow)
            schedule.plan(.message(flow: flow), at: now + interval)
        }
    }

    private mutating func offer(_ bytes: Int, _ flow: Int) -> Bool {
        let options = SendOptions(reportsOutcome: false)
        let message = [UInt8](repeating: 7, count: bytes)
        let token = try? flows[flow].ends[End.sender.rawValue].send(
            message,
            on: flows[flow].channel,
            options: options,
            now: now
        )
        if token != nil { flows[flow].figures.offeredBytes += UInt64(bytes) }
        return token != nil
    }
}
