import MeshConsensus
import MeshSimulator
import MeshWire
import Testing

/// Each checker accepts what is right and finds a planted bug.
@Suite("The checkers") struct CheckerTests {
    static let a = Life(node: 0, incarnation: 1)
    static let b = Life(node: 1, incarnation: 1)

    static func digest(_ byte: UInt8) -> Digest {
        Digest(Array(repeating: byte, count: 32)) ?? .zero
    }

    static func position(_ counter: UInt64, _ index: UInt64, by tag: UInt64 = 1) -> Position {
        Position(epoch: Epoch(counter: counter, proposer: tag), index: index)
    }

    static func view(_ counter: UInt64, by tag: UInt64 = 1, members: [UInt64] = [1, 2]) -> View {
        View(
            epoch: Epoch(counter: counter, proposer: tag),
            members: members.map {
                Member(
                    process: ProcessID(nodeID: .zero, incarnation: $0, tag: $0),
                    ability: 0,
                    joined: .zero
                )
            },
            start: position(counter, 1, by: tag),
            startHash: .zero,
            primary: true
        )
    }

    static func seen(
        _ life: Life = a,
        _ change: (inout Observation) -> Void = { _ in }
    ) -> Observation {
        var seen = Observation(
            life: life,
            tag: UInt64(life.node + 1),
            role: .member,
            promised: Epoch(counter: 2, proposer: 1),
            view: view(2),
            commit: position(2, 5),
            applied: position(2, 4),
            head: position(2, 6),
            headHash: digest(6),
            appliedHash: digest(4)
        )
        change(&seen)
        return seen
    }

    @Test("two leaders, member lists or starts of one epoch are found")
    func epochs() throws {
        var checker = EpochUniqueness()
        try checker.check(Self.seen { $0.role = .leader })
        try checker.check(Self.seen(Self.b))
        #expect(throws: Violation.self) {
            try checker.check(
                Self.seen(Self.b) {
                    $0.role = .leader; $0.tag = 1
                }
            )
        }
        #expect(throws: Violation.self) {
            try checker.check(Self.seen(Self.b) { $0.role = .leader })
        }
        #expect(throws: Violation.self) {
            try checker.check(Self.seen(Self.b) { $0.view = Self.view(2, members: [1, 2, 3]) })
        }
        #expect(throws: Violation.self) {
            try checker.check(Self.seen(Self.b) { $0.view?.startHash = Self.digest(1) })
        }
    }

    @Test("whatever falls within an incarnation is found, in a new incarnation it may")
    func monotonicity() throws {
        let falls: [(inout Observation) -> Void] = [
            { $0.promised.counter = 1 },
            { $0.view = Self.view(1) },
            { $0.commit.index = 4 },
            { $0.applied.index = 3 },
            { $0.applied.index = 6 },
            { $0.commit.index = 7 },
            { $0.view = Self.view(3) },
        ]
        for fall in falls {
            var checker = Monotonicity()
            try checker.check(Self.seen())
            #expect(throws: Violation.self) { try checker.check(Self.seen(Self.a, fall)) }
        }
        var checker = Monotonicity()
        try checker.check(Self.seen())
        try checker.check(Self.seen(Life(node: 0, incarnation: 2)) { $0.commit.index = 4 })
    }

    @Test("two prefixes of one position and two states of one prefix are found")
    func prefix() throws {
        var checker = AgreedPrefix()
        try checker.check(Self.seen { $0.stateHash = 7 })
        try checker.check(Self.seen(Self.b) { $0.stateHash = 7 })
        try checker.check(
            Self.seen(Self.b) {
                $0.head.index = 7; $0.headHash = Self.digest(7)
            }
        )
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(Self.seen { $0.headHash = Self.digest(9) })
        }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(
                Self.seen {
                    $0.head.index = 9; $0.headHash = Self.digest(7)
                }
            )
        }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(Self.seen { $0.stateHash = 8 })
        }
    }

    @Test("an acknowledged write that is gone is found, unless it is superseded or discarded")
    func writes() throws {
        var checker = AcknowledgedWrites()
        let write = AcknowledgedWrites.Write(writer: Self.a, key: 1, number: 5)
        checker.acknowledge(write, at: Self.position(2, 5), holders: [Self.a, Self.b])
        try checker.finish(isAlive: { _ in true }) { _, _ in 5 }
        try checker.finish(isAlive: { _ in true }) { _, _ in 6 }
        try checker.finish(isAlive: { _ in false }) { _, _ in nil }
        #expect(throws: Violation.self) {
            try checker.finish(isAlive: { _ in true }) { _, _ in 4 }
        }
        #expect(throws: Violation.self) {
            try checker.finish(isAlive: { $0 == Self.b }) { _, _ in nil }
        }
        checker.discard(write)
        try checker.finish(isAlive: { _ in true }) { _, _ in nil }
    }

    @Test("two winners of one compare-and-set are found, in one view at once")
    func registers() throws {
        var checker = RegisterHistory()
        try checker.succeed(expected: 0, value: 1, at: Self.position(2, 5), holders: [Self.a])
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.succeed(expected: 0, value: 2, at: Self.position(2, 6), holders: [Self.b])
        }
        try checker.succeed(expected: 0, value: 2, at: Self.position(3, 6), holders: [Self.b])
        #expect(throws: Violation.self) { try checker.finish(isAlive: { _ in true }) }
        try checker.finish(isAlive: { $0 == Self.a })
        checker.discard(1)
        try checker.finish(isAlive: { _ in true })
    }

    @Test("a stale linearizable read is found")
    func reads() throws {
        var checker = ReadFreshness()
        checker.acknowledge(Self.position(2, 5))
        checker.begin(1)
        checker.begin(2)
        checker.acknowledge(Self.position(2, 9))
        try checker.end(1, at: Self.position(2, 5))
        #expect(throws: Violation.self) { try checker.end(2, at: Self.position(2, 4)) }
    }

    @Test("a repeat, a gap, a stranger and a message that never comes are found")
    func reliable() throws {
        let stream = ReliableOrder.Stream(sender: Self.a, channel: 0, receiver: Self.b)
        var checker = ReliableOrder()
        for number in 1...4 as ClosedRange<UInt64> { checker.send(number, on: stream) }
        try checker.receive(1, on: stream)
        for wrong in [1, 9] as [UInt64] {
            #expect(throws: Violation.self, "\(wrong)") {
                var checker = checker
                try checker.receive(wrong, on: stream)
            }
        }
        // What was skipped never comes, and the sender must have been told, by the end at the latest.
        var skipping = checker
        try skipping.receive(3, on: stream)
        #expect(skipping.obstacle?.hasPrefix("2 ") == true)
        #expect(throws: Violation.self) {
            var skipping = skipping
            try skipping.receive(2, on: stream)
        }
        skipping.fail(2, on: stream)
        try skipping.receive(4, on: stream)
        try skipping.finish()
        checker.fail(2, on: stream)
        try checker.receive(3, on: stream)
        #expect(throws: Violation.self) { try checker.finish() }
        var ended = checker
        ended.end { $0.receiver == Self.b }
        try ended.finish()
        var forgiven = checker
        forgiven.forgive { $0.sender == Self.a }
        try forgiven.finish()
        try checker.receive(4, on: stream)
        try checker.finish()
        #expect(checker.deliveredCount == 3)
    }

    @Test("a fast message after a newer one of its key is found; keys do not disturb each other")
    func fast() throws {
        var checker = FastFreshness()
        try checker.receive(1, key: 1, from: Self.a, at: Self.b)
        try checker.receive(5, key: 1, from: Self.a, at: Self.b)
        try checker.receive(1, key: 2, from: Self.a, at: Self.b)
        for stale in [4, 5] as [UInt64] {
            #expect(throws: Violation.self) {
                var checker = checker
                try checker.receive(stale, key: 1, from: Self.a, at: Self.b)
            }
        }
    }

    @Test("a second join, a second leave and a voice after the leave are found")
    func lifecycle() throws {
        let participant = ParticipantID(Array(repeating: 1, count: 16)) ?? .zero
        var checker = ParticipantLifecycle()
        try checker.join(participant, seenBy: Self.a)
        try checker.receive(from: participant, at: Self.a)
        #expect(throws: Violation.self) { try checker.receive(from: participant, at: Self.b) }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.join(participant, seenBy: Self.a)
        }
        try checker.leave(participant, seenBy: Self.a)
        #expect(throws: Violation.self) { try checker.receive(from: participant, at: Self.a) }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.leave(participant, seenBy: Self.a)
        }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.join(participant, seenBy: Self.a)
        }
        checker.replaceState(of: Self.a)
        try checker.join(participant, seenBy: Self.a)
    }

    @Test("a timer that is never moved and a flood are found")
    func bounds() throws {
        let checker = Bounds()
        try checker.check(Self.a, spins: 5)
        try checker.check(Self.a, stepsInSecond: 1000)
        #expect(throws: Violation.self) { try checker.check(Self.a, spins: Bounds.spins + 1) }
        #expect(throws: Violation.self) {
            try checker.check(Self.a, stepsInSecond: Bounds.stepsPerSecond + 1)
        }
    }

    @Test("a core that is not one view, has no leader or differs in its log is no converged one")
    func convergence() {
        let checker = Convergence()
        let leader = Self.seen { $0.role = .leader }
        #expect(checker.obstacle([leader, Self.seen(Self.b)]) == nil)
        #expect(checker.obstacle([Self.seen(), Self.seen(Self.b)]) != nil)
        #expect(checker.obstacle([leader, Self.seen(Self.b) { $0.view = Self.view(3) }]) != nil)
        #expect(checker.obstacle([leader, Self.seen(Self.b) { $0.view = nil }]) != nil)
        #expect(checker.obstacle([leader, Self.seen(Self.b) { $0.tag = 9 }]) != nil)
        #expect(
            checker.obstacle([leader, Self.seen(Self.b) { $0.appliedHash = Self.digest(1) }]) != nil
        )
    }

    /// View 1 with a command at 2; the views 2 and 3 both follow entry 2 of it.
    static var fork: Branches {
        var branches = Branches()
        branches.note(position(1, 1).epoch, after: .zero)
        branches.note(position(2, 3).epoch, after: position(1, 2))
        branches.note(position(3, 3).epoch, after: position(1, 2))
        return branches
    }

    static func command(_ sequence: UInt64) -> Command {
        Command(
            type: 1,
            origin: Origin(nodeID: .zero, incarnation: 1),
            sequence: sequence,
            payload: []
        )
    }

    @Test("a way through the tree of views takes what each view kept")
    func branches() {
        let path = Self.fork.path(to: Self.position(3, 3).epoch)
        #expect(path == [Self.position(1, 1).epoch: 2, Self.position(3, 3).epoch: .max])
    }

    @Test("a command with two effects in one branch or two results is found")
    func once() throws {
        var checker = ExactlyOnce()
        try checker.apply(Self.command(1), [1], at: Self.position(1, 2), Self.fork)
        try checker.apply(Self.command(1), [1], at: Self.position(1, 2), Self.fork)
        try checker.apply(Self.command(2), [1], at: Self.position(2, 4), Self.fork)
        try checker.apply(Self.command(2), [1], at: Self.position(3, 4), Self.fork)
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.apply(Self.command(1), [2], at: Self.position(1, 2), Self.fork)
        }
        for again in [Self.position(1, 9), Self.position(2, 5)] {
            #expect(throws: Violation.self, "\(again)") {
                var checker = checker
                try checker.apply(Self.command(1), [1], at: again, Self.fork)
            }
        }
    }

    @Test("an acknowledged write that only a minority holds is found")
    func holders() throws {
        var checker = Holders()
        checker.check(Self.seen { $0.view = Self.view(2, members: [1, 2, 3]) })
        #expect(throws: Violation.self) {
            try checker.acknowledge(Self.position(2, 6), Self.fork)
        }
        checker.check(Self.seen(Self.b))
        try checker.acknowledge(Self.position(2, 6), Self.fork)
        #expect(throws: Violation.self) {
            try checker.acknowledge(Self.position(2, 7), Self.fork)
        }
        // A later view's first entry commits what it keeps of an earlier one.
        try checker.acknowledge(Self.position(1, 2), Self.fork)
        #expect(throws: Violation.self) {
            try checker.acknowledge(Self.position(1, 3), Self.fork)
        }
    }

    @Test("two primary views that commit apart, and one that forgets, are found")
    func primaries() throws {
        func committed(_ counter: UInt64, _ index: UInt64) -> Observation {
            Self.seen {
                $0.view = Self.view(counter); $0.commit = Self.position(counter, index)
            }
        }
        var checker = PrimaryChain()
        try checker.check(committed(1, 2), Self.fork)
        try checker.check(committed(2, 3), Self.fork)
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(committed(3, 3), Self.fork)
        }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(committed(1, 3), Self.fork)
        }
        try checker.check(committed(2, 4), Self.fork)
        // A room founded apart is another line.
        var apart = Self.fork
        apart.note(Self.position(4, 1).epoch, after: .zero)
        try checker.check(committed(4, 1), apart)
    }

    @Test(
        "with majority, two histories and two leaders of a counter are found, until one is forced"
    )
    func single() throws {
        func applied(
            _ counter: UInt64,
            _ proposer: UInt64,
            _ index: UInt64,
            _ hash: UInt64
        )
            -> Observation
        {
            Self.seen {
                let epoch = Epoch(counter: counter, proposer: proposer)
                $0.applied = Position(epoch: epoch, index: index)
                $0.appliedHash = Digest(words: (hash, 0, 0, 0))
            }
        }
        var checker = SingleHistory()
        try checker.check(applied(1, 1, 1, 11))
        try checker.check(applied(2, 1, 2, 12))
        try checker.check(applied(1, 1, 1, 11))
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(applied(2, 1, 1, 99))
        }
        #expect(throws: Violation.self) {
            var checker = checker
            try checker.check(applied(2, 5, 3, 13))
        }
        var forced = applied(3, 5, 1, 99)
        forced.view = View(
            epoch: Epoch(counter: 3, proposer: 5),
            members: [],
            start: Self.position(3, 1),
            startHash: .zero,
            primary: false,
            forced: true
        )
        try checker.check(forced)
        try checker.check(applied(2, 5, 1, 98))
    }

    @Test("the weight is lost only where no part of the core outweighs what it requires")
    func weight() {
        let old = PrimaryConfiguration(
            epoch: Epoch(counter: 1, proposer: 1),
            tags: [1, 2, 3],
            isCommitted: true
        )
        let attempt = PrimaryConfiguration(
            epoch: Epoch(counter: 2, proposer: 9),
            tags: [9, 2],
            isCommitted: false
        )
        func one(
            _ tag: UInt64,
            _ role: Role,
            _ required: [PrimaryConfiguration]?
        )
            -> (seen: Observation, required: [PrimaryConfiguration]?)
        {
            (
                Self.seen {
                    $0.tag = tag; $0.role = role
                }, required
            )
        }
        // Alone of three, and with a second one; the newcomer weighs nothing.
        #expect(Weight([one(2, .suspended, [old])]).isLost)
        #expect(Weight([one(2, .suspended, [old]), one(7, .suspended, nil)]).isLost)
        #expect(!Weight([one(2, .suspended, [old]), one(3, .suspended, [old])]).isLost)
        // Who waits for a view that cannot be any more is left out, where the others suffice.
        #expect(
            !Weight([
                one(1, .suspended, [old]), one(3, .suspended, [old]),
                one(2, .suspended, [old, attempt]),
            ]).isLost
        )
        #expect(
            Weight([one(3, .suspended, [old]), one(2, .suspended, [old, attempt])]).isLost
        )
        // Where somebody leads, or the room is not of the majority, nothing is lost.
        #expect(!Weight([one(2, .leader, [old])]).isLost)
        #expect(!Weight([one(2, .member, [old])]).isLost)
    }

    @Test("an acknowledgment below the promise is found, in its bytes too")
    func acknowledgments() throws {
        let checker = Acknowledgments()
        let (low, high) = (Epoch(counter: 1, proposer: 9), Epoch(counter: 2, proposer: 3))
        try checker.check(high, promised: high, by: Self.a)
        #expect(throws: Violation.self) { try checker.check(low, promised: high, by: Self.a) }
        var writer = ByteWriter()
        writer.write([0x05, 1, 0, 0])
        for word in [7, 8, 1, 9] as [UInt64] { writer.write(word) }
        #expect(Acknowledgments.epoch(of: writer.bytes) == low)
        #expect(Acknowledgments.epoch(of: [0x04] + writer.bytes.dropFirst()) == nil)
        #expect(Acknowledgments.epoch(of: Array(writer.bytes.dropLast())) == nil)
        // The answer to a heartbeat acknowledges if it names a head.
        let answer = [0x03] + writer.bytes.dropFirst() + Array(repeating: 0, count: 18)
        #expect(Acknowledgments.epoch(of: answer + [5, 0, 0, 0, 0, 0, 0, 0]) == low)
        #expect(Acknowledgments.epoch(of: answer + [0, 0, 0, 0, 0, 0, 0, 0]) == nil)
    }

    @Test("equal positions with unequal bytes are found")
    func wholeStates() throws {
        func whole(_ life: Life, _ index: UInt64, _ byte: UInt8) -> ReplicatedState.Whole {
            .init(life: life, applied: Self.position(2, index), bytes: [byte])
        }
        let checker = ReplicatedState()
        try checker.check([whole(Self.a, 4, 1), whole(Self.b, 4, 1), whole(Self.b, 5, 2)])
        #expect(throws: Violation.self) {
            try checker.check([whole(Self.a, 4, 1), whole(Self.b, 4, 2)])
        }
    }
}
