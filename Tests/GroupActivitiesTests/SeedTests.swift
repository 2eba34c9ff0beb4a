import Foundation
import Testing

/// The samples stand as the documents have them (`40-groupactivities.md` §13).
@Suite struct SeedTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let seed = root.deletingLastPathComponent()
        .appendingPathComponent("shared/seeds/001_63d154f3f65227ca.txt")

    /// Lines that only hold the document's fragments together.
    private static let joints: Set<String> = [
        "handleNewcomers(participants)", "func handleNewcomers(_ participants: Set<Participant>) {",
        "func finish() {", "private func handleParticipants(_ participants: Set<Participant>) {",
    ]

    @Test(
        "every line of the sample stands in its document",
        .enabled(
            if: FileManager.default.fileExists(atPath: seed.path),
            "skipped: ../shared/seeds is not there"
        )
    )
    func lines() throws {
        func lines(_ url: URL) throws -> [String] {
            try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        let document = Set(try lines(Self.seed))
        let sample = try lines(Self.root.appendingPathComponent("Tests/SeedSamples/Seed001.swift"))
        #expect(sample.count > 100)
        for line in sample where !document.contains(line) && !Self.joints.contains(line) {
            Issue.record("'\(line)' is not the document's")
        }
    }
}
