import MeshFaults
import MeshSimulator
import MeshWire

/// `huddle bench thin` and `lossy`: the transport over links that lose packets, in virtual time.
///
/// The machine's speed plays no part: the same build prints the same figures everywhere. The bars are those of
/// `20-transport.md` §9.
enum LinkBench {
    /// What an Ethernet frame carries of UDP over IPv4.
    static let ethernetBytes = 1472
    private static let losses = [0.0, 0.01, 0.05, 0.1, 0.2]

    /// 60 Hz of 200 bytes over 10 ms one way, reliable and in order.
    static func thin(asJSON isJSON: Bool) -> Int32 {
        let bars = [11, 13, 14, 15, 20]
        let interval = Duration.nanoseconds(16_666_667)
        let count = 60_000
        for (loss, bar) in zip(losses, bars) {
            var path = LinkConditions()
            path.delay = .milliseconds(10)
            if loss > 0 { path.loss = .independent(loss) }
            var run = FlowRun(
                seed: 1,
                rateBitsPerSecond: nil,
                path: path,
                flows: [FlowRun.Plan(.steady(bytes: 200, every: interval))]
            )
            run.run(until: interval * count)
            let figures = run.figures[0]
            let sorted = figures.latencies.map(\.milliseconds).sorted()
            let name = "60 Hz × 200 B, 10 ms, \(decimals(loss * 100, 0)) % lost"
            let place = { (share: Double) in
                sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
            }
            BenchRow(
                name: "\(name), p99",
                figure: place(0.99),
                unit: "ms",
                goal: "≤ \(bar) ms"
            ).show(asJSON: isJSON)
            BenchRow(name: "\(name), p99.9", figure: place(0.999), unit: "ms").show(asJSON: isJSON)
            // A message in a packet of its own: 200 bytes, 12 of its frame, 32 of seal and header, 28 of UDP.
            BenchRow(
                name: "\(name), bytes",
                figure: Double(figures.wireBytes) / Double(count * 272),
                unit: "× one plain copy",
                goal: "≤ 4",
                digits: 2
            ).show(asJSON: isJSON)
        }
        return ExitCode.success
    }

    /// One bulk transfer over 100 Mbit/s and 20 ms, with a buffer of one product of the two.
    static func lossy(asJSON isJSON: Bool) -> Int32 {
        let bars = [11.8, 11.8, 11.3, 10.7, 9.4]
        for (loss, bar) in zip(losses, bars) {
            var path = LinkConditions()
            path.delay = .milliseconds(10)
            path.mtuBytes = ethernetBytes
            if loss > 0 { path.loss = .independent(loss) }
            var run = FlowRun(
                seed: 1,
                rateBitsPerSecond: 100_000_000,
                queue: .time(.milliseconds(20)),
                path: path,
                flows: [FlowRun.Plan(.bulk(messageBytes: 64 << 10))]
            )
            run.run(until: .seconds(5))
            _ = run.takeQueue()
            let before = run.figures[0].deliveredBytes
            run.run(until: .seconds(25))
            let rate = Double(run.figures[0].deliveredBytes - before) / 20e6
            let name = "bulk, 100 Mbit/s, 20 ms, \(decimals(loss * 100, 0)) % lost"
            BenchRow(
                name: name,
                figure: rate,
                unit: "MB/s",
                limit: BenchRow.Limit(
                    name: "what the link lets through",
                    figure: 12.5 * (1 - loss)
                ),
                goal: "≥ \(bar) MB/s",
                digits: 2
            ).show(asJSON: isJSON)
            BenchRow(
                name: "\(name), queue",
                figure: run.takeQueue().mean.milliseconds,
                unit: "ms",
                goal: "≤ 5 ms",
                digits: 2
            ).show(asJSON: isJSON)
        }
        return ExitCode.success
    }
}
