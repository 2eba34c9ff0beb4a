import Foundation
import Testing

@testable import GroupActivities

/// Notices between processes (`40-groupactivities.md` §8, G30).
@Suite(.serialized)
struct NoticeTests {
    @Test("G30: everybody in the room is told who did what; the foreground hook is called")
    func notices() async throws {
        try await withParty(["ada", "bob", "cyd"]) { party in
            let peers = party.peers
            peers[0].tell("activate sketch")
            var session = ""
            for peer in peers {
                session =
                    try await peer.expect("session ").split(separator: " ").first.map(String.init)
                    ?? ""
                peer.tell("notices")
                try await peer.expect("listening")
            }
            // Ada and Bob take part; Cyd is in the room and hears of it all the same.
            for peer in peers.prefix(2) { peer.tell("join") }
            for peer in peers.prefix(2) { try await peer.hears("participants 2 ") }
            peers[0].tell("show pause")
            #expect(try await peers[1].expect("notice ") == "ada paused")
            #expect(try await peers[2].expect("notice ") == "ada paused")
            peers[1].tell("show skip Intermezzo")
            #expect(try await peers[0].expect("notice ") == "bob skipped to Intermezzo")
            peers[0].tell("showother play")
            #expect(try await peers[1].expect("notice ") == "bob (says ada) started playing")
            peers[0].tell("foreground")
            #expect(try await peers[0].expect("foreground ") == session)
            // Who has not joined tells nothing; what comes next shows that nothing came before.
            peers[2].tell("show pause")
            peers[1].tell("oldwords hummed")
            #expect(try await peers[0].expect("notice ") == "bob hummed")
            #expect(!peers[0].lines.contains { $0.hasPrefix("notice cyd") })
        }
    }

    @Test("a text is cut to its limit between characters")
    func cut() {
        let long = String(repeating: "ä", count: 600)
        #expect(long.cut(toBytes: 1024).utf8.count == 1024)
        #expect(("a" + long).cut(toBytes: 1024).utf8.count == 1023)
        #expect("👩‍👩‍👧x".cut(toBytes: 5) == "")
        #expect("abc".cut(toBytes: 3) == "abc")
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var action: GroupSessionEvent.Action
        var words: String
        var testDescription: String { words }
    }

    static let rows = [
        Row(action: .play, words: "started playing"),
        Row(action: .pause, words: "paused"),
        Row(action: .seek, words: "moved to another place"),
        Row(action: .skip(item: "Intermezzo"), words: "skipped to Intermezzo"),
        Row(action: .updatedQueue, words: "changed what is played next"),
        Row(action: .updatedQueue(.setUpNext(.song("Aria"))), words: "put 'Aria' next"),
        Row(
            action: .updatedQueue(.added(.container("Arias"))),
            words: "added the collection 'Arias'"
        ),
    ]

    @Test("each action has its words", arguments: rows)
    func words(_ row: Row) {
        #expect(row.action.words == row.words)
    }
}
