import Foundation
import MeshSimulator
import Testing

/// Every file in `Scenarios` is told to its end; what it says must be so.
@Suite("Scenarios — 30-consensus §14, §17") struct ScenarioTests {
    @Test("told to the end, everything in it is so", arguments: ScenarioFiles.short)
    func short(file: String) throws { try tell(file) }

    @Test(
        "the long ones, with HUDDLE_LONG=1",
        .enabled(if: ScenarioFiles.isLong),
        arguments: ScenarioFiles.long
    )
    func long(file: String) throws { try tell(file) }

    private func tell(_ file: String) throws {
        let scenario = try Scenario(parsing: ScenarioFiles.text(file))
        #expect("\(scenario.name).txt" == file, "a file has the name of its scenario")
        let report = scenario.run()
        if let failure = report.failure {
            let transcript = report.transcript.suffix(80).joined(separator: "\n")
            Issue.record("\(file): \(failure)\n\(transcript)")
        }
        guard let golden = scenario.transcript else { return }
        if ScenarioFiles.isRewriting {
            let text = scenario.text(transcript: report.transcript)
            try Data(text.utf8).write(to: ScenarioFiles.folder.appending(path: file))
            return
        }
        let lines = golden.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in report.transcript.enumerated()
        where index >= lines.count || lines[index] != line {
            let old = index < lines.count ? String(lines[index]) : "its end"
            Issue.record(
                "\(file): the transcript says `\(line)`, the file `\(old)`; HUDDLE_REWRITE=1 takes it"
            )
            return
        }
        #expect(lines.count == report.transcript.count, "\(file): the transcript ends too soon")
    }

    @Test(
        "S38: told twice a scenario gives the same, byte for byte",
        arguments: [
            "s07-restarts-and-partitions.txt", "s36-retry-is-applied-once.txt",
            "s37-leader-and-follower-have-one-state.txt",
        ]
    )
    func determinism(file: String) throws {
        let scenario = try Scenario(parsing: ScenarioFiles.text(file))
        let first = scenario.run()
        let second = scenario.run()
        #expect(first.traceHash == second.traceHash)
        #expect(first.transcript == second.transcript)
    }

    @Test("a file says which report it is from and what must hold", arguments: ScenarioFiles.all)
    func heads(file: String) {
        let lines = ScenarioFiles.text(file).split(separator: "\n")
        #expect(lines.first == "scenario \(file.dropLast(4))")
        let remarks = lines.dropFirst().prefix { $0.hasPrefix("# ") }
        #expect(!remarks.isEmpty, "\(file) opens with a remark")
        guard let digits = file.firstMatch(of: /^s(\d+)-/)?.1, let number = Int(digits) else {
            return
        }
        #expect(remarks.first?.hasPrefix("# S\(number), ") == true, "\(file) names its report")
        #expect(remarks.contains { $0.contains("must hold") }, "\(file) says what must hold")
    }
}
