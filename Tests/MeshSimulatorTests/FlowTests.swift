import MeshFaults
import MeshSimulator
import MeshTransport
import MeshWire
import Testing

@Suite("Connections through one bottleneck — 20-transport §5, §8")
struct FlowTests {
    /// A link, with all that the tests change.
    struct Cell: CustomTestStringConvertible, Sendable {
        var megabits: Double
        var roundTrip: Double
        /// The buffer in products of rate and round trip.
        var buffer: Double
        var loss = 0.0

        var testDescription: String {
            "\(megabits) Mbit/s, \(roundTrip * 1000) ms, \(buffer) BDP, \(loss * 100) %"
        }

        var path: LinkConditions {
            var path = LinkConditions()
            path.delay = .nanoseconds(Int64(roundTrip * 5e8))
            path.mtuBytes = 1472
            if loss > 0 { path.loss = .independent(loss) }
            return path
        }

        var queueBytes: Int { max(Int(buffer * megabits * 125_000 * roundTrip), 15_000) }

        /// Bytes of messages a second at best, each packet with some 60 bytes around them.
        var capacity: Double { megabits * 125_000 * (1 - loss) * 1426 / 1500 }

        func run(_ flows: [FlowRun.Plan], seed: UInt64 = 1) -> FlowRun {
            FlowRun(
                seed: seed,
                rateBitsPerSecond: Int64(megabits * 1e6),
                queue: .bytes(queueBytes),
                path: path,
                flows: flows
            )
        }

        var bulk: FlowRun { run([FlowRun.Plan(.bulk(messageBytes: 16 << 10))]) }
    }

    private func delivered(_ run: FlowRun) -> Double {
        run.figures.reduce(0) { $0 + Double($1.deliveredBytes) }
    }

    @Test(
        "95 % of what the link lets through, and a small queue, whatever is lost at random — §5.6",
        arguments: [
            Cell(megabits: 10, roundTrip: 0.02, buffer: 1),
            Cell(megabits: 10, roundTrip: 0.02, buffer: 8),
            Cell(megabits: 10, roundTrip: 0.02, buffer: 1, loss: 0.05),
            Cell(megabits: 10, roundTrip: 0.02, buffer: 8, loss: 0.2),
            Cell(megabits: 10, roundTrip: 0.1, buffer: 2, loss: 0.01),
            Cell(megabits: 20, roundTrip: 0.002, buffer: 2, loss: 0.1),
        ]
    )
    func utilisation(cell: Cell) {
        var run = cell.bulk
        run.run(until: .seconds(4))
        _ = run.takeQueue()
        let before = delivered(run)
        run.run(until: .seconds(10))
        let share = (delivered(run) - before) / 6 / cell.capacity
        #expect(share >= 0.95, "\(share)")
        let queue = run.takeQueue().mean
        // A quarter of a round trip or 5 ms, and two packets on the wire.
        let bar = max(cell.roundTrip / 4, 0.005) + 2 * 1500 * 8 / (cell.megabits * 1e6)
        // From 10 % on the chapter's own simulation missed it too.
        #expect(queue < .nanoseconds(Int64(bar * (cell.loss >= 0.1 ? 1.3 : 1) * 1e9)), "\(queue)")
    }

    @Test("a buffer of ten packets beside losses: they are told apart, and nothing runs away")
    func shallowBuffer() {
        let cell = Cell(megabits: 100, roundTrip: 0.002, buffer: 0.5, loss: 0.2)
        var run = cell.bulk
        run.run(until: .seconds(1))
        let (start, before) = (delivered(run), run.statistics(of: 0))
        run.run(until: .seconds(3))
        let share = (delivered(run) - start) / 2 / cell.capacity
        #expect(share >= 0.9, "\(share)")
        let figures = run.statistics(of: 0)
        // A fifth is lost on the path, three in ten overflow; where it ran away 98 of a hundred were lost.
        let lost = Double(figures.packetsLost - before.packetsLost)
        #expect(lost < 0.6 * Double(figures.packetsSent - before.packetsSent), "\(lost)")
    }

    @Test(
        "the start finds the rate within twelve round trips, and leaves a queue of its own behind"
    )
    func start() {
        let cell = Cell(megabits: 20, roundTrip: 0.02, buffer: 8)
        var run = cell.bulk
        run.run(until: .milliseconds(240))
        let before = delivered(run)
        run.run(until: .milliseconds(440))
        #expect((delivered(run) - before) / 0.2 >= 0.9 * cell.capacity)
        _ = run.takeQueue()
        run.run(until: .seconds(2))
        #expect(run.takeQueue().mean < .milliseconds(8))
    }

    @Test("flows that begin at once, or one after the other, share evenly", arguments: [0, 3])
    func fairness(later: Int) {
        let cell = Cell(megabits: 20, roundTrip: 0.02, buffer: 2)
        var run = cell.run(
            (0..<2).map { flow in
                FlowRun.Plan(.bulk(messageBytes: 16 << 10), start: .seconds(flow * later))
            }
        )
        run.run(until: .seconds(15))
        let before = run.figures.map { Double($0.deliveredBytes) }
        run.run(until: .seconds(25))
        let rates = zip(run.figures, before).map { Double($0.0.deliveredBytes) - $0.1 }
        let sum = rates.reduce(0, +)
        let squares = rates.reduce(0) { $0 + $1 * $1 }
        let fairness = sum * sum / (2 * squares)
        #expect(fairness >= 0.95, "\(fairness)")
        #expect(sum / 10 >= 0.95 * cell.capacity)
    }

    @Test("after 5 s without a link the first byte comes within a round trip and 250 ms")
    func outage() {
        let cell = Cell(megabits: 10, roundTrip: 0.02, buffer: 1)
        var run = cell.bulk
        run.run(until: .seconds(3))
        run.forward.conditions.isDown = true
        run.backward.conditions.isDown = true
        run.run(until: .seconds(8))
        let before = delivered(run)
        run.forward.conditions.isDown = false
        run.backward.conditions.isDown = false
        run.run(until: .seconds(8) + .milliseconds(270))
        #expect(delivered(run) > before)
        run.run(until: .milliseconds(8_700))
        let back = delivered(run)
        run.run(until: .milliseconds(9_700))
        #expect(delivered(run) - back >= 0.9 * cell.capacity)
    }

    @Test(
        "a rate that falls to a tenth leaves no long queue, and one that rises again is found",
        arguments: [(50, 0.02), (50, 0.01), (20, 0.02), (100, 0.002)]
    )
    func rateSteps(megabits: Double, roundTrip: Double) {
        let cell = Cell(megabits: megabits, roundTrip: roundTrip, buffer: 2)
        var run = cell.bulk
        run.run(until: .seconds(2))
        run.bottleneck.conditions.rateBitsPerSecond = Int64(megabits * 1e5)
        run.run(until: .seconds(3))
        let fallen = delivered(run)
        run.run(until: .seconds(5))
        #expect((delivered(run) - fallen) / 2 >= 0.08 * cell.capacity)
        // A full queue looks like a second sender's; a look on purpose shows that it is one's own.
        run.run(until: .seconds(30))
        _ = run.takeQueue()
        run.run(until: .seconds(33))
        #expect(run.takeQueue().mean < .milliseconds(15))
        let before = delivered(run)
        run.bottleneck.conditions.rateBitsPerSecond = Int64(megabits * 1e6)
        run.run(until: .milliseconds(33_400))
        let found = delivered(run)
        run.run(until: .milliseconds(33_900))
        #expect(found > before)
        #expect((delivered(run) - found) / 0.5 >= 0.9 * cell.capacity)
    }

    @Test("a way that became longer is no queue, and is not yielded to for ever")
    func longerWay() {
        let cell = Cell(megabits: 20, roundTrip: 0.0003, buffer: 100)
        var run = cell.bulk
        run.run(until: .seconds(2))
        run.forward.conditions.delay = .milliseconds(5)
        run.backward.conditions.delay = .milliseconds(5)
        run.run(until: .seconds(3))
        let before = delivered(run)
        run.run(until: .seconds(6))
        let share = (delivered(run) - before) / 3 / cell.capacity
        #expect(share >= 0.85, "\(share)")
    }

    @Test("an application with little to say keeps the rate that was found — §5.3")
    func applicationLimited() {
        let cell = Cell(megabits: 10, roundTrip: 0.02, buffer: 2, loss: 0.05)
        var run = cell.run([
            FlowRun.Plan(.bulk(messageBytes: 16 << 10), stop: .seconds(3))
        ])
        run.run(until: .seconds(9))
        // All of it has arrived, and the window is not what an idle second made of it.
        #expect(run.figures[0].deliveredBytes == run.figures[0].offeredBytes)
        #expect(run.statistics(of: 0).windowBytes >= 20_000)
    }

    @Test(
        "60 Hz of 200 bytes over 10 ms: p99 in milliseconds where packets are lost — §9",
        arguments: [(0.0, 11, 1.1), (0.01, 13, 2.2), (0.05, 14, 2.2), (0.1, 15, 3.1), (0.2, 20, 4)]
    )
    func thinStream(loss: Double, bar: Int, cost: Double) {
        var path = LinkConditions()
        path.delay = .milliseconds(10)
        if loss > 0 { path.loss = .independent(loss) }
        let interval = Duration.nanoseconds(16_666_667)
        var run = FlowRun(
            seed: 3,
            rateBitsPerSecond: nil,
            path: path,
            flows: [FlowRun.Plan(.steady(bytes: 200, every: interval))]
        )
        run.run(until: interval * 6_000)
        let figures = run.figures[0]
        // The last ones are on their way.
        #expect(figures.latencies.count > 5_950)
        let sorted = figures.latencies.dropFirst(500).sorted()
        let p99 = sorted[sorted.count * 99 / 100]
        #expect(p99 <= .milliseconds(bar), "\(p99)")
        let plain = 6_000.0 * 272
        #expect(Double(figures.wireBytes) <= cost * plain, "\(Double(figures.wireBytes) / plain)")
    }
}
