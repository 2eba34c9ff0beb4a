import Glibc
import Huddle
import MeshNet
import MeshSimulator
import MeshWire

/// `huddle bench failover`: kills leaders that are processes, and times the next accepted write.
///
/// Each node impairs its own links as the simulated ones are, so that both figures are of one network.
@MainActor
struct FailoverBench {
    private var sizes = [3, 5, 16]
    private var trials = 20
    private var percent = 0
    private let isJSON: Bool
    private let keepsFolder: Bool

    /// How long a room may take to be one view again.
    private static let patience = Duration.seconds(60)
    /// Trials of the simulated rooms beside.
    private static let simulated = 1000

    init(_ invocation: Invocation) throws(Failure) {
        isJSON = invocation.wantsJSON
        keepsFolder = invocation.has("--keep")
        if let text = invocation.value("--nodes") {
            sizes = []
            for word in text.split(separator: ",") {
                sizes.append(try Self.number(String(word), "--nodes", 2...Limits.members))
            }
        }
        trials = try invocation.number("--trials", in: 1...100_000) ?? trials
        if let text = invocation.value("--loss") {
            let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
            percent = try Self.number(digits, "--loss", 0...90)
        }
    }

    private static func number(
        _ text: String,
        _ option: String,
        _ range: ClosedRange<Int>
    ) throws(Failure) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                "\(option): '\(text.printable)' is no number from \(range.lowerBound) to "
                    + "\(range.upperBound)",
                command: "bench"
            )
        }
        return number
    }

    /// Measures each size and prints its line; answers the exit code.
    func run() throws(Failure) -> Int32 {
        let delay = FigureNetwork.delay
        var fault = "delay \(text(delay.mean)) jitter \(text(delay.jitter))"
        if percent > 0 { fault += " loss \(percent)%" }
        if !isJSON {
            Terminal.print("leader killed (SIGKILL) → next write accepted at a survivor, ms")
            Terminal.print(Style.dim("every node's links: \(fault)"))
        }
        for nodes in sizes {
            let samples = try measure(nodes, fault)
            show(nodes, samples, simulated(nodes))
        }
        return ExitCode.success
    }

    private func text(_ duration: Duration) -> String {
        "\(duration.wholeNanoseconds / 1000)us"
    }

    // MARK: Processes

    private func measure(_ count: Int, _ fault: String) throws(Failure) -> FigureSamples {
        let stage = try DemoStage(fault: fault, keepsFolder: keepsFolder, command: "bench")
        // Whatever happens, no process is left.
        defer { stage.clear() }
        try gather(stage, count)
        var samples = FigureSamples()
        var chance = SeededGenerator(seed: UInt64(count))
        for _ in 0..<trials {
            let word = try stage.waitForOneView(of: stage.nodes, within: Self.patience)
            try rest(chance.duration(in: .milliseconds(300)...(.milliseconds(800))))
            let leader = try stage.node(word.leader)
            let survivors = stage.nodes.filter { $0 !== leader }
            let writer = survivors[Int(chance.next() % UInt64(survivors.count))]
            let killed = SystemClock.now()
            leader.kill()
            let request = try DemoTraffic.send(
                writer,
                "values.set",
                [.text("key", "after"), .text("value", "\(samples.values.count)")]
            )
            _ = try DemoTraffic.answer(writer, request, "values.set")
            samples.values.append((SystemClock.now() - killed).milliseconds)
            try stage.restart(leader)
        }
        return samples
    }

    /// Starts the processes and brings them into one room.
    private func gather(_ stage: DemoStage, _ count: Int) throws(Failure) {
        // Short, since a socket's path is: n01, n02 and so on.
        try stage.start((1...count).map { "n\($0 < 10 ? "0" : "")\($0)" })
        let host = stage.nodes[0]
        try host.ask("room.create", [.text("name", "bench")])
        for guest in stage.nodes.dropFirst() {
            let invite = try host.ask("invite.open")
            try guest.ask(
                "room.join",
                [
                    .text("target", invite.shown("code")), .text("at", "127.0.0.1:\(host.port)"),
                ],
                within: .seconds(30)
            )
        }
    }

    private func rest(_ time: Duration) throws(Failure) {
        let end = SystemClock.now() + time
        while SystemClock.now() < end {
            try DemoStage.checkSignals()
            usleep(10_000)
        }
    }

    // MARK: The simulator beside

    private func simulated(_ nodes: Int) -> FigureSamples {
        let batches = FigureBatch.batches(
            .turnover,
            nodes: nodes,
            .loss(percent),
            trials: nodes <= 16 ? Self.simulated : 50
        )
        var result = FigureBatch.Result()
        SimCommand.inOrder(0...UInt64(batches.count - 1), jobs: SimOptions.cores) {
            batches[Int($0)].run()
        } body: {
            result.add($0)
        }
        return result.samples[.outage] ?? .init()
    }

    private func show(_ nodes: Int, _ real: FigureSamples, _ simulated: FigureSamples) {
        let distance = real.distance(from: simulated)
        guard !isJSON else {
            func three(_ samples: FigureSamples) -> JSON {
                .object([
                    JSON.Member("count", .number(Double(samples.values.count))),
                    JSON.Member("p50", .number(samples.percentile(50))),
                    JSON.Member("p99", .number(samples.percentile(99))),
                    JSON.Member("max", .number(samples.percentile(100))),
                ])
            }
            let object = JSON.object([
                JSON.Member("nodes", .number(Double(nodes))),
                JSON.Member("lossPercent", .number(Double(percent))),
                JSON.Member("processes", three(real)),
                JSON.Member("simulated", three(simulated)),
                JSON.Member("distance", .number(distance)),
            ])
            return Terminal.print(object.description)
        }
        func three(_ samples: FigureSamples) -> String {
            [50, 99, 100].map { SimFigures.number(samples.percentile($0)) }
                .joined(separator: " / ") + " of \(samples.values.count)"
        }
        Terminal.print(
            "n=\(nodes)".padded(6) + "p50 / p99 / most  \(three(real))   simulated  "
                + "\(three(simulated))   distance (KS) \(decimals(distance, 2))"
        )
    }
}
