import Foundation
import MeshConsensus
import MeshFaults
import MeshSimulator
import MeshWire
import Synchronization

/// `huddle sim`: seeds through the simulator, on all cores, printed in their order.
enum SimCommand {
    static let usage = """
        usage: huddle sim --seeds A..B [--nodes N] [--time T] [--layer LAYER] [--json]
               huddle sim --replay SEED [--nodes N] [--time T] [--layer LAYER]
               huddle sim --script FILE
               huddle sim --explore [--nodes 2|3] [--depth N] [--states N]
               huddle sim --figures [--nodes N] [--trials T] [--json]
               huddle sim --scenario FILE... [--long] [--rewrite]

          --seeds A..B       run every seed from A to B; one number runs one seed
          --replay SEED      run one seed and print every event
          --scenario FILE... tell scenarios; of one the transcript is printed. A folder stands
                             for its .txt files
          --long             of a folder, the scenarios too that are marked as long
          --rewrite          write the transcripts that stand below scenarios anew
          --script FILE      play the script that a failure printed; - reads it from the input
          --explore          every way a small room can go, to a depth of 12 choices
          --depth N          how many choices in a row, 1 to 40
          --states N         how many states to visit at most, a million unless given
          --shrink T         how long to cut a failure down to a script, 60s unless given; 0s: not
          --figures          measure what the design's goals name: failover, heal, join, ...
          --trials T         how often each figure is measured, 1000 unless given
          --nodes N          nodes in each run, 1 to 64; drawn from the seed unless given
          --time T           length of the phase with faults, such as 20s; drawn unless given.
                             Of consensus alone: of the whole run, the heal included; 120s
          --policy POLICY    the rule that rooms follow: available, majority, or
                             survivor (majority, but on after 5s); drawn unless given
          --layer LAYER      what is simulated: \(layers) (default: \(SimOptions.defaultLayer.rawValue))
          --jobs N           threads; as many as there are cores unless given
          --first            end at the first seed or scenario that fails
          --json             one JSON object for each seed

        exit: 0 every invariant held, 1 one was broken, 2 usage, or FILE is no scenario
        """

    private static var layers: String {
        SimulatedLayer.allCases.map(\.rawValue).joined(separator: " or ")
    }

    /// Runs the command with the words behind `huddle sim`, and answers the exit code.
    static func run(arguments: [String]) -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(usage)
            return 0
        }
        do {
            let options = try SimOptions(arguments)
            if !options.scenarios.isEmpty { return try SimScenario.run(options) }
            if let path = options.script { return play(try script(at: path), options) }
            if options.explores { return SimExplore.run(options) }
            if let seed = options.replay { return replay(seed, options) }
            return options.showsFigures ? SimFigures.run(options) : sweep(options)
        } catch {
            FileHandle.standardError.write(Data("huddle sim: \(error)\n\n\(usage)\n".utf8))
            return 2
        }
    }

    private static func replay(_ seed: UInt64, _ options: SimOptions) -> Int32 {
        let report = options.layer.run(options.run(seed)) { print($0) }
        print(SimReport.line(report))
        guard report.violation != nil else { return 0 }
        print(SimReport.failure(report, options))
        print(SimShrink.text(report, options))
        return 1
    }

    private static func script(at path: String) throws -> RunScript {
        let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let bytes = try file?.readToEnd(), let text = String(data: bytes, encoding: .utf8)
        else { throw SimOptions.UsageError(description: "--script: cannot read `\(path)`") }
        return try RunScript(parsing: text)
    }

    private static func play(_ script: RunScript, _ options: SimOptions) -> Int32 {
        let report = script.run { print($0) }
        print(SimReport.line(report))
        guard report.violation != nil else { return 0 }
        print(SimReport.violation(report))
        return 1
    }

    private static func sweep(_ options: SimOptions) -> Int32 {
        var failures = 0
        var count = 0
        forEachReport(options) { report in
            count += 1
            print(options.isJSON ? SimReport.json(report) : SimReport.line(report))
            if report.violation != nil {
                failures += 1
                if !options.isJSON {
                    print(SimReport.failure(report, options))
                    // One is enough to begin with; the replay of any other shrinks that one.
                    if failures == 1 { print(SimShrink.text(report, options)) }
                }
            }
        }
        if !options.isJSON {
            print(
                "\(count) seeds, \(failures == 0 ? "every invariant held" : "\(failures) failed")"
            )
        }
        return failures == 0 ? 0 : 1
    }

    /// Runs the seeds on all cores and hands the reports out in the order of the seeds, to the end or,
    /// if that is asked for, to the first failure.
    static func forEachReport(_ options: SimOptions, _ body: (RunReport) -> Void) {
        inOrder(
            options.seeds,
            jobs: options.jobs,
            { options.layer.run(options.run($0)) },
            isLast: { options.endsAtFailure && $0.violation != nil },
            body: body
        )
    }

    /// Does the work of each number in `range` on `jobs` threads, and hands the results out in order,
    /// to the end or to the one that `isLast`.
    static func inOrder<Result: Sendable>(
        _ range: ClosedRange<UInt64>,
        jobs: Int,
        _ work: @escaping @Sendable (UInt64) -> Result,
        isLast: (Result) -> Bool = { _ in false },
        body: (Result) -> Void
    ) {
        let shared = Mutex(Progress<Result>(next: range.lowerBound))
        let ready = DispatchSemaphore(value: 0)
        for index in 0..<jobs {
            let thread = Thread {
                while let number = shared.withLock({ $0.take(range.upperBound) }) {
                    let result = work(number)
                    shared.withLock { $0.done[number] = result }
                    ready.signal()
                }
            }
            thread.name = "sim-\(index)"
            thread.stackSize = 8 << 20
            thread.start()
        }
        for number in range {
            var result = shared.withLock { $0.done.removeValue(forKey: number) }
            while result == nil {
                ready.wait()
                result = shared.withLock { $0.done.removeValue(forKey: number) }
            }
            guard let result else { continue }
            body(result)
            // The threads that still run end with the process.
            if isLast(result) { return }
        }
    }

    private struct Progress<Result> {
        var next: UInt64
        var done: [UInt64: Result] = [:]
        var isExhausted = false

        mutating func take(_ last: UInt64) -> UInt64? {
            guard !isExhausted, next <= last else { return nil }
            defer { if next == last { isExhausted = true } else { next += 1 } }
            return next
        }
    }
}

/// What the user asked of `huddle sim`.
struct SimOptions: Sendable {
    /// A word that makes no sense, and what to write instead.
    struct UsageError: Error, CustomStringConvertible {
        var description: String
    }

    /// How many threads do the work, if nobody says.
    static let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)
    /// What is simulated if nobody says.
    static let defaultLayer = SimulatedLayer.engine

    var seeds: ClosedRange<UInt64> = 1...100
    var replay: UInt64?
    /// The file of a script to play.
    var script: String?
    /// Whether to explore, and how far.
    var explores = false
    var depth = 12
    var states = 1_000_000
    /// How long to shrink a failure.
    var shrinkLimit = Duration.seconds(60)
    var nodes: Int?
    var time: Duration?
    var policy: PartitionPolicy?
    var layer = defaultLayer
    var jobs = cores
    var isJSON = false
    var showsFigures = false
    /// The files of scenarios to tell.
    var scenarios: [String] = []
    /// Whether a folder's long scenarios are told too.
    var isLong = false
    /// Whether the transcripts below scenarios are written anew.
    var rewrites = false
    /// Whether the first seed or scenario that fails is the last.
    var endsAtFailure = false
    /// How often each figure is measured.
    var trials = 1000

    init(_ arguments: [String]) throws(UsageError) {
        var words = arguments[...]
        var hasTask = false
        while let word = words.popFirst() {
            func value() throws(UsageError) -> String {
                guard let value = words.popFirst() else {
                    throw UsageError(description: "\(word) needs a value")
                }
                return value
            }
            switch word {
            case "--json": isJSON = true
            case "--figures":
                showsFigures = true
                hasTask = true
            case "--scenario":
                scenarios.append(try value())
                while let word = words.first, !word.hasPrefix("--") {
                    scenarios.append(word)
                    words.removeFirst()
                }
                hasTask = true
            case "--first": endsAtFailure = true
            case "--long": isLong = true
            case "--rewrite": rewrites = true
            case "--seeds":
                seeds = try Self.range(value())
                hasTask = true
            case "--replay":
                replay = try Self.number(value(), word, in: 0...UInt64.max)
                hasTask = true
            case "--script":
                script = try value()
                hasTask = true
            case "--explore":
                explores = true
                hasTask = true
            case "--depth": depth = try Int(Self.number(value(), word, in: 1...40))
            case "--states": states = try Int(Self.number(value(), word, in: 1...100_000_000))
            case "--shrink": shrinkLimit = try Self.duration(value(), word)
            case "--nodes": nodes = try Int(Self.number(value(), word, in: 1...64))
            case "--trials": trials = try Int(Self.number(value(), word, in: 1...1_000_000))
            case "--jobs": jobs = try Int(Self.number(value(), word, in: 1...256))
            case "--time": time = try Self.duration(value(), word)
            case "--policy":
                let name = try value()
                switch name {
                case "available": policy = .available
                case "majority": policy = .majority
                case "survivor": policy = .majority(survivor: .seconds(5))
                default:
                    throw UsageError(
                        description:
                            "--policy: `\(name)` is none of available, majority, survivor"
                    )
                }
            case "--layer":
                let name = try value()
                guard let known = SimulatedLayer(rawValue: name) else {
                    let names = SimulatedLayer.allCases.map(\.rawValue).joined(separator: ", ")
                    throw UsageError(description: "--layer: `\(name)` is none of \(names)")
                }
                layer = known
            default: throw UsageError(description: "unknown word `\(word)`")
            }
        }
        guard hasTask else {
            throw UsageError(
                description:
                    "say what to do: --seeds, --replay, --script, --explore, --figures or --scenario"
            )
        }
    }

    /// The options of one seed's run.
    func run(_ seed: UInt64) -> RunOptions {
        var options = RunOptions(seed: seed, nodes: nodes, duration: time)
        options.policy = policy
        return options
    }

    private static func duration(
        _ text: String,
        _ word: String
    ) throws(UsageError) -> Duration {
        do {
            return try FaultUnits.time(text, word)
        } catch {
            throw UsageError(description: error.description)
        }
    }

    private static func range(_ text: String) throws(UsageError) -> ClosedRange<UInt64> {
        let parts = text.components(separatedBy: "..").map { UInt64($0) }
        if parts.count == 1, let seed = parts[0] { return seed...seed }
        guard parts.count == 2, let first = parts[0], let last = parts[1], first <= last else {
            throw UsageError(description: "--seeds: `\(text)`: write A..B, such as 1..500")
        }
        return first...last
    }

    private static func number(
        _ text: String,
        _ word: String,
        in range: ClosedRange<UInt64>
    ) throws(UsageError) -> UInt64 {
        guard let number = UInt64(text), range.contains(number) else {
            throw UsageError(
                description: "\(word): `\(text)` is no number from \(range.lowerBound) on"
            )
        }
        return number
    }
}
