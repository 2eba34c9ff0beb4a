import HuddleTesting
import MeshFaults
import Testing

@testable import Huddle

@Suite("The rank of messages — 40-groupactivities §9.1")
struct PriorityTests {
    @Test("a high rank overtakes what waits for a slow link, and order holds within a rank")
    func overtaking() async throws {
        let simulation = Simulation(seed: 1)
        let (anna, ben) = (
            try await simulation.participant("anna"), try await simulation.participant("ben")
        )
        let id = try await anna.run {
            try await #require(await anna.node.room).start("org.example.ranks").id
        }
        let mine = try await join(anna, id)
        let yours = try await join(ben, id)
        try await simulation.settle(within: .seconds(5))
        simulation.network.set(try LinkConditions(parsing: "rate 5Mbit/s"))
        let messages = try await ben.run { await yours.messages(on: "mixed") }
        // 1.5 MiB take two seconds and a half; the word behind them does not wait for that.
        try await anna.run {
            for index in 0..<24 {
                var payload = [UInt8](repeating: 0, count: 65_536)
                payload[0] = UInt8(index)
                try await mine.send(payload, on: "mixed", confirm: .accepted, priority: .low)
            }
            try await mine.send([255], on: "mixed", priority: .high)
        }
        var order = try await ben.run {
            var order: [UInt8] = []
            for await message in messages.prefix(25) { order.append(message.payload[0]) }
            return order
        }
        let place = try #require(order.firstIndex(of: 255))
        #expect(place < 24, "the word came last")
        order.remove(at: place)
        #expect(order == Array(0..<24))
    }

    private func join(_ participant: SimulatedParticipant, _ id: SessionID) async throws -> Session
    {
        try await participant.run {
            let session = Session(id: id, node: participant.node)
            try await session.join()
            return session
        }
    }
}
