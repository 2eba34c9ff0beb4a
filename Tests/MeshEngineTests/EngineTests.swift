import MeshConsensus
import MeshCrypto
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire
import Testing

@Suite("Engine")
struct EngineTests {
    /// A room of `count` nodes: the first founds it, the others come in by code, one after another.
    private func room(
        _ count: Int,
        seed: UInt64 = 1,
        delay: Duration = .milliseconds(1),
        loss: Double = 0
    ) throws -> EngineWorld {
        let world = EngineWorld(nodes: count, seed: seed, delay: delay)
        world.loss = loss
        world.command(0, .createRoom(1, name: "den"))
        #expect(world.run { world.joined(0, 1) })
        for index in 1..<count { try admit(index, to: world) }
        return world
    }

    private func admit(_ index: Int, to world: EngineWorld) throws {
        let request = RequestID(100 + index)
        world.command(0, .openInvite(request))
        let code = try #require(world.code(of: request))
        world.command(index, .join(2, .code(code, near: nil)))
        #expect(world.run { world.joined(index, 2) })
    }

    @Test("a room is founded, and a guest with a code becomes a member")
    func join() throws {
        let world = try room(2)
        #expect(world.run { world.nodes[0].engine.view?.members.count == 2 })
        #expect(world.nodes[1].engine.view?.epoch == world.nodes[0].engine.view?.epoch)
        #expect(world.count(0) { if case .inviteUsed = $0 { true } else { false } } == 1)
        #expect(world.count(1) { if case .roomRecord = $0 { true } else { false } } >= 1)
        #expect(
            world.run {
                world.nodes[1].engine.room?.members.map(\.profile.name).sorted() == [
                    "node 0", "node 1",
                ]
            }
        )
    }

    @Test("a wrong code is not confirmed, and the right one still works")
    func wrongCode() throws {
        let world = EngineWorld(nodes: 2)
        world.command(0, .createRoom(1, name: "den"))
        #expect(world.run { world.joined(0, 1) })
        world.command(0, .openInvite(5))
        let code = try #require(world.code(of: 5))
        var secrets = SeededSecrets(seed: 99)
        let wrong = InviteCode(slot: code.slot, from: &secrets)
        world.command(1, .join(2, .code(wrong, near: nil)))
        let failure = {
            world.first(1) { if case .joinFailed(2, let why) = $0 { why } else { nil } }
        }
        #expect(world.run { failure() != nil })
        #expect(failure() == .unconfirmed)
        world.command(1, .join(3, .code(code, near: nil)))
        #expect(world.run { world.joined(1, 3) })
    }

    @Test("a code nobody issued is not found in 10 s")
    func notFound() {
        let world = EngineWorld(nodes: 2)
        var secrets = SeededSecrets(seed: 99)
        let start = world.now
        world.command(1, .join(2, .code(InviteCode(slot: 3, from: &secrets), near: nil)))
        let failure = {
            world.first(1) { if case .joinFailed(2, let why) = $0 { why } else { nil } }
        }
        #expect(world.run { failure() != nil })
        #expect(failure() == .notFound)
        #expect(world.now - start <= .seconds(11))
    }

    @Test("three nodes hold a session: messages arrive once, in order, at everybody else")
    func messages() throws {
        let world = try room(3)
        let session = try world.startSession(on: 0, joining: [0, 1, 2])
        for number in 0..<50 {
            var message = OutboundMessage(
                session: session,
                channel: "talk",
                payload: [UInt8(number)]
            )
            message.acknowledgeAtOnce = true
            world.command(1, .send(RequestID(1000 + number), message))
        }
        let outcomes = {
            world.count(1) {
                if case .sendOutcome(let request, _) = $0 { request >= 1000 } else { false }
            }
        }
        #expect(world.run { outcomes() == 50 })
        for receiver in [0, 2] {
            let payloads = world.nodes[receiver].events.compactMap { event in
                if case .message(let message) = event { message.payload } else { nil }
            }
            #expect(payloads == (0..<50).map { [UInt8($0)] })
        }
        let report = world.first(1) { event in
            if case .sendOutcome(1000, let report) = event { report } else { nil }
        }
        #expect(report?.delivered.count == 2)
        #expect(report?.failures.isEmpty == true)
    }

    @Test("a message to an unknown session, or too large, is refused whole with the reason")
    func refusedSends() throws {
        let world = try room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        var secrets = SeededSecrets(seed: 5)
        let stranger = OutboundMessage(
            session: secrets.identifier(),
            channel: "talk",
            payload: [1]
        )
        world.command(0, .send(7, stranger))
        let large = OutboundMessage(
            session: session,
            channel: "talk",
            payload: [UInt8](repeating: 0, count: Limits.messageBytes + 1)
        )
        world.command(0, .send(8, large))
        let refusal = { (request: RequestID) in
            world.first(0) { event in
                if case .sendOutcome(request, let report) = event { report.refusal } else { nil }
            }
        }
        #expect(refusal(7) == .notActive)
        guard case .tooLarge(let size, let limit)? = refusal(8) else {
            Issue.record("a message above the limit was not refused")
            return
        }
        #expect(size == Limits.messageBytes + 1)
        #expect(limit < Limits.messageBytes)
    }

    @Test("a reader that is full makes the sender wait, and nothing is lost")
    func backPressure() throws {
        let world = try room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        world.command(1, .pauseReading(session, channel: "bulk", isPaused: true))
        let payload = [UInt8](repeating: 7, count: 64 << 10)
        for number in 0..<64 {
            let message = OutboundMessage(session: session, channel: "bulk", payload: payload)
            world.command(0, .send(RequestID(2000 + number), message))
        }
        let received = {
            world.count(1) { if case .message = $0 { true } else { false } }
        }
        world.run(.seconds(5))
        let withinWindow = received()
        #expect(withinWindow < 32, "4 MiB do not fit the window of a held channel")
        world.command(1, .pauseReading(session, channel: "bulk", isPaused: false))
        #expect(world.run { received() == 64 })
    }

    @Test("contents come in order behind all else, and who sends them hears what the pair took")
    func contents() throws {
        let world = try room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        let target = world.nodes[1].engine.process.nodeID
        // More than the pair's queue of 4 MiB holds.
        let count = 128
        for number in 0..<count {
            let part = [UInt8](repeating: UInt8(number), count: 64 << 10)
            world.command(0, .sendContent(target, part, isPart: true))
        }
        let taken = {
            world.nodes[0].events.reduce(0) { sum, event in
                if case .contentTaken(_, let count) = event { sum + count } else { sum }
            }
        }
        #expect(taken() < count, "the rest waits")
        let message = OutboundMessage(session: session, channel: "talk", payload: [1])
        world.command(0, .send(3000, message))
        #expect(
            world.run {
                world.nodes[1].events.contains { event in
                    if case .message = event { true } else { false }
                }
            }
        )
        let parts = {
            world.nodes[1].events.compactMap { event -> UInt8? in
                if case .content(_, let bytes) = event { bytes.first } else { nil }
            }
        }
        #expect(parts().count < count / 2, "a message overtakes them: \(parts().count)")
        #expect(world.run { parts().count == count })
        #expect(parts() == (0..<count).map { UInt8($0) })
        #expect(taken() == count)
    }

    @Test("values: compare-and-set succeeds once, and the loser learns the version that stands")
    func compareAndSet() throws {
        let world = try room(3)
        let session = try world.startSession(on: 0, joining: [0, 1, 2])
        let cas = { (value: UInt8) in
            RoomCommand.compareAndSet(key: "turn", expected: .absent, value: [value])
        }
        world.command(1, .submit(50, cas(1), session: session, level: .majority))
        world.command(2, .submit(51, cas(2), session: session, level: .majority))
        #expect(world.run { world.result(1, 50) != nil && world.result(2, 51) != nil })
        let results = [try #require(world.result(1, 50)), try #require(world.result(2, 51))]
        let stored = results.filter { if case .stored = $0 { true } else { false } }
        let refused = results.compactMap { result in
            if case .refused(.versionMismatch(let current)) = result { current } else { nil }
        }
        #expect(stored.count == 1)
        #expect(refused.count == 1)
    }

    @Test("the leader vanishes: the others go on, and its participant is away")
    func crash() throws {
        let world = try room(3)
        let session = try world.startSession(on: 0, joining: [0, 1, 2])
        world.passes = { from, to in from != 0 && to != 0 }
        let start = world.now
        #expect(world.run { world.nodes[1].engine.view?.members.count == 2 })
        world.command(
            1,
            .submit(60, .put(key: "a", value: [1]), session: session, level: .majority)
        )
        #expect(world.run { world.result(1, 60) != nil })
        #expect(world.now - start < .seconds(1))
        let away = world.nodes[1].engine.room?.session(session)?.participants.filter {
            !$0.isPresent
        }
        #expect(away?.count == 1)
        #expect(
            world.run(for: .seconds(40)) {
                world.nodes[1].engine.room?.session(session)?.participants.count == 2
            }
        )
    }

    @Test("a split heals in one view, however long it lasted", arguments: [3, 15, 45])
    func split(seconds: Int) throws {
        let world = try room(4)
        world.passes = { from, to in (from < 2) == (to < 2) }
        world.run(.seconds(seconds))
        #expect(world.nodes[0].engine.view?.members.count == 2)
        #expect(world.nodes[3].engine.view?.members.count == 2)
        world.passes = { _, _ in true }
        #expect(
            world.run(for: .seconds(10)) {
                let epochs = Set(world.nodes.indices.map { world.nodes[$0].engine.view?.epoch })
                return epochs.count == 1 && world.nodes[0].engine.view?.members.count == 4
            }
        )
    }

    @Test(
        "a healed split: one conflict on both sides, the rest joined, one word settles it on both"
    )
    func conflict() throws {
        let world = try room(4)
        let session = try world.startSession(on: 0, joining: [0, 1, 2, 3])
        func submit(_ index: Int, _ request: RequestID, _ command: RoomCommand) throws {
            world.command(index, .submit(request, command, session: session, level: .majority))
            try #require(world.run { world.result(index, request) != nil })
        }
        func states() -> [RoomState] { world.nodes.compactMap { $0.engine.room } }
        func values(_ key: String) -> [ValueContent?] {
            states().map { $0.session(session)?.values[key]?.content }
        }
        try submit(0, 60, .put(key: "colour", value: [0]))
        try submit(0, 61, .add(key: "count", amount: 10))
        world.passes = { from, to in (from < 2) == (to < 2) }
        try #require(world.run { world.hasViews(of: 2) })
        try submit(0, 62, .put(key: "colour", value: [1]))
        try submit(2, 63, .put(key: "colour", value: [2]))
        try submit(0, 64, .add(key: "count", amount: 1))
        try submit(2, 65, .add(key: "count", amount: 2))
        try submit(2, 66, .put(key: "alone 2", value: [2]))
        try submit(0, 67, .put(key: "alone 0", value: [1]))
        world.passes = { _, _ in true }
        let isHealed = {
            world.hasViews(of: 4) && states().allSatisfy { !$0.conflicts.conflicts.isEmpty }
        }
        try #require(world.run(until: isHealed))

        let lists = states().map(\.conflicts.conflicts)
        #expect(Set(lists).count == 1)
        let found = try #require(lists.first?.first)
        #expect(lists.first?.count == 1)
        #expect(found.key == "colour" && found.subject == .value && found.session == session)
        #expect(found.base == .bytes([0]))
        #expect(found.lost.count == 1)
        let contents = [found.kept.content, found.lost.first?.content]
        #expect(Set(contents) == [.bytes([1]), .bytes([2])])
        #expect(values("colour") == Array(repeating: found.kept.content, count: 4))
        #expect(values("count") == Array(repeating: .counter(13), count: 4))
        #expect(values("alone 0") == Array(repeating: .bytes([1]), count: 4))
        #expect(values("alone 2") == Array(repeating: .bytes([2]), count: 4))
        for index in world.nodes.indices {
            let report = world.first(index) {
                if case .merged(let report) = $0 { report } else { nil }
            }
            let outcomes = report?.commands.map(\.outcome)
            #expect(outcomes?.count { $0 == .conflict } == 1, "node \(index)")
            #expect(outcomes?.contains(.joined) == true, "node \(index)")
            #expect(outcomes?.contains(.applied) == true, "node \(index)")
            #expect(world.count(index, .conflictFound(found)) == 1)
            #expect(
                world.count(index) { if case .branchDiscarded = $0 { true } else { false } } == 0
            )
        }

        try submit(3, 68, .acknowledgeConflict(.value, key: "colour"))
        try #require(world.run { states().allSatisfy { $0.conflicts.conflicts.isEmpty } })
        let settled = RoomEvent.conflictSettled(session, .value, key: "colour")
        #expect(world.run { world.nodes.indices.allSatisfy { world.count($0, settled) == 1 } })
        try submit(1, 69, .acknowledgeConflict(.value, key: "colour"))
        #expect(world.result(1, 69) == .refused(.noSuchConflict))
        #expect(values("colour") == Array(repeating: found.kept.content, count: 4))
    }

    @Test("a split heals soon over a bad network, too", arguments: 1...5 as ClosedRange<UInt64>)
    func splitOverBadNetwork(seed: UInt64) throws {
        let world = try room(4, seed: seed, delay: .milliseconds(20), loss: 0.05)
        let session = try world.startSession(on: 0, joining: [0, 1, 2, 3])
        for round in 0..<20 {
            world.command(
                round % 4,
                .submit(
                    RequestID(500 + round),
                    .put(key: "key \(round)", value: [UInt8](repeating: 1, count: 200)),
                    session: session,
                    level: .majority
                )
            )
            world.run(.milliseconds(50))
        }
        world.passes = { from, to in (from < 2) == (to < 2) }
        world.run(.seconds(3))
        world.command(
            3,
            .submit(900, .put(key: "d", value: [9]), session: session, level: .majority)
        )
        world.run(.seconds(1))
        world.passes = { _, _ in true }
        let start = world.now
        #expect(
            world.run(for: .seconds(20)) {
                let views = world.nodes.map { $0.engine.status.view }
                return Set(views.map { $0?.epoch }).count == 1
                    && views.allSatisfy { $0?.members.count == 4 && $0?.isUsable == true }
            }
        )
        #expect(world.now - start < .seconds(5), "healed after \(world.now - start)")
    }

    @Test("who leaves says so: the others shrink at once, and it forgets the room")
    func leave() throws {
        let world = try room(3)
        world.command(0, .leaveRoom(70))
        let left = { world.first(0) { if case .left(70) = $0 { true } else { nil } } != nil }
        #expect(world.run(for: .seconds(2)) { left() })
        #expect(world.nodes[0].engine.room == nil)
        #expect(world.run(for: .seconds(1)) { world.nodes[1].engine.view?.members.count == 2 })
        world.run(.seconds(5))
        #expect(world.nodes[2].engine.view?.members.count == 2)
    }

    @Test("all members restart from what they stored and are one room again")
    func resume() throws {
        let world = try room(3)
        world.run(.seconds(1))
        let records = world.nodes.indices.map { index in
            world.nodes[index].events.lazy.compactMap { event in
                if case .roomRecord(let record) = event { record } else { nil }
            }.reversed().first
        }
        let second = EngineWorld(nodes: 3, seed: 2)
        for index in 0..<3 {
            second.command(index, .resumeRoom(9, try #require(records[index])))
        }
        #expect(
            second.run(for: .seconds(20)) {
                second.nodes.indices.allSatisfy {
                    second.joined($0, 9) && second.nodes[$0].engine.view?.members.count == 3
                }
            }
        )
    }

    @Test("the same inputs give the same bytes")
    func deterministic() throws {
        let first = try room(3, seed: 42)
        let second = try room(3, seed: 42)
        first.run(.seconds(3))
        second.run(.seconds(3))
        #expect(first.wire.count > 100)
        #expect(first.wire == second.wire)
        let other = try room(3, seed: 43)
        #expect(Array(other.wire.prefix(20)) != Array(first.wire.prefix(20)))
    }

    @Test("garbage of every kind and size changes nothing and is answered by silence")
    func garbage() throws {
        let world = try room(2)
        world.run(.seconds(5))
        var generator = SeededGenerator(seed: 3)
        let before = world.wire.count
        for round in 0..<2000 {
            var bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if !bytes.isEmpty { bytes[0] = [0x01, 0x02, 0x03, 0x10, 0x20, 0x21][round % 6] }
            world.nodes[0].engine.handle(
                .datagram(bytes.raw, from: SocketAddress(6, 6, 6, 6, port: 666)),
                now: world.now
            )
        }
        #expect(world.wire.count == before)
        world.run(.seconds(2))
        #expect(world.nodes[0].engine.view?.members.count == 2)
    }
}

extension EngineWorld {
    func joined(_ index: Int, _ request: RequestID) -> Bool {
        first(index) { if case .joined(request) = $0 { true } else { nil } } != nil
    }

    func code(of request: RequestID) -> InviteCode? {
        for node in nodes {
            for case .inviteOpened(request, let invite) in node.events { return invite.code }
        }
        return nil
    }

    func result(_ index: Int, _ request: RequestID) -> CommandResult? {
        first(index) { event in
            guard case .completed(request, .success(let committed)) = event else { return nil }
            return committed.result
        }
    }

    /// How often a node told this of its room.
    func count(_ index: Int, _ event: RoomEvent) -> Int {
        count(index) { if case .room(event) = $0 { true } else { false } }
    }

    /// Whether every node is in a usable view of `count` members.
    func hasViews(of count: Int) -> Bool {
        nodes.allSatisfy {
            let view = $0.engine.status.view
            return view?.members.count == count && view?.isUsable == true
        }
    }

    /// Starts a session on one node and has the given nodes join it.
    func startSession(on index: Int, joining: [Int], seed: UInt64 = 4711) throws -> SessionID {
        var secrets = SeededSecrets(seed: seed)
        let session: SessionID = secrets.identifier()
        let blueprint = SessionBlueprint(activity: Activity(identifier: "test", payload: []))
        // A second session's requests are told from the first one's.
        let (start, join) = (RequestID(30 + 10_000 * seed), RequestID(31 + 10_000 * seed))
        command(index, .submit(start, .startSession(blueprint), session: session, level: .majority))
        try #require(run { self.result(index, start) != nil })
        for node in joining {
            command(node, .submit(join, .join(nonce: join), session: session, level: .majority))
            try #require(run { self.result(node, join) != nil })
        }
        try #require(
            run {
                self.nodes.indices.allSatisfy {
                    self.nodes[$0].engine.room?.session(session)?.participants.count
                        == joining.count
                }
            }
        )
        return session
    }
}
