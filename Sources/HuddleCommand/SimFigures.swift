import Foundation
import MeshSimulator
import MeshWire

/// `huddle sim --figures`: what the design's goals name, measured over many trials each.
enum SimFigures {
    /// The sizes of rooms, unless one is asked for.
    static let sizes = [2, 3, 5, 16, 64]
    /// The size for which the design says what a quiet room may send.
    static let quietSize = 8

    /// Some lines of the table and the batches behind them.
    private struct Part {
        var trial: FigureTrial
        var nodes: Int
        var network: FigureNetwork
        /// Whether only the traffic is asked for.
        var isTraffic = false
        var batches: [FigureBatch] = []

        var figures: [Figure] {
            isTraffic ? [.memberPackets, .leaderPackets] : trial.figures
        }
    }

    /// Prints the table and answers the exit code: 1 if a goal was missed.
    static func run(_ options: SimOptions) -> Int32 {
        let parts = parts(options)
        let batches = parts.flatMap(\.batches)
        if !options.isJSON { Terminal.print(head(options.trials)) }
        var rest = parts[...]
        var result = FigureBatch.Result()
        var count = 0
        var missed = 0
        SimCommand.inOrder(0...UInt64(batches.count - 1), jobs: options.jobs) {
            batches[Int($0)].run()
        } body: { more in
            result.add(more)
            count += 1
            guard let part = rest.first, count == part.batches.count else { return }
            for figure in part.figures {
                let samples = result.samples[figure] ?? .init()
                let row = FigureRow(
                    figure,
                    nodes: part.nodes,
                    part.network,
                    samples,
                    stuck: result.stuck
                )
                if !row.isKept { missed += 1 }
                Terminal.print(options.isJSON ? json(row) : line(row))
            }
            rest.removeFirst()
            result = FigureBatch.Result()
            count = 0
        }
        if !options.isJSON {
            Terminal.print(missed == 0 ? "\nevery goal is kept" : "\n\(missed) goals are missed")
        }
        return missed == 0 ? 0 : 1
    }

    private static func parts(_ options: SimOptions) -> [Part] {
        var parts: [Part] = []
        for nodes in options.nodes.map({ [$0] }) ?? sizes {
            for network in FigureNetwork.all {
                parts += FigureTrial.allCases.map {
                    Part(trial: $0, nodes: nodes, network: network)
                }
            }
        }
        if options.nodes == nil {
            parts.append(
                Part(trial: .quiet, nodes: quietSize, network: .loss(0), isTraffic: true)
            )
        }
        for place in parts.indices {
            let part = parts[place]
            parts[place].batches = FigureBatch.batches(
                part.trial,
                nodes: part.nodes,
                part.network,
                // Of what never changes, a few are as good as many.
                trials: part.isTraffic ? min(50, options.trials) : options.trials
            )
        }
        return parts
    }

    private static func head(_ trials: Int) -> String {
        """
        \(trials) trials a line: p50 / p99 / most, and the goal for p50 / p99. One way takes
        \(range) ms; a commit is measured at a round trip of 2 ms. A quiet room is watched for
        60 s a trial, 20 s at n = 16 and 4 s at n = 64.

        """
    }

    private static var range: String {
        let delay = FigureNetwork.delay
        return "\(number((delay.mean - delay.jitter).milliseconds)) to "
            + number((delay.mean + delay.jitter).milliseconds)
    }

    private static func title(_ figure: Figure) -> String {
        switch figure {
        case .failover: "leader killed, next write"
        case .outage: "  the same, at one member"
        case .leave: "leader leaves, next write"
        case .heal: "cut healed, one view"
        case .join: "late join, 1 MB, usable"
        case .commit: "write at the leader"
        case .write: "write at a member"
        case .falseViews: "false view changes"
        case .memberPackets: "control packets, member"
        case .leaderPackets: "control packets, leader"
        }
    }

    private static func line(_ row: FigureRow) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
        let samples = row.samples
        var line = padded("n=\(row.nodes)", 6) + padded("\(row.network)", 13)
        line += padded(title(row.figure), 27)
        if row.figure == .falseViews {
            line += padded("\(samples.count) in \(number(samples.hours)) h", 34)
        } else {
            let three = [50, 99, 100].map { number(samples.percentile($0)) }
            line += padded("\(three.joined(separator: " / ")) \(row.figure.unit)", 24)
            line += padded("of \(samples.values.count)", 10)
        }
        if row.stuck > 0 { line += "\(row.stuck) without an end  " }
        if let goal = row.goal {
            let median = goal.median.map { number($0) + " / " } ?? ""
            line += padded("goal \(median)\(number(goal.most))", 16)
        }
        if row.goal != nil || !row.isKept { line += row.isKept ? "kept" : "BROKEN" }
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }

    private static func json(_ row: FigureRow) -> String {
        var object: [String: Any] = [
            "figure": row.figure.rawValue,
            "nodes": row.nodes,
            "network": "\(row.network)",
            "unit": row.figure.unit,
            "stuck": row.stuck,
            "kept": row.isKept,
        ]
        let samples = row.samples
        if row.figure == .falseViews {
            object["count"] = samples.count
            object["hours"] = samples.hours
        } else {
            object["count"] = samples.values.count
            for percent in [50, 99] { object["p\(percent)"] = samples.percentile(percent) }
            object["max"] = samples.percentile(100)
        }
        if let goal = row.goal {
            object["goalP50"] = goal.median
            object["goalP99"] = goal.most
        }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        // Only numbers and texts stand in the object, so this cannot fail.
        return data.flatMap { String(data: $0, encoding: .utf8) } ?? "{}"
    }

    /// A number with as many digits as tell something.
    static func number(_ value: Double) -> String {
        if value == value.rounded() || value >= 100 { return "\(Int(value.rounded()))" }
        return String(format: value < 0.1 ? "%.3f" : value < 10 ? "%.2f" : "%.1f", value)
    }
}
