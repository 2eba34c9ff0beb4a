import MeshEngine
import MeshSession
import MeshTransport
import MeshWire
import Testing

/// Who waits for a node that does not answer (`40-groupactivities.md` §5).
@Suite("Quiet nodes")
struct QuietTests {
    private func room() throws -> (EngineWorld, SessionID) {
        let world = try EngineWorld.room(3)
        return (world, try world.startSession(on: 0, joining: [0, 1, 2]))
    }

    private func send(
        _ number: Int,
        to recipients: MeshEngine.Recipients = .all,
        in session: SessionID,
        by world: EngineWorld
    ) {
        var message = OutboundMessage(
            session: session,
            channel: "talk",
            payload: [UInt8](repeating: UInt8(number), count: 64 << 10)
        )
        message.recipients = recipients
        world.command(0, .send(RequestID(5000 + number), message))
    }

    private func isAccepted(_ number: Int, by world: EngineWorld) -> Bool {
        world.count(0) { $0.isAcceptance(of: RequestID(5000 + number)) } > 0
    }

    private func settled(_ number: Int, by world: EngineWorld) -> Int {
        world.count(0) { $0.isPartialSettlement(of: RequestID(5000 + number)) }
    }

    private func report(_ number: Int, by world: EngineWorld) -> SendReport? {
        world.first(0) { event in
            guard case .sendOutcome(RequestID(5000 + number), let report) = event else {
                return nil
            }
            return report
        }
    }

    @Test("one that stands still holds up nobody for long, and has all in order when back")
    func standingStill() throws {
        let (world, session) = try room()
        world.passes = { from, to in from != 2 && to != 2 }
        let stop = world.now
        // 5 MiB, more than the pair takes; each when the one before has arrived where somebody answers.
        for number in 0..<80 {
            send(number, in: session, by: world)
            let isSettled = world.run(for: .seconds(3)) { settled(number, by: world) == 1 }
            try #require(isSettled, "message \(number)")
            #expect(isAccepted(number, by: world))
        }
        #expect(world.now - stop >= .seconds(1))
        #expect(world.now - stop < .seconds(3))
        world.passes = { _, _ in true }
        #expect(world.run { report(79, by: world) != nil })
        #expect((0..<80).allSatisfy { report($0, by: world)?.failures.isEmpty == true })
        let numbers = world.nodes[2].events.compactMap { event -> UInt8? in
            if case .message(let message) = event { message.payload.first } else { nil }
        }
        #expect(numbers == (0..<80).map { UInt8($0) })
        // It answers again, and is waited for again.
        send(100, in: session, by: world)
        #expect(world.run { report(100, by: world) != nil })
        #expect(settled(100, by: world) == 0)
    }

    @Test("where only those are addressed who do not answer, they are waited for")
    func onlyQuiet() throws {
        let (world, session) = try room()
        let third = try #require(
            world.nodes[0].engine.room?.session(session)?
                .participant(of: world.nodes[2].engine.process)
        )
        world.passes = { from, to in from != 2 && to != 2 }
        send(0, to: .only([third.id]), in: session, by: world)
        world.run(.seconds(4))
        #expect(settled(0, by: world) == 0 && report(0, by: world) == nil)
        world.passes = { _, _ in true }
        #expect(world.run { report(0, by: world)?.failures.isEmpty == true })
    }

    @Test("one that was silent because there was nothing to say is waited for")
    func idle() throws {
        let (world, session) = try room()
        world.run(.seconds(20))
        for number in 0..<5 {
            send(number, in: session, by: world)
            #expect(world.run(for: .seconds(1)) { report(number, by: world) != nil })
            #expect(settled(number, by: world) == 0)
            world.run(.seconds(7))
        }
    }
}

extension Event {
    fileprivate func isAcceptance(of request: RequestID) -> Bool {
        if case .accepted(request) = self { true } else { false }
    }

    fileprivate func isPartialSettlement(of request: RequestID) -> Bool {
        if case .settledInPart(request) = self { true } else { false }
    }
}
