import Foundation
import Testing

/// Attachments between real processes (`40-groupactivities.md` §5.1, §14).
@Suite(.serialized)
struct JournalTests {
    /// All in one session, joined, with a journal.
    private func gather(_ peers: [Peer]) async throws {
        peers[0].tell("activate sketch")
        for peer in peers { try await enter(peer) }
        for peer in peers { try await peer.hears("participants \(peers.count) ") }
    }

    private func enter(_ peer: Peer) async throws {
        try await peer.expect("session ")
        peer.tell("join")
        try await peer.expect("state joined")
        peer.tell("journal")
        try await peer.expect("attachments")
    }

    /// A guest that comes by an invitation of `host`.
    private func join(_ name: String, by host: Peer, in party: Party) async throws -> Peer {
        host.tell("invite")
        let link = try await host.expect("link ")
        let peer = try Peer(name, in: party.folder, ["guest", link, "", "3"])
        try await peer.expect("ready")
        return peer
    }

    @Test("the whole set comes at once and at each change, to who made it too; remove is for all")
    func wholeSet() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            let peers = party.peers
            try await gather(peers)
            peers[0].tell("attach 5")
            let first = try await peers[0].expect("attached ")
            peers[1].tell("attach 200000")
            let second = try await peers[1].expect("attached ")
            for peer in peers {
                try await peer.hears("attachments 2 \(first),\(second)")
                peer.tell("load \(first)")
                try await peer.expect("loaded 5 right")
                peer.tell("load \(second)")
                try await peer.expect("loaded 200000 right")
                #expect(peer.lines.contains("attachments 0 "))
                #expect(peer.lines.contains("attachments 1 \(first)"))
            }
            peers[2].tell("remove \(first)")
            try await peers[2].expect("removed \(first)")
            for peer in peers {
                try await peer.hears("attachments 1 \(second)")
                peer.tell("load \(first)")
                try await peer.expect("error the attachment was removed")
            }
            peers[0].tell("remove \(first)")
            try await peers[0].expect("removed \(first)")
            peers[0].tell("end")
            for peer in peers { try await peer.expect("attachments end") }
        }
    }

    @Test("a late joiner loads what was added before, and what was said about it")
    func lateJoiner() async throws {
        let party = try await Party(["ada", "bob"])
        defer { party.end() }
        try await gather(party.peers)
        let ada = party.peers[0]
        ada.tell("attach 1000000 short")
        let short = try await ada.expect("attached ")
        ada.tell("attach 0 \(String(repeating: "long", count: 20_000))")
        let long = try await ada.expect("attached ")
        let dan = try await join("dan", by: party.peers[1], in: party)
        defer { dan.stop() }
        try await enter(dan)
        try await dan.hears("attachments 2 \(short),\(long)")
        dan.tell("load \(short)")
        try await dan.expect("loaded 1000000 right")
        dan.tell("metadata \(short)")
        try await dan.expect("metadata 5 short")
        dan.tell("load \(long)")
        try await dan.expect("loaded 0 right")
        dan.tell("metadata \(long)")
        try await dan.expect("metadata 80000 longlong")
    }

    @Test("a file is added as it is; one that is not there is an error with the reason")
    func files() async throws {
        let party = try await Party(["ada", "bob"])
        defer { party.end() }
        try await gather(party.peers)
        let path = party.folder + "/letter.txt"
        try Data(repeating: 0, count: 70_000).write(to: URL(fileURLWithPath: path))
        party.peers[0].tell("attachfile \(path)")
        let id = try await party.peers[0].expect("attached ")
        try await party.peers[1].hears("attachments 1 \(id)")
        party.peers[1].tell("load \(id)")
        try await party.peers[1].expect("loaded 70000")
        party.peers[0].tell("attachfile \(path).none")
        try await party.peers[0].expect("error the file cannot be read (errno 2)")
    }

    /// 100 MB take a minute in a debug build; `huddle bench activities --journal` moves them.
    private static let most = 100_000_000
    private static let large = 20_000_000

    @Test(
        "G31: killed once a second has it, and a late fourth loads it; one byte more is too large"
    )
    func uploaderDies() async throws {
        let party = try await Party(["ada", "bob", "cyd"])
        defer { party.end() }
        try await gather(party.peers)
        let (ada, bob) = (party.peers[0], party.peers[1])
        ada.tell("attach \(Self.most + 1)")
        try await ada.expect(
            "error the attachment has \(Self.most + 1) bytes, the limit is \(Self.most)"
        )
        ada.tell("attach \(Self.large)")
        let id = try await ada.expect("attached ")
        // Nobody asks for it: who uses a journal keeps what is in it.
        ada.tell("spread \(id) 1")
        try await ada.expect("spread 1", within: 60)
        ada.kill9()
        let dan = try await join("dan", by: bob, in: party)
        defer { dan.stop() }
        try await enter(dan)
        try await dan.hears("attachments 1 \(id)")
        dan.tell("load \(id)")
        try await dan.expect("loaded \(Self.large) right", within: 60)
    }

    @Test("a manager of a tutorial shares its picture, and gets the other's")
    func sampleJournal() async throws {
        try await withUser { environment in
            let programs = try ["ada", "bob"].map {
                try Peer($0, "SeedSamples", [], environment: environment)
            }
            defer { for program in programs { program.stop() } }
            for program in programs { try await program.expect("ready") }
            programs[0].tell("start")
            for program in programs {
                for sender in programs {
                    try await program.hears("Received file picture of \(sender.processIdentifier)")
                }
            }
        }
    }

    @Test("who leaves the session has nothing more of it, and comes back to all of it")
    func leaving() async throws {
        try await withParty(["ada", "bob"]) { party in
            let peers = party.peers
            try await gather(peers)
            peers[0].tell("attach 100000")
            let id = try await peers[0].expect("attached ")
            try await peers[1].hears("attachments 1 \(id)")
            peers[1].tell("load \(id)")
            try await peers[1].expect("loaded")
            peers[1].tell("leave")
            try await peers[1].expect("attachments end")
            peers[1].tell("load \(id)")
            try await peers[1].expect("error this node left the session")
        }
    }
}
