import MeshSession
import MeshWire
import Testing

@Suite("Values") struct ValueTests {
    @Test("a write shows who wrote what, and where in the log") func put() {
        var bench = Bench.joined()
        let result = bench.apply(.put(key: "colour", value: [1]), by: Bench.b)
        let value = StoredValue(
            content: .bytes([1]),
            version: bench.last,
            author: bench.id(Bench.b)
        )
        #expect(result == .stored(version: bench.last))
        #expect(bench.current?.values["colour"] == value)
        #expect(
            bench.events() == [
                .valueChanged(Bench.session, key: "colour", value: value, by: value.author)
            ]
        )
    }

    @Test("compare-and-set writes only what it expected, and names the present version")
    func compareAndSet() {
        var bench = Bench.joined()
        func mismatch(_ position: Position?) -> CommandResult {
            .refused(.versionMismatch(current: position))
        }
        let missing = bench.apply(.compareAndSet(key: "k", expected: .value([1]), value: [2]))
        #expect(missing == mismatch(nil))
        let created = bench.apply(.compareAndSet(key: "k", expected: .absent, value: [1]))
        let first = bench.last
        #expect(created == .stored(version: first))
        let twice = bench.apply(.compareAndSet(key: "k", expected: .absent, value: [9]))
        #expect(twice == mismatch(first))
        let byValue = bench.apply(.compareAndSet(key: "k", expected: .value([1]), value: [2]))
        let second = bench.last
        #expect(byValue == .stored(version: second))
        let stale = bench.apply(.compareAndSet(key: "k", expected: .version(first), value: [9]))
        #expect(stale == mismatch(second))
        let fresh = bench.apply(.compareAndSet(key: "k", expected: .version(second), value: [3]))
        #expect(fresh == .stored(version: bench.last))
        let kept = bench.apply(.delete(key: "k", expected: .version(first)))
        #expect(!kept.isAccepted)
        #expect(bench.current?.values["k"]?.content == .bytes([3]))
        let deleted = bench.apply(.delete(key: "k", expected: .value([3])))
        #expect(deleted == .done)
        #expect(bench.current?.values["k"] == nil)
    }

    @Test("of two that compare-and-set the same version, one wins") func race() {
        var bench = Bench.joined()
        bench.apply(.put(key: "k", value: [0]))
        let seen = bench.last
        let results = [Bench.b, Bench.c].map { process in
            bench.apply(.compareAndSet(key: "k", expected: .version(seen), value: [1]), by: process)
        }
        #expect(results.map(\.isAccepted) == [true, false])
    }

    @Test("counters add, and refuse to leave their range") func counters() {
        var bench = Bench.joined()
        let one = bench.apply(.add(key: "n", amount: .max))
        #expect(one == .counted(.max, version: bench.last))
        let over = bench.apply(.add(key: "n", amount: 1))
        #expect(over == .refused(.outOfRange))
        let down = bench.apply(.add(key: "n", amount: -1))
        #expect(down == .counted(.max - 1, version: bench.last))
        let wrong = bench.apply(.insert(key: "n", element: []))
        #expect(wrong == .refused(.wrongKind))
    }

    @Test("sets are sorted, without doubles, and silent when nothing changes") func sets() {
        var bench = Bench.joined()
        for element: [UInt8] in [[2], [1], [2, 0], [1]] {
            bench.apply(.insert(key: "s", element: element))
        }
        bench.apply(.withdraw(key: "s", element: [3]))
        #expect(bench.current?.values["s"]?.content == .set([[1], [2], [2, 0]]))
        #expect(bench.events().count == 3)
        bench.apply(.withdraw(key: "s", element: [2]))
        #expect(bench.current?.values["s"]?.content == .set([[1], [2, 0]]))
    }

    @Test("keys are bytes: two spellings of one letter are two keys") func keys() {
        var bench = Bench.joined()
        bench.apply(.put(key: "caf\u{e9}", value: [1]))
        bench.apply(.put(key: "cafe\u{301}", value: [2]))
        #expect(bench.current?.values.entries.count == 2)
        #expect(bench.current?.values["caf\u{e9}"]?.content == .bytes([1]))
    }

    struct Limit: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var command: RoomCommand
        var refusal: CommandRefusal
    }

    static let limits = [
        Limit(
            testDescription: "key",
            command: .put(key: String(repeating: "k", count: 257), value: []),
            refusal: .tooLarge(limit: 256)
        ),
        Limit(
            testDescription: "empty key",
            command: .put(key: "", value: []),
            refusal: .invalid
        ),
        Limit(
            testDescription: "value",
            command: .put(key: "k", value: Array(repeating: 0, count: 16_385)),
            refusal: .tooLarge(limit: 16_384)
        ),
        Limit(
            testDescription: "expected value",
            command: .compareAndSet(
                key: "k",
                expected: .value(Array(repeating: 0, count: 16_385)),
                value: []
            ),
            refusal: .tooLarge(limit: 16_384)
        ),
        Limit(
            testDescription: "element",
            command: .insert(key: "k", element: Array(repeating: 0, count: 257)),
            refusal: .tooLarge(limit: 256)
        ),
        Limit(
            testDescription: "name",
            command: .setProfile(name: String(repeating: "é", count: 33)),
            refusal: .tooLarge(limit: 64)
        ),
        Limit(
            testDescription: "activity",
            command: .setActivity(
                Activity(identifier: "a", payload: Array(repeating: 0, count: 65_537))
            ),
            refusal: .tooLarge(limit: 65_536)
        ),
        Limit(
            testDescription: "identifier",
            command: .setActivity(Activity(identifier: String(repeating: "a", count: 256))),
            refusal: .tooLarge(limit: 255)
        ),
        Limit(
            testDescription: "note",
            command: .remove(.zero, isBan: false, note: String(repeating: "n", count: 257)),
            refusal: .tooLarge(limit: 256)
        ),
        Limit(
            testDescription: "capacity",
            command: .setOptions(SessionOptions(capacity: 65)),
            refusal: .invalid
        ),
    ]

    @Test("a field over its limit is refused before and after the log", arguments: limits)
    func fields(row: Limit) {
        #expect(throws: row.refusal) { try row.command.validate() }
        var bench = Bench.joined()
        let result = bench.apply(row.command)
        #expect(result == .refused(row.refusal))
    }

    @Test("tables refuse the one that is too much, by name and limit") func tables() {
        var bench = Bench.joined()
        for key in 0..<1024 { bench.apply(.add(key: "\(key)", amount: 1)) }
        let keys = bench.apply(.add(key: "one more", amount: 1))
        #expect(keys == .refused(.full(.keys, limit: 1024)))
        let again = bench.apply(.add(key: "7", amount: 1))
        #expect(again.isAccepted, "a key that is there can still change")

        for number: UInt8 in 1...15 {
            let id = SessionID(Array(repeating: number + 100, count: 16)) ?? .zero
            bench.apply(.startSession(SessionBlueprint(activity: .chess)), session: id)
        }
        let sessions = bench.apply(
            .startSession(SessionBlueprint(activity: .chess)),
            session: Bench.other
        )
        #expect(sessions == .refused(.full(.sessions, limit: 16)))
    }

    @Test("the bytes of a session and of the room are bounded") func bytes() throws {
        var bench = Bench.joined()
        let value = [UInt8](repeating: 1, count: 16_384)
        var sessionIsFull = false
        for number in 0..<64 {
            let result = bench.apply(.put(key: "\(number)", value: value))
            sessionIsFull = result == .refused(.full(.values, limit: 1 << 20))
        }
        #expect(sessionIsFull, "64 values of 16 KiB and their overhead are more than 1 MiB")

        var refusal: CommandResult?
        for number: UInt8 in 1...15 where refusal == nil {
            let id = SessionID(Array(repeating: number + 100, count: 16)) ?? .zero
            bench.apply(.startSession(SessionBlueprint(activity: .chess)), session: id)
            bench.apply(.join(nonce: 0), session: id)
            for key in 0..<63 where refusal == nil {
                let result = bench.apply(.put(key: "\(key)", value: value), session: id)
                if !result.isAccepted { refusal = result }
            }
        }
        #expect(refusal == .refused(.full(.state, limit: 8_000_000)))
        #expect(bench.room.snapshot().count < 8_100_000)
    }
}
