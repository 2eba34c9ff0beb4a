import Foundation
import Testing

/// The list of `Tools/sweep --mutants` fits the sources; that each is killed, the tool finds out.
@Suite("Mutants — 30-consensus §13") struct MutantTests {
    static let files = [
        "views.txt", "log.txt", "detection.txt", "clients.txt", "merge.txt", "session.txt",
        "majority.txt",
    ]
    static let mutants = files.flatMap { Mutant.read("Tests/Mutants/\($0)") }

    @Test("every mutant changes a text that stands once in its file, and switches the change")
    func texts() {
        var sources: [String: String] = [:]
        var changed: [String: String] = [:]
        for mutant in Self.mutants {
            #expect(!mutant.sentence.isEmpty, "\(mutant.name) says what it breaks")
            #expect(!mutant.changes.isEmpty, "\(mutant.name) changes something")
            for change in mutant.changes {
                let text = sources[change.file] ?? SourceTree.text(change.file)
                sources[change.file] = text
                let count = text.ranges(of: change.was).count
                #expect(count == 1, "\(mutant.name): \(count) times in \(change.file)")
                #expect(change.new.contains("MUTANT"), "\(mutant.name) has no switch")
                let after = changed[change.file] ?? text
                #expect(
                    after.ranges(of: change.was).count == 1,
                    "\(mutant.name): another mutant changes the same text of \(change.file)"
                )
                changed[change.file] = after.replacing(change.was, with: change.new)
            }
        }
    }

    @Test("names are words that stand once, and there are as many as the design asks for")
    func names() {
        let names = Self.mutants.map(\.name)
        #expect(names.count >= 45)
        #expect(Set(names).count == names.count)
        for name in names { #expect(name.wholeMatch(of: /[a-z-]+/) != nil, "\(name)") }
        let listed = SourceTree.paths(under: "Tests/Mutants") { _ in true }
        #expect(listed == Self.files.map { "Tests/Mutants/\($0)" }.sorted())
    }
}

/// One entry of the list.
struct Mutant {
    struct Change {
        var file: String
        var was = ""
        var new = ""
    }

    var name: String
    var sentence = ""
    var changes: [Change] = []

    /// The entries of a file: `mutant NAME`, a sentence, then `in FILE`, `was`, text, `is`, text once
    /// or more often.
    static func read(_ path: String) -> [Mutant] {
        var mutants: [Mutant] = []
        var part = ""
        for line in SourceTree.text(path).components(separatedBy: "\n") {
            let last = mutants.count - 1
            if line.hasPrefix("mutant ") {
                mutants.append(Mutant(name: String(line.dropFirst(7))))
                part = "sentence"
            } else if last < 0 {
                continue
            } else if line.hasPrefix("in ") {
                mutants[last].changes.append(Change(file: String(line.dropFirst(3))))
                part = ""
            } else if line == "was" || line == "is" {
                part = line
            } else if part == "sentence" {
                mutants[last].sentence += line
            } else if let change = mutants[last].changes.indices.last {
                if part == "was" { mutants[last].changes[change].was += line + "\n" }
                if part == "is" { mutants[last].changes[change].new += line + "\n" }
            }
        }
        for mutant in mutants.indices {
            for change in mutants[mutant].changes.indices {
                let was = mutants[mutant].changes[change].was
                // A text may end within a line.
                mutants[mutant].changes[change].was = String(was.dropLast())
            }
        }
        return mutants
    }
}
