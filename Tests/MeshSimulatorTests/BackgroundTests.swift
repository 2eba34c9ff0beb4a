import MeshFaults
import MeshSimulator
import MeshTransport
import MeshWire
import Testing

@Suite("The background class yields — 20-transport §5.5")
struct BackgroundTests {
    private func run(_ megabits: Double, _ roundTrip: Double, _ flows: [FlowRun.Plan]) -> FlowRun {
        var path = LinkConditions()
        path.delay = .nanoseconds(Int64(roundTrip * 5e8))
        path.mtuBytes = 1472
        return FlowRun(
            seed: 1,
            rateBitsPerSecond: Int64(megabits * 1e6),
            queue: .bytes(max(15_000, Int(megabits * 250_000 * roundTrip))),
            path: path,
            flows: flows
        )
    }

    private func shares(_ run: inout FlowRun, of megabits: Double) -> [Double] {
        run.run(until: .seconds(6))
        let before = run.figures.map(\.deliveredBytes)
        run.run(until: .seconds(12))
        return zip(before, run.figures).map {
            Double($1.deliveredBytes - $0) / 6 / (megabits * 125_000 * 1426 / 1500)
        }
    }

    private let background = FlowRun.Plan(
        .bulk(messageBytes: 16 << 10),
        start: .seconds(2),
        class: .background
    )

    @Test(
        "beside bulk it takes a tenth or so, alone all of the link",
        arguments: [(20.0, 0.02, 0.12), (50, 0.01, 0.1), (10, 0.1, 0.12)]
    )
    func share(megabits: Double, roundTrip: Double, most: Double) {
        let bulk = FlowRun.Plan(.bulk(messageBytes: 16 << 10))
        var beside = run(megabits, roundTrip, [bulk, background])
        let shares = shares(&beside, of: megabits)
        #expect(shares[1] <= most, "\(shares)")
        #expect(shares[0] + shares[1] >= 0.95, "\(shares)")
        var alone = run(megabits, roundTrip, [background])
        let whole = self.shares(&alone, of: megabits)
        #expect(whole[0] >= 0.95, "\(whole)")
    }

    @Test("beside it a stream of 60 messages a second waits no longer than a packet or two")
    func latency() {
        let thin = FlowRun.Plan(.steady(bytes: 200, every: .milliseconds(16)))
        var run = run(20, 0.02, [thin, background])
        run.run(until: .seconds(10))
        let latencies = run.figures[0].latencies.dropFirst(200).sorted()
        let p99 = latencies[latencies.count * 99 / 100]
        #expect(p99 <= .milliseconds(14), "\(p99)")
    }

    @Test("what yields takes up the link again once the other is silent")
    func back() {
        let bulk = FlowRun.Plan(.bulk(messageBytes: 16 << 10), stop: .seconds(5))
        var run = run(20, 0.02, [bulk, background])
        run.run(until: .seconds(7))
        let before = run.figures[1].deliveredBytes
        run.run(until: .seconds(9))
        let rate = Double(run.figures[1].deliveredBytes - before) / 2
        // 20 Mbit/s less headers are 2.4 MB/s.
        #expect(rate >= 2.1e6, "\(rate)")
    }
}
