import Foundation
import MeshSimulator
import MeshWire

/// `huddle sim --scenario`: scenarios, told to the end or to what is not so.
enum SimScenario {
    private struct Told: Sendable {
        var report: ScenarioReport
        /// What is not so, the transcript below the scenario included.
        var failure: ScenarioFailure?
        var time: Duration
    }

    /// Prints the transcript of one, a line for each of several; answers the exit code.
    ///
    /// Throws unless every file holds a scenario; none is told before all are read.
    static func run(_ options: SimOptions) throws(SimOptions.UsageError) -> Int32 {
        var files: [String] = []
        for place in options.scenarios { files += try self.files(at: place) }
        var read: [(file: String, scenario: Scenario)] = []
        for file in files {
            let scenario = try Self.scenario(in: file)
            // Of a folder, the long ones are told only where that is asked for.
            let isNamed = options.scenarios.contains(file)
            if isNamed || options.isLong || !scenario.isLong { read.append((file, scenario)) }
        }
        let scenarios = read
        var failures = 0
        var number = 0
        SimCommand.inOrder(
            0...UInt64(scenarios.count - 1),
            jobs: options.jobs,
            { tell(scenarios[Int($0)].scenario) },
            isLast: { options.endsAtFailure && $0.failure != nil },
            body: { told in
                let (file, scenario) = scenarios[number]
                number += 1
                if options.rewrites, scenario.transcript != nil, told.report.failure == nil {
                    rewrite(file, scenario, told.report)
                } else {
                    show(told, file, isAlone: scenarios.count == 1)
                    if told.failure != nil { failures += 1 }
                }
            }
        )
        if scenarios.count > 1 {
            let verdict = failures == 0 ? "everything in them is so" : "\(failures) failed"
            print("verdict: \(scenarios.count) scenarios, \(verdict)")
        }
        return failures == 0 ? 0 : 1
    }

    private static func tell(_ scenario: Scenario) -> Told {
        let clock = ContinuousClock()
        let begin = clock.now
        let report = scenario.run()
        let failure = report.failure ?? scenario.difference(from: report.transcript)
        return Told(report: report, failure: failure, time: clock.now - begin)
    }

    private static func show(_ told: Told, _ file: String, isAlone: Bool) {
        let report = told.report
        if isAlone || told.failure != nil { for line in report.transcript { print(line) } }
        guard let failure = told.failure else {
            let seconds = Int(report.simulated.milliseconds / 1000)
            let time = Int(told.time.milliseconds)
            let trace = hexadecimal(report.traceHash)
            print("\(report.name)  ok  \(seconds) s in \(time) ms  trace \(trace)")
            return
        }
        print("\(report.name)  FAILED  \(file):\(failure.line)")
        print("  says: \(failure.statement)")
        print("  seen: \(failure.reason)")
    }

    private static func rewrite(_ file: String, _ scenario: Scenario, _ report: ScenarioReport) {
        let text = scenario.text(transcript: report.transcript)
        do {
            try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
            print("\(report.name)  written")
        } catch {
            print("\(report.name)  not written: \(error.localizedDescription)")
        }
    }

    /// The file itself, or the files of a folder that end in `.txt`, by name.
    private static func files(at place: String) throws(SimOptions.UsageError) -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: place) else {
            return [place]
        }
        let files = names.filter { $0.hasSuffix(".txt") }.sorted()
        guard !files.isEmpty else {
            throw SimOptions.UsageError(
                description: "--scenario: no file in `\(place)` ends in .txt"
            )
        }
        return files.map { URL(filePath: place).appending(path: $0).relativePath }
    }

    private static func scenario(in file: String) throws(SimOptions.UsageError) -> Scenario {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw SimOptions.UsageError(description: "--scenario: cannot read `\(file)`")
        }
        do {
            return try Scenario(parsing: String(decoding: data, as: UTF8.self))
        } catch {
            throw SimOptions.UsageError(description: "\(file): \(error)")
        }
    }
}
