import Foundation
import Testing

@Suite("Habits") struct HabitTests {
    @Test("no word promises what is not there") func promises() {
        // Put together here, so that this file does not find itself.
        let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X:", "To be " + "written", "HA" + "CK:"]
        let texts =
            SourceTree.paths(under: "Sources") { ["swift", "md", "c", "h"].contains($0) }
            + SourceTree.paths(under: "Tests") { $0 == "swift" }
        for path in texts {
            let text = SourceTree.text(path)
            for word in words where text.holds(word) { Issue.record("\(word) in \(path)") }
            #expect(!path.hasSuffix("Place" + "holder.swift"), "an empty file: \(path)")
        }
    }

    @Test("nothing traps by a force: no try!, as!, fatalError") func forces() {
        let words = ["try!", "as!", "fatalError(", "unowned(unsafe)"]
        for file in SourceTree.sources where file.mentions(words) {
            for hit in file.hits(of: /\btry!|\bas!|\bfatalError\(|\bunowned\(unsafe\)/) {
                Issue.record("a trap without a word: \(hit)")
            }
        }
    }

    @Test("sources name no place of one machine") func machinePaths() {
        let banned = ["/ho" + "me/", "/wo" + "rk/", "/ro" + "ot/", "/Us" + "ers/"]
        let texts =
            SourceTree.paths(under: "Sources") { ["swift", "md", "c", "h"].contains($0) }
            + SourceTree.paths(under: "Tests") { $0 == "swift" }
        for path in texts {
            let text = SourceTree.text(path)
            for place in banned where text.holds(place) { Issue.record("\(place) in \(path)") }
        }
    }

    @Test("every file of the tests that is no Swift is opened by a test") func fixtures() {
        let fixtures = SourceTree.paths(under: "Tests") { $0 != "swift" && $0 != "md" }
        let code = SourceTree.tests.map { $0.lines.joined(separator: "\n") }.joined()
        for path in fixtures {
            let parts = path.components(separatedBy: "/")
            // Named itself, or the folder that a test lists.
            let names = [parts[parts.count - 1]] + parts.dropFirst(2).dropLast()
            let isOpened = names.contains { code.holds("\"\($0)") || code.holds("\($0)\"") }
            #expect(isOpened, "no test opens \(path)")
        }
    }

    @Test("every tool is executable and says what it does") func tools() throws {
        let tools =
            SourceTree.paths(under: "Tools") { $0.isEmpty }
            .filter { $0.components(separatedBy: "/").count == 2 } + [".ci/run"]
        #expect(tools.count > 5)
        for path in tools {
            let file = SourceTree.root.appending(path: path).path
            #expect(FileManager.default.isExecutableFile(atPath: file), "\(path)")
            let lines = SourceTree.text(path).components(separatedBy: "\n")
            #expect(lines.first?.hasPrefix("#!") == true, "\(path)")
            #expect(lines.count > 1 && lines[1].hasPrefix("# "), "\(path) opens with what it does")
        }
    }

    @Test("every fuzz target opens with the modules it is built of") func fuzzTargets() {
        let targets = SourceTree.paths(under: "Tools") { $0 == "swift" }
        #expect(targets.count > 1)
        for path in targets {
            #expect(SourceTree.text(path).hasPrefix("// modules: Mesh"), "\(path)")
        }
    }

    @Test("reported, not failed: files above 300 lines") func longFiles() {
        for file in SourceTree.sources where file.lines.count > 301 {
            print("tidy: \(file.path) has \(file.lines.count - 1) lines; two nouns?")
        }
    }
}
