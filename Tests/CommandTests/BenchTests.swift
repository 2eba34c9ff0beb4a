import Foundation
import Testing

@Suite("What `huddle bench` prints of the lanes", .serialized, .timeLimit(.minutes(4)))
struct BenchTests {
    private struct Row: Decodable {
        var name: String
        var figure: Double
        var unit: String
        var limit: Double?
        var ratio: Double?
    }

    /// Runs it with `--json` and reads its lines.
    private func rows(_ arguments: String...) throws -> [Row] {
        let result = try Program.run(["bench"] + arguments + ["--json"])
        #expect(result.code == 0, "\(result.errors)")
        return try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(Row.self, from: Data($0.utf8))
        }
    }

    @Test(
        "two nodes on loopback: each figure is there, beside its limit",
        arguments: [
            ("bulk", 2), ("messages", 4), ("fast", 1), ("fanout", 8),
        ]
    )
    func lanes(verb: String, count: Int) throws {
        let rows = try rows(verb, "--seconds", "1")
        #expect(rows.count == count)
        for row in rows {
            #expect(row.figure > 0 && row.figure.isFinite, "\(row.name)")
            if let limit = row.limit, let ratio = row.ratio {
                #expect(abs(ratio - row.figure / limit) < 0.01 * ratio, "\(row.name)")
            }
        }
    }

    @Test("the time to the first byte, and what an end of a connection holds")
    func ends() throws {
        let handshake = try rows("handshake")
        #expect(handshake.map(\.unit) == ["ms", "ms"])
        #expect(handshake[0].figure > 0 && handshake[0].figure <= handshake[1].figure)
        let memory = try rows("memory")
        #expect(memory.count == 2)
        // A count and no time: the bar holds on every machine.
        #expect(memory[0].figure > 1 && memory[0].figure <= 16, "\(memory[0].figure)")
    }

    @Test("options of another measurement are refused with its name")
    func options() throws {
        for (arguments, word) in [
            (["thin", "--nodes", "3"], "failover"), (["ping", "--seconds", "3"], "bulk"),
            (["bulk", "--seconds", "0"], "1 to 600"), (["bulk", "--journal"], "activities"),
            (["soak", "--rate", "10"], "tcp"),
        ] {
            let result = try Program.run(["bench"] + arguments)
            #expect(result.code == 2, "\(arguments)")
            #expect(result.errors.contains(word), "\(result.errors)")
        }
    }
}
