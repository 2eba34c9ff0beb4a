import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Replay window — RFC 6479, 10-security §6")
struct ReplayWindowTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var counter: UInt64
        var accepted: Bool
        var because: String
        var testDescription: String {
            "\(counter) is \(accepted ? "accepted" : "refused"): \(because)"
        }
    }

    static let rows = [
        Row(counter: 5, accepted: true, because: "first of its kind"),
        Row(counter: 5, accepted: false, because: "seen before"),
        Row(counter: 0, accepted: true, because: "late, inside the window"),
        Row(counter: 0, accepted: false, because: "seen before"),
        Row(counter: 8_132, accepted: true, because: "the window moves on"),
        Row(counter: 4, accepted: false, because: "8,128 below the highest"),
        Row(counter: 5, accepted: false, because: "8,127 below, but seen"),
        Row(counter: 6, accepted: true, because: "8,126 below and not seen"),
        Row(counter: 40_000, accepted: true, because: "far ahead, more than a ring"),
        Row(counter: 31_873, accepted: true, because: "8,127 below"),
        Row(counter: 31_872, accepted: false, because: "8,128 below"),
        Row(counter: 8_132, accepted: false, because: "fell out of the window"),
        Row(counter: .max, accepted: true, because: "the last number of all"),
        Row(counter: .max, accepted: false, because: "seen before"),
        Row(counter: .max - 8_127, accepted: true, because: "8,127 below the last"),
        Row(counter: 40_001, accepted: false, because: "long gone"),
    ]

    @Test("a sequence of counters gets these answers")
    func sequence() {
        var window = ReplayWindow()
        for row in Self.rows {
            let accepted = window.accept(row.counter)
            #expect(accepted == row.accepted, "\(row.testDescription)")
        }
    }

    @Test("random order within the window is accepted once each, as a plain set would say")
    func model() {
        var generator = SeededGenerator(seed: 6479)
        var window = ReplayWindow()
        var seen: Set<UInt64> = []
        var highest: UInt64 = 0
        for _ in 0..<60_000 {
            let ahead =
                generator.happens(0.01) ? UInt64.random(in: 0..<20_000, using: &generator) : 40
            let low = highest > 9_000 ? highest - 9_000 : 0
            let counter = UInt64.random(in: low...highest + ahead, using: &generator)
            let isOld = highest >= 8_128 && counter <= highest - 8_128
            let expected = !isOld && !seen.contains(counter)
            let accepted = window.accept(counter)
            guard accepted == expected else {
                Issue.record("counter \(counter) with highest \(highest)")
                return
            }
            seen.insert(counter)
            highest = max(highest, counter)
        }
    }
}
