import Foundation
import Testing

/// Sessions between real processes (`40-groupactivities.md` §14).
@Suite(.serialized)
struct SessionTests {
    @Test("G3: activated by one, the session comes to all, with equal ids and participants")
    func activation() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            let peers = party.peers
            for peer in peers { #expect(peer.lines.contains("eligible true")) }
            peers[0].tell("activate sketch")
            var ids: Set<String> = []
            for peer in peers {
                let words = try await peer.expect("session ").split(separator: " ")
                ids.insert(String(words[0]))
                #expect(words[1] == "sketch")
                #expect(words[2] == (peer.name == "ada" ? "local" : "remote"))
                try await peer.expect("state waiting")
                peer.tell("join")
                try await peer.expect("state joined")
            }
            #expect(ids.count == 1)
            var sets: Set<String> = []
            for peer in peers { sets.insert(try await peer.hears("participants 3 ")) }
            #expect(sets.count == 1)
        }
    }
}

extension SessionTests {
    @Test(
        "G5, G6: messages sent at once arrive in order; only whom they are for; nobody its own"
    )
    func messages() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            let peers = party.peers
            let ids = try await gather(peers)
            for peer in peers { peer.tell("listen") }
            peers[0].tell("note 1 hello")
            try await peers[1].expect("note 1 hello from \(ids[0])")
            try await peers[2].expect("note 1 hello from \(ids[0])")
            try await peers[0].expect("sent 1")
            peers[0].tell("note 2 secret only \(ids[2])")
            try await peers[2].expect("note 2 secret")
            peers[0].tell("note 3 nobody only")
            try await peers[0].expect("sent 3")
            peers[0].tell("note 4 self only \(ids[0])")
            try await peers[0].expect("sent 4")
            peers[1].tell("post 10 x")
            try await peers[1].expect("posted")
            for number in 1...10 { try await peers[0].expect("note \(number) x") }
            #expect(!peers[1].lines.contains { $0.hasPrefix("note 2") })
            #expect(!peers[0].lines.contains { $0.hasPrefix("note 1 hello") })
        }
    }

    @Test("G8: 262,144 bytes arrive in both modes, one more is refused and harms nothing")
    func sizes() async throws {
        try await withParty(["ada", "bob"]) { party in
            let peers = party.peers
            _ = try await gather(peers)
            for peer in peers { peer.tell("listen") }
            peers[0].tell("data 262144")
            try await peers[1].expect("data 262144")
            peers[0].tell("data 262145")
            try await peers[0].expect("error the message has 262145 bytes, the limit is 262144")
            peers[0].tell("fastdata 262144")
            try await peers[0].expect("sent 262144")
            peers[0].tell("note 5 still")
            try await peers[1].expect("note 5 still")
        }
    }

    @Test("G13: leave and end")
    func leaving() async throws {
        try await withParty(["ada", "bob"]) { party in
            let peers = party.peers
            _ = try await gather(peers)
            for peer in peers { peer.tell("listen") }
            peers[1].tell("leave")
            try await peers[1].expect("participants 0")
            try await peers[1].expect("state invalidated this node left")
            try await peers[1].expect("notes end")
            try await peers[0].expect("participants 1 ")
            peers[0].tell("note 1 alone")
            try await peers[0].expect("sent 1")
            peers[0].tell("end")
            try await peers[0].expect("state invalidated")
            peers[0].tell("end")
            peers[0].tell("activate again")
            try await peers[1].expect("session ")
            try await peers[0].expect("session ")
        }
    }

    @Test("a new activity replaces the one that runs; the title follows for all")
    func replacement() async throws {
        try await withParty(["ada", "bob"]) { party in
            let peers = party.peers
            _ = try await gather(peers)
            peers[0].tell("title second")
            try await peers[0].expect("activity second")
            try await peers[1].expect("activity second")
            peers[1].tell("activate third")
            for peer in peers {
                try await peer.expect("state invalidated 'test.canvas' took the session's place")
                let words = try await peer.expect("session ").split(separator: " ")
                #expect(words[1] == "third")
            }
        }
    }

    @Test("G12: a peer killed leaves the set; a message to it alone names it")
    func crash() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            let peers = party.peers
            let ids = try await gather(peers)
            peers[2].kill9()
            peers[0].tell("note 1 all")
            try await peers[0].expect("sent 1", within: 60)
            try await peers[0].expect("participants 2 ", within: 60)
            peers[0].tell("note 2 dead only \(ids[2])")
            try await peers[0].expect("error not delivered to 1 participant(s): ")
        }
    }
}

extension SessionTests {
    @Test("programs that know of no node meet in the room of this user's 'huddle up'")
    func roomOfThisUser() async throws {
        try await withUser { environment in
            let programs = try ["ada", "bob"].map {
                try Peer($0, "SharePlayPeer", ["-", "local"], environment: environment)
            }
            defer { for program in programs { program.stop() } }
            for program in programs { try await program.hears("eligible true") }
            programs[0].tell("activate shared")
            for program in programs {
                try await program.expect("session ")
                program.tell("join")
            }
            for program in programs { try await program.hears("participants 2 ") }

            let list = try Peer("list", "huddle", ["sessions", "--json"], environment: environment)
            defer { list.stop() }
            let line = try await list.expect("{")
            #expect(line.contains("\"title\":\"shared\"") && line.contains("test.canvas"))
            let start = try Peer(
                "start",
                "huddle",
                ["start", "test.canvas", "title=shell", "--title", "By \u{1b}[2Jhand\u{202e}"],
                environment: environment
            )
            defer { start.stop() }
            try await start.expect("started test.canvas")
            for program in programs {
                try await program.expect("state invalidated 'test.canvas' took the session's place")
            }
            let plain = try Peer("plain", "huddle", ["sessions"], environment: environment)
            defer { plain.stop() }
            let row = try await plain.expect("test.canvas")
            #expect(row.contains("hand") && !row.contains("\u{1b}") && !row.contains("\u{202e}"))
        }
    }

    @Test("a node that starts after a program is found all the same")
    func nodeAfterTheProgram() async throws {
        try await withUser(isUp: false) { environment in
            let program = try Peer(
                "ada",
                "SharePlayPeer",
                ["-", "local"],
                environment: environment
            )
            defer { program.stop() }
            try await program.hears("ready")
            #expect(program.lines.contains("eligible false"))
            let node = try Peer("node", "huddle", ["up", "--loopback"], environment: environment)
            defer { node.stop() }
            try await program.hears("eligible true")
        }
    }
}
