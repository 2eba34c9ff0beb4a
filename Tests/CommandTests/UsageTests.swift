import Foundation
import Testing

@testable import HuddleCommand

@Suite("Usage — 00-overview.md, The command line")
struct UsageTests {
    private static let golden = #filePath.replacing(
        "CommandTests/UsageTests.swift",
        with: "Golden/Usage.txt"
    )

    /// Every help text, one after the other.
    private static func texts() throws -> String {
        var texts = [try Program.run([]).output, try Program.run(["help"]).output]
        // `sim` documents itself: its words are its own.
        for command in commandTable where !command.isOpaque {
            texts.append(try Program.run([command.name, "--help"]).output)
        }
        return texts.joined(separator: "----\n")
    }

    @Test("every help text is the one that was reviewed; HUDDLE_REWRITE=1 rewrites them")
    func goldens() throws {
        let texts = try Self.texts()
        if ProcessInfo.processInfo.environment["HUDDLE_REWRITE"] == "1" {
            try texts.write(toFile: Self.golden, atomically: true, encoding: .utf8)
        }
        let reviewed = try String(contentsOfFile: Self.golden, encoding: .utf8)
        #expect(texts == reviewed)
    }

    @Test("every command has a help that ends well and fits 100 columns")
    func help() throws {
        for command in commandTable {
            let outcome = try Program.run([command.name, "--help"])
            #expect(outcome.code == 0, "\(command.name)")
            #expect(outcome.errors.isEmpty, "\(command.name)")
            for line in outcome.output.split(separator: "\n") {
                #expect(line.count <= 100, "\(command.name): \(line)")
            }
        }
    }

    @Test("the version is one line")
    func version() throws {
        let outcome = try Program.run(["--version"])
        #expect(outcome.output == "huddle \(Usage.version)\n")
        #expect(outcome.code == 0)
    }

    struct Typo: CustomTestStringConvertible, Sendable {
        var words: [String], hint: String
        var testDescription: String { "huddle \(words.joined(separator: " ")) → \(hint)" }
    }

    static let typos = [
        Typo(words: ["stauts"], hint: "did you mean 'huddle status'?"),
        Typo(words: ["chta", "hello"], hint: "did you mean 'huddle chat'?"),
        Typo(words: ["invit"], hint: "did you mean 'huddle invite'?"),
        Typo(words: ["help", "jion"], hint: "did you mean 'huddle help join'?"),
        Typo(words: ["up", "--prot", "1"], hint: "did you mean '--port'?"),
        Typo(words: ["status", "--jsno"], hint: "did you mean '--json'?"),
        Typo(words: ["values", "gte", "x"], hint: "did you mean 'huddle values get'?"),
        Typo(words: ["keys", "verfy", "x"], hint: "did you mean 'huddle keys verify'?"),
        Typo(words: ["chat", "two", "words"], hint: "put the text in quotation marks"),
    ]

    @Test("a typing error gets the word that was meant, and exit code 2", arguments: typos)
    func suggestions(_ typo: Typo) throws {
        let outcome = try Program.run(typo.words)
        #expect(outcome.code == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains(typo.hint), "\(outcome.errors)")
    }

    @Test("nothing is suggested for a word that is near none")
    func noSuggestion() {
        #expect(suggestion(for: "xyzzy", among: ["status", "chat"]) == nil)
        #expect(suggestion(for: "", among: ["status", "chat"]) == nil)
        #expect(suggestion(for: "sta", among: ["status", "chat"]) == "status")
    }
}
