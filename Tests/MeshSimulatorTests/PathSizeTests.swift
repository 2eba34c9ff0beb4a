import MeshFaults
import MeshSimulator
import MeshTransport
import MeshWire
import Testing

@Suite("Datagrams as large as the path — 20-transport §1, §8")
struct PathSizeTests {
    private func run(
        mtu: Int?,
        loss: Double = 0,
        megabits: Int64 = 100,
        _ source: FlowRun.Source = .bulk(messageBytes: 64 << 10)
    ) -> FlowRun {
        var path = LinkConditions()
        path.delay = .milliseconds(10)
        path.mtuBytes = mtu
        if loss > 0 { path.loss = .independent(loss) }
        return FlowRun(
            seed: 1,
            rateBitsPerSecond: megabits * 1_000_000,
            queue: .time(.milliseconds(20)),
            path: path,
            flows: [FlowRun.Plan(source)]
        )
    }

    @Test("bulk fills Ethernet frames, jumbo frames, and a millisecond of a link without a limit")
    func sizes() {
        for (mtu, bytes) in [(1472, 1472), (1400, 1392), (8972, 8972), (nil, 8972)] {
            var run = run(mtu: mtu)
            run.run(until: .seconds(1))
            #expect(run.statistics(of: 0).datagramBytes == bytes, "\(mtu ?? 0)")
        }
    }

    @Test("a thin stream looks for nothing")
    func thin() {
        var run = run(mtu: nil, .steady(bytes: 200, every: .milliseconds(16)))
        run.run(until: .seconds(10))
        #expect(run.statistics(of: 0).datagramBytes == Limits.datagramFloorBytes)
    }

    @Test(
        "15 % of random loss does not fool the lookout for black holes — quinn#2212",
        arguments: [0.15, 0.3]
    )
    func randomLoss(loss: Double) {
        var run = run(mtu: 1472, loss: loss, megabits: 20)
        run.run(until: .seconds(5))
        let early = run.statistics(of: 0)
        #expect(early.datagramBytes == 1472)
        run.run(until: .seconds(20))
        let late = run.statistics(of: 0)
        #expect(late.datagramBytes == 1472)
        #expect(late.blackHoles == 0)
        #expect(late.packetsLost > 3_000)
    }

    @Test("a path that swallows what is large is healed within three seconds — LiteNetLib#237")
    func blackHole() {
        for loss in [0, 0.15] {
            var run = run(mtu: 1472, loss: loss, megabits: 20)
            run.run(until: .seconds(5))
            run.forward.conditions.mtuBytes = 1300
            run.run(until: .seconds(8))
            let healed = run.statistics(of: 0)
            #expect(healed.blackHoles == 1)
            #expect(healed.datagramBytes == 1232)
            let before = run.figures[0].deliveredBytes
            run.run(until: .seconds(10))
            let rate = Double(run.figures[0].deliveredBytes - before) / 2
            #expect(rate >= 0.85 * 2.5e6 * (1 - loss), "\(rate)")
        }
    }

    @Test("an outage of all sizes costs no size")
    func outage() {
        var run = run(mtu: 1472, megabits: 20)
        run.run(until: .seconds(5))
        run.forward.conditions.isDown = true
        run.run(until: .seconds(10))
        run.forward.conditions.isDown = false
        run.run(until: .seconds(11))
        #expect(run.statistics(of: 0).datagramBytes == 1472)
    }
}
