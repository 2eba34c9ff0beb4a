import MeshConsensus
import MeshSession
import MeshWire
import Testing

@Suite("One session in a slot — 40-groupactivities §3.1") struct SlotTests {
    private static let slot = "activity"
    private static let third = SessionID(Array(repeating: 3, count: 16)) ?? .zero
    private static let go = Activity(identifier: "org.example.go", payload: [4])

    private static func blueprint(
        _ activity: Activity = .chess,
        expected: SessionID = .zero,
        slot: String = SlotTests.slot,
        options: SessionOptions = SessionOptions()
    ) -> SessionBlueprint {
        SessionBlueprint(activity: activity, options: options, slot: slot, expected: expected)
    }

    /// A room whose slot holds a session of chess that A and B have joined.
    private static func running(_ options: SessionOptions = SessionOptions()) -> Bench {
        var bench = Bench()
        bench.apply(.startSession(blueprint(options: options)))
        for process in [Bench.a, Bench.b] { bench.apply(.join(nonce: 0), by: process) }
        _ = bench.events()
        return bench
    }

    @Test("rule 1: who knows of the running session replaces it, also by the same activity")
    func expected() throws {
        var bench = Self.running()
        let result = bench.apply(
            .startSession(Self.blueprint(expected: Bench.session)),
            session: Bench.other,
            by: Bench.b
        )
        #expect(result == .done)
        let session = try #require(bench.room.session(inSlot: Self.slot))
        #expect(session.id == Bench.other)
        #expect(bench.room.sessions.map(\.id) == [Bench.other])
        #expect(
            bench.events() == [
                .sessionEnded(Bench.session, .replaced(by: "org.example.chess")),
                .sessionStarted(session),
            ]
        )
    }

    @Test("rule 1: in an empty slot a start that expects somebody gone starts") func gone() {
        var bench = Bench()
        let result = bench.apply(.startSession(Self.blueprint(expected: Bench.other)))
        #expect(result == .done)
        #expect(bench.room.session(inSlot: Self.slot)?.id == Bench.session)
    }

    @Test("rule 2: the same activity started at once is one session, whatever its metadata")
    func merged() {
        var bench = Self.running()
        var same = Activity.chess
        same.metadata = [1]
        let result = bench.apply(
            .startSession(Self.blueprint(same)),
            session: Bench.other,
            by: Bench.b
        )
        #expect(result == .merged(Bench.session))
        #expect(bench.room.sessions.map(\.id) == [Bench.session])
        #expect(bench.events().isEmpty)
        let before = bench.room.isSameOutcome(
            of: Command(.join(nonce: 1), origin: Origin(Bench.a), sequence: 1),
            CommandResult.merged(Bench.session).encoded,
            CommandResult.done.encoded
        )
        #expect(!before, "one that was told of a session did not start its own")
    }

    @Test("rule 3: of different activities the later one stays") func later() {
        var bench = Self.running()
        let stale = bench.apply(
            .startSession(Self.blueprint(Self.go, expected: Self.third)),
            session: Bench.other,
            by: Bench.c
        )
        #expect(stale == .done)
        #expect(bench.room.session(inSlot: Self.slot)?.id == Bench.other)
        #expect(
            bench.events().first
                == .sessionEnded(Bench.session, .replaced(by: "org.example.go"))
        )
    }

    @Test("a session that only its lead controls is replaced by nobody else") func controlled() {
        var bench = Self.running(SessionOptions(control: .leadOnly))
        for expected in [SessionID.zero, Bench.session] {
            let result = bench.apply(
                .startSession(Self.blueprint(Self.go, expected: expected)),
                session: Bench.other,
                by: Bench.b
            )
            #expect(result == .refused(.notLead(holder: bench.id(Bench.a))))
        }
        #expect(bench.events().isEmpty)
        let lead = bench.apply(
            .startSession(Self.blueprint(Self.go, expected: Bench.session)),
            session: Bench.other,
            by: Bench.a
        )
        #expect(lead == .done)
    }

    @Test("sessions without a slot, and in another one, stand beside each other") func beside() {
        var bench = Self.running()
        let results = ["", "", "other"].enumerated().map { index, slot in
            bench.apply(
                .startSession(Self.blueprint(slot: slot)),
                session: SessionID(Array(repeating: UInt8(20 + index), count: 16)) ?? .zero
            )
        }
        #expect(results == [.done, .done, .done])
        #expect(bench.room.sessions.count == 4)
        #expect(bench.room.session(inSlot: "") == nil)
    }

    @Test("a full room takes a session that replaces another") func full() {
        var bench = Self.running()
        for index in 1..<UInt8(Limits.sessions) {
            bench.apply(
                .startSession(Self.blueprint(slot: "")),
                session: SessionID(Array(repeating: 100 + index, count: 16)) ?? .zero
            )
        }
        let one = bench.apply(
            .startSession(Self.blueprint(Self.go, slot: "")),
            session: Bench.other
        )
        #expect(one == .refused(.full(.sessions, limit: Limits.sessions)))
        let other = bench.apply(.startSession(Self.blueprint(Self.go)), session: Bench.other)
        #expect(other == .done)
    }

    @Test("slot and metadata have their limits; the activity's is that of both its parts")
    func limits() {
        var bench = Bench()
        let long = String(repeating: "s", count: SessionLimits.slotBytes + 1)
        #expect(
            bench.apply(.startSession(Self.blueprint(slot: long)))
                == .refused(.tooLarge(limit: SessionLimits.slotBytes))
        )
        var activity = Activity.chess
        activity.metadata = Array(repeating: 0, count: SessionLimits.metadataBytes + 1)
        #expect(
            bench.apply(.startSession(Self.blueprint(activity)))
                == .refused(.tooLarge(limit: SessionLimits.metadataBytes))
        )
        activity.metadata.removeLast()
        activity.payload = Array(
            repeating: 0,
            count: Limits.activityBytes - SessionLimits.metadataBytes + 1
        )
        #expect(
            bench.apply(.startSession(Self.blueprint(activity)))
                == .refused(.tooLarge(limit: Limits.activityBytes))
        )
        activity.payload.removeLast()
        #expect(bench.apply(.startSession(Self.blueprint(activity))) == .done)
    }

    @Test("a snapshot keeps the slot, and none has two sessions in one") func snapshot() throws {
        var bench = Self.running()
        var other = RoomState(digest: Bench.digest)
        try other.restore(from: bench.room.snapshot().raw)
        #expect(other.session(inSlot: Self.slot)?.id == Bench.session)
        bench.apply(
            .startSession(Self.blueprint(Self.go, slot: "activitx")),
            session: Bench.other
        )
        var bytes = bench.room.snapshot()
        let name = Array("activitx".utf8)
        let place = try #require(
            bytes.indices.first { bytes[$0...].starts(with: name) }
        )
        bytes[place + name.count - 1] = UInt8(ascii: "y")
        #expect(throws: WireError.self) { try other.restore(from: bytes.raw) }
    }

    @Test("who did not see the replacement hears of it all the same") func unobserved() throws {
        let bench = Self.running()
        var observer = RoomObserver(seen: bench.room)
        var later = bench
        later.apply(.startSession(Self.blueprint(Self.go)), session: Bench.other)
        var restored = RoomState(digest: Bench.digest)
        try restored.restore(from: later.room.snapshot().raw)
        #expect(
            observer.observe(restored).first
                == .sessionEnded(Bench.session, .replaced(by: "org.example.go"))
        )
    }

    @Test("a nonce whose identifier is in the session, or was removed, makes nobody")
    func nonces() {
        var bench = Bench()
        bench.apply(.startSession(Self.blueprint()))
        bench.apply(.join(nonce: 1), by: Bench.a)
        bench.apply(.join(nonce: 8), by: Bench.b)
        let target = bench.id(Bench.b)
        bench.apply(.remove(target, isBan: false, note: ""), by: Bench.a)
        #expect(bench.apply(.join(nonce: 8), by: Bench.b) == .refused(.invalid))
        let again = bench.apply(.join(nonce: 9), by: Bench.b)
        #expect(again == .joined(bench.id(Bench.b), number: 3))
        #expect(bench.id(Bench.b) != target)
    }

    // MARK: Merge

    @Test("branches that started the same in the slot have the winner's session, with all values")
    func sameOnBothBranches() throws {
        var split = MergeTests.Split()
        split.winner.apply(.startSession(Self.blueprint()), session: Bench.other)
        split.winner.apply(.join(nonce: 0), session: Bench.other)
        split.winner.apply(.add(key: "n", amount: 1), session: Bench.other)
        split.winner.apply(.put(key: "k", value: [1]), session: Bench.other)
        split.loser.apply(.startSession(Self.blueprint()), session: Self.third, by: Bench.c)
        split.loser.apply(.join(nonce: 0), session: Self.third, by: Bench.c)
        split.loser.apply(.add(key: "n", amount: 2), session: Self.third, by: Bench.c)
        split.loser.apply(.put(key: "k", value: [2]), session: Self.third, by: Bench.c)
        split.loser.apply(.put(key: "l", value: [3]), session: Self.third, by: Bench.c)
        let (room, _, outcomes) = try split.merge([
            Self.record(.startSession(Self.blueprint()), 1),
            Self.record(.add(key: "n", amount: 2), 2), Self.record(.put(key: "k", value: [2]), 3),
            Self.record(.put(key: "l", value: [3]), 4),
        ])
        #expect(room.session(Self.third) == nil)
        let session = try #require(room.session(inSlot: Self.slot))
        #expect(session.id == Bench.other)
        #expect(session.participants.map(\.process) == [Bench.a], "nobody joins unasked")
        #expect(session.values["n"]?.content == .counter(3))
        #expect(session.values["k"]?.content == .bytes([1]))
        #expect(session.values["l"]?.content == .bytes([3]))
        #expect(outcomes == [.joined, .joined, .conflict, .applied])
        #expect(room.conflicts.conflicts.map(\.session) == [Bench.other])
        var observer = RoomObserver(seen: split.loser.room)
        #expect(
            observer.observe(room).contains(
                .sessionEnded(Self.third, .replaced(by: "org.example.chess"))
            )
        )
    }

    @Test("of different sessions in the slot the winner's stays, and the other is a conflict")
    func differentOnBothBranches() throws {
        var split = MergeTests.Split()
        split.winner.apply(.startSession(Self.blueprint()), session: Bench.other)
        split.loser.apply(.startSession(Self.blueprint(Self.go)), session: Self.third, by: Bench.c)
        split.loser.apply(.join(nonce: 0), session: Self.third, by: Bench.c)
        let (room, _, outcomes) = try split.merge([
            Self.record(.startSession(Self.blueprint(Self.go)), 1)
        ])
        #expect(room.session(Self.third) == nil)
        #expect(room.session(inSlot: Self.slot)?.id == Bench.other)
        #expect(outcomes == [.conflict])
        let conflict = try #require(room.conflicts.conflict(Self.third, .session, ""))
        #expect(conflict.kept.content == .bytes([1, 2, 3]))
        #expect(conflict.lost.map(\.content) == [.bytes([4])])
        var observer = RoomObserver(seen: split.loser.room)
        #expect(
            observer.observe(room).contains(
                .sessionEnded(Self.third, .replaced(by: "org.example.chess"))
            )
        )
    }

    @Test("what the loser put into the slot of a session nobody touched takes its place")
    func replacedOnTheLosingBranch() throws {
        var split = MergeTests.Split {
            $0.apply(.startSession(Self.blueprint()), session: Bench.other)
        }
        split.loser.apply(.startSession(Self.blueprint(Self.go)), session: Self.third, by: Bench.c)
        let (room, events, _) = try split.merge()
        #expect(room.session(inSlot: Self.slot)?.id == Self.third)
        #expect(room.session(Bench.other) == nil)
        #expect(room.conflicts.conflicts.isEmpty)
        #expect(events.first == .sessionEnded(Bench.other, .replaced(by: "org.example.go")))
    }

    @Test("a session that the winner replaced does not come back, though the loser went on with it")
    func replacedOnTheWinningBranch() throws {
        var split = MergeTests.Split {
            $0.apply(.startSession(Self.blueprint()), session: Bench.other)
        }
        split.winner.apply(.startSession(Self.blueprint(Self.go)), session: Self.third)
        split.loser.apply(.join(nonce: 0), session: Bench.other, by: Bench.c)
        let (room, _, _) = try split.merge()
        #expect(room.session(inSlot: Self.slot)?.id == Self.third)
        #expect(room.session(Bench.other) == nil)
        #expect(room.conflicts.conflicts.map(\.subject) == [.session])
    }

    private static func record(_ command: RoomCommand, _ sequence: UInt64) -> Command {
        Command(command, session: third, origin: Origin(Bench.c), sequence: sequence)
    }
}
