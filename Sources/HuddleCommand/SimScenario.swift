import Foundation
import MeshSimulator
import MeshWire

/// `huddle sim --scenario`: scenarios, told to the end or to what is not so.
enum SimScenario {
    /// Prints the transcript of one, a line for each of several; answers the exit code.
    ///
    /// Throws unless every file holds a scenario; none is told before all are read.
    static func run(_ options: SimOptions) throws(SimOptions.UsageError) -> Int32 {
        var scenarios: [(file: String, scenario: Scenario)] = []
        for file in options.scenarios { scenarios.append((file, try read(file))) }
        let clock = ContinuousClock()
        var failures = 0
        for (file, scenario) in scenarios {
            let begin = clock.now
            let report = scenario.run()
            let time = Int((clock.now - begin).milliseconds)
            if scenarios.count == 1 || report.failure != nil {
                for line in report.transcript { print(line) }
            }
            let seconds = Int(report.simulated.milliseconds / 1000)
            guard let failure = report.failure else {
                let trace = hexadecimal(report.traceHash)
                print("\(report.name)  ok  \(seconds) s in \(time) ms  trace \(trace)")
                continue
            }
            print("\(report.name)  FAILED  \(file):\(failure.line)")
            print("  says: \(failure.statement)")
            print("  seen: \(failure.reason)")
            failures += 1
            if options.endsAtFailure { break }
        }
        if scenarios.count > 1 {
            let verdict = failures == 0 ? "everything in them is so" : "\(failures) failed"
            print("\(scenarios.count) scenarios, \(verdict)")
        }
        return failures == 0 ? 0 : 1
    }

    private static func read(_ file: String) throws(SimOptions.UsageError) -> Scenario {
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
