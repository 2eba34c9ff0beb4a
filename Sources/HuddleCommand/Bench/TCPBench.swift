import Huddle
import MeshNet
import MeshWire

/// `huddle bench tcp`: a bulk transfer over a slow link of the kernel's, alone and beside a TCP connection.
///
/// It is the transport on real sockets, against the CUBIC of this kernel, in real time; the bars are those of
/// `20-transport.md` §5.6. There and back takes 20 ms, and the queue has room for what the link carries in that time.
struct TCPBench {
    let isJSON: Bool
    /// Bits a second of each link.
    let rates: [Int]
    /// How long each figure is measured, once the flows have settled.
    let duration: Duration

    private static let roundTrip: Duration = .milliseconds(20)
    /// A datagram of the transport, the headers that carry it on Ethernet, and its own header and seal.
    private static let packetBytes = (
        datagram: Double(LinkBench.ethernetBytes), headers: 42.0, seal: 32.0
    )

    func run() async throws(Failure) -> Int32 {
        for rate in rates {
            try await alone(rate)
            for isOursFirst in [true, false] { try await beside(rate, isOursFirst: isOursFirst) }
            try await drop(rate)
        }
        return ExitCode.success
    }

    /// How much of the link one flow takes, and what waits before it.
    private func alone(_ rate: Int) async throws(Failure) {
        let link = try RateLink(shape(rate))
        defer { link.stop() }
        let flow = try Self.flow(over: link, isOurs: true)
        defer { flow.stop() }
        try await settle([flow])
        let figures = try await measure([flow], over: link)
        let name = "\(words(rate)), alone"
        let packet = Self.packetBytes
        let share = (packet.datagram - packet.seal) / (packet.datagram + packet.headers)
        BenchRow(
            name: name,
            figure: figures.rates[0] / 1e6,
            unit: "Mbit/s",
            limit: BenchRow.Limit(
                name: "the link behind headers and seals",
                figure: Double(rate) * share / 1e6
            ),
            goal: "≥ 0.95×",
            digits: 2
        ).show(asJSON: isJSON)
        let packets = 2 * (packet.datagram + packet.headers) * 8000 / Double(rate)
        BenchRow(
            name: "\(name), queue",
            figure: figures.queue,
            unit: "ms",
            goal: "≤ \(decimals(5 + packets, 1)) ms",
            digits: 2
        ).show(asJSON: isJSON)
    }

    /// How the transport and a TCP connection divide the link.
    private func beside(_ rate: Int, isOursFirst: Bool) async throws(Failure) {
        let link = try RateLink(shape(rate))
        defer { link.stop() }
        let first = try Self.flow(over: link, isOurs: isOursFirst)
        defer { first.stop() }
        try await settle([first])
        let second = try Self.flow(over: link, isOurs: !isOursFirst)
        defer { second.stop() }
        try await settle([first, second])
        let figures = try await measure([first, second], over: link)
        BenchRow(
            name: "\(words(rate)), \(isOursFirst ? "begun before" : "begun after") TCP",
            figure: figures.rates[isOursFirst ? 0 : 1] / 1e6,
            unit: "Mbit/s",
            limit: BenchRow.Limit(
                name: "TCP CUBIC beside it",
                figure: figures.rates[isOursFirst ? 1 : 0] / 1e6
            ),
            goal: "0.5× to 2×",
            digits: 2
        ).show(asJSON: isJSON)
    }

    /// How soon the queue is short again once the link has become ten times slower.
    private func drop(_ rate: Int) async throws(Failure) {
        let link = try RateLink(shape(rate))
        defer { link.stop() }
        let flow = try Self.flow(over: link, isOurs: true)
        defer { flow.stop() }
        try await settle([flow])
        let slow = rate / 10
        try link.setRate(slow)
        let start = SystemClock.now()
        // A quarter of the round trip or 5 ms, and two packets.
        let packets = 2 * Int(Self.packetBytes.datagram + Self.packetBytes.headers)
        let bar = slow / 8 / 200 + packets
        var (most, first) = (0, Duration?.none)
        while SystemClock.now() - start < .seconds(4) {
            try await pause(.milliseconds(2))
            let backlog = try queue(of: link).backlogBytes
            most = max(most, backlog)
            if backlog > bar { continue }
            // Not before the queue had time to grow at all.
            let time = SystemClock.now() - start
            if time > Self.roundTrip {
                first = time
                break
            }
        }
        let name = "\(words(rate)) to a tenth"
        BenchRow(
            name: "\(name), queue is short",
            figure: (first ?? .seconds(4)).milliseconds,
            unit: "ms",
            goal: "≤ 660 ms"
        ).show(asJSON: isJSON)
        BenchRow(
            name: "\(name), longest queue",
            figure: Double(most) / 1000,
            unit: "kB",
            limit: BenchRow.Limit(
                name: "old rate × round trip, which is its room",
                figure: Double(link.shape.bufferBytes) / 1000
            ),
            goal: "≤ 2×"
        ).show(asJSON: isJSON)
    }

    // MARK: Parts

    private func shape(_ rate: Int) -> RateLink.Shape {
        RateLink.Shape(bitsPerSecond: rate, roundTrip: Self.roundTrip)
    }

    private func words(_ rate: Int) -> String { "\(rate / 1_000_000) Mbit/s" }

    private static func flow(over link: RateLink, isOurs: Bool) throws(Failure) -> any LinkFlow {
        do {
            return isOurs ? try MeshFlow(over: link) : try TCPFlow(over: link)
        } catch {
            throw Failure("system", "a flow cannot start: \(error)")
        }
    }

    private func queue(of link: RateLink) throws(Failure) -> QueueMeter.Reading {
        do {
            return try link.queue()
        } catch {
            throw Failure("system", "the queue cannot be read: \(error)")
        }
    }

    private func pause(_ time: Duration) async throws(Failure) {
        do {
            try await Task.sleep(for: time)
        } catch {
            throw Failure("failed", "the measurement was called off")
        }
    }

    /// Waits until each flow delivers, then for the growth of both to be over.
    private func settle(_ flows: [any LinkFlow]) async throws(Failure) {
        let start = SystemClock.now()
        while !flows.allSatisfy({ $0.delivered > 0 }) {
            try check(flows)
            guard SystemClock.now() - start < .seconds(10) else {
                throw Failure("failed", "nothing arrives over the link within 10 s")
            }
            try await pause(.milliseconds(10))
        }
        try await pause(max(.seconds(1), duration / 3))
        try check(flows)
    }

    private func check(_ flows: [any LinkFlow]) throws(Failure) {
        for flow in flows {
            guard let failure = flow.failure else { continue }
            throw Failure("failed", "a flow ended before its time: \(failure)")
        }
    }

    /// Bits a second of each flow, and the mean time that a packet waits in the queue.
    private func measure(
        _ flows: [any LinkFlow],
        over link: RateLink
    ) async throws(Failure) -> (rates: [Double], queue: Double) {
        let before = flows.map(\.delivered)
        let start = SystemClock.now()
        var (sum, count) = (0.0, 0.0)
        while SystemClock.now() - start < duration {
            try await pause(.milliseconds(10))
            sum += Double(try queue(of: link).backlogBytes)
            count += 1
        }
        let seconds = (SystemClock.now() - start).milliseconds / 1000
        try check(flows)
        return (
            zip(flows, before).map { Double($0.delivered - $1) * 8 / seconds },
            sum / max(1, count) * 8000 / Double(link.shape.bitsPerSecond)
        )
    }
}
