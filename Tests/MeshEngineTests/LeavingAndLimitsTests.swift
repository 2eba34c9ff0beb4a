import MeshConsensus
import MeshCrypto
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire
import Testing

/// What a request hears when its room, its session or its channels come to an end.
@Suite("Leaving, and the limits of the lanes")
struct LeavingAndLimitsTests {
    private func send(
        _ channel: String,
        _ payload: [UInt8] = [1],
        in session: SessionID,
        as request: RequestID,
        by world: EngineWorld
    ) {
        let message = OutboundMessage(session: session, channel: channel, payload: payload)
        world.command(0, .send(request, message))
    }

    @Test("a leave that another one displaces is answered too")
    func displacedLeave() throws {
        let world = try EngineWorld.room(3)
        world.command(0, .leaveRoom(70))
        world.command(0, .leaveRoom(71))
        let left = { (request: RequestID) in
            world.first(0) { if case .left(request) = $0 { true } else { nil } } != nil
        }
        #expect(world.run(for: .seconds(3)) { left(70) && left(71) })
        #expect(world.count(0) { if case .left = $0 { true } else { false } } == 2)
    }

    @Test("a read or a write that waits when its node leaves hears so")
    func pendingWhenLeaving() throws {
        let world = try EngineWorld.room(3)
        let leader = try #require(world.nodes[0].engine.view?.leader)
        let index = try #require(
            world.nodes.indices.first { world.nodes[$0].engine.process != leader }
        )
        // Nothing comes back to it, so neither can end otherwise.
        world.passes = { _, to in to != index }
        world.command(index, .read(80, .linearizable))
        world.command(
            index,
            .submit(81, .setProfile(name: "late"), session: .zero, level: .majority)
        )
        world.command(index, .leaveRoom(82))
        let read = {
            world.first(index) { event -> Bool? in
                if case .readReady(80, .failure(.notJoined)) = event { true } else { nil }
            } != nil
        }
        let write = {
            world.first(index) { event -> Bool? in
                if case .completed(81, .failure) = event { true } else { nil }
            } != nil
        }
        let left = {
            world.first(index) { if case .left(82) = $0 { true } else { nil } } != nil
        }
        #expect(world.run(for: .seconds(5)) { left() })
        #expect(read())
        #expect(write())
    }

    @Test("a session that nobody joins lives for 60 s — 40-groupactivities §4")
    func unjoined() throws {
        let world = try EngineWorld.room(2)
        let session = try world.startSession(on: 1, joining: [])
        world.run(.seconds(58))
        #expect(world.nodes.allSatisfy { $0.engine.room?.session(session) != nil })
        world.run(.seconds(4))
        #expect(world.nodes.allSatisfy { $0.engine.room?.session(session) == nil })
    }

    @Test("three race for two places, 100 times: never three anywhere — 40-groupactivities G22")
    func capacityRaces() throws {
        let world = try EngineWorld.room(3)
        let options = SessionOptions(capacity: 2)
        for race in UInt64(0)..<100 {
            var secrets = SeededSecrets(seed: 9000 + race)
            let session: SessionID = secrets.identifier()
            let (start, join, end) = (200_000 + race, 300_000 + race, 400_000 + race)
            let blueprint = SessionBlueprint(
                activity: Activity(identifier: "duel"),
                options: options
            )
            world.command(
                0,
                .submit(start, .startSession(blueprint), session: session, level: .majority)
            )
            try #require(world.run { world.result(0, start) != nil })
            for node in [race, race + 1, race + 2].map({ Int($0 % 3) }) {
                world.command(
                    node,
                    .submit(join, .join(nonce: race), session: session, level: .majority)
                )
            }
            try #require(world.run { (0..<3).allSatisfy { world.result($0, join) != nil } })
            let results = (0..<3).compactMap { world.result($0, join) }
            let refused = CommandResult.refused(.full(.participants, limit: 2))
            #expect(results.count { $0 == refused } == 1)
            world.command(
                Int(race % 3),
                .submit(end, .endSession(isExpiry: false), session: session, level: .majority)
            )
            try #require(
                world.run { world.nodes.allSatisfy { $0.engine.room?.session(session) == nil } }
            )
            for node in 0..<3 {
                let joins = world.count(node) { event in
                    if case .room(.participantJoined(session, _)) = event { true } else { false }
                }
                #expect(joins == 2, "node \(node), race \(race)")
            }
        }
    }

    @Test("a channel whose reader is full holds up no other channel to its node")
    func ownBacklog() throws {
        let world = try EngineWorld.room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        world.command(1, .pauseReading(session, channel: "bulk", isPaused: true))
        // 5 MiB: more than the pair takes of one channel, so that some of it waits here.
        let payload = [UInt8](repeating: 7, count: 64 << 10)
        for number in 0..<80 {
            send("bulk", payload, in: session, as: RequestID(2000 + number), by: world)
        }
        world.run(.seconds(2))
        send("talk", in: session, as: 5000, by: world)
        #expect(
            world.run(for: .seconds(1)) {
                world.first(0) { event -> Bool? in
                    guard case .sendOutcome(5000, let report) = event else { return nil }
                    return report.failures.isEmpty
                } == true
            }
        )
        let bulk = { world.count(1) { if case .message = $0 { true } else { false } } - 1 }
        #expect(bulk() < 80)
        world.command(1, .pauseReading(session, channel: "bulk", isPaused: false))
        #expect(world.run { bulk() == 80 })
    }

    @Test("out of channels is said as such, with the limit; a session's end gives them back")
    func outOfChannels() throws {
        let world = try EngineWorld.room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        let limit = Limits.channels - 2
        for number in 0..<limit + 5 {
            send("c\(number)", in: session, as: RequestID(2000 + number), by: world)
        }
        let reports = {
            world.nodes[0].events.compactMap { event -> SendReport? in
                if case .sendOutcome(_, let report) = event { report } else { nil }
            }
        }
        #expect(world.run { reports().count == limit + 5 })
        let reasons = reports().flatMap(\.failures).map(\.reason)
        #expect(reasons == Array(repeating: .tooManyChannels(limit: limit), count: 5))

        world.command(
            0,
            .submit(90, .endSession(isExpiry: false), session: session, level: .majority)
        )
        #expect(world.run { world.nodes.allSatisfy { $0.engine.room?.session(session) == nil } })
        world.run(.seconds(1))
        let next = try world.startSession(on: 0, joining: [0, 1], seed: 12)
        for number in 0..<limit {
            send("d\(number)", in: next, as: RequestID(4000 + number), by: world)
        }
        #expect(world.run { reports().count == 2 * limit + 5 })
        #expect(reports().flatMap(\.failures).count == 5, "channels outlived their session")
    }

    @Test("a session that ends while a reader is full gives its channels back as well")
    func endedWhilePaused() throws {
        let world = try EngineWorld.room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        world.command(1, .pauseReading(session, channel: "bulk", isPaused: true))
        let payload = [UInt8](repeating: 7, count: 64 << 10)
        for number in 0..<32 {
            send("bulk", payload, in: session, as: RequestID(2000 + number), by: world)
        }
        world.run(.seconds(2))
        world.command(
            0,
            .submit(90, .endSession(isExpiry: false), session: session, level: .majority)
        )
        let ended = {
            world.count(0) { if case .sendOutcome = $0 { true } else { false } }
        }
        #expect(world.run(for: .seconds(1)) { ended() == 32 })
        // What was called back keeps nobody waiting who comes after.
        let next = try world.startSession(on: 0, joining: [0, 1], seed: 5)
        send("bulk", in: next, as: 5000, by: world)
        #expect(
            world.run(for: .seconds(1)) {
                world.first(0) { event -> Bool? in
                    guard case .sendOutcome(5000, let report) = event else { return nil }
                    return report.failures.isEmpty
                } == true
            }
        )
    }
}
