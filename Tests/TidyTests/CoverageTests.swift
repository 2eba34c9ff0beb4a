import Foundation
import Testing

/// Whether there is a Python that the tool can run in.
private let hasPython = ["/usr/bin/python3", "/usr/local/bin/python3"].contains {
    FileManager.default.isExecutableFile(atPath: $0)
}

/// `Tools/coverage` on tables and graphs that the test makes.
@Suite(
    "Coverage — 40-groupactivities §14",
    .enabled(if: hasPython, "skipped: no python3")
)
struct CoverageTests {
    /// What a run of the tool said, and how it ended.
    private struct Outcome {
        var code: Int32
        var text: String
    }

    private func symbol(_ path: String, _ kind: String = "swift.struct") -> String {
        let parts = path.split(separator: ".").map { "\"\($0)\"" }.joined(separator: ",")
        return """
            {"identifier": {"precise": "s:\(path)"}, "pathComponents": [\(parts)],
             "kind": {"identifier": "\(kind)"}, "accessLevel": "public",
             "location": {"uri": "file:///x/Sources/Combine/A.swift"}}
            """
    }

    private func run(rows: [String], symbols: [String], notes: String) throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "huddle-coverage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let table = folder.appending(path: "table.tsv")
        let head = "module\towner\tdeclaration\tintroduced\tlinux\tstage\tnote\n"
        try (head + rows.joined(separator: "\n") + "\n")
            .write(to: table, atomically: true, encoding: .utf8)
        let graph = "{\"symbols\": [\(symbols.map { symbol($0) }.joined(separator: ","))]}"
        try graph.write(
            to: folder.appending(path: "Combine.symbols.json"),
            atomically: true,
            encoding: .utf8
        )
        let list = folder.appending(path: "notes.txt")
        try notes.write(to: list, atomically: true, encoding: .utf8)
        return try run([table.path, "--graphs", folder.path, "--notes", list.path])
    }

    private func run(_ words: [String]) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["python3", SourceTree.root.appending(path: "Tools/coverage").path] + words
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(code: process.terminationStatus, text: String(decoding: data, as: UTF8.self))
    }

    private static let kite =
        "M\tKite\tpublic struct Kite : Sendable { init(size: Int); var tail: String }\t1\tyes\t1\t"
    private static let fly =
        "M\tKite\tfunc fly(to place: String, _ height: Int = 3) async throws\t1\tyes\t1\t"
    private static let play = "M\tPlayer\tfunc play()\t1\tyes\t2\t"
    private static let whole = ["Kite", "Kite.init(size:)", "Kite.tail", "Kite.fly(to:_:)"]

    @Test("what is there is implemented; what belongs to playback is absent with that reason")
    func complete() throws {
        let outcome = try run(
            rows: [Self.kite, Self.fly, Self.play],
            symbols: Self.whole,
            notes: ""
        )
        #expect(outcome.code == 0, "\(outcome.text)")
        #expect(outcome.text.contains("3 declarations: 2 implemented, 1 absent"))
    }

    @Test("a hole without a reason fails, and names what is missing; one with a reason does not")
    func hole() throws {
        for missing in Self.whole {
            let symbols = Self.whole.filter { $0 != missing }
            let outcome = try run(rows: [Self.kite, Self.fly], symbols: symbols, notes: "")
            #expect(outcome.code == 1)
            #expect(outcome.text.contains("missing: \(missing)"), "\(outcome.text)")
        }
        let outcome = try run(
            rows: [Self.kite, Self.fly],
            symbols: Self.whole.dropLast(),
            notes: "absent Kite | func fly => no wind\n"
        )
        #expect(outcome.code == 0, "\(outcome.text)")
        #expect(outcome.text.contains("[no wind]"))
    }

    @Test("a reason whose declaration is there fails, as does one of no row")
    func stale() throws {
        let stale = try run(
            rows: [Self.kite, Self.fly],
            symbols: Self.whole,
            notes: "absent Kite | func fly => no wind\n"
        )
        #expect(stale.code == 1)
        #expect(stale.text.contains("it is there, and a reason says why not"))
        let strange = try run(
            rows: [Self.kite],
            symbols: Self.whole,
            notes: "absent Boat => none\n"
        )
        #expect(strange.code == 1)
        #expect(strange.text.contains("no row begins with 'Boat'"))
    }

    @Test("two overloads of one name need two symbols; rows in words are named")
    func overloads() throws {
        let rows = [Self.kite, Self.fly, Self.fly.replacing("place: String", with: "place: Int")]
        #expect(try run(rows: rows, symbols: Self.whole, notes: "").code == 1)
        let words = "M\tKite\ttail ; size\t1\tyes\t1\t"
        #expect(try run(rows: [words], symbols: Self.whole, notes: "").code == 1)
        let named = try run(
            rows: [words],
            symbols: Self.whole,
            notes: "names Kite | tail => Kite.tail\n"
        )
        #expect(named.code == 0, "\(named.text)")
    }

    @Test("without a table it says that it was skipped")
    func skipped() throws {
        let outcome = try run(["/nonexistent/table.tsv"])
        #expect(outcome.code == 0)
        #expect(outcome.text.contains("SKIPPED"))
    }
}
