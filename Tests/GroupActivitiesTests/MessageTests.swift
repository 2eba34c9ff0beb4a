import Foundation
import Testing

/// Messages between real processes (`40-groupactivities.md` §5, §14).
@Suite(.serialized)
struct MessageTests {
    @Test("G7: messages of one type by both modes at once: none crosses")
    func modes() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            _ = try await gather(party.peers)
            bob.tell("listen")
            ada.tell("both 100")
            for number in 1...100 { try await bob.expect("note \(number) reliable") }
            try await ada.expect("sent both")
            // One of the unreliable ones may be lost; of several one arrives.
            for number in 101...120 { ada.tell("fast \(number) unreliable") }
            try await bob.hears("fast ")
            let lines = bob.lines
            #expect(!lines.contains { $0.hasPrefix("note ") && $0.contains("unreliable") })
            #expect(!lines.contains { $0.hasPrefix("fast ") && $0.hasSuffix(" reliable") })
            #expect(!lines.contains { $0.hasPrefix("older ") })
        }
    }

    @Test("G9: values of every kind arrive equal; bytes as such are a channel of their own")
    func values() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            _ = try await gather(party.peers)
            for kind in ["values", "data", "notes"] { bob.tell("listen \(kind)") }
            ada.tell("values")
            try await ada.expect("sent values")
            ada.tell("data 5")
            try await bob.expect("data 5")
            ada.tell("note 1 after")
            try await bob.expect("note 1 after")
            let names = [
                "text", "nothing", "suit", "move", "numbers", "point", "bytes", "dates",
            ]
            for name in names {
                let verdict = try await bob.hears("value \(name) ")
                #expect(verdict == "equal", "\(name)")
            }
            // Those sent as a value of type Data did not come as bytes, nor the other way round.
            #expect(bob.lines.filter { $0.hasPrefix("data ") } == ["data 5"])
            #expect(bob.lines.count { $0.hasPrefix("value bytes ") } == 1)
        }
    }

    @Test("G10: two programs with a private type of the same name understand each other")
    func otherProgram() async throws {
        try await withParty(["ada"]) { party in
            let ada = party.peers[0]
            let stranger = try await party.welcome("bob", program: "SharePlayStranger")
            ada.tell("activate sketch")
            let mine = try await ada.expect("session ").split(separator: " ")
            let other = try await stranger.expect("session ").split(separator: " ")
            #expect(mine[0] == other[0] && other[1] == "sketch")
            ada.tell("join")
            try await ada.hears("participants 2 ")
            ada.tell("listen whispers")
            ada.tell("whisper hush")
            try await stranger.expect("whisper hush from \(mine[3])")
            try await ada.expect("whisper hush, you say from \(other[2])")
        }
    }

    @Test("G11: one stands still for 5 s: the others go on; then it has all, in order, as it was")
    func stoppedPeer() async throws {
        try await withParty(["ada", "bob", "cyd"], grace: 30) { party in
            let (ada, bob, cyd) = (party.peers[0], party.peers[1], party.peers[2])
            let ids = try await gather(party.peers)
            for peer in party.peers { peer.tell("listen") }
            ada.tell("note 1 before")
            for peer in [bob, cyd] { try await peer.expect("note 1 before") }
            let stop = ContinuousClock.now
            let before = [ada, bob].map { $0.lines.count { $0.hasPrefix("participants ") } }
            cyd.signal(SIGSTOP)
            // Each is awaited before the next is sent, and none but cyd keeps it from that.
            ada.tell("stream 500 on")
            for number in 1...500 { try await bob.expect("note \(number) on") }
            try await ada.expect("streamed 500")
            // Bob's own go on as well, until the five seconds are over.
            var number = 0
            repeat {
                number += 1
                bob.tell("note \(number) back")
                try await bob.expect("sent \(number)")
                try await ada.expect("note \(number) back")
            } while ContinuousClock.now - stop < .seconds(5)
            cyd.signal(SIGCONT)
            for number in 1...500 { try await cyd.expect("note \(number) on from \(ids[0])") }
            for (peer, id) in zip([ada, bob], ids) {
                peer.tell("note 0 after")
                try await cyd.hears("note 0 after from \(id)")
            }
            let late = cyd.lines.filter { $0.hasPrefix("note ") && $0.contains(" back ") }
            let areAll = late == (1...number).map { "note \($0) back from \(ids[1])" }
            #expect(areAll, "\(late.count) of \(number), \(late.suffix(3))")
            // It was in the set all the time, under its name.
            let after = [ada, bob].map { $0.lines.count { $0.hasPrefix("participants ") } }
            #expect(after == before)
            #expect(try await cyd.hears("participants 3 ").contains(ids[2]))
            #expect(!cyd.lines.contains { $0.hasPrefix("state invalidated") })
        }
    }

    @Test("G17: who asks late gets the newest 256 that came before")
    func lateSubscriber() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            _ = try await gather(party.peers)
            ada.tell("post 300 early")
            try await ada.expect("posted")
            // Of the same sender and lane: when it is there, all before it are.
            ada.tell("string now")
            bob.tell("listen strings")
            try await bob.expect("string now")
            bob.tell("listen notes")
            // Bob listens, so the next is not one of those that are kept.
            try await bob.expect("note 300 early")
            ada.tell("note 301 live")
            try await bob.expect("note 301 live")
            let numbers = bob.lines.filter { $0.hasPrefix("note ") }.map {
                Int($0.split(separator: " ")[1])
            }
            #expect(numbers == Array(45...301))
        }
    }

    @Test("a message that comes before anybody reads is there when somebody does")
    func beforeTheLoop() async throws {
        try await withParty(["ada", "bob"]) { party in
            let (ada, bob) = (party.peers[0], party.peers[1])
            let ids = try await gather(party.peers)
            ada.tell("note 1 early")
            // It is acknowledged, so bob's process has it.
            try await ada.expect("sent 1")
            bob.tell("listen")
            try await bob.expect("note 1 early from \(ids[0])")
        }
    }

    @Test(
        "three at 5 % loss: 10,000 messages, large ones and a cursor at once; none lost or out of order"
    )
    func load() async throws {
        try await withParty(["ada", "bob", "cyd"], fault: "loss 5%", grace: 30) { party in
            let (ada, bob, cyd) = (party.peers[0], party.peers[1], party.peers[2])
            _ = try await gather(party.peers)
            for peer in party.peers {
                peer.tell("silent")
                peer.tell("listen")
            }
            cyd.tell("cursor start")
            bob.tell("blobs 8")
            ada.tell("post 10000 small")
            for peer in [bob, cyd] { try await peer.expect("counted 10000", within: 120) }
            try await ada.expect("posted", within: 120)
            for peer in [ada, cyd] {
                for number in 1...8 {
                    #expect(try await peer.hears("blob \(number) ") == "whole")
                }
            }
            try await bob.hears("blobs sent")
            cyd.tell("cursor stop")
            let last = try #require(Int(try await cyd.expect("cursor rests at ")))
            for peer in party.peers {
                let wrong = peer.lines.filter { line in
                    ["gap ", "older ", "failed ", "error "].contains { line.hasPrefix($0) }
                }
                #expect(wrong.isEmpty, "\(peer.name): \(wrong.prefix(5))")
            }
            for peer in [ada, bob] {
                let seen = peer.lines.count { $0.hasPrefix("fast ") }
                #expect(seen > last / 2, "of \(last) positions \(seen) came")
            }
        }
    }
}
