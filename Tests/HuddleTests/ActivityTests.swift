import MeshEngine
import MeshSession
import MeshWire
import Testing

@testable import Huddle

/// What one node hears of its part in a session, taken one by one.
private struct Heard {
    private var iterator: MailboxSequence<SessionEvent>.Iterator

    init(_ session: Session) async {
        iterator = await session.events.makeAsyncIterator()
    }

    mutating func next() async -> SessionEvent? { await iterator.next() }
}

extension Node {
    /// Starts an activity without anything but its name.
    fileprivate func activate(
        _ identifier: String,
        _ options: Session.Options = .init()
    ) async throws -> (session: Session, isNew: Bool) {
        try await activate(identifier: identifier, payload: [1], metadata: [], options: options)
    }
}

extension Room {
    /// The next session of the slot that runs or begins.
    fileprivate func nextActivity(after old: SessionID? = nil) async throws -> SessionUpdate {
        for await update in await sessionUpdates()
        where update.slot == "activity" && update.session.id != old { return update }
        throw CancellationError()
    }
}

@Suite("Activities of a room — 40-groupactivities", .serialized, .timeLimit(.minutes(1)))
struct ActivityTests {
    /// Two nodes in one room on loopback.
    private struct Pair {
        let stage: Stage
        let (anna, ben): (Node, Node)
        let (hall, room): (Room, Room)

        init() async throws {
            stage = try Stage()
            (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
            hall = try await anna.createRoom(named: "hall")
            room = try await ben.join(hall)
        }

        /// A session in the slot that both have joined; anna started it.
        func playing(_ options: Session.Options = .init()) async throws -> (Session, Session) {
            let (mine, isNew) = try await anna.activate("play", options)
            #expect(isNew)
            let yours = try await room.nextActivity().session
            try await mine.join()
            try await yours.join()
            await mine.waitForParticipants(2)
            return (mine, yours)
        }

        func stop() async {
            await anna.stop()
            await ben.stop()
            stage.remove()
        }
    }

    @Test(
        "an activity reaches the other node and late readers, and identifiers hold from the start"
    )
    func start() async throws {
        let pair = try await Pair()
        let (mine, isNew) = try await pair.anna.activate(
            identifier: "play",
            payload: [1],
            metadata: [2]
        )
        #expect(isNew)
        let update = try await pair.room.nextActivity()
        let expected = SessionActivity(identifier: "play", payload: [1], metadata: [2])
        #expect(update.session.id == mine.id)
        #expect(update.activity == expected)
        #expect(update.initiator == pair.anna.id)
        #expect(!update.isLocallyInitiated)
        #expect(try await pair.hall.nextActivity().isLocallyInitiated)
        #expect(await mine.isLocallyInitiated)
        #expect(await update.session.activity == expected)

        var early = await Heard(update.session)
        let reserved = try #require(await update.session.localParticipantID)
        let participant = try await update.session.join()
        #expect(participant.participantID == reserved)
        #expect(await early.next() == .joined(participant))
        var late = await Heard(update.session)
        #expect(await late.next() == .joined(participant))

        let next = SessionActivity(identifier: "play", payload: [3])
        try await update.session.replaceActivity(next)
        #expect(await early.next() == .activityChanged(next))
        #expect(try await pair.room.nextActivity().activity == next)
        await #expect(throws: HuddleError.self) {
            try await update.session.replaceActivity(
                SessionActivity(identifier: "", payload: [])
            )
        }
        await pair.stop()
    }

    @Test("an activity takes the place of the one before, and both nodes hear by what")
    func replaced() async throws {
        let pair = try await Pair()
        let (mine, yours) = try await pair.playing()
        var (first, second) = (await Heard(mine), await Heard(yours))
        #expect(await first.next() != nil)
        #expect(await second.next() != nil)
        let (new, isNew) = try await pair.ben.activate("sing")
        #expect(isNew)
        #expect(try await pair.hall.nextActivity(after: mine.id).session.id == new.id)
        for heard in [await first.next(), await second.next()] {
            #expect(heard == .invalidated(.replaced(by: "sing")))
        }
        #expect(await first.next() == nil)
        var late = await Heard(yours)
        #expect(await late.next() == .invalidated(.replaced(by: "sing")), "it is remembered")
        #expect(await late.next() == nil)
        await pair.stop()
    }

    @Test("the same activity started by both at once is one session") func same() async throws {
        let pair = try await Pair()
        let activity = Activity(identifier: "play", payload: [1])
        async let one = pair.anna.activate(activity, options: .init(), expected: .zero)
        async let other = pair.ben.activate(activity, options: .init(), expected: .zero)
        let (mine, yours) = (try await one, try await other)
        #expect(mine.session.id == yours.session.id)
        #expect(mine.isNew != yours.isNew)
        try await mine.session.join()
        try await yours.session.join()
        await mine.session.waitForParticipants(2)
        await pair.stop()
    }

    @Test("who leaves hears so, the other goes on, and a return is another participant")
    func leave() async throws {
        let pair = try await Pair()
        let (mine, yours) = try await pair.playing()
        let former = try #require(await yours.localParticipant)
        var heard = await Heard(yours)
        _ = await heard.next()
        try await yours.leave()
        #expect(await heard.next() == .invalidated(.left))
        #expect(await heard.next() == nil)
        await mine.waitForParticipants(1)
        #expect(await mine.localParticipant != nil)
        let again = try await yours.join()
        #expect(again.id != former.id)
        var second = await Heard(yours)
        #expect(await second.next() == .joined(again))
        await pair.stop()
    }

    @Test("an end names who ended it; who never joined hears of it too") func end() async throws {
        let pair = try await Pair()
        let (mine, _) = try await pair.anna.activate("play")
        let yours = try await pair.room.nextActivity().session
        let ender = try await mine.join()
        var heard = await Heard(yours)
        try await mine.end()
        #expect(await heard.next() == .invalidated(.ended(by: ender)))
        let refusal = await #expect(throws: HuddleError.self) { try await yours.join() }
        #expect(
            refusal.map(GroupSessionError.init(joinFailure:)) == .joinRefused(.unknownSession)
        )
        await pair.stop()
    }

    @Test("the initiator's leaving ends a session bound to it, for the other with that reason")
    func initiator() async throws {
        let pair = try await Pair()
        let (mine, yours) = try await pair.playing(.init(endsWhenInitiatorLeaves: true))
        var heard = await Heard(yours)
        _ = await heard.next()
        try await mine.leave()
        #expect(await heard.next() == .invalidated(.initiatorLeft))
        await pair.stop()
    }

    @Test("a kick says by whom and why; capacity, lock and ban refuse a join by their names")
    func kick() async throws {
        let pair = try await Pair()
        let (mine, yours) = try await pair.playing()
        let lead = try #require(await mine.localParticipant)
        var heard = await Heard(yours)
        _ = await heard.next()
        try await mine.kick(
            try #require(await yours.localParticipant).participantID,
            note: "too loud"
        )
        #expect(await heard.next() == .invalidated(.removed(by: lead, note: "too loud")))

        try await mine.setCapacity(1)
        #expect(await refusal(of: yours) == .joinRefused(.full(limit: 1)))
        try await mine.setCapacity(2)
        try await mine.lock()
        #expect(await refusal(of: yours) == .joinRefused(.locked))
        try await mine.unlock()
        let again = try await yours.join()
        await #expect(throws: HuddleError.self, "only the lead may") { try await yours.lock() }
        await mine.waitForParticipants(2)
        var once = await Heard(yours)
        #expect(await once.next() == .joined(again))
        try await mine.ban(again.participantID)
        // Until this node has applied it, a join is that of a participant.
        #expect(await once.next() == .invalidated(.removed(by: lead, note: nil)))
        #expect(await refusal(of: yours) == .joinRefused(.banned))
        await pair.stop()
    }

    @Test("who leaves the room, or stops its node, is out of its sessions for that reason")
    func roomLeft() async throws {
        let pair = try await Pair()
        let (mine, yours) = try await pair.playing()
        var (first, second) = (await Heard(mine), await Heard(yours))
        _ = await first.next()
        _ = await second.next()
        try await pair.room.leave()
        #expect(await second.next() == .invalidated(.roomLeft))
        let updates = await pair.hall.sessionUpdates()
        await pair.stop()
        #expect(await first.next() == .invalidated(.roomLeft))
        for await _ in updates {}
        var late = await Heard(mine)
        #expect(await late.next() == .invalidated(.roomLeft))
        await #expect(throws: HuddleError.self) { try await pair.anna.activate("play") }
    }

    @Test("a participant cut off from a majority is away, and back when they meet")
    func suspended() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let nodes = [
            try await stage.start("anna"), try await stage.start("ben"),
            try await stage.start("cleo"),
        ]
        let hall = try await nodes[0].createRoom(named: "hall", policy: .majority)
        _ = try await nodes[1].join(hall)
        let room = try await nodes[2].join(hall)
        let (mine, _) = try await nodes[0].activate("play")
        try await mine.join()
        let yours = try await room.nextActivity().session
        let participant = try await yours.join()
        var heard = await Heard(yours)
        #expect(await heard.next() == .joined(participant))
        await nodes[2].cut([.port(nodes[0].port), .port(nodes[1].port)])
        for node in nodes.dropLast() { await node.cut([.port(nodes[2].port)]) }
        #expect(await heard.next() == .away)
        for node in nodes { await node.heal() }
        #expect(await heard.next() == .back)
        #expect(await yours.localParticipant?.id == participant.id)
        for node in nodes { await node.stop() }
    }

    @Test("every reason has words") func words() {
        let reasons: [GroupSessionError] = [
            .left, .ended(by: nil), .replaced(by: "sing"), .removed(by: nil, note: "too loud"),
            .reconnectTimedOut(after: .seconds(30)), .joinRefused(.full(limit: 4)),
            .joinRefused(.tooOld(needs: 2)),
        ]
        let words = reasons.map(\.description)
        #expect(Set(words).count == reasons.count)
        #expect(words[2].contains("sing") && words[3].contains("too loud"))
        #expect(words[5].contains("4") && words[6].contains("2"))
    }

    private func refusal(of session: Session) async -> GroupSessionError? {
        do {
            try await session.join()
            return nil
        } catch {
            return GroupSessionError(joinFailure: error)
        }
    }
}
