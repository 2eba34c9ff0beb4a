import Foundation
import MeshSimulator
import MeshWire

/// `huddle sim --scenario`: one scenario, told to the end or to what is not so.
enum SimScenario {
    /// Prints the transcript and answers the exit code; throws unless the file holds a scenario.
    static func run(_ file: String) throws(SimOptions.UsageError) -> Int32 {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw SimOptions.UsageError(description: "--scenario: cannot read `\(file)`")
        }
        let scenario: Scenario
        do {
            scenario = try Scenario(parsing: String(decoding: data, as: UTF8.self))
        } catch {
            throw SimOptions.UsageError(description: "\(file): \(error)")
        }
        let report = scenario.run()
        for line in report.transcript { print(line) }
        let seconds = Int(report.simulated.milliseconds / 1000)
        guard let failure = report.failure else {
            print("\(report.name)  ok  \(seconds) s  trace \(hexadecimal(report.traceHash))")
            return 0
        }
        print("\(report.name)  FAILED  \(file):\(failure.line)")
        print("  says: \(failure.statement)")
        print("  seen: \(failure.reason)")
        return 1
    }
}
