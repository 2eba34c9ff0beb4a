import Foundation
import Testing

/// The sharing controller between processes (`40-groupactivities.md` §8, G30).
@Suite(.serialized)
struct SharingTests {
    @Test("G30: without a room one is made; a guest with the link starts the activity, once")
    func link() async throws {
        let party = try await Party(["ada"], host: "alone")
        defer { party.end() }
        let ada = party.peers[0]
        #expect(!ada.lines.contains("eligible true"))
        ada.tell("share sketch")
        let link = try await ada.expect("invitation ")
        let bob = try Peer("bob", in: party.folder, ["guest", link])
        defer { bob.stop() }
        let own = try await ada.expect("session ").split(separator: " ")
        try await ada.hears("shared success")
        let other = try await bob.expect("session ").split(separator: " ")
        #expect(own[0] == other[0])
        #expect(own[1] == "sketch" && other[1] == "sketch")
        #expect(own[2] == "local" && other[2] == "remote")
        for peer in [ada, bob] { peer.tell("join") }
        for peer in [ada, bob] { try await peer.hears("participants 2 ") }
        #expect(ada.lines.filter { $0.hasPrefix("session ") }.count == 1)
        #expect(bob.lines.filter { $0.hasPrefix("session ") }.count == 1)
        // Asked again, it answers the same and starts nothing.
        ada.tell("sharedagain")
        try await ada.expect("again success")
        #expect(ada.lines.filter { $0.hasPrefix("session ") }.count == 1)
    }

    @Test("G30: those in the room accept by a notice; one that declines decides nothing")
    func notice() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            let peers = party.peers
            for peer in peers.dropFirst() {
                peer.tell("notices")
                try await peer.expect("listening")
            }
            peers[0].tell("announce sketch")
            for peer in peers.dropFirst() {
                #expect(try await peer.expect("invited ") == "ada sketch test.canvas")
            }
            peers[1].tell("answer decline")
            try await peers[1].expect("answered")
            #expect(!peers[0].lines.contains { $0.hasPrefix("shared") })
            peers[2].tell("answer accept")
            try await peers[2].expect("answered")
            try await peers[0].expect("shared success")
            for peer in peers { try await peer.hears("session ") }
        }
    }

    @Test("an invitation that is withdrawn starts nothing, one that fails neither")
    func cancelled() async throws {
        try await withParty(["ada", "bob"]) { party in
            let peers = party.peers
            peers[0].tell("share sketch")
            try await peers[0].expect("invitation ")
            peers[0].tell("withdraw")
            try await peers[0].expect("shared cancelled")
            peers[0].tell("sharefailing")
            try await peers[0].expect("shared cancelled")
            #expect(!peers[0].lines.contains { $0.hasPrefix("session ") })
        }
    }

    @Test("nobody comes: after ten minutes it is cancelled")
    func late() async throws {
        try await withParty(["ada"]) { party in
            let peers = party.peers
            peers[0].tell("sharelate sketch")
            try await peers[0].expect("invitation ")
            try await peers[0].expect("shared cancelled")
            #expect(peers[0].lines.contains("waited 600.0 seconds"))
        }
    }

    @Test("a question that nobody answers is cancelled after 60 s")
    func unanswered() async throws {
        try await withParty(["ada"]) { party in
            let peers = party.peers
            peers[0].tell("prepareslow sketch")
            try await peers[0].expect("asked test.canvas sketch")
            try await peers[0].expect("prepared cancelled")
            #expect(peers[0].lines.contains("waited 60.0 seconds"))
        }
    }

    @Test("a campaign is a session of all who read campaigns, and its view leaves it once")
    func campaign() async throws {
        try await withParty(["ada", "bob"]) { party in
            let peers = party.peers
            peers[1].tell("watchcampaigns")
            peers[0].tell("campaign http://video.example/ Film")
            try await peers[0].expect("campaign nothing")
            peers[0].tell("campaign https://video.example/film Film")
            try await peers[0].expect("campaign group")
            #expect(try await peers[1].expect("campaign session ").hasSuffix("Film"))
            peers[0].tell("dismiss")
            peers[0].tell("dismiss")
            try await peers[0].expect("campaign over 1")
            // What is said next comes behind whatever a second leave would have caused.
            peers[0].tell("campaign https://video.example/film Film")
            try await peers[0].expect("campaign group")
            #expect(!peers[0].lines.contains { $0.hasPrefix("campaign over 2") })
        }
    }
}
