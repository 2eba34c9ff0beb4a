import Foundation
import Glibc
import Testing

/// Real nodes on loopback, driven by the commands as a person would.
@Suite("A node and its commands", .serialized)
struct NodeTests {
    @Test("two people meet by code, chat, share values, leave; every answer has its shape")
    func meet() throws {
        let (anna, ben) = (try Home(), try Home())
        defer {
            anna.remove()
            ben.remove()
        }
        let up = try anna.up("--name", "anna", "--room", "hall")
        try #require(up.code == 0, "\(up.errors)")
        #expect(up.json["name"] as? String == "anna")
        #expect(up.json["room"] as? String == "hall")
        #expect(up.json["isNew"] as? Bool == true)
        let pid = try #require(up.json["pid"] as? Int)

        let second = try anna.run("up", "--loopback", "--detach")
        #expect(second.code == 1)
        #expect(second.errors.contains("\(pid)"), "\(second.errors)")

        let port = try #require(up.json["port"] as? Int)
        try #require(
            try ben.run("up", "--loopback", "--detach", "--name", "ben", "--no-room").code == 0
        )
        let taken = try Home()
        defer { taken.remove() }
        let inUse = try taken.run("up", "--loopback", "--detach", "--port", "\(port)")
        #expect(inUse.code == 1)
        #expect(inUse.errors.contains("UDP port \(port) is in use"), "\(inUse.errors)")

        let alone = try ben.run("chat", "hello")
        #expect(alone.code == 1)
        #expect(alone.errors.contains("in no room"))

        let invite = try anna.run("invite", "--json")
        let code = try #require(invite.json["code"] as? String)
        let link = try #require(invite.json["link"] as? String)
        #expect(link.hasPrefix("huddle:?v=1&s="))
        let joined = try ben.run("join", code, "--at", "127.0.0.1:\(port)", "--json")
        try #require(joined.code == 0, "\(joined.errors)")
        #expect(joined.json["room"] as? String == "hall")
        #expect(joined.json["members"] as? [String] == ["anna"])

        let status = try ben.run("status", "--json").json
        let room = try #require(status["room"] as? [String: Any])
        #expect(room["phase"] as? String == "joined")
        #expect((room["members"] as? [[String: Any]])?.count == 2)
        #expect(try ben.run("status").output.contains("anna"))
        let peers = try ben.run("peers", "--json").json["peers"] as? [[String: Any]]
        #expect(peers?.map { $0["name"] as? String } == ["anna"])

        let chat = try anna.run("chat", "dinner is ready")
        #expect(chat.code == 0, "\(chat.errors)")
        #expect(chat.output.contains("delivered to ben"), "\(chat.output)")
        #expect(try ben.run("chat").output.contains("anna: dinner is ready"))
        #expect(try ben.run("chat", input: "coming\n").code == 0)
        #expect(try anna.run("chat").output.contains("ben: coming"))

        try compareAndSet(anna, ben)

        #expect(try ben.run("leave").output.contains("hall"))
        #expect(try ben.run("status", "--json").json["room"] is NSNull)
        #expect(try anna.run("down").code == 0)
        #expect(try anna.run("status").code == 4)
        #expect(!FileManager.default.fileExists(atPath: anna.socket))
    }

    private func compareAndSet(_ anna: Home, _ ben: Home) throws {
        let set = try anna.run("values", "set", "colour", "red", "--json")
        #expect(set.code == 0, "\(set.errors)")
        let revision = try #require(set.json["revision"] as? String)
        #expect(try ben.run("values", "get", "colour").output == "red\n")
        #expect(try ben.run("values", "set", "colour", "blue", "--if-absent").code == 1)
        let right = try ben.run("values", "set", "colour", "blue", "--if-revision", revision)
        #expect(right.code == 0, "\(right.errors)")
        let stale = try anna.run(
            "values",
            "set",
            "colour",
            "green",
            "--if-revision",
            revision,
            "--json"
        )
        #expect(stale.code == 1)
        let error = stale.json["error"] as? [String: Any]
        #expect(error?["code"] as? String == "conflict")
        #expect((error?["details"] as? [String: Any])?["current"] is String)
        #expect(try anna.run("values", "list").output.contains("blue"))
        #expect(try anna.run("values", "delete", "colour", "--expect", "blue").code == 0)
        #expect(try ben.run("values", "get", "colour").code == 1)
    }

    @Test(
        "a room of the majority: two of three killed, the third takes nothing until a person says so"
    )
    func majority() throws {
        let homes = try (0..<3).map { _ in try Home() }
        defer { for home in homes { home.remove() } }
        var pids: [pid_t] = []
        #expect(try homes[0].up("--policy", "majority").errors.contains("name it with --room"))
        for (place, home) in homes.enumerated() {
            let up =
                place == 0
                ? try home.up("--room", "ledger", "--policy", "majority")
                : try home.up("--no-room")
            try #require(up.code == 0, "\(up.errors)")
            pids.append(pid_t(try #require(up.json["pid"] as? Int)))
        }
        for guest in homes.dropFirst() {
            let code = try homes[0].run("invite", "--code").output
                .trimmingCharacters(in: .whitespacesAndNewlines)
            let joined = try guest.run("join", code)
            try #require(joined.code == 0, "\(joined.errors)")
        }
        #expect(try homes[0].run("values", "set", "k", "1").code == 0)
        kill(pids[0], SIGKILL)
        kill(pids[2], SIGKILL)
        // It notices within D + h; a write of before waits for its answer.
        var words = ""
        for _ in 0..<100 where !words.contains("suspended: 1 in reach, it takes 2") {
            words = try homes[1].run("status").output
        }
        #expect(words.contains("suspended: 1 in reach, it takes 2"), "\(words)")
        let refused = try homes[1].run("values", "set", "k", "2")
        #expect(refused.code == 1)
        #expect(refused.errors.contains("too few of the room's members"), "\(refused.errors)")
        #expect(try homes[1].run("values", "get", "k", "--local").output == "1\n")
        #expect(try homes[1].run("adopt").code == 0)
        var isWritten = false
        for _ in 0..<50 where !isWritten {
            isWritten = try homes[1].run("values", "set", "k", "3").code == 0
        }
        #expect(isWritten)
        #expect(try homes[1].run("values", "get", "k").output == "3\n")
        #expect(try homes[1].run("adopt").output.contains("already"))
    }

    @Test("a split that healed: the conflict is listed on both sides, and 'ack' settles it once")
    func conflicts() throws {
        let (anna, ben) = (try Home(), try Home())
        defer {
            anna.remove()
            ben.remove()
        }
        let up = try anna.up("--name", "anna", "--room", "hall")
        let port = try #require(up.json["port"] as? Int, "\(up.errors)")
        let other = try ben.up("--name", "ben", "--no-room")
        let ports = [port, try #require(other.json["port"] as? Int, "\(other.errors)")]
        let code = try #require(try anna.run("invite", "--json").json["code"] as? String)
        try #require(try ben.run("join", code, "--at", "127.0.0.1:\(port)").code == 0)
        #expect(try anna.run("values", "conflicts").output == "no conflicts\n")
        try #require(try anna.run("values", "set", "colour", "red").code == 0)
        try #require(try ben.run("values", "get", "colour").output == "red\n")

        try #require(try anna.run("fault", "set", "--cut", "\(ports[1])").code == 0)
        try #require(try ben.run("fault", "set", "--cut", "\(ports[0])").code == 0)
        func room(_ home: Home) throws -> [String: Any] {
            try home.run("status", "--json").json["room"] as? [String: Any] ?? [:]
        }
        for home in [anna, ben] {
            try waitUntil { try room(home)["viewSize"] as? Int == 1 }
        }
        let texts = try [anna, ben].map { try $0.run("status").output }
        #expect(texts.count { $0.contains("not the primary side") } == 1, "\(texts)")
        for (home, name) in [(anna, "anna"), (ben, "ben")] {
            let set = try home.run("values", "set", "colour", "of \(name)")
            try #require(set.code == 0, "\(set.errors)")
            try #require(try home.run("values", "set", name, "here").code == 0)
        }
        for home in [anna, ben] { try #require(try home.run("fault", "clear").code == 0) }
        for home in [anna, ben] {
            try waitUntil { try room(home)["conflicts"] as? Int == 1 }
            #expect(try home.run("status").output.contains("1 conflict of a healed split"))
            #expect(try home.run("values", "get", "anna").output == "here\n")
            #expect(try home.run("values", "get", "ben").output == "here\n")
        }

        let list = try ben.run("values", "conflicts", "--json").json
        #expect(list["unlisted"] as? Int == 0)
        let conflicts = try #require(list["conflicts"] as? [[String: Any]])
        let conflict = try #require(conflicts.first)
        #expect(conflicts.count == 1)
        #expect(conflict["key"] as? String == "colour")
        #expect(conflict["about"] as? String == "value")
        #expect(conflict["activity"] as? String == "huddle.room")
        #expect((conflict["base"] as? [String: Any])?["value"] as? String == "red")
        let kept = try #require(conflict["kept"] as? [String: Any])
        let lost = try #require((conflict["lost"] as? [[String: Any]])?.first)
        let authors = [kept["author"] as? String ?? "", lost["author"] as? String ?? ""]
        #expect(authors.sorted() == ["anna", "ben"])
        #expect(kept["value"] as? String == "of \(authors[0])")
        #expect(lost["value"] as? String == "of \(authors[1])")
        #expect(try anna.run("values", "get", "colour").output == "of \(authors[0])\n")
        let text = try anna.run("values", "conflicts").output
        for words in ["colour", "red", "by anna", "by ben"] {
            #expect(text.contains(words), "\(text)")
        }

        let wrong = try anna.run("values", "conflicts", "ack", "color")
        #expect(wrong.code == 1)
        #expect(wrong.errors.contains("there is no conflict about 'color'"), "\(wrong.errors)")
        #expect(try anna.run("values", "conflicts", "ack").code == 2)
        #expect(try anna.run("values", "conflicts", "settle", "colour").code == 2)
        #expect(try anna.run("values", "conflicts", "ack", "--about", "nothing").code == 2)
        #expect(try anna.run("values", "conflicts", "ack", "--about", "activity").code == 1)
        #expect(try anna.run("values", "get", "colour", "--about", "value").code == 2)
        let settled = try anna.run("values", "conflicts", "ack", "colour")
        #expect(settled.code == 0 && settled.output == "settled\n", "\(settled.errors)")
        let again = try ben.run("values", "conflicts", "ack", "colour", "--json")
        #expect(again.code == 1)
        #expect((again.json["error"] as? [String: Any])?["code"] as? String == "noConflict")
        #expect(try ben.run("values", "conflicts").output == "no conflicts\n")
        #expect(try room(ben)["conflicts"] as? Int == 0)
        #expect(try !ben.run("status").output.contains("conflict"))
        #expect(try ben.run("values", "get", "colour").output == "of \(authors[0])\n")
    }

    @Test("a wrong code is refused without saying more, and the right one still works")
    func wrongCode() throws {
        let (anna, ben) = (try Home(), try Home())
        defer {
            anna.remove()
            ben.remove()
        }
        let up = try anna.run("up", "--loopback", "--detach", "--room", "hall", "--json")
        let port = try #require(up.json["port"] as? Int)
        try #require(try ben.run("up", "--loopback", "--detach", "--no-room").code == 0)
        let code = try #require(try anna.run("invite", "--json").json["code"] as? String)
        let wrong = try #require(
            ["000000", "111111", "ZZZZZZ"].lazy.map { code.prefix(3) + $0 }
                .first { $0.dropFirst(3) != code.dropFirst(3).prefix(6) }
        )
        // One of the 32 check symbols makes it a code.
        for symbol in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" {
            let outcome = try ben.run("join", "\(wrong)\(symbol)", "--at", "127.0.0.1:\(port)")
            guard outcome.code != 2 else { continue }
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("wrong, already used, or expired"), "\(outcome.errors)")
            break
        }
        let right = try ben.run("join", code, "--at", "127.0.0.1:\(port)")
        #expect(right.code == 0, "\(right.errors)")
    }

    @Test("a signal ends a node gracefully, with its code and without its socket")
    func signals() throws {
        for (number, code) in [(SIGINT, Int32(130)), (SIGTERM, 143)] {
            let home = try Home()
            defer { home.remove() }
            let node = try Program.start(["up", "--loopback", "--room", "hall"], home: home)
            // It greets when it is in its room and its signals are followed.
            #expect(node.outputLine()?.contains("is up") == true)
            #expect(try home.run("status").output.contains("leader"))
            node.signal(number)
            let outcome = node.finish()
            #expect(outcome.code == code)
            #expect(outcome.output.contains("new room hall"))
            #expect(!FileManager.default.fileExists(atPath: home.socket))
        }
    }

    @Test("a room is resumed after a restart, with its name")
    func resume() throws {
        let home = try Home()
        defer { home.remove() }
        try #require(try home.run("up", "--loopback", "--detach", "--room", "hall").code == 0)
        // The room's name stands in its shared session, which a write waits for.
        #expect(try home.run("values", "set", "colour", "red").code == 0)
        #expect(try home.run("down").code == 0)
        let again = try home.run("up", "--loopback", "--detach", "--json")
        #expect(again.code == 0, "\(again.errors)")
        #expect(again.json["room"] as? String == "hall")
        #expect(again.json["isNew"] as? Bool == false)
    }

    @Test("a demo that is stopped leaves no process and no file")
    func stoppedDemo() throws {
        let folder = try Home()
        defer { folder.remove() }
        let demo = try Program.start(
            ["demo"],
            home: folder,
            prefix: ["/usr/bin/env", "TMPDIR=\(folder.folder)"]
        )
        // Its second scene: five processes live, and talk.
        while let line = demo.outputLine(), !line.hasPrefix("2 ") {}
        #expect(demoFolders(folder.folder).count == 1)
        demo.signal(SIGINT)
        let outcome = demo.finish()
        #expect(outcome.code == 130, "\(outcome.output)\(outcome.errors)")
        #expect(demoFolders(folder.folder).isEmpty)
    }

    private func demoFolders(_ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasPrefix("huddle-demo-") }
    }
}

/// Waits until `condition` holds, for at most 10 s.
func waitUntil(_ condition: () throws -> Bool) throws {
    for _ in 0..<500 {
        if try condition() { return }
        usleep(20_000)
    }
    Issue.record("it did not happen within 10 s")
}
