import MeshConsensus
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire
import Testing

/// Marks in the streams of a session (`40-groupactivities.md` §9.2).
@Suite("Marks of requests for the state")
struct StateMarkTests {
    private func send(
        _ payload: [UInt8],
        mark: Position? = nil,
        lane: Lane = .reliable,
        _ request: RequestID,
        in session: SessionID,
        by world: EngineWorld
    ) {
        var message = OutboundMessage(session: session, channel: "talk", payload: payload)
        message.lane = lane
        message.mark = mark.map { StateMark(position: $0, stream: 5) }
        world.command(0, .send(request, message))
    }

    private func received(_ index: Int, by world: EngineWorld) -> [InboundMessage] {
        world.nodes[index].events.compactMap { event in
            if case .message(let message) = event { message } else { nil }
        }
    }

    @Test("a request is one event at one place for all; a mark of it arrives as one, in its stream")
    func request() throws {
        let world = try EngineWorld.room(3)
        let session = try world.startSession(on: 0, joining: [0, 1, 2])
        world.command(2, .submit(500, .requestState, session: session, level: .majority))
        let request = { (index: Int) in
            world.first(index) { event in
                if case .room(.stateRequested(session, let request)) = event {
                    request
                } else {
                    nil
                }
            }
        }
        #expect(world.run { (0..<3).allSatisfy { request($0) != nil } })
        let told = try #require(request(0))
        #expect(request(1) == told)
        #expect(request(2) == told)
        #expect(told.present.count == 3)
        send([1], 600, in: session, by: world)
        send([], mark: told.position, 601, in: session, by: world)
        send([2], 602, in: session, by: world)
        world.run(.seconds(1))
        let messages = received(1, by: world)
        #expect(messages.map(\.payload) == [[1], [], [2]])
        #expect(
            messages.map(\.mark) == [nil, StateMark(position: told.position, stream: 5), nil]
        )
        #expect(Set(messages.map(\.stream)).count == 1)
    }

    @Test(
        "a mark whose request is to come waits with what follows it, and is dropped after two seconds"
    )
    func early() throws {
        let world = try EngineWorld.room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        let future = Position(epoch: Epoch(counter: 1 << 40, proposer: 1), index: 1)
        send([1], 600, in: session, by: world)
        send([], mark: future, 601, in: session, by: world)
        send([2], 602, in: session, by: world)
        world.run(.seconds(1))
        #expect(received(1, by: world).map(\.payload) == [[1]])
        world.run(.seconds(3))
        #expect(received(1, by: world).allSatisfy { $0.mark == nil })
        #expect(world.nodes[1].engine.status.lanes.heldTooLong >= 1)
        send([3], 603, in: session, by: world)
        world.run(.seconds(1))
        #expect(received(1, by: world).last?.payload == [3])
    }

    @Test("a mark on the fast lane is none")
    func fast() throws {
        let world = try EngineWorld.room(2)
        let session = try world.startSession(on: 0, joining: [0, 1])
        send([], mark: .zero, lane: .fast, 600, in: session, by: world)
        world.run(.seconds(1))
        #expect(received(1, by: world).isEmpty)
        #expect(world.nodes[1].engine.status.lanes.malformed == 1)
    }
}
