import Foundation
import Glibc
import Testing

@Suite("Exit codes — 00-overview.md, Conventions")
struct ExitCodeTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var words: [String], code: Int32, says: String
        var testDescription: String { "huddle \(words.joined(separator: " ")) ends with \(code)" }
    }

    static let rows = [
        Row(words: ["join", "07-4K9QXMD"], code: 2, says: "typing error"),
        Row(words: ["join", "07-4K9QXMC"], code: 4, says: "no node is running here"),
        Row(words: ["join", "nonsense"], code: 2, says: "typing error"),
        Row(words: ["join"], code: 2, says: "needs CODE"),
        Row(words: ["join", "huddle:?v=1&s=abc&u=0"], code: 2, says: "reusable link"),
        Row(words: ["join", "--link-file", "/nonexistent/link"], code: 2, says: "cannot read"),
        Row(words: ["status"], code: 4, says: "huddle up --detach"),
        Row(words: ["peers", "--json"], code: 4, says: "no node is running"),
        Row(words: ["chat", ""], code: 2, says: "nothing to say"),
        Row(words: ["values"], code: 2, says: "needs get|set"),
        Row(words: ["values", "set", "key"], code: 2, says: "set KEY VALUE"),
        Row(words: ["values", "get", "k", "--if-absent"], code: 2, says: "has no meaning"),
        Row(
            words: ["values", "set", "k", "v", "--if-revision", "x"],
            code: 2,
            says: "no revision"
        ),
        Row(words: ["values", "set", "", "v"], code: 2, says: "1 to 256 bytes"),
        Row(words: ["values", "set", "k", "-v"], code: 2, says: "stands behind '--'"),
        Row(words: ["values", "set", "k", "-3.5"], code: 4, says: "no node is running"),
        Row(words: ["fault", "set"], code: 2, says: "loss 5% delay 20ms"),
        Row(words: ["fault", "clear", "now"], code: 2, says: "takes nothing more"),
        Row(words: ["up", "--port", "70000"], code: 2, says: "from 0 to 65535"),
        Row(words: ["up", "--fault", "loss 5"], code: 2, says: "is not a share"),
        Row(words: ["up", "--room", ""], code: 2, says: "1 to 64 bytes"),
        Row(words: ["up", "--room", "a", "--no-room"], code: 2, says: "exclude each other"),
        Row(words: ["up", "--name"], code: 2, says: "needs a value"),
        Row(words: ["up", "--detach", "--detach"], code: 2, says: "given twice"),
        Row(words: ["status", "--json=yes"], code: 2, says: "takes no value"),
        Row(words: ["keys", "verify", "ABC"], code: 2, says: "52 symbols"),
        Row(words: ["demo", "--fault", "los 5%"], code: 2, says: "--fault"),
    ]

    @Test("each mistake says what is wrong, with its code", arguments: rows)
    func mistakes(_ row: Row) throws {
        let outcome = try Program.run(row.words)
        #expect(outcome.code == row.code, "\(outcome.errors)")
        #expect(outcome.errors.contains(row.says), "\(outcome.errors)")
    }

    @Test("under --json a mistake is JSON on stdout too, with the same code")
    func jsonErrors() throws {
        for words in [["status", "--json"], ["up", "--nope", "--json"], ["join", "x", "--json"]] {
            let outcome = try Program.run(words)
            let error = outcome.json["error"] as? [String: Any]
            #expect(error?["code"] is String, "\(words): \(outcome.output)")
            #expect(error?["message"] is String, "\(words)")
            #expect(outcome.code == (words[0] == "status" ? 4 : 2))
        }
    }

    @Test("a code from a file is read, and dies there if it is mistyped")
    func linkFile() throws {
        let home = try Home()
        defer { home.remove() }
        let path = "\(home.folder)/code"
        try "  07-4K9QXMD \n".write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try home.run("join", "--link-file", path)
        #expect(outcome.code == 2)
        #expect(outcome.errors.contains("typing error"))
    }

    @Test(
        "keys are made once, shown in full, never replaced, and refused when others may read them"
    )
    func keys() throws {
        let home = try Home()
        defer { home.remove() }
        #expect(try home.run("keys").code == 2)
        #expect(try home.run("keys", "path").output == "\(home.keyFile)\n")
        let made = try home.run("keys", "new", "--json")
        #expect(made.code == 0, "\(made.errors)")
        let fingerprint = try #require(made.json["fingerprint"] as? String)
        #expect(fingerprint.filter { $0 != " " }.count == 52)
        #expect(try home.run("keys").output.hasPrefix(fingerprint))
        #expect(try home.run("keys", "new").code == 1)
        chmod(home.keyFile, 0o644)
        let refused = try home.run("keys")
        #expect(refused.code == 2)
        #expect(refused.errors.contains("chmod 600"))
        let up = try home.run("up", "--loopback", "--detach")
        #expect(up.code == 2)
        #expect(up.errors.contains("chmod 600"), "\(up.errors)")
    }

    @Test(
        "a folder that others may read is refused with 2, whichever it is",
        arguments: ["data/huddle", "run/huddle", "state/huddle/rooms"]
    )
    func openFolders(_ folder: String) throws {
        let home = try Home()
        defer { home.remove() }
        try #require(try home.run("up", "--loopback", "--detach", "--room", "hall").code == 0)
        #expect(try home.run("down").code == 0)
        chmod("\(home.folder)/\(folder)", 0o755)
        for words in [["up", "--loopback"], ["up", "--loopback", "--detach"]] {
            let up = try Program.run(words, home: home)
            #expect(up.code == 2, "\(words): \(up.errors)")
            #expect(up.errors.contains("chmod "), "\(words): \(up.errors)")
        }
        guard folder == "data/huddle" else { return }
        try FileManager.default.removeItem(atPath: home.keyFile)
        #expect(try home.run("keys", "new").code == 2)
    }
}
