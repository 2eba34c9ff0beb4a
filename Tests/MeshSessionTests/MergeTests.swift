import MeshConsensus
import MeshSession
import MeshWire
import Testing

@Suite("Merge of two branches, datum by datum — 30-consensus §9") struct MergeTests {
    /// Two branches of a room: A and B win, C loses.
    struct Split {
        var base: Bench
        var winner: Bench
        var loser: Bench
        var knowsBase = true

        init(_ prepare: (inout Bench) -> Void = { _ in }) {
            var bench = Bench.joined()
            prepare(&bench)
            _ = bench.events()
            base = bench
            winner = bench
            winner.install([Bench.a, Bench.b])
            loser = bench
            loser.install([Bench.c], leader: Bench.c)
        }

        /// The merged room, what its members hear, and the fate of the loser's commands.
        mutating func merge(
            _ commands: [Command] = []
        ) throws -> (room: RoomState, events: [RoomEvent], outcomes: [MergeOutcome]) {
            var room = winner.room
            let position = Position(
                epoch: Epoch(counter: 9, proposer: Bench.a.tag),
                index: winner.last.index + 1
            )
            room.install(
                members: [Bench.a, Bench.b, Bench.c],
                leader: Bench.a.tag,
                departed: [],
                at: position
            )
            var observer = RoomObserver(seen: room)
            let plan = room.plan(
                LosingBranch(
                    base: knowsBase ? base.room : nil,
                    state: loser.room,
                    members: [Bench.c],
                    buried: [],
                    commands: commands.map {
                        .init(position: .zero, command: $0, result: nil)
                    }
                )
            )
            // A replica that came by a snapshot takes the plan over alike.
            var other = RoomState(digest: Bench.digest)
            try other.restore(from: room.snapshot().raw)
            let next = Position(epoch: position.epoch, index: position.index + 1)
            room.merge(plan.patch, buried: [], at: next)
            other.merge(plan.patch, buried: [], at: next)
            #expect(room.snapshot() == other.snapshot())
            // Merging twice changes nothing that was merged.
            let again = room.plan(
                LosingBranch(
                    base: loser.room,
                    state: loser.room,
                    members: [Bench.c],
                    buried: [],
                    commands: []
                )
            )
            #expect(again.patch.isEmpty)
            return (room, observer.observe(room), plan.outcomes)
        }

        func record(_ command: RoomCommand, _ sequence: UInt64) -> Command {
            Command(
                command,
                session: Bench.session,
                origin: Origin(Bench.c),
                sequence: sequence
            )
        }
    }

    private func bytes(_ room: RoomState, _ key: String) -> [UInt8]? {
        guard case .bytes(let bytes)? = room.session(Bench.session)?.values[key]?.content else {
            return nil
        }
        return bytes
    }

    @Test("a value that only the loser wrote is applied, one that nobody touched stays")
    func onlyTheLoser() throws {
        var split = Split { $0.apply(.put(key: "old", value: [1])) }
        split.loser.apply(.put(key: "new", value: [2]), by: Bench.c)
        split.loser.apply(.put(key: "old", value: [3]), by: Bench.c)
        let (room, events, outcomes) = try split.merge([
            split.record(.put(key: "new", value: [2]), 1),
            split.record(.put(key: "old", value: [9]), 2),
            split.record(.put(key: "old", value: [3]), 3),
        ])
        #expect(bytes(room, "new") == [2])
        #expect(bytes(room, "old") == [3])
        #expect(outcomes == [.applied, .superseded, .applied])
        #expect(room.conflicts.conflicts.isEmpty)
        #expect(events.count == 2)
    }

    @Test("a value that both wrote stays the winner's and is a conflict with both words")
    func bothWrote() throws {
        var split = Split { $0.apply(.put(key: "title", value: [0])) }
        split.winner.apply(.put(key: "title", value: [1]), by: Bench.b)
        split.loser.apply(.put(key: "title", value: [2]), by: Bench.c)
        let (room, events, outcomes) = try split.merge([
            split.record(.put(key: "title", value: [2]), 1)
        ])
        #expect(bytes(room, "title") == [1])
        #expect(outcomes == [.conflict])
        let conflict = try #require(room.conflicts.conflicts.first)
        #expect(conflict.base == .bytes([0]))
        #expect(conflict.kept.content == .bytes([1]))
        #expect(conflict.kept.author == split.base.id(Bench.b))
        #expect(conflict.lost.map(\.content) == [.bytes([2])])
        #expect(conflict.lost.first?.author == split.base.id(Bench.c))
        #expect(events == [.conflictFound(conflict)])
        // Any member settles it, once.
        var bench = split.winner
        bench.room = room
        let acknowledgment = RoomCommand.acknowledgeConflict(.value, key: "title")
        #expect(bench.apply(acknowledgment, by: Bench.b) == .done)
        #expect(bench.apply(acknowledgment, by: Bench.c) == .refused(.noSuchConflict))
        #expect(bench.room.conflicts.conflicts.isEmpty)
    }

    @Test("counters add up and sets unite, also where elements were taken out")
    func joined() throws {
        var split = Split {
            $0.apply(.add(key: "likes", amount: 10))
            for element in [[1], [2]] as [[UInt8]] {
                $0.apply(.insert(key: "tags", element: element))
            }
        }
        split.winner.apply(.add(key: "likes", amount: 1), by: Bench.a)
        split.winner.apply(.insert(key: "tags", element: [3]), by: Bench.a)
        split.loser.apply(.add(key: "likes", amount: 2), by: Bench.c)
        split.loser.apply(.withdraw(key: "tags", element: [1]), by: Bench.c)
        split.loser.apply(.insert(key: "tags", element: [4]), by: Bench.c)
        let (room, _, outcomes) = try split.merge([
            split.record(.add(key: "likes", amount: 2), 1),
            split.record(.withdraw(key: "tags", element: [1]), 2),
            split.record(.insert(key: "tags", element: [4]), 3),
        ])
        let values = try #require(room.session(Bench.session)?.values)
        #expect(values["likes"]?.content == .counter(13))
        #expect(values["tags"]?.content == .set([[2], [3], [4]]))
        #expect(outcomes == [.joined, .joined, .joined])
        #expect(room.conflicts.conflicts.isEmpty)
    }

    @Test("against a delete the update stays, whoever made which, and the delete is said")
    func deleteAgainstUpdate() throws {
        var split = Split {
            $0.apply(.put(key: "x", value: [1]))
            $0.apply(.put(key: "y", value: [1]))
        }
        split.winner.apply(.delete(key: "x", expected: .anything), by: Bench.a)
        split.loser.apply(.put(key: "x", value: [2]), by: Bench.c)
        split.winner.apply(.put(key: "y", value: [3]), by: Bench.a)
        split.loser.apply(.delete(key: "y", expected: .anything), by: Bench.c)
        let (room, _, _) = try split.merge()
        #expect(bytes(room, "x") == [2])
        #expect(bytes(room, "y") == [3])
        #expect(room.conflicts.conflicts.map(\.key) == ["x", "y"])
        #expect(room.conflicts.conflicts.allSatisfy { $0.lost.map(\.content) == [nil] })
    }

    @Test("without the common state every difference is a conflict and nothing adds up twice")
    func unknownBase() throws {
        var split = Split { $0.apply(.add(key: "likes", amount: 10)) }
        split.knowsBase = false
        split.loser.apply(.add(key: "likes", amount: 2), by: Bench.c)
        split.loser.apply(.put(key: "new", value: [1]), by: Bench.c)
        let (room, _, outcomes) = try split.merge([
            split.record(.add(key: "likes", amount: 2), 1)
        ])
        #expect(room.session(Bench.session)?.values["likes"]?.content == .counter(10))
        #expect(bytes(room, "new") == [1])
        #expect(outcomes == [.conflict])
        #expect(room.conflicts.conflicts.map(\.key) == ["likes"])
    }

    @Test("a participant that the winner expired returns with its identifier and a new number")
    func returned() throws {
        var split = Split()
        let id = split.base.id(Bench.c)
        split.winner.apply(.expire(id), by: Bench.a)
        split.winner.install([Bench.a, Bench.b, Bench.d])
        split.winner.apply(.join(nonce: 0), by: Bench.d)
        split.winner.install([Bench.a, Bench.b])
        let (room, events, _) = try split.merge()
        let session = try #require(room.session(Bench.session))
        let participant = try #require(session.participant(of: Bench.c))
        #expect(participant.id == id)
        #expect(participant.number == 5)
        #expect(participant.isPresent)
        #expect(session.participants.count == 4)
        #expect(events == [.participantReturned(Bench.session, participant)])
    }

    @Test("who was removed on either side stays out, and who left on its own branch is gone")
    func removed() throws {
        var split = Split()
        let id = split.base.id(Bench.c)
        split.winner.apply(.remove(id, isBan: false, note: ""), by: Bench.a)
        #expect(try split.merge().room.session(Bench.session)?.participant(of: Bench.c) == nil)
        var other = Split()
        other.loser.apply(.leave, by: Bench.c)
        let (room, events, _) = try other.merge()
        #expect(room.session(Bench.session)?.participants.count == 2)
        #expect(events.count == 1)
    }

    @Test("a session of the losing branch is brought along; one that it alone ended ends")
    func sessions() throws {
        var split = Split { $0.apply(.startSession(.init(activity: .chess)), session: Bench.other) }
        let new = SessionID(Array(repeating: 3, count: 16)) ?? .zero
        split.loser.apply(.startSession(.init(activity: .chess)), session: new, by: Bench.c)
        split.loser.apply(.join(nonce: 0), session: new, by: Bench.c)
        split.loser.apply(.endSession(isExpiry: false), session: Bench.other, by: Bench.c)
        let (room, _, _) = try split.merge()
        #expect(room.session(new)?.participants.map(\.process) == [Bench.c])
        #expect(room.session(Bench.other) == nil)
        #expect(room.conflicts.conflicts.isEmpty)
    }

    @Test("a session that one side ended and the other went on with lives, and that is said")
    func endedElsewhere() throws {
        var split = Split { $0.apply(.startSession(.init(activity: .chess)), session: Bench.other) }
        split.winner.apply(.join(nonce: 0), session: Bench.other, by: Bench.a)
        split.loser.apply(.endSession(isExpiry: false), session: Bench.other, by: Bench.c)
        let (room, _, _) = try split.merge()
        #expect(room.session(Bench.other)?.participants.count == 1)
        #expect(room.conflicts.conflicts.map(\.subject) == [.ending])
        var reverse = Split {
            $0.apply(.startSession(.init(activity: .chess)), session: Bench.other)
        }
        reverse.loser.apply(.join(nonce: 0), session: Bench.other, by: Bench.c)
        reverse.winner.apply(.endSession(isExpiry: false), session: Bench.other, by: Bench.a)
        let other = try reverse.merge().room
        #expect(other.session(Bench.other)?.participants.map(\.process) == [Bench.c])
        #expect(other.conflicts.conflicts.map(\.subject) == [.ending])
    }

    @Test("activity and lead are the winner's; a lost activity is a conflict")
    func activity() throws {
        var split = Split()
        split.loser.apply(.setActivity(Activity(identifier: "other", payload: [7])), by: Bench.c)
        let (room, _, outcomes) = try split.merge([
            split.record(.setActivity(Activity(identifier: "other", payload: [7])), 1)
        ])
        #expect(room.session(Bench.session)?.activity == .chess)
        #expect(outcomes == [.conflict])
        #expect(room.conflicts.conflicts.map(\.subject) == [.activity])
    }

    @Test("a merge whose conflicts are large stays small enough to be sent, and counts the rest")
    func largeConflicts() throws {
        var split = Split { bench in
            for key in 0..<60 {
                bench.apply(.put(key: "\(key)", value: Array(repeating: 0, count: 16_000)))
            }
        }
        for key in 0..<60 {
            split.winner.apply(.put(key: "\(key)", value: Array(repeating: 1, count: 16_000)))
            let lost = RoomCommand.put(key: "\(key)", value: Array(repeating: 2, count: 16_000))
            split.loser.apply(lost, by: Bench.c)
        }
        let room = split.winner.room
        let plan = room.plan(
            LosingBranch(
                base: split.base.room,
                state: split.loser.room,
                members: [Bench.c],
                buried: [],
                commands: []
            )
        )
        #expect(plan.patch.count <= SessionLimits.conflictBytes + 4096)
        let merged = try split.merge().room
        #expect(merged.conflicts.conflicts.count + Int(merged.conflicts.unlisted) == 60)
        #expect(merged.conflicts.unlisted > 0)
    }

    @Test("conflicts keep at most four lost words of one key and 1,024 keys, and count the rest")
    func bounds() throws {
        var list = ConflictList()
        func conflict(_ key: String, _ lost: UInt8) -> Conflict {
            Conflict(
                about: .value,
                of: Bench.session,
                key: key,
                base: nil,
                kept: .init(content: .counter(1), author: .zero, version: .zero),
                lost: [.init(content: .bytes([lost]), author: .zero, version: .zero)]
            )
        }
        for lost in 0..<6 as Range<UInt8> { list.add(conflict("k", lost)) }
        #expect(list.conflicts.first?.lost.map(\.content) == [2, 3, 4, 5].map { .bytes([$0]) })
        for key in 0..<1025 { list.add(conflict("\(key)", 0)) }
        #expect(list.conflicts.count == 1024)
        #expect(list.unlisted == 2)
    }
}
