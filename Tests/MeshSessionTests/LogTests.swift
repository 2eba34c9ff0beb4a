import MeshConsensus
import MeshSession
import MeshWire
import Testing

@Suite("The sequence of entries and the answers to moves — 40-groupactivities §9.4") struct LogTests
{
    private static let stranger = ParticipantID(Array(repeating: 9, count: 16)) ?? .zero

    private static func entry(_ byte: UInt8, size: Int = 1, answers: MoveID? = nil) -> RoomCommand {
        .append(
            LogDraft(
                number: UInt64(byte),
                answers: answers,
                payload: Array(repeating: byte, count: size)
            )
        )
    }

    @Test("entries have places in the order of the log, whoever appends, and all hear of them")
    func order() throws {
        var bench = Bench.joined()
        let authors = [Bench.a, Bench.c, Bench.a]
        for (place, author) in authors.enumerated() {
            let result = bench.apply(Self.entry(UInt8(place)), by: author)
            #expect(result == .appended(index: UInt64(place), version: bench.last))
        }
        let log = try #require(bench.current?.log)
        #expect(log.entries.map(\.author) == authors.map(bench.id))
        #expect(log.entries.map(\.payload) == [[0], [1], [2]])
        #expect(log.nextIndex == 3)
        let told = bench.events().compactMap { event in
            if case .logAppended(Bench.session, let record) = event { record } else { nil }
        }
        #expect(told == log.entries)
    }

    @Test("the newest 1,024 entries are kept, and of these as many as cost 256 KiB")
    func bounds() throws {
        var bench = Bench.joined()
        for number in 0..<1030 { bench.apply(Self.entry(UInt8(number & 255)), by: Bench.a) }
        var log = try #require(bench.current?.log)
        #expect(log.entries.count == SessionLimits.logEntries)
        #expect(log.entries.first?.index == 6)
        #expect(log.entry(at: 5) == nil && log.entry(at: 1030) == nil)
        #expect(log.entry(at: 6)?.payload == [6])
        let largest = Limits.valueBytes
        for number in 0..<20 {
            bench.apply(Self.entry(UInt8(number), size: largest), by: Bench.b)
        }
        log = try #require(bench.current?.log)
        // Fifteen with what each costs beside its content fit into 256 KiB.
        #expect(log.entries.count == 15)
        #expect(log.nextIndex == 1050)
        #expect(log.byteCount <= SessionLimits.logBytes)
        let result = bench.apply(Self.entry(1, size: largest + 1), by: Bench.a)
        #expect(result == .refused(.tooLarge(limit: largest)))
    }

    @Test("a snapshot holds the sequence, and one that does not fit together is refused")
    func snapshot() throws {
        var bench = Bench.joined()
        for number in 0..<1100 { bench.apply(Self.entry(UInt8(number & 255)), by: Bench.a) }
        let move = MoveID(participant: bench.id(Bench.b), number: 7)
        bench.apply(Self.entry(9, answers: move), by: Bench.a)
        var other = RoomState(digest: Bench.digest)
        let bytes = bench.room.snapshot()
        try other.restore(from: bytes.raw)
        #expect(other.session(Bench.session)?.log == bench.current?.log)
        #expect(other.session(Bench.session)?.isDecided(move) == true)
        #expect(other.snapshot() == bytes)
    }

    @Test("who may write at all may append, and only who is in the session")
    func rights() {
        var bench = Bench.joined()
        let lead = bench.id(Bench.a)
        bench.install([Bench.a, Bench.b, Bench.c, Bench.d])
        #expect(bench.apply(Self.entry(1), by: Bench.d) == .refused(.notJoined))
        bench.apply(.setOptions(SessionOptions(control: .leadOnly)), by: Bench.a)
        #expect(bench.apply(Self.entry(1), by: Bench.b) == .refused(.notLead(holder: lead)))
        #expect(bench.apply(Self.entry(1), by: Bench.a) == .appended(index: 0, version: bench.last))
    }

    @Test("a move is answered once, by who decides, in ascending numbers")
    func moves() {
        var bench = Bench.joined()
        let (a, b, c) = (bench.id(Bench.a), bench.id(Bench.b), bench.id(Bench.c))
        func move(_ number: UInt64) -> MoveID { MoveID(participant: b, number: number) }
        #expect(
            bench.apply(Self.entry(1, answers: move(5)), by: Bench.c)
                == .refused(.notLead(holder: a))
        )
        #expect(
            bench.apply(Self.entry(1, answers: move(5)), by: Bench.a)
                == .appended(index: 0, version: bench.last)
        )
        _ = bench.events()
        for number in [UInt64(4), 5] {
            #expect(
                bench.apply(Self.entry(1, answers: move(number)), by: Bench.a)
                    == .refused(.moveDecided)
            )
            #expect(
                bench.apply(.refuseMove(move(number), note: ""), by: Bench.a)
                    == .refused(.moveDecided)
            )
        }
        #expect(bench.apply(.refuseMove(move(6), note: "no"), by: Bench.a) == .done)
        #expect(bench.events() == [.moveRefused(Bench.session, move(6), note: "no")])
        #expect(bench.current?.log.nextIndex == 1)
        let foreign = MoveID(participant: Self.stranger, number: 1)
        #expect(
            bench.apply(Self.entry(1, answers: foreign), by: Bench.a)
                == .refused(.noSuchParticipant(Self.stranger))
        )
        // The numbers of one are not those of another.
        #expect(
            bench.apply(Self.entry(1, answers: MoveID(participant: c, number: 1)), by: Bench.a)
                == .appended(index: 1, version: bench.last)
        )
    }

    @Test("while the lead is away who stands in for it answers, and it again once it is back")
    func standIn() {
        var bench = Bench.joined()
        let (a, b) = (bench.id(Bench.a), bench.id(Bench.b))
        let move = MoveID(participant: bench.id(Bench.c), number: 1)
        bench.install([Bench.b, Bench.c])
        #expect(bench.current?.arbiter == b)
        bench.apply(Self.entry(1, answers: move), by: Bench.b)
        bench.install([Bench.a, Bench.b, Bench.c])
        #expect(bench.current?.arbiter == a)
        #expect(bench.apply(Self.entry(2, answers: move), by: Bench.a) == .refused(.moveDecided))
        #expect(bench.current?.log.entries.map(\.payload) == [[1]])
        bench.apply(.setLeadMode(.none), by: Bench.a)
        let next = MoveID(participant: move.participant, number: 2)
        #expect(bench.apply(Self.entry(2, answers: next), by: Bench.a) == .refused(.noLead))
    }

    @Test(
        "a merge keeps the winner's sequence; the losers hear what is rolled back, then the winner's"
    )
    func merge() throws {
        var split = MergeTests.Split { $0.apply(Self.entry(0), by: Bench.a) }
        split.winner.apply(Self.entry(1), by: Bench.a)
        split.loser.apply(Self.entry(2), by: Bench.c)
        split.loser.apply(Self.entry(3), by: Bench.c)
        let lost = try #require(split.loser.current?.log.entries.suffix(2))
        var observer = RoomObserver(seen: split.loser.room)
        let (room, _, outcomes) = try split.merge([
            split.record(Self.entry(2), 2), split.record(Self.entry(3), 3),
        ])
        #expect(outcomes == [.superseded, .superseded])
        let log = try #require(room.session(Bench.session)?.log)
        #expect(log.entries.map(\.payload) == [[0], [1]])
        let heard = observer.observe(room).filter { event in
            switch event {
            case .logAppended, .logRolledBack: true
            default: false
            }
        }
        #expect(
            heard == [
                .logRolledBack(Bench.session, Array(lost)),
                .logAppended(Bench.session, log.entries[1]),
            ]
        )
    }
}
