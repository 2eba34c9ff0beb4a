import MeshConsensus
import MeshSimulator
import MeshWire
import Testing

@Suite("Linearizability") struct LinearizabilityTests {
    typealias Operation = Linearizability.Operation

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var holds: Bool
        var history: [Operation]
        var testDescription: String { name }
    }

    static func op(
        _ action: Linearizability.Action,
        _ outcome: Linearizability.Outcome,
        _ called: Int,
        _ returned: Int?
    ) -> Operation {
        Operation(action, outcome, called: called, returned: returned)
    }

    static let rows = [
        Row(name: "nothing", holds: true, history: []),
        Row(
            name: "a read sees the write before it",
            holds: true,
            history: [op(.write(1), .done, 1, 2), op(.read, .held(1), 3, 4)]
        ),
        Row(
            name: "a read misses the write before it",
            holds: false,
            history: [op(.write(1), .done, 1, 2), op(.read, .held(0), 3, 4)]
        ),
        Row(
            name: "a read beside a write may see either",
            holds: true,
            history: [
                op(.write(1), .done, 1, 6), op(.read, .held(0), 2, 3),
                op(.read, .held(1), 4, 5),
            ]
        ),
        Row(
            name: "a value that was seen does not vanish again",
            holds: false,
            history: [
                op(.write(1), .done, 1, 6), op(.read, .held(1), 2, 3),
                op(.read, .held(0), 4, 5),
            ]
        ),
        Row(
            name: "an unknown write may take effect late",
            holds: true,
            history: [
                op(.write(1), .unknown, 1, nil), op(.read, .held(0), 2, 3),
                op(.read, .held(1), 4, 5),
            ]
        ),
        Row(
            name: "an unknown write takes effect once",
            holds: false,
            history: [
                op(.write(1), .unknown, 1, nil), op(.read, .held(1), 2, 3),
                op(.write(2), .done, 4, 5), op(.read, .held(1), 6, 7),
            ]
        ),
        Row(
            name: "an unknown write takes no effect before its call",
            holds: false,
            history: [op(.read, .held(1), 1, 2), op(.write(1), .unknown, 3, nil)]
        ),
        Row(
            name: "of two that expect the same one wins",
            holds: false,
            history: [
                op(.compareAndSet(expected: 0, 1), .done, 1, 3),
                op(.compareAndSet(expected: 0, 2), .done, 2, 4),
            ]
        ),
        Row(
            name: "the loser is refused and tells what it found",
            holds: true,
            history: [
                op(.compareAndSet(expected: 0, 1), .done, 1, 3),
                op(.compareAndSet(expected: 0, 2), .held(1), 2, 4),
                op(.compareAndSet(expected: 0, 3), .refused, 5, 6),
            ]
        ),
        Row(
            name: "nobody is refused what was there",
            holds: false,
            history: [op(.compareAndSet(expected: 0, 1), .refused, 1, 2)]
        ),
        Row(
            name: "a counter counts additions in any order",
            holds: true,
            history: [
                op(.add(3), .held(5), 1, 4), op(.add(5), .held(0), 2, 3),
                op(.read, .held(8), 5, 6),
            ]
        ),
        Row(
            name: "a counter counts no addition twice",
            holds: false,
            history: [
                op(.add(3), .done, 1, 2), op(.add(5), .unknown, 3, nil),
                op(.read, .held(13), 4, 5),
            ]
        ),
        // Herlihy and Wing's own example in the words of a register.
        Row(
            name: "two reads agree on the order of two writes",
            holds: false,
            history: [
                op(.write(1), .done, 1, 3), op(.write(2), .done, 2, 4),
                op(.read, .held(1), 5, 6), op(.read, .held(2), 7, 8),
            ]
        ),
    ]

    @Test("known histories are judged right", arguments: rows) func known(row: Row) {
        let verdict = Linearizability.search(row.history)
        #expect((verdict == .linearizable) == row.holds, "\(verdict)")
        #expect(verdict != .undecided)
    }

    /// The definition itself: some order of the operations, kept apart where their times are.
    private static func holds(_ rest: [Operation], _ number: UInt64 = 0) -> Bool {
        if rest.allSatisfy({ $0.returned == nil }) { return true }
        let limit = rest.compactMap(\.returned).min() ?? .max
        return rest.indices.contains { place in
            guard rest[place].called < limit, let next = rest[place].apply(to: number) else {
                return false
            }
            var rest = rest
            rest.remove(at: place)
            return holds(rest, next)
        }
    }

    @Test("the search agrees with the definition on random histories")
    func definition() {
        var draw = SeededGenerator(seed: 5)
        var verdicts = (good: 0, bad: 0)
        for _ in 0..<1000 {
            var times = Array(1...14).shuffled(using: &draw)
            let history = (0..<7).map { _ -> Operation in
                let pair = [times.removeLast(), times.removeLast()].sorted()
                let value = 1 + draw.next() % 3
                let isOpen = draw.happens(0.2)
                let actions: [Linearizability.Action] = [
                    .read, .write(value), .compareAndSet(expected: draw.next() % 3, value),
                    .add(value),
                ]
                let action = actions[Int(draw.next() % 4)]
                let outcome: Linearizability.Outcome =
                    isOpen ? .unknown : action == .read ? .held(draw.next() % 4) : .done
                return Operation(
                    action,
                    outcome,
                    called: pair[0],
                    returned: isOpen ? nil : pair[1]
                )
            }
            let isRight = Self.holds(history)
            if isRight { verdicts.good += 1 } else { verdicts.bad += 1 }
            #expect((Linearizability.search(history) == .linearizable) == isRight, "\(history)")
            let kept = Linearizability.relevant(history)
            #expect((Linearizability.search(kept) == .linearizable) == isRight, "\(history)")
        }
        #expect(verdicts.good > 100 && verdicts.bad > 100, "\(verdicts)")
    }

    @Test("a long history of few at once is searched in linear time")
    func long() {
        var history: [Operation] = []
        for number in 1...5000 as ClosedRange<UInt64> {
            let time = Int(number) * 4
            history.append(Operation(.write(number), .done, called: time, returned: time + 5))
            history.append(Operation(.read, .held(number), called: time + 2, returned: time + 7))
        }
        #expect(Linearizability.search(history, limit: 40_000) == .linearizable)
    }

    @Test("a hopeless search ends at its limit")
    func limit() {
        var history = (0..<40).map {
            Operation(.add(1 << UInt64($0)), .unknown, called: $0, returned: nil)
        }
        history.append(Operation(.read, .held(.max), called: 100, returned: 101))
        #expect(Linearizability.search(history, limit: 10_000) == .undecided)
    }
}

@Suite("Histories of clients along branches") struct ClientHistoryTests {
    static let a = Life(node: 0, incarnation: 1)

    static func at(_ counter: UInt64, _ index: UInt64) -> Position {
        Position(epoch: Epoch(counter: counter, proposer: 1), index: index)
    }

    /// View 1 splits behind entry 4 into the views 2 and 3.
    static func split() -> ClientHistory {
        var history = ClientHistory()
        history.branches.note(at(1, 1).epoch, after: .zero)
        history.branches.note(at(2, 5).epoch, after: at(1, 4))
        history.branches.note(at(3, 5).epoch, after: at(1, 4))
        return history
    }

    static func done(
        _ id: UInt64,
        _ action: Linearizability.Action,
        _ outcome: Linearizability.Outcome,
        at position: Position,
        in history: inout ClientHistory
    ) {
        history.call(id, action, on: 7, by: a)
        history.answer(id, outcome, at: position)
    }

    @Test("two branches may each let one of two competitors win")
    func branches() throws {
        var history = Self.split()
        Self.done(1, .write(1), .held(0), at: Self.at(1, 3), in: &history)
        Self.done(2, .compareAndSet(expected: 1, 2), .held(1), at: Self.at(2, 6), in: &history)
        Self.done(3, .compareAndSet(expected: 1, 3), .held(1), at: Self.at(3, 6), in: &history)
        Self.done(4, .read, .held(2), at: Self.at(2, 7), in: &history)
        Self.done(5, .read, .held(3), at: Self.at(3, 6), in: &history)
        // The view that split goes on with the rest of its members.
        Self.done(6, .read, .held(1), at: Self.at(1, 4), in: &history)
        try history.check()
        #expect(history.searches.made == 0)
    }

    @Test("two competitors that win in one branch are found")
    func twoWinners() {
        var history = Self.split()
        Self.done(1, .write(1), .held(0), at: Self.at(1, 3), in: &history)
        Self.done(2, .compareAndSet(expected: 1, 2), .done, at: Self.at(1, 4), in: &history)
        Self.done(3, .compareAndSet(expected: 1, 3), .done, at: Self.at(3, 6), in: &history)
        #expect(throws: Violation.self) { try history.check() }
        #expect(history.searches.made > 0)
    }

    @Test("a stale read is found, and a write that its branch lost")
    func stale() {
        var read = Self.split()
        Self.done(1, .write(1), .held(0), at: Self.at(2, 6), in: &read)
        Self.done(2, .read, .held(0), at: Self.at(2, 5), in: &read)
        #expect(throws: Violation.self) { try read.check() }
        var lost = Self.split()
        Self.done(1, .write(1), .held(0), at: Self.at(2, 6), in: &lost)
        Self.done(2, .read, .held(0), at: Self.at(2, 9), in: &lost)
        #expect(throws: Violation.self) { try lost.check() }
    }

    @Test("a position outside call and answer is no proof, but another order may be")
    func otherOrder() throws {
        var history = Self.split()
        history.call(1, .write(1), on: 7, by: Self.a)
        history.call(2, .write(2), on: 7, by: Self.a)
        history.answer(2, .done, at: Self.at(1, 3))
        history.answer(1, .done, at: Self.at(1, 2))
        try history.check()
        #expect(history.searches.made == 0)
        Self.done(3, .read, .held(1), at: Self.at(1, 3), in: &history)
        try history.check()
        #expect(history.searches.made > 0)
    }

    @Test("an operation nobody answered counts where the log shows it, and nowhere twice")
    func unanswered() throws {
        var history = Self.split()
        history.call(1, .add(5), on: 7, by: Self.a)
        history.apply(1, at: Self.at(2, 6))
        history.apply(1, at: Self.at(3, 6))
        Self.done(2, .read, .held(5), at: Self.at(2, 8), in: &history)
        Self.done(3, .read, .held(5), at: Self.at(3, 8), in: &history)
        try history.check()
        #expect(history.searches.made == 0)
        Self.done(4, .read, .held(10), at: Self.at(3, 9), in: &history)
        #expect(throws: Violation.self) { try history.check() }
    }

    @Test("a call that surely failed has no effect")
    func void() {
        var history = Self.split()
        history.call(1, .write(5), on: 7, by: Self.a)
        history.void(1)
        Self.done(2, .read, .held(5), at: Self.at(1, 3), in: &history)
        #expect(throws: Violation.self) { try history.check() }
    }
}

@Suite("Planted bugs in whole runs") struct PlantedBugTests {
    /// Runs seeds until one finds the bug, and answers the invariants it names.
    static func found(_ bug: PlantedBug, seeds: ClosedRange<UInt64>) -> [String] {
        for seed in seeds {
            var options = RunOptions(seed: seed, nodes: 3, duration: .seconds(20))
            options.planted = bug
            if let violation = SimulatedLayer.consensus.run(options).violation {
                return [violation.invariant]
            }
        }
        return []
    }

    @Test("reads without a quorum are found to be stale") func staleReads() {
        let found = Self.found(.staleReads, seeds: 1...10)
        #expect(found == [ReadFreshness.invariant] || found == [ClientHistory.invariant])
    }

    @Test("an addition that counts twice is found by the history alone") func doubleAdditions() {
        #expect(Self.found(.doubleAdditions, seeds: 1...10) == [ClientHistory.invariant])
    }

    @Test("a write that is answered and not kept is found") func lostWrites() {
        let found = Self.found(.lostWrites, seeds: 1...3)
        #expect(found == [AcknowledgedWrites.invariant] || found == [ClientHistory.invariant])
    }

    @Test("a process that keeps other numbers is found") func divergentState() {
        #expect(Self.found(.divergentState, seeds: 1...3) == [AgreedPrefix.invariant])
    }
}
