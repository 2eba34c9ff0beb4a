import Foundation
import Testing

/// How participations begin and end, between real processes (`40-groupactivities.md` §4, §14).
@Suite(.serialized)
struct LifeTests {
    @Test("one who comes late is offered what runs, and hears what is sent from then on")
    func lateJoiner() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            _ = try await gather(party.peers)
            bob.tell("listen")
            ada.tell("note 1 before")
            try await bob.expect("note 1 before")
            let cyd = try await party.welcome("cyd")
            let words = try await cyd.expect("session ").split(separator: " ")
            #expect(words[1] == "sketch" && words[2] == "remote")
            let id = String(words[3])
            cyd.tell("listen")
            cyd.tell("join")
            try await cyd.expect("state joined")
            for peer in party.peers {
                #expect(try await peer.hears("participants 3 ").contains(id))
            }
            try await ada.expect("newcomer \(id)")
            ada.tell("note 2 after")
            try await cyd.expect("note 2 after")
            #expect(!cyd.lines.contains { $0.hasPrefix("note 1") })
        }
    }

    @Test("G13: who left and comes again is a new participant in a new object")
    func rejoin() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            let ids = try await gather(party.peers)
            let session = try #require(
                bob.lines.last { $0.hasPrefix("session ") }?.split(separator: " ")[1]
            )
            bob.tell("listen")
            bob.tell("leave")
            try await bob.expect("state invalidated this node left")
            try await ada.expect("participants 1 ")
            // Without being asked for it does not come again.
            ada.tell("note 1 alone")
            try await ada.expect("sent 1")
            #expect(bob.lines.count { $0.hasPrefix("session ") } == 1)
            bob.tell("rejoin")
            let words = try await bob.expect("session ").split(separator: " ")
            #expect(words[0] == session)
            #expect(words[3] != ids[1])
            try await bob.expect("state waiting")
            bob.tell("listen")
            bob.tell("join")
            try await bob.expect("state joined")
            #expect(try await ada.expect("participants 2 ").contains(words[3]))
            ada.tell("note 2 again")
            try await bob.expect("note 2 again from \(ids[0])")
            #expect(!bob.lines.contains { $0.hasPrefix("note 1") })
        }
    }

    @Test("rejoin leaves what goes on, and offers it anew; not what is over")
    func rejoinAtOnce() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            let ids = try await gather(party.peers)
            bob.tell("rejoin")
            let words = try await bob.expect("session ").split(separator: " ")
            #expect(words[3] != ids[1])
            ada.tell("end")
            try await bob.expect("state invalidated")
            bob.tell("rejoin")
            try await bob.expect("error the session is over")
        }
    }

    @Test("G28: the initiator leaves a session bound to it: it ends for all")
    func initiatorLeaves() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            _ = try await gather(party.peers, "sketch bound")
            party.peers[0].tell("leave")
            for peer in party.peers.dropFirst() {
                try await peer.expect("state invalidated whoever started the session left")
            }
        }
    }

    @Test("G28: the initiator of a session bound to it is killed: it ends once the grace is over")
    func initiatorCrashes() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            _ = try await gather(party.peers, "sketch bound")
            let crash = ContinuousClock.now
            party.peers[0].kill9()
            for peer in party.peers.dropFirst() {
                try await peer.expect(
                    "state invalidated whoever started the session left",
                    within: 60
                )
            }
            #expect(ContinuousClock.now - crash >= .seconds(3))
        }
    }
}
