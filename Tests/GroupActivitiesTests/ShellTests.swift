import Foundation
import Testing

/// What a shell does about activities, with the node of `huddle up` (`40-groupactivities.md` §9.10).
@Suite(.serialized)
struct ShellTests {
    /// A user with a home of their own, the node of `huddle up` and one program.
    private final class User {
        let home: String
        let environment: [String: String]
        private(set) var peers: [Peer] = []

        init() throws {
            var template = Array("/tmp/huddle-user-XXXXXX".utf8CString)
            _ = try #require(mkdtemp(&template))
            home = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            for folder in ["run", "bin"] {
                try FileManager.default.createDirectory(
                    atPath: "\(home)/\(folder)",
                    withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700]
                )
            }
            environment = [
                "HOME": home, "XDG_RUNTIME_DIR": "\(home)/run", "XDG_DATA_HOME": "\(home)/data",
                "XDG_STATE_HOME": "\(home)/state", "PATH": "\(home)/bin:/usr/bin:/bin",
            ]
        }

        /// Runs a program that ends with the test.
        func start(_ name: String, _ program: String, _ words: [String]) throws -> Peer {
            let peer = try Peer(
                name,
                program,
                words,
                environment: environment,
                hearsErrors: program == "huddle"
            )
            peers.append(peer)
            return peer
        }

        func huddle(_ words: String...) throws -> Peer { try start(words[0], "huddle", words) }

        func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
            let path = "\(home)/\(name)"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return path
        }

        func remove() {
            for peer in peers.reversed() { peer.stop() }
            try? FileManager.default.removeItem(atPath: home)
        }
    }

    private func withUser(
        _ body: (User, _ node: Peer, _ ada: Peer) async throws -> Void
    ) async throws {
        let user = try User()
        defer { user.remove() }
        let node = try user.huddle("up", "--loopback")
        try await node.expect("✓")
        let ada = try user.start("ada", "SharePlayPeer", ["-", "local"])
        try await ada.hears("eligible true")
        try await body(user, node, ada)
    }

    @Test("--payload has the whole value, nested and of every kind; what is none is refused")
    func payload() async throws {
        try await withUser { user, _, ada in
            let file = try user.write(
                "canvas.json",
                #"{"title": "nested", "endsWithInitiator": true, "more": {"deep": [1, 2.5, null]}}"#
            )
            try await user.huddle("start", "test.canvas", "--payload", file).expect("started")
            #expect(try await ada.expect("session ").split(separator: " ")[1] == "nested")
            for (text, reason) in [
                ("{", "is no JSON"), (#"{"title": 1, "title": 2}"#, "two values"),
                ("\"\(String(repeating: "a", count: 70_000))\"", "the limit is 65536"),
                (String(repeating: " ", count: 140_000), "has more than 131072 bytes"),
            ] {
                let path = try user.write("wrong.json", text)
                let wrong = try user.huddle("start", "test.canvas", "--payload", path, "--json")
                let line = try await wrong.expect("{")
                #expect(line.contains(reason), "\(line)")
            }
            let both = try user.huddle("start", "test.canvas", "--payload", file, "a=b", "--json")
            #expect(try await both.expect("{").contains("no place beside it"))
            let none = try user.huddle(
                "start",
                "test.canvas",
                "--payload",
                "/nonexistent",
                "--json"
            )
            #expect(try await none.expect("{").contains("cannot read"))
        }
    }

    @Test("open shows an address and opens it after a yes; only one that is plain and https")
    func open() async throws {
        try await withUser { user, _, ada in
            let opened = "\(user.home)/opened"
            _ = try user.write(
                "bin/xdg-open",
                "#!/bin/sh\nprintf '%s' \"$1\" > '\(opened)'\n",
                mode: 0o700
            )
            let none = try user.huddle("open", "--json")
            #expect(try await none.expect("{").contains("noAddress"))

            ada.tell("activate film https://video.example/film?a=b;c")
            try await ada.expect("session ")
            let no = try user.huddle("open")
            try await no.expect("test.canvas: https://video.example/film?a=b;c")
            no.tell("n")
            try await no.expect("not opened")
            #expect(!FileManager.default.fileExists(atPath: opened))
            let yes = try user.huddle("open", "test.canvas")
            yes.tell("y")
            try await yes.expect("opened")
            #expect(
                try String(contentsOfFile: opened, encoding: .utf8)
                    == "https://video.example/film?a=b;c"
            )

            try FileManager.default.removeItem(atPath: opened)
            let json = try user.huddle("open", "--json")
            #expect(try await json.expect("{").contains("\"isOpened\":false"))
            let sure = try user.huddle("open", "--yes", "--json")
            #expect(try await sure.expect("{").contains("\"isOpened\":true"))
            #expect(FileManager.default.fileExists(atPath: opened))

            try FileManager.default.removeItem(atPath: opened)
            ada.tell("activate evil http://video.example/film")
            try await ada.expect("session ")
            let refused = try user.huddle("open", "--yes", "--json")
            let line = try await refused.expect("{")
            #expect(line.contains("unsafeAddress") && line.contains("scheme is not https"))
            #expect(!FileManager.default.fileExists(atPath: opened))
        }
    }

    @Test("the node says who did what, and an invitation is accepted from the shell")
    func notices() async throws {
        try await withUser { user, node, ada in
            try await user.huddle("notices").expect("nobody has told the room anything")
            ada.tell("activate film")
            try await ada.expect("session ")
            ada.tell("join")
            try await ada.expect("state joined")
            ada.tell("show skip Inter\u{1b}[2Jmezzo\u{202e}")
            let line = try await node.expect("SharePlayPeer skipped to Inter")
            #expect(line.hasSuffix("mezzo\u{fffd}") && !line.contains("\u{1b}"), "\(line)")
            let list = try user.huddle("notices")
            #expect(try await list.expect("   1  SharePlayPeer skipped to").contains("mezzo"))

            let wrong = try user.huddle("notices", "accept", "--json")
            #expect(try await wrong.expect("{").contains("noInvitation"))
            ada.tell("announce party")
            let said = try await node.expect("SharePlayPeer invites to 'party'")
            #expect(said.contains("huddle notices accept 2"), "\(said)")
            try await user.huddle("notices", "decline", "2").expect("declined: party")
            try await user.huddle("notices", "accept", "2").expect("accepted: party")
            try await ada.expect("shared success")
            try await user.huddle("sessions").expect("test.canvas")
        }
    }

    @Test("a campaign is checked before it starts, and shows its own title and address")
    func campaign() async throws {
        try await withUser { user, _, _ in
            let kind = "org.huddle.campaign"
            let wrong = try user.huddle("start", kind, "video_url=http://video.example/", "--json")
            #expect(try await wrong.expect("{").contains("its scheme is not https"))
            let bare = try user.huddle("start", kind, "--json")
            #expect(try await bare.expect("{").contains("has no 'video_url'"))
            let film = ["video_url=https://video.example/film", "video_title=Film"]
            try await user.start("start", "huddle", ["start", kind] + film).expect("started")
            let list = try user.huddle("sessions", "--json")
            let line = try await list.expect("{")
            #expect(line.contains("\"title\":\"Film\""), "\(line)")
            #expect(line.contains("\"fallbackURL\":\"https://video.example/film\""), "\(line)")
        }
    }

    @Test("a program without a node makes one and a room of its own to share in")
    func withoutNode() async throws {
        let user = try User()
        defer { user.remove() }
        let ada = try user.start("ada", "SharePlayPeer", ["-", "local"])
        try await ada.hears("ready")
        #expect(ada.lines.contains("eligible false"))
        ada.tell("share sketch")
        #expect(try await ada.expect("invitation ").hasPrefix("huddle:"))
        try await ada.hears("eligible true")
        ada.tell("withdraw")
        try await ada.expect("shared cancelled")
    }
}
