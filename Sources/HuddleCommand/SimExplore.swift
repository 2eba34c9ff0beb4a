import MeshSimulator
import MeshWire

/// `huddle sim --explore`: every way a room of two or three can go, to a bounded depth.
enum SimExplore {
    /// Prints what was visited after each round, and answers the exit code.
    static func run(_ options: SimOptions) -> Int32 {
        var wanted = Explorer.Options()
        wanted.nodes = min(3, max(2, options.nodes ?? 2))
        wanted.depth = options.depth
        wanted.states = options.states
        let clock = ContinuousClock()
        let begin = clock.now
        func line(_ report: Explorer.Report, _ depth: String) -> String {
            let time = Int((clock.now - begin).milliseconds)
            return "n=\(wanted.nodes)  depth \(depth)  \(report.states) states visited  "
                + "\(report.steps) choices  \(report.views) views  \(time) ms"
        }
        var explorer = Explorer(wanted)
        let report = explorer.run { print(line($0, "\($0.depth)")) }
        guard let violation = report.violation else {
            let isWhole = report.depth == wanted.depth
            print(
                line(report, isWhole ? "\(report.depth)" : "\(report.depth) and partly beyond")
                    + (isWhole ? "  every invariant held" : "  every invariant held so far")
            )
            return 0
        }
        print(line(report, "\(report.depth + 1)"))
        print(
            """
              the invariant is broken: \(violation.invariant)
              seen: \(violation.detail)
              commit: \(SourceCommit.name)
              the way there:
            \(report.way.map { "    \($0)" }.joined(separator: "\n"))
            """
        )
        return 1
    }
}
