import MeshConsensus
import MeshSession
import MeshWire
import Testing

@Suite("Journal in the room's state — 50-journal-and-playback A3, A9") struct JournalTests {
    static func entry(_ number: Int, metadata: Int = 0) -> JournalEntry {
        JournalEntry(
            id: AttachmentID(words: (1, UInt64(number))),
            kind: .data,
            size: UInt64(number),
            root: ContentID(words: (9, 9, 9, UInt64(number))),
            name: "picture.png",
            type: "public.png",
            metadata: Array(repeating: 5, count: metadata)
        )
    }

    private func ids(_ bench: Bench) -> [AttachmentID] {
        bench.current?.journal.map(\.entry.id) ?? []
    }

    @Test("an attachment is added and removed by any participant, in the order of the log")
    func addAndRemove() {
        var bench = Bench.joined()
        for number in [3, 1, 2] {
            #expect(bench.apply(.addAttachment(Self.entry(number)), by: Bench.b) == .done)
        }
        #expect(ids(bench) == [3, 1, 2].map { Self.entry($0).id })
        let record = bench.current?.attachment(Self.entry(1).id)
        #expect(record?.author == bench.id(Bench.b))
        #expect(record?.node == Bench.b.nodeID)
        #expect(bench.apply(.removeAttachment(Self.entry(1).id), by: Bench.c) == .done)
        #expect(
            bench.apply(.removeAttachment(Self.entry(1).id)) == .refused(.noSuchAttachment)
        )
        #expect(ids(bench) == [3, 2].map { Self.entry($0).id })
        let events = bench.events()
        #expect(events.count == 4)
        #expect(events.last == .attachmentRemoved(Bench.session, Self.entry(1).id))
    }

    @Test("no stranger adds, none twice, and with control of the lead only the lead") func rights()
    {
        var bench = Bench.joined()
        let add = RoomCommand.addAttachment(Self.entry(1))
        #expect(bench.apply(add, session: Bench.other) == .refused(.noSuchSession))
        #expect(bench.apply(add) == .done)
        #expect(bench.apply(add, by: Bench.b) == .refused(.invalid))
        bench.apply(.leave, by: Bench.c)
        #expect(bench.apply(.addAttachment(Self.entry(2)), by: Bench.c) == .refused(.notJoined))
        #expect(
            bench.apply(.removeAttachment(Self.entry(1).id), by: Bench.c) == .refused(.notJoined)
        )
        bench.apply(.setOptions(SessionOptions(control: .leadOnly)))
        let refusal = CommandResult.refused(.notLead(holder: bench.id(Bench.a)))
        #expect(bench.apply(.addAttachment(Self.entry(3)), by: Bench.b) == refusal)
        #expect(bench.apply(.removeAttachment(Self.entry(1).id), by: Bench.b) == refusal)
        #expect(bench.apply(.addAttachment(Self.entry(3))) == .done)
    }

    @Test("an entry has at most 2 KiB, a node 512 entries, a room 4,096") func limits() throws {
        var bench = Bench.joined()
        var long = Self.entry(1)
        long.name = String(repeating: "n", count: 201)
        #expect(bench.apply(.addAttachment(long)) == .refused(.tooLarge(limit: 200)))
        long = Self.entry(1, metadata: 1025)
        #expect(bench.apply(.addAttachment(long)) == .refused(.tooLarge(limit: 1024)))
        long = Self.entry(1, metadata: 1)
        long.metadataRoot = ContentID(words: (1, 1, 1, 1))
        #expect(bench.apply(.addAttachment(long)) == .refused(.invalid))
        long = Self.entry(1)
        long.size = .max
        #expect(bench.apply(.addAttachment(long)) == .refused(.invalid))
        var large = Self.entry(1)
        large.size = 100_000_001
        #expect(bench.apply(.addAttachment(large)) == .refused(.tooLarge(limit: 100_000_000)))
        var options = SessionOptions()
        options.attachmentLimit = 1 << 36
        #expect(bench.apply(.setOptions(options)) == .done)
        #expect(bench.apply(.addAttachment(large)) == .done)
        bench.apply(.removeAttachment(large.id))
        var most = Self.entry(1, metadata: 1024)
        most.name = String(repeating: "n", count: 200)
        most.type = String(repeating: "t", count: 128)
        #expect(RoomCommand.addAttachment(most).payload.count <= SessionLimits.entryBytes)
        var endless = RoomCommand.addAttachment(Self.entry(1)).payload
        endless += Array(repeating: 0, count: SessionLimits.entryBytes)
        #expect(throws: RoomCommandError.malformed(.overLimit(UInt64(endless.count), at: 0))) {
            try RoomCommand(type: 0x30, payload: endless)
        }

        for number in 0..<512 {
            try #require(bench.apply(.addAttachment(Self.entry(number + 1))) == .done)
        }
        let one = RoomCommand.addAttachment(Self.entry(600))
        #expect(bench.apply(one) == .refused(.full(.ownAttachments, limit: 512)))
        #expect(bench.apply(one, by: Bench.b) == .done)
    }

    @Test("a journal is in the snapshot, and goes with its session") func snapshot() throws {
        var bench = Bench.joined()
        let full = bench.room.snapshot().count
        for number in 1...3 { bench.apply(.addAttachment(Self.entry(number, metadata: 10))) }
        #expect(bench.room.snapshot().count > full)
        var other = RoomState(digest: Bench.digest)
        try other.restore(from: bench.room.snapshot().raw)
        #expect(other.session(Bench.session)?.journal == bench.current?.journal)
        #expect(other.snapshot() == bench.room.snapshot())
        var observer = RoomObserver(seen: RoomState(digest: Bench.digest))
        let told = observer.observe(other).filter {
            if case .attachmentAdded = $0 { true } else { false }
        }
        #expect(told.count == 3)
        bench.apply(.endSession(isExpiry: false))
        #expect(bench.room.journalCount(of: Bench.a.nodeID) == 0)
    }

    @Test("a snapshot that names one attachment twice is refused, and changes nothing") func twice()
    {
        var bench = Bench.joined()
        bench.apply(.addAttachment(Self.entry(1)))
        bench.apply(.addAttachment(Self.entry(2)))
        var bytes = bench.room.snapshot()
        let (one, two) = (Self.entry(1).id.bytes, Self.entry(2).id.bytes)
        let place = bytes.indices.first { Array(bytes[$0...].prefix(16)) == two } ?? 0
        bytes.replaceSubrange(place..<place + 16, with: one)
        var other = RoomState(digest: Bench.digest)
        #expect(throws: WireError.self) { try other.restore(from: bytes.raw) }
        #expect(other.sessions.isEmpty)
    }

    private func merged(
        _ split: inout MergeTests.Split,
        _ commands: [Command] = []
    ) throws -> (
        ids: [AttachmentID], outcomes: [MergeOutcome]
    ) {
        let (room, _, outcomes) = try split.merge(commands)
        return (room.session(Bench.session)?.journal.map(\.entry.id) ?? [], outcomes)
    }

    @Test("J15: attachments of both branches unite; what either took out stays out") func merge()
        throws
    {
        var split = MergeTests.Split { bench in
            for number in 1...4 { bench.apply(.addAttachment(Self.entry(number))) }
        }
        split.winner.apply(.removeAttachment(Self.entry(1).id))
        split.loser.apply(.removeAttachment(Self.entry(2).id), by: Bench.c)
        split.winner.apply(.addAttachment(Self.entry(10)))
        split.loser.apply(.addAttachment(Self.entry(11)), by: Bench.c)
        split.loser.apply(.addAttachment(Self.entry(12)), by: Bench.c)
        split.loser.apply(.removeAttachment(Self.entry(12).id), by: Bench.c)
        let (ids, outcomes) = try merged(
            &split,
            [
                split.record(.removeAttachment(Self.entry(2).id), 1),
                split.record(.addAttachment(Self.entry(11)), 2),
                split.record(.addAttachment(Self.entry(12)), 3),
            ]
        )
        #expect(ids == [3, 4, 10, 11].map { Self.entry($0).id })
        #expect(outcomes == [.applied, .applied, .superseded])
    }

    @Test("without the common state attachments unite all the same") func mergeUnknown() throws {
        var split = MergeTests.Split { $0.apply(.addAttachment(Self.entry(1))) }
        split.knowsBase = false
        split.loser.apply(.addAttachment(Self.entry(2)), by: Bench.c)
        #expect(try merged(&split).ids == [1, 2].map { Self.entry($0).id })
    }

    @Test("a session that only the loser used comes with its journal") func endedHere() throws {
        var split = MergeTests.Split()
        split.winner.apply(.endSession(isExpiry: false))
        split.loser.apply(.addAttachment(Self.entry(2)), by: Bench.c)
        #expect(try merged(&split).ids == [Self.entry(2).id])
    }
}
