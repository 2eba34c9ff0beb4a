import Foundation
import Glibc
import Testing

/// A bridge between two network namespaces; removed by ``remove()``.
private struct Bridge {
    let names: [String]
    private let bridge: String

    /// `nil`, with the reason printed, where namespaces are not allowed.
    init?() {
        guard geteuid() == 0 else {
            print("skipped: network namespaces need root")
            return nil
        }
        let tag = getpid() % 100_000
        names = ["huddle-command-\(tag)-a", "huddle-command-\(tag)-b"]
        bridge = "huddle-command-\(tag)-s"
        // The bridge has a namespace of its own, so that nothing of the machine's is touched.
        var commands = ["ip netns add \(bridge)", "ip -n \(bridge) link add sw0 type bridge"]
        commands.append("ip -n \(bridge) link set sw0 up")
        for (index, name) in names.enumerated() {
            commands += [
                "ip netns add \(name)",
                "ip -n \(name) link add mesh0 type veth peer name port\(index) netns \(bridge)",
                "ip -n \(bridge) link set port\(index) master sw0",
                "ip -n \(bridge) link set port\(index) up",
                "ip -n \(name) addr add 10.78.0.\(index + 1)/24 broadcast + dev mesh0",
                "ip -n \(name) link set lo up",
                "ip -n \(name) link set mesh0 up",
            ]
        }
        for command in commands where system("\(command) >/dev/null 2>&1") != 0 {
            print("skipped: network namespaces are not allowed here: \(command)")
            remove()
            return nil
        }
    }

    func remove() {
        for name in names + [bridge] { system("ip netns del \(name) >/dev/null 2>&1") }
    }
}

@Suite("Two machines on one network", .serialized)
struct NamespaceTests {
    @Test("they find each other by multicast with no address given, also after a restart")
    func multicast() throws {
        guard let bridge = Bridge() else { return }
        let homes = [try Home(), try Home()]
        func run(_ index: Int, _ arguments: String...) throws -> Program.Outcome {
            let prefix = ["/usr/bin/env", "ip", "netns", "exec", bridge.names[index]]
            return try Program.run(arguments, home: homes[index], prefix: prefix)
        }
        defer {
            for index in 0..<2 { _ = try? run(index, "down") }
            for home in homes { home.remove() }
            bridge.remove()
        }
        let anna = try run(0, "up", "--detach", "--name", "anna", "--room", "hall")
        try #require(anna.code == 0, "\(anna.errors)")
        let ben = try run(1, "up", "--detach", "--name", "ben", "--no-room")
        try #require(ben.code == 0, "\(ben.errors)")
        let code = try run(0, "invite", "--code").output.trimmingCharacters(in: .newlines)
        let joined = try run(1, "join", code, "--json")
        try #require(joined.code == 0, "\(joined.errors)")
        #expect(joined.json["members"] as? [String] == ["anna"])
        let peers = try run(1, "peers", "--json").json["peers"] as? [[String: Any]]
        let address = try #require(peers?.first?["address"] as? String)
        #expect(address.hasPrefix("10.78.0.1:") || address.hasPrefix("[fe80:"), "\(address)")

        // Both go away and come back with other ports: sealed beacons bring them together.
        for index in 0..<2 { #expect(try run(index, "down").code == 0) }
        for index in 0..<2 {
            let again = try run(index, "up", "--detach", "--name", index == 0 ? "anna" : "ben")
            #expect(again.code == 0, "\(again.errors)")
        }
        try waitUntil {
            let status = try run(0, "status", "--json").json["room"] as? [String: Any]
            let members = status?["members"] as? [[String: Any]] ?? []
            let names = members.filter { $0["isPresent"] as? Bool == true }
                .compactMap { $0["name"] as? String }
            return Set(names) == ["anna", "ben"]
        }
        let chat = try run(0, "chat", "found you")
        #expect(chat.output.contains("delivered to ben"), "\(chat.output)\(chat.errors)")
    }
}
