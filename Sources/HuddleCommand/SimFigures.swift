import Foundation
import MeshFaults
import MeshSimulator
import MeshWire

/// `huddle sim --figures`: failover, heal and join times, over many kills.
enum SimFigures {
    /// One row: a size of room and a network.
    struct Row: Sendable {
        var nodes: Int
        var network: String
        /// The most milliseconds that 99 of 100 failovers may take; `nil` where none is promised.
        var bound: Double?
    }

    static let rows = [
        Row(nodes: 2, network: "delay 1ms jitter 1ms", bound: 500),
        Row(nodes: 3, network: "delay 1ms jitter 1ms", bound: 500),
        Row(nodes: 5, network: "delay 1ms jitter 1ms", bound: 500),
        Row(nodes: 3, network: "delay 1ms jitter 1ms loss 5%", bound: nil),
    ]

    /// Kills of a leader in each run.
    static let kills = 10
    /// Runs of each row: with ``kills`` more than a hundred kills.
    static let runs: UInt64 = 12

    /// Prints the table and answers the exit code: 1 if an invariant or a bound did not hold.
    static func run(_ options: SimOptions) -> Int32 {
        var code: Int32 = 0
        if !options.isJSON {
            print("milliseconds: kill of the leader to the next accepted write; heal to one view;")
            print("return of a killed node to the usable room\n")
        }
        for row in rows {
            guard let conditions = try? LinkConditions(parsing: row.network) else {
                preconditionFailure("a network of our own is well written: \(row.network)")
            }
            var wanted = options
            wanted.seeds = 1...runs
            wanted.nodes = row.nodes
            wanted.failover = .init(kills: kills, conditions: conditions)
            var figures = RunFigures()
            SimCommand.forEachReport(wanted) { report in
                figures.failovers += report.figures.failovers
                figures.heals += report.figures.heals
                figures.joins += report.figures.joins
                if report.violation != nil {
                    print(SimReport.failure(report, wanted))
                    code = 1
                }
            }
            let worst = percentile(figures.failovers, 0.99)
            let isKept = row.bound.map { worst <= $0 } ?? true
            if !isKept { code = 1 }
            print(options.isJSON ? json(row, figures, isKept) : line(row, figures, isKept))
        }
        return code
    }

    private static func line(_ row: Row, _ figures: RunFigures, _ isKept: Bool) -> String {
        func three(_ values: [Duration]) -> String {
            [0.5, 0.99, 1].map { "\(Int(percentile(values, $0)))" }.joined(separator: " / ")
        }
        let bound = row.bound.map { " (bound p99 \(Int($0)): \(isKept ? "kept" : "BROKEN"))" } ?? ""
        return """
            n=\(row.nodes)  \(row.network)
              failover p50 / p99 / max  \(three(figures.failovers))  of \
            \(figures.failovers.count) kills\(bound)
              heal     p50 / p99 / max  \(three(figures.heals))  of \(figures.heals.count)
              join     p50 / p99 / max  \(three(figures.joins))  of \(figures.joins.count)
            """
    }

    private static func json(_ row: Row, _ figures: RunFigures, _ isKept: Bool) -> String {
        func three(_ values: [Duration]) -> String {
            let numbers = [0.5, 0.99, 1].map { String(format: "%.1f", percentile(values, $0)) }
            return "{\"count\":\(values.count),\"p50\":\(numbers[0]),\"p99\":\(numbers[1]),"
                + "\"max\":\(numbers[2])}"
        }
        return "{\"nodes\":\(row.nodes),\"network\":\"\(row.network)\",\"boundKept\":\(isKept),"
            + "\"failoverMilliseconds\":\(three(figures.failovers)),"
            + "\"healMilliseconds\":\(three(figures.heals)),"
            + "\"joinMilliseconds\":\(three(figures.joins))}"
    }

    /// The value that the share `rank` of all does not exceed, in milliseconds; 0 of none.
    static func percentile(_ values: [Duration], _ rank: Double) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let place = Int((Double(sorted.count) * rank).rounded(.up)) - 1
        return sorted[min(max(0, place), sorted.count - 1)].milliseconds
    }
}
