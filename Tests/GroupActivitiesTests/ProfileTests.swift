import Foundation
import Testing

/// What real processes show of themselves (`40-groupactivities.md` §9.6).
@Suite(.serialized)
struct ProfileTests {
    @Test("a profile goes to the others and to a newcomer, stays with its node, and has a pace")
    func profile() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            _ = try await gather(party.peers)
            ada.tell("profile Grace 200")
            try await ada.expect("shown")
            // The set is published anew, with the same participants.
            try await bob.expect("participants 2 ")
            bob.tell("who")
            try await bob.expect("who Grace/200/tablet bob/0/unknown")

            // The next session has other participants of the same nodes.
            ada.tell("activate other")
            for peer in party.peers {
                try await peer.expect("state invalidated")
                try await peer.expect("session ")
                peer.tell("join")
                try await peer.hears("participants 2 ")
            }
            let cyd = try await party.welcome("cyd")
            try await cyd.expect("session ")
            cyd.tell("join")
            try await cyd.hears("participants 3 ")
            cyd.tell("who")
            try await cyd.expect("who Grace/200/tablet bob/0/unknown cyd/0/unknown")

            for number in 1...8 { ada.tell("profile Grace \(number)") }
            try await ada.expect("not shown tooFast")
        }
    }
}
