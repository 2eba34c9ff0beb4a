import MeshFaults
import MeshWire
import Testing

@testable import Huddle

@Suite("The rank of messages — 40-groupactivities §9.1", .serialized, .timeLimit(.minutes(1)))
struct PriorityTests {
    @Test("a high rank overtakes what waits for a slow link, and order holds within a rank")
    func overtaking() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        var configuration = stage.configuration("anna")
        configuration.faults = try LinkConditions(parsing: "rate 5Mbit/s")
        let (anna, ben) = (try await Node.start(configuration), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let (mine, yours) = (hall.shared, room.shared)
        try await mine.join()
        try await yours.join()
        await mine.waitForParticipants(2)
        let messages = await yours.messages(on: "mixed")
        // 1.5 MiB take two seconds and a half; the word behind them does not wait for that.
        let bulk = Task {
            for index in 0..<24 {
                var payload = [UInt8](repeating: 0, count: 65_536)
                payload[0] = UInt8(index)
                try await mine.send(payload, on: "mixed", confirm: .accepted, priority: .low)
            }
            try await mine.send([255], on: "mixed", priority: .high)
        }
        var order: [UInt8] = []
        for await message in messages {
            order.append(message.payload[0])
            if order.count == 25 { break }
        }
        try await bulk.value
        let place = try #require(order.firstIndex(of: 255))
        #expect(place < 24, "the word came last")
        order.remove(at: place)
        #expect(order == Array(0..<24))
        await anna.stop()
        await ben.stop()
    }
}
