import Foundation
import Glibc
import Testing

@testable import HuddleCommand

/// What the commands say, held against what is so.
@Suite("A command's words are true", .serialized)
struct WordsTests {
    @Test("the name given to one 'up' is that of the next")
    func rememberedName() throws {
        let home = try Home()
        defer { home.remove() }
        try up(home, "--no-room", "--name", "anna")
        #expect(try home.run("down").code == 0)
        let again = try home.run("up", "--loopback", "--detach", "--no-room", "--json")
        #expect(again.json["name"] as? String == "anna", "\(again.errors)")
        #expect(try home.run("down").code == 0)
        // What is no name is as good as none.
        try Data("a\u{1b}[2J\n".utf8).write(to: URL(fileURLWithPath: "\(state(home))/name"))
        let other = try home.run("up", "--loopback", "--detach", "--no-room", "--json")
        #expect(other.code == 0, "\(other.errors)")
        let name = try #require(other.json["name"] as? String)
        #expect(!name.isEmpty && name != "anna" && name == name.printable, "\(name)")
    }

    @Test("every line of a node's log begins with the time, in UTC and with milliseconds")
    func stampedLog() throws {
        #expect(
            timestamp(Date(timeIntervalSince1970: 1_772_355_907.0425))
                == "2026-03-01T09:05:07.042Z"
        )
        let home = try Home()
        defer { home.remove() }
        try up(home, "--room", "hall", "--name", "anna")
        #expect(try home.run("down").code == 0)
        let log = try String(contentsOfFile: "\(state(home))/node.log", encoding: .utf8)
        let lines = log.split(separator: "\n")
        #expect(lines.count == 2)
        for line in lines {
            #expect(line.contains(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S/), "\(line)")
        }
        #expect(lines.first?.contains("anna is up") == true)
        // A person at a terminal has a clock.
        #expect(try home.run("status").errors.hasPrefix("huddle: no node"))
    }

    @Test("'values' says of a key that never was that it is not there")
    func values() throws {
        let home = try Home()
        defer { home.remove() }
        try up(home, "--room", "hall")
        let expected = try home.run("values", "set", "colour", "red", "--expect", "blue")
        #expect(expected.code == 1)
        #expect(expected.errors.contains("there is no such value\n"), "\(expected.errors)")
        #expect(expected.errors.contains("--if-absent"), "\(expected.errors)")
        #expect(try home.run("values", "set", "size", "-3.5").code == 0)
        let present = try home.run("values", "set", "size", "2", "--if-absent")
        #expect(present.code == 1)
        #expect(present.errors.contains("is not the expected one"), "\(present.errors)")
        let deleted = try home.run("values", "delete", "colour")
        #expect(deleted.code == 1)
        #expect(deleted.output.isEmpty)
        #expect(deleted.errors.contains("there is no value 'colour'"), "\(deleted.errors)")
        #expect(try home.run("values", "set", "colour", "red").code == 0)
        let real = try home.run("values", "delete", "colour")
        #expect(real.code == 0)
        #expect(real.output == "deleted\n")
    }

    @Test("'fault' refuses the node itself, and names a link that a rule spares")
    func faults() throws {
        let home = try Home()
        defer { home.remove() }
        try up(home, "--room", "hall", "--name", "anna")
        let own = try home.run("fault", "set", "--cut", "anna")
        #expect(own.code == 2)
        #expect(own.errors.contains("this node itself"), "\(own.errors)")
        let spared = try home.run("fault", "set", "loss 0%", "--to", "9")
        #expect(spared.output.contains("to port 9: no fault\n"), "\(spared.output)")
    }

    @Test("a chat line does not wait long for a member that is away")
    func chatWithoutOne() throws {
        let (home, other) = (try Home(), try Home())
        defer {
            home.remove()
            other.remove()
        }
        let port = try #require(try up(home, "--room", "hall").json["port"] as? Int)
        try up(other, "--no-room", "--name", "ben")
        let code = try #require(try home.run("invite", "--json").json["code"] as? String)
        try #require(try other.run("join", code, "--at", "127.0.0.1:\(port)").code == 0)
        #expect(try home.run("chat", "hello").output == "delivered to ben\n")
        try #require(try other.run("fault", "set", "down").code == 0)
        try waitUntil { try home.run("status").output.contains("away") }
        let start = ContinuousClock.now
        #expect(try home.run("chat", "hello?").output == "not to ben\n")
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test("'up --detach' names the folder that cannot hold its log")
    func noFolder() throws {
        let home = try Home()
        defer { home.remove() }
        try Data().write(to: URL(fileURLWithPath: "\(home.folder)/state"))
        let outcome = try home.run("up", "--detach", "--loopback")
        #expect(outcome.code == 2)
        #expect(outcome.errors.contains("in \(state(home)): Not a directory"), "\(outcome.errors)")
    }

    @Test("'down' promises a room only where one is stored")
    func down() throws {
        let home = try Home()
        defer { home.remove() }
        try up(home, "--no-room")
        #expect(try home.run("down").output == "the node is down; 'huddle up' brings it back\n")
        try up(home, "--room", "hall")
        let both = "the node is down; 'huddle up' brings it and its room back\n"
        #expect(try home.run("down").output == both)
        // Not in it, and still there.
        try up(home, "--no-room")
        #expect(try home.run("down").output == both)
    }

    @Test("'leave' gives up an attempt to join, and both commands say so")
    func leaveWhileJoining() throws {
        let home = try Home()
        defer { home.remove() }
        try up(home, "--no-room")
        let none = try home.run("leave")
        #expect(none.code == 1)
        #expect(none.errors.contains("in no room"), "\(none.errors)")
        let join = try Program.start(["join", "07-4K9QXMC"], home: home)
        #expect(join.errorLine() == "looking for the room…")
        try waitUntil { try home.run("status").output.contains("looking for the room") }
        let leave = try home.run("leave")
        #expect(leave.code == 0, "\(leave.errors)")
        #expect(leave.output == "stopped looking for the room; this node is in no room\n")
        let joined = join.finish()
        #expect(joined.code == 1)
        #expect(joined.errors.contains("the attempt was stopped"), "\(joined.errors)")
        #expect(try home.run("status", "--json").json["room"] is NSNull)
    }

    @Test("'join' gives up the room that 'up' has just made, and no other")
    func unusedRoom() throws {
        let (anna, ben) = (try Home(), try Home())
        defer {
            anna.remove()
            ben.remove()
        }
        let port = try #require(try up(anna, "--room", "hall").json["port"] as? Int)
        func join() throws -> Program.Outcome {
            let code = try #require(try anna.run("invite", "--json").json["code"] as? String)
            defer { _ = try? anna.run("invite", "--close") }
            return try ben.run("join", code, "--at", "127.0.0.1:\(port)", "--json")
        }
        func room() throws -> String? {
            let room = try ben.run("status", "--json").json["room"] as? [String: Any]
            return room?["name"] as? String
        }
        // One that holds a value, one with an open invitation, one that was asked for, one resumed.
        try up(ben, "--name", "ben")
        #expect(try ben.run("values", "set", "colour", "red").code == 0)
        #expect(try join().code == 1)
        #expect(try ben.run("values", "delete", "colour").code == 0)
        #expect(try ben.run("invite").code == 0)
        #expect(try join().code == 1)
        #expect(try ben.run("invite", "--close").code == 0)
        #expect(try room() == "ben's room")
        #expect(try ben.run("down").code == 0)
        try up(ben)
        #expect(try join().code == 1, "a room that was resumed is not new")
        #expect(try ben.run("leave").code == 0)
        #expect(try ben.run("down").code == 0)
        try up(ben, "--room", "own")
        #expect(try join().code == 1, "a room that was asked for is not in the way")
        #expect(try ben.run("leave").code == 0)
        #expect(try ben.run("down").code == 0)
        // And the fresh one.
        try up(ben)
        #expect(try room() == "ben's room")
        let joined = try join()
        #expect(joined.code == 0, "\(joined.errors)")
        #expect(joined.json["room"] as? String == "hall")
    }

    @Test("a demo that keeps its folder says so")
    func keptDemo() throws {
        let folder = try Home()
        defer { folder.remove() }
        let demo = try Program.start(
            ["demo", "--keep"],
            home: folder,
            prefix: ["/usr/bin/env", "TMPDIR=\(folder.folder)"]
        )
        #expect(demo.outputLine()?.contains("no server") == true)
        demo.signal(SIGINT)
        let outcome = demo.finish()
        #expect(outcome.code == 130)
        #expect(outcome.errors.contains("stopped; no process is left\n"), "\(outcome.errors)")
        #expect(outcome.errors.contains("kept: \(folder.folder)/huddle-demo-"))
    }

    @Test("'sim --help' names the layer that is simulated unless given")
    func simHelp() throws {
        #expect(try Program.run(["sim", "--help"]).output.contains("(default: engine)"))
    }

    @discardableResult
    private func up(_ home: Home, _ words: String...) throws -> Program.Outcome {
        let outcome = try Program.run(
            ["up", "--loopback", "--detach", "--json"] + words,
            home: home
        )
        try #require(outcome.code == 0, "\(outcome.errors)")
        return outcome
    }

    private func state(_ home: Home) -> String { "\(home.folder)/state/huddle" }
}
