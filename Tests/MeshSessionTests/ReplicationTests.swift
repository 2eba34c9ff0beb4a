import MeshConsensus
import MeshSession
import MeshWire
import TestSupport
import Testing

@Suite("Replicas") struct ReplicationTests {
    @Test(
        "the same entries give the same results and bytes; a snapshot and the rest give them too",
        arguments: 1...12 as ClosedRange<UInt64>
    )
    func replay(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var bench = Bench()
        var results: [CommandResult] = []
        var snapshots: [(count: Int, bytes: [UInt8])] = []
        for step in 0..<400 {
            if let result = bench.step(using: &generator) { results.append(result) }
            if step % 100 == 50 { snapshots.append((bench.history.count, bench.room.snapshot())) }
        }
        let end = bench.room.snapshot()
        #expect(results.count { $0.isAccepted } > 30, "the walk gets somewhere")

        var replica = RoomState(digest: Bench.digest)
        let replayed = bench.history.compactMap { replica.apply($0) }
        #expect(replica.snapshot() == end)
        #expect(replayed == results)

        for snapshot in snapshots {
            var late = RoomState(digest: Bench.digest)
            try late.restore(from: snapshot.bytes.raw)
            #expect(late.snapshot() == snapshot.bytes)
            for entry in bench.history[snapshot.count...] { _ = late.apply(entry) }
            #expect(late.snapshot() == end)
        }
    }

    @Test(
        "the events tell everything: who follows them has the state",
        arguments: 1...12 as ClosedRange<UInt64>
    )
    func events(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var bench = Bench()
        var follower = Follower(bench.room)
        // It looks at times, at what a snapshot restored or at the state itself.
        var late = RoomObserver(seen: RoomState(digest: Bench.digest))
        var lateFollower = Follower(late.seen)
        for step in 0..<400 {
            _ = bench.step(using: &generator)
            follower.follow(bench.events())
            #expect(follower == Follower(bench.room), "after step \(step)")
            guard generator.happens(0.1) else { continue }
            var state = bench.room
            if generator.happens(0.5) {
                state = RoomState(digest: Bench.digest)
                try state.restore(from: bench.room.snapshot().raw)
            }
            lateFollower.follow(late.observe(state))
            #expect(lateFollower == Follower(bench.room), "restored after step \(step)")
        }
    }

    @Test("a state that was rolled back and took another way is compared, not repeated")
    func otherBranch() {
        var bench = Bench.joined()
        let fork = bench
        bench.apply(.put(key: "ours", value: [1]))
        _ = bench.events()
        var observer = RoomObserver(seen: bench.room)
        var other = fork.room
        let position = Position(epoch: Epoch(counter: 2, proposer: Bench.b.tag), index: 9)
        let command = Command(
            .put(key: "theirs", value: [2]),
            session: Bench.session,
            origin: Origin(Bench.b),
            sequence: 70
        )
        _ = other.apply(command, at: position)
        let events = observer.observe(other)
        #expect(
            events == [
                .valueChanged(Bench.session, key: "ours", value: nil, by: nil),
                .valueChanged(
                    Bench.session,
                    key: "theirs",
                    value: StoredValue(
                        content: .bytes([2]),
                        version: position,
                        author: bench.id(Bench.b)
                    ),
                    by: bench.id(Bench.b)
                ),
            ]
        )
    }

    @Test("seeing the same state again makes no event, restored or not") func idempotent() throws {
        var bench = Bench.joined()
        bench.apply(.put(key: "k", value: [1]))
        _ = bench.events()
        #expect(bench.events().isEmpty)
        try bench.room.restore(from: bench.room.snapshot().raw)
        #expect(bench.events().isEmpty)
        #expect(bench.events().isEmpty)
    }

    @Test("an unknown command stops the machine and ends its sessions") func unknown() throws {
        var bench = Bench.joined()
        let record = Command(
            type: 0x38,
            origin: Origin(Bench.b),
            sequence: 900,
            session: Bench.session,
            payload: []
        )
        let result = bench.apply(record)
        #expect(result == .refused(.upgradeNeeded(type: 0x38)))
        #expect(
            bench.events() == [
                .sessionEnded(Bench.session, .upgradeNeeded), .upgradeNeeded(type: 0x38),
            ]
        )
        let next = bench.apply(.setProfile(name: "late"))
        #expect(next == .refused(.upgradeNeeded(type: 0x38)))
        var copy = RoomState(digest: Bench.digest)
        try copy.restore(from: bench.room.snapshot().raw)
        #expect(copy.upgradeNeeded == 0x38)
    }

    @Test("hostile snapshots are refused without a trap or a change") func hostile() throws {
        var generator = SeededGenerator(seed: 0xbad)
        var bench = Bench()
        for _ in 0..<120 { _ = bench.step(using: &generator) }
        let good = bench.room.snapshot()
        for count in 0..<good.count where count % 7 == 0 {
            var room = RoomState(digest: Bench.digest)
            #expect(throws: WireError.self) {
                try room.restore(from: Array(good.prefix(count)).raw)
            }
        }
        for _ in 0..<3000 {
            var bytes = good
            mutate(&bytes, using: &generator)
            var room = bench.room
            do {
                try room.restore(from: bytes.raw)
                #expect(room.snapshot() == bytes, "what is taken is canonical")
            } catch {
                #expect(room.snapshot() == good)
            }
        }
    }

    @Test("hostile commands change nothing they may not, and never trap") func hostileCommands() {
        var generator = SeededGenerator(seed: 0xf00d)
        var bench = Bench.joined()
        for sequence in 1...5000 as ClosedRange<UInt64> {
            let command = CodingTests.commands.randomElement(using: &generator) ?? .join(nonce: 0)
            var payload = command.payload
            mutate(&payload, using: &generator)
            let record = Command(
                type: command.type.rawValue,
                origin: Origin(
                    [Bench.a, Bench.b, Bench.d].randomElement(using: &generator) ?? Bench.a
                ),
                sequence: 10_000 + sequence,
                session: generator.happens(0.9) ? Bench.session : Bench.other,
                payload: payload
            )
            let before = bench.room.snapshot()
            let result = bench.apply(record)
            if !result.isAccepted { #expect(bench.room.snapshot() == before) }
        }
    }

    @Test("an observer that slept through more than is on record misses no change")
    func overrun() {
        var bench = Bench.joined()
        for number in 0..<5000 { bench.apply(.add(key: "n\(number % 7)", amount: 1)) }
        let keys = bench.events().compactMap { event in
            if case .valueChanged(_, let key, _, _) = event { key } else { nil }
        }
        #expect(keys == (0..<7).map { "n\($0)" })
    }
}

extension RoomState {
    mutating func apply(_ entry: Bench.Entry) -> CommandResult? {
        switch entry {
        case .view(let members, let leader, let departed, let position):
            install(members: members, leader: leader.tag, departed: departed, at: position)
            return nil
        case .command(let record, let position):
            return result(of: record, at: position)
        }
    }
}

extension Bench {
    /// Does something that a room does: mostly commands, at times a view.
    mutating func step(using generator: inout SeededGenerator) -> CommandResult? {
        let everyone = [Self.a, Self.b, Self.c, Self.d]
        let origin = everyone.randomElement(using: &generator) ?? Self.a
        guard generator.happens(0.93) else {
            let present = everyone.filter { _ in generator.happens(0.8) }
            let gone = everyone.filter { !present.contains($0) }
            install(
                present,
                leader: present.first ?? Self.a,
                departed: gone.filter { _ in generator.happens(0.2) }
            )
            return nil
        }
        let session = generator.happens(0.8) ? Self.session : Self.other
        let participants = room.session(session)?.participants ?? []
        let target = participants.randomElement(using: &generator)?.id ?? .zero
        let key = ["a", "b", "c", "n", "s"].randomElement(using: &generator) ?? "a"
        let byte = UInt8.random(in: 0...3, using: &generator)
        let commands: [RoomCommand] = [
            .setProfile(name: "name \(byte)"),
            .startSession(
                SessionBlueprint(
                    activity: .chess,
                    lifetime: byte == 0 ? .endsWhenInitiatorLeaves : .untilEmpty,
                    leadMode: LeadMode(rawValue: byte % 3) ?? .none
                )
            ),
            .setActivity(Activity(identifier: "activity \(byte)")),
            .endSession(isExpiry: generator.happens(0.9)), .join(nonce: 0), .join(nonce: 0),
            .join(nonce: 0), .leave,
            .expire(target), .expire(target),
            .setOptions(SessionOptions(capacity: 3 + byte % 2, isLocked: byte == 3)),
            .remove(target, isBan: byte == 0, note: ""), .giveLead(to: target), .takeLead,
            .setLeadMode(LeadMode(rawValue: byte % 3) ?? .none), .put(key: key, value: [byte]),
            .put(key: key, value: [byte]),
            .compareAndSet(key: key, expected: .value([byte]), value: [byte ^ 1]),
            .compareAndSet(key: key, expected: .absent, value: [byte]),
            .delete(key: key, expected: .anything), .add(key: "n", amount: Int64(byte)),
            .insert(key: "s", element: [byte]), .withdraw(key: "s", element: [byte]),
            .append(LogDraft(number: UInt64(byte), payload: [byte])),
            .append(LogDraft(number: 9, payload: [byte, byte])),
            .append(
                LogDraft(
                    number: 0,
                    answers: MoveID(participant: target, number: last.index),
                    payload: [byte]
                )
            ),
            .refuseMove(MoveID(participant: target, number: UInt64(byte)), note: "no"),
            .addAttachment(JournalTests.entry(Int(byte) + 1)),
            .removeAttachment(JournalTests.entry(Int(byte) + 1).id),
        ]
        let command = commands.randomElement(using: &generator) ?? .join(nonce: 0)
        return apply(command, session: session, by: origin)
    }
}

/// A copy of the room that knows only the events, as an application does.
struct Follower: Equatable {
    struct Session: Equatable {
        var participants: [ParticipantID: Bool] = [:]
        var lead: ParticipantID?
        var values: [String: StoredValue] = [:]
        var activity: Activity?
        var options: SessionOptions?
        var leadMode: LeadMode?
        var journal: [JournalRecord] = []
        var log: [LogRecord] = []

        init(_ session: RoomSession) {
            for participant in session.participants {
                participants[participant.id] = participant.isPresent
            }
            lead = session.lead
            activity = session.activity
            options = session.options
            leadMode = session.leadMode
            journal = session.journal
            log = session.log.entries
            for entry in session.values.entries { values[entry.key] = entry.value }
        }
    }

    var members: [ProcessID: Bool] = [:]
    var names: [ProcessID: String] = [:]
    var sessions: [SessionID: Session] = [:]

    init(_ room: RoomState) {
        for member in room.members {
            members[member.process] = member.isPresent
            names[member.process] = member.profile.name
        }
        for session in room.sessions { sessions[session.id] = Session(session) }
    }

    mutating func follow(_ events: [RoomEvent]) {
        for event in events {
            switch event {
            case .memberJoined(let process):
                #expect(members[process] == nil)
                members[process] = true
                names[process] = ""
            case .memberAway(let process): members[process] = false
            case .memberBack(let process): members[process] = true
            case .memberLeft(let process):
                members[process] = nil
                names[process] = nil
            case .profileChanged(let process, let profile): names[process] = profile.name
            case .sessionStarted(let session):
                #expect(sessions[session.id] == nil)
                #expect(session.participants.isEmpty)
                sessions[session.id] = Session(session)
            case .sessionEnded(let id, _): sessions[id] = nil
            case .activityChanged(let id, let activity): sessions[id]?.activity = activity
            case .optionsChanged(let id, let options): sessions[id]?.options = options
            case .participantJoined(let id, let participant):
                #expect(sessions[id]?.participants[participant.id] == nil)
                sessions[id]?.participants[participant.id] = participant.isPresent
            case .participantReturned(let id, let participant):
                sessions[id]?.participants[participant.id] = participant.isPresent
            case .logAppended(let id, let record):
                sessions[id]?.log.append(record)
                if sessions[id]?.log.count ?? 0 > SessionLimits.logEntries {
                    sessions[id]?.log.removeFirst()
                }
            case .logRolledBack(let id, let records):
                #expect(sessions[id]?.log.suffix(records.count) == records[...])
                sessions[id]?.log.removeLast(records.count)
            case .conflictFound, .conflictSettled, .stateRequested, .moveRefused: break
            case .participantAway(let id, let participant):
                sessions[id]?.participants[participant.id] = false
            case .participantBack(let id, let participant):
                sessions[id]?.participants[participant.id] = true
            case .participantLeft(let id, let participant, _):
                sessions[id]?.participants[participant.id] = nil
            case .leadChanged(let id, let old, let new, _):
                #expect(sessions[id]?.lead == old)
                sessions[id]?.lead = new
            case .leadModeChanged(let id, let mode): sessions[id]?.leadMode = mode
            case .valueChanged(let id, let key, let value, _): sessions[id]?.values[key] = value
            case .attachmentAdded(let id, let record): sessions[id]?.journal.append(record)
            case .attachmentRemoved(let id, let attachment):
                sessions[id]?.journal.removeAll { $0.entry.id == attachment }
            case .upgradeNeeded: Issue.record("not expected here: \(event)")
            }
        }
    }
}
