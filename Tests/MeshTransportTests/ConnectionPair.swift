import MeshTransport
import MeshWire

/// Two connections and a bad link between them, on virtual time.
struct ConnectionPair {
    /// What the link does to packets, the same in both directions.
    struct Link {
        var delay: Duration = .milliseconds(10)
        /// Added evenly from zero to this, so that packets overtake each other.
        var jitter: Duration = .zero
        /// The share of packets that come later by ``lateness``.
        var late = 0.0
        var lateness: Duration = .milliseconds(5)
        var loss = 0.0
        var duplication = 0.0
        /// Nothing passes while set.
        var isDown = false
        /// Bytes a second; `nil` for no bound.
        var rate: Double?
        /// How long the queue before the rate may get.
        var queue: Duration = .milliseconds(100)
    }

    enum Side: Int, Sendable { case left, right }

    struct Flight {
        let due: Instant
        let order: UInt64
        let to: Side
        let space: UInt32
        let number: UInt64
        let bytes: [UInt8]
    }

    var left: Connection
    var right: Connection
    var link = Link()
    var now = Instant(nanoseconds: 1_000_000_000)
    var space: UInt32 = 1
    /// Called for every packet that leaves; `false` loses it.
    var filter: ((Side, [UInt8], UInt64) -> Bool)?
    /// Events that no handler took.
    var events: [[ConnectionEvent]] = [[], []]
    var violation: ProtocolViolation?
    var packets = [0, 0]
    var bytes = [0, 0]
    /// How often a timer of a side was due.
    var wakeUps = [0, 0]
    var isBusy = false

    private var generator: SeededGenerator
    private var flights: [Flight] = []
    private var order: UInt64 = 0
    private var numbers: [[UInt32: UInt64]] = [[:], [:]]
    private var free = [Instant.zero, Instant.zero]
    private var spins = 0

    init(
        seed: UInt64 = 1,
        configuration: TransportConfiguration = TransportConfiguration(),
        link: Link = Link()
    ) {
        // Packets of one size, so that tests can count them; the search for larger ones has its own.
        var configuration = configuration
        configuration.datagramBytes = Limits.datagramFloorBytes
        left = Connection(configuration: configuration, seed: seed, now: now)
        right = Connection(configuration: configuration, seed: seed + 1, now: now)
        generator = SeededGenerator(seed: seed)
        self.link = link
        left.adopt(space: space, resumed: false, now: now)
        right.adopt(space: space, resumed: false, now: now)
    }

    subscript(side: Side) -> Connection {
        get { side == .left ? left : right }
        _modify {
            if side == .left { yield &left } else { yield &right }
        }
    }

    /// The next packet of both sides gets this number, as after a long talk.
    mutating func jump(to number: UInt64) {
        for side in 0...1 { numbers[side][space] = max(numbers[side][space, default: 0], number) }
    }

    /// Both sides shake hands anew.
    mutating func rekey(resumed: Bool) {
        space += 1
        left.adopt(space: space, resumed: resumed, now: now)
        right.adopt(space: space, resumed: resumed, now: now)
    }

    /// Builds until nothing leaves, and takes the events.
    mutating func flush(_ handle: (inout ConnectionPair, Side, ConnectionEvent) -> Bool) {
        for side in [Side.left, .right] {
            while let event = self[side].nextEvent() {
                if !handle(&self, side, event) { events[side.rawValue].append(event) }
            }
            for space in max(1, space - 1)...space { build(side, space) }
        }
    }

    private mutating func build(_ side: Side, _ space: UInt32) {
        while true {
            var content: [UInt8] = []
            let number = numbers[side.rawValue][space, default: 0]
            let isBuilt = self[side].build(
                space: space,
                number: number,
                into: &content,
                now: now
            )
            guard isBuilt else { return }
            precondition(!content.isEmpty && content.count <= 1168, "a packet keeps its bounds")
            numbers[side.rawValue][space] = number + 1
            packets[side.rawValue] += 1
            bytes[side.rawValue] += content.count
            transmit(content, side, space, number)
        }
    }

    private mutating func transmit(
        _ content: [UInt8],
        _ side: Side,
        _ space: UInt32,
        _ number: UInt64
    ) {
        if let filter, !filter(side, content, number) { return }
        guard !link.isDown, !generator.happens(link.loss) else { return }
        var start = now
        if let rate = link.rate {
            let begin = max(free[side.rawValue], now)
            guard begin - now <= link.queue else { return }
            let seconds = Double(content.count + 32) / rate
            free[side.rawValue] = begin + .nanoseconds(Int64(seconds * 1e9))
            start = free[side.rawValue]
        }
        let copies = generator.happens(link.duplication) ? 2 : 1
        for _ in 0..<copies {
            var jitter = generator.duration(in: .zero...link.jitter)
            if link.late > 0, generator.happens(link.late) { jitter += link.lateness }
            order += 1
            push(
                Flight(
                    due: start + link.delay + jitter,
                    order: order,
                    to: side == .left ? .right : .left,
                    space: space,
                    number: number,
                    bytes: content
                )
            )
        }
    }

    private static func isBefore(_ left: Flight, _ right: Flight) -> Bool {
        (left.due, left.order) < (right.due, right.order)
    }

    private mutating func push(_ flight: Flight) {
        flights.append(flight)
        var index = flights.count - 1
        while index > 0, Self.isBefore(flights[index], flights[(index - 1) / 2]) {
            flights.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func pop() -> Flight? {
        guard !flights.isEmpty else { return nil }
        flights.swapAt(0, flights.count - 1)
        let first = flights.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < flights.count && Self.isBefore(flights[child], flights[least]) {
                least = child
            }
            guard least != index else { return first }
            flights.swapAt(index, least)
            index = least
        }
    }

    /// Forgets what is under way.
    mutating func dropFlights() { flights = [] }

    /// Lets time pass until `end`, or until `isDone`.
    mutating func run(
        until end: Instant,
        while isGoing: (ConnectionPair) -> Bool = { _ in true },
        _ handle: (inout ConnectionPair, Side, ConnectionEvent) -> Bool = { _, _, _ in false }
    ) {
        flush(handle)
        while violation == nil, isGoing(self) {
            var next = end
            for side in [Side.left, .right] {
                if let deadline = self[side].deadline(now: now) { next = min(next, deadline) }
            }
            if let flight = flights.first { next = min(next, flight.due) }
            spins = next <= now ? spins + 1 : 0
            if spins > 10_000 {
                isBusy = true
                return
            }
            now = max(now, next)
            guard now < end else {
                now = end
                return
            }
            while let flight = flights.first, flight.due <= now {
                guard let flight = pop() else { break }
                deliver(flight)
            }
            for side in [Side.left, .right] {
                if let deadline = self[side].deadline(now: now), deadline <= now {
                    wakeUps[side.rawValue] += 1
                    self[side].advance(to: now)
                }
            }
            flush(handle)
        }
    }

    mutating func run(for duration: Duration) { run(until: now + duration) }

    /// Gives one packet to its side, as the endpoint would after opening it.
    mutating func deliver(_ flight: Flight) {
        do {
            try self[flight.to].receive(
                flight.bytes.raw,
                space: flight.space,
                number: flight.number,
                now: now
            )
        } catch {
            violation = error
        }
    }

    /// The messages one side got, as far as no handler took them.
    func received(_ side: Side) -> [ReceivedMessage] {
        events[side.rawValue].compactMap { event in
            guard case .received(let message) = event else { return nil }
            return message
        }
    }

    func outcomes(_ side: Side) -> [SendToken: SendOutcome] {
        var outcomes: [SendToken: SendOutcome] = [:]
        for case .outcome(let token, let outcome) in events[side.rawValue] {
            outcomes[token] = outcome
        }
        return outcomes
    }
}

/// Bytes that tell which message they are of and where they stand in it.
func pattern(_ message: Int, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: message &* 31 &+ count), count: count)
    for index in stride(from: 0, to: count, by: 509) {
        bytes[index] = UInt8(truncatingIfNeeded: index >> 4 ^ message)
    }
    return bytes
}
