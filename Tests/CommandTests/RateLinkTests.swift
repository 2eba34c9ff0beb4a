import Foundation
import Testing

/// Real time and a machine that others use: what speed decides has wide bounds here, and its figures are those
/// that `huddle bench tcp` and `soak` print where nobody else works.
@Suite("The transport on real links — 20-transport.md §5.6", .serialized, .timeLimit(.minutes(4)))
struct RateLinkTests {
    private struct Row: Decodable {
        var name: String
        var figure: Double
        var ratio: Double?
    }

    /// The rows by their names; `nil`, with the reason printed, where networks cannot be made.
    private func rows(_ arguments: String...) throws -> [String: Row]? {
        let result = try Program.run(["bench"] + arguments + ["--json"])
        guard result.code == 0 || !result.errors.contains("cannot be made") else {
            print("skipped: \(result.errors)")
            return nil
        }
        try #require(result.code == 0, "\(result.errors)")
        let rows = try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(Row.self, from: Data($0.utf8))
        }
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })
    }

    @Test("10 Mbit/s and 20 ms: the link is used, the queue short, and TCP CUBIC beside it lives")
    func link() throws {
        guard let rows = try rows("tcp", "--rate", "10", "--seconds", "4") else { return }
        #expect(rows.count == 6)
        let alone = try #require(rows["10 Mbit/s, alone"]?.ratio)
        #expect(0.7...1.02 ~= alone)
        // The queue has room for 20 ms, which a flow that fills it would take.
        let queue = try #require(rows["10 Mbit/s, alone, queue"]?.figure)
        #expect(queue < 12)
        for order in ["before", "after"] {
            let share = try #require(rows["10 Mbit/s, begun \(order) TCP"]?.ratio)
            // Four seconds tell that neither is starved; what the shares are, minutes tell.
            #expect(0.05...20 ~= share, "begun \(order)")
        }
        // At the old rate the queue would stay full for ever.
        let time = try #require(rows["10 Mbit/s to a tenth, queue is short"]?.figure)
        #expect(time < 3500)
    }

    @Test("where networks may not be made, it says so and what would help")
    func forbidden() throws {
        guard geteuid() == 0 else { return }
        let nobody = ["/usr/bin/env", "setpriv", "--reuid=65534", "--clear-groups"]
        let result = try Program.run(["bench", "tcp", "--seconds", "1"], prefix: nobody)
        #expect(result.code == 1)
        #expect(result.errors.contains("unshare -Urn"), "\(result.errors)")
    }

    @Test("64 connections while peers come and go: nothing is lost, doubled or out of order")
    func soak() throws {
        let rows = try #require(try rows("soak", "--seconds", "10"))
        let made = try #require(rows["connections made"]?.figure)
        // The first 64, and most of those that took the places of others.
        #expect(made > 80)
        #expect(try #require(rows["reliable messages, each once and in order"]?.figure) > 10_000)
        #expect(try #require(rows["fast messages, none after a newer one"]?.figure) > 5_000)
        #expect(rows["heap, at the end"]?.ratio != nil)
    }
}
