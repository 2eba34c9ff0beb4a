import Foundation
import Glibc
import Huddle
import MeshWire
import Testing

@testable import HuddleCommand

@Suite("Control socket", .serialized)
struct ControlSocketTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var line: String, code: String, because: String
        var testDescription: String { "\(line.prefix(40)): \(because)" }
    }

    static let rows = [
        Row(line: "hello", code: "protocol", because: "no JSON"),
        Row(line: "[1, 2]", code: "request", because: "no object"),
        Row(line: "{}", code: "request", because: "no op"),
        Row(line: #"{"op": "nonsense"}"#, code: "request", because: "an unknown op"),
        Row(line: #"{"op": 7}"#, code: "request", because: "an op that is no text"),
        Row(line: #"{"op": "chat.send"}"#, code: "request", because: "a field is missing"),
        Row(
            line: #"{"op": "chat.send", "text": 1}"#,
            code: "request",
            because: "a field is no text"
        ),
        Row(line: #"{"op": "values.get", "key": "k"}"#, code: "noRoom", because: "in no room"),
        Row(line: #"{"op": "room.join", "target": "x"}"#, code: "mistyped", because: "no code"),
        Row(
            line: #"{"op": "fault.set", "conditions": "loss"}"#,
            code: "fault",
            because: "no value"
        ),
        Row(line: #"{"op": "fault.set", "cut": ["nobody"]}"#, code: "noPeer", because: "no peer"),
        Row(line: #"{"op": "fault.set", "cut": "8"}"#, code: "request", because: "no list"),
        Row(line: #"{"op": "subscribe", "topic": "x"}"#, code: "request", because: "no such topic"),
        Row(
            line: String(repeating: "[", count: 5000),
            code: "protocol",
            because: "deeper than anything"
        ),
        Row(line: "{\"op\": \"\u{0}\"}", code: "protocol", because: "a control character"),
        Row(
            line: #"{"op": "status", "x": ""# + String(repeating: "x", count: 140_000) + #""}"#,
            code: "protocol",
            because: "longer than a line may be"
        ),
    ]

    @Test("whatever comes gets a typed error, and the node goes on")
    func hostileLines() throws {
        let home = try Home()
        defer { home.remove() }
        try #require(try home.run("up", "--loopback", "--detach", "--no-room").code == 0)
        for row in Self.rows {
            let answer = try talk(home.socket, row.line)
            let error = answer["error"] as? [String: Any]
            #expect(error?["code"] as? String == row.code, "\(row.testDescription): \(answer)")
        }
        #expect(try home.run("status").code == 0)
    }

    @Test("bytes without an end cost the connection, not the node")
    func endless() throws {
        let home = try Home()
        defer { home.remove() }
        try #require(try home.run("up", "--loopback", "--detach", "--no-room").code == 0)
        let descriptor = try connect(home.socket)
        defer { close(descriptor) }
        let junk = [UInt8](repeating: 0x20, count: 1 << 16)
        var sent = 0
        while sent < 4 << 20 {
            let count = send(descriptor, junk, junk.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { break }
            sent += count
        }
        #expect(sent < 4 << 20, "the node took it all")
        #expect(try home.run("status").code == 0)
    }

    @Test("what is collected for a program ends with its connection, and is bounded before")
    func collectors() throws {
        let home = try Home()
        defer { home.remove() }
        try #require(try home.run("up", "--loopback", "--detach", "--room", "hall").code == 0)
        #expect(try home.run("values", "set", "colour", "red").code == 0)
        func request(_ op: String, _ channel: Int) -> String {
            #"{"op": "\#(op)", "session": "room", "channel": "c\#(channel)"}"#
        }
        // More than a node collects at a time, one connection after the other.
        for round in 0..<4 {
            let descriptor = try connect(home.socket)
            defer { close(descriptor) }
            // The node hears of the former connection's end in its own time.
            let limit = ContinuousClock.now + .seconds(10)
            while try talk(descriptor, request("messages.open", 0))["ok"] as? Bool != true {
                try #require(ContinuousClock.now < limit, "round \(round)")
            }
            for channel in 1..<MessageCollector.countMaximum {
                let answer = try talk(descriptor, request("messages.open", channel))
                #expect(answer["ok"] as? Bool == true, "round \(round): \(answer)")
            }
            let listed = try talk(descriptor, request("messages.list", 1))
            #expect(listed["count"] as? Int == 0, "\(listed)")
            let more = try talk(descriptor, request("messages.open", 1000))
            #expect((more["error"] as? [String: Any])?["code"] as? String == "tooMany")
        }
        let other = try talk(home.socket, request("messages.list", 1))
        #expect((other["error"] as? [String: Any])?["code"] as? String == "notOpen")

        let collector = MessageCollector()
        let entry = MessageCollector.Entry(
            from: .zero,
            text: "x",
            byteCount: 1,
            received: .zero
        )
        for _ in 0..<10_000 { collector.add(entry) }
        #expect(collector.entries.count <= MessageCollector.entriesMaximum)
        #expect(collector.entries.count + collector.dropped == 10_000)
    }

    @Test("the socket belongs to its user alone")
    func permissions() throws {
        let home = try Home()
        defer { home.remove() }
        try #require(try home.run("up", "--loopback", "--detach", "--no-room").code == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: home.socket)
        #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o600)
        let directory = try FileManager.default.attributesOfItem(
            atPath: "\(home.folder)/run/huddle"
        )
        #expect((directory[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o700)
    }

    private func connect(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        return descriptor
    }

    /// Sends one line and reads one.
    private func talk(_ path: String, _ line: String) throws -> [String: Any] {
        let descriptor = try connect(path)
        defer { close(descriptor) }
        return try talk(descriptor, line)
    }

    private func talk(_ descriptor: Int32, _ line: String) throws -> [String: Any] {
        let bytes = Array((line + "\n").utf8)
        var sent = 0
        while sent < bytes.count {
            let rest = Array(bytes[sent...])
            let count = send(descriptor, rest, rest.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { break }
            sent += count
        }
        var answer: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") { answer.append(byte) }
        let value = try JSONSerialization.jsonObject(with: Data(answer))
        return value as? [String: Any] ?? [:]
    }
}
