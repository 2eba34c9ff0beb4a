import Foundation
import MeshSimulator
import Testing

/// What holds of every file in `Scenarios`; `huddle sim --scenario` tells them, and `Tools/test` calls it.
@Suite("Scenarios — 30-consensus §14, §17") struct ScenarioTests {
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

    @Test("a transcript is compared line by line, and the first line that differs is named")
    func golden() throws {
        let text = ScenarioFiles.text("s57-distinguished-of-a-pair-leaves.txt")
        let scenario = try Scenario(parsing: text)
        let lines = scenario.run().transcript
        #expect(scenario.transcript != nil)
        #expect(scenario.difference(from: lines) == nil)
        var others = lines
        others[3] += "!"
        let difference = try #require(scenario.difference(from: others))
        #expect(
            text.split(separator: "\n", omittingEmptySubsequences: false)[difference.line - 1]
                == lines[3]
        )
        #expect(difference.statement == lines[3])
        #expect(scenario.difference(from: lines + ["more"])?.statement == "the transcript's end")
        #expect(scenario.difference(from: lines.dropLast())?.reason == "the run ends sooner")
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
