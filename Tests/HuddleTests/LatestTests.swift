import MeshFaults
import MeshWire
import Testing

@testable import Huddle

@Suite(
    "What each participant shows — 40-groupactivities §9.3",
    .serialized,
    .timeLimit(.minutes(1))
)
struct LatestTests {
    @Test("a newcomer gets what everybody shows, changes follow, and who leaves shows nothing")
    func newcomer() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let mine = hall.shared
        try await mine.join()
        try await mine.latest("cursor").set([1])
        try await mine.latest("colour").set([9])
        // Ben is no reader yet; what was shown before he joined reaches him all the same.
        let yours = room.shared
        var cursor = await yours.latest("cursor").changes().makeAsyncIterator()
        var colour = await yours.latest("colour").changes().makeAsyncIterator()
        #expect(await cursor.next()?.value == [1])
        #expect(await colour.next()?.value == [9])
        try await mine.latest("cursor").set([2])
        let change = await cursor.next()
        #expect(change?.value == [2])
        #expect(change?.participant.node == anna.id)
        let shown = await yours.latest("cursor").all
        #expect(shown.map(\.value) == [[2]])
        try await mine.leave()
        #expect(await cursor.next()?.value == nil)
        #expect(await yours.latest("cursor").all.isEmpty)
        await anna.stop()
        await ben.stop()
    }

    @Test("after 300 changes at 30 % loss every member has the last one")
    func loss() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        var configuration = stage.configuration("anna")
        configuration.faults = try LinkConditions(parsing: "loss 30%")
        let anna = try await Node.start(configuration)
        let ben = try await stage.start("ben")
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let (mine, yours) = (hall.shared, room.shared)
        try await mine.join()
        try await yours.join()
        let cursor = mine.latest("cursor")
        for step in 1...300 { try await cursor.set([UInt8(step & 255), UInt8(step >> 8)]) }
        for await change in await yours.latest("cursor").changes()
        where change.value == [UInt8(300 & 255), UInt8(300 >> 8)] { break }
        await anna.stop()
        await ben.stop()
    }

    @Test("over a bound: an error that says which, and nothing is shown")
    func bounds() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let anna = try await stage.start("anna")
        let session = try await anna.createRoom(named: "hall").shared
        try await session.join()
        let big = [UInt8](repeating: 0, count: 8193)
        await #expect(throws: MessengerError.tooLarge(size: 8193, limit: 8192)) {
            try await session.latest("cursor").set(big)
        }
        for name in ["", String(repeating: "n", count: 65)] {
            await #expect(throws: MessengerError.badChannel(limit: 64)) {
                try await session.latest(name).set([1])
            }
        }
        for index in 0..<256 { try await session.latest("\(index)").set([1]) }
        await #expect(throws: MessengerError.tooManyValues(limit: 256)) {
            try await session.latest("one more").set([1])
        }
        await anna.stop()
        await #expect(throws: MessengerError.sessionInvalidated) {
            try await session.latest("1").set([2])
        }
    }

    @Test("a value that was not sent is taken back, unless a newer one stands there")
    func takingBack() {
        let board = LatestBoard()
        #expect(board.show([1], "cursor"))
        #expect(board.show([2], "cursor"))
        board.takeBack([2], "cursor", to: [1])
        #expect(board.own["cursor"] == [1])
        #expect(board.show([3], "cursor"))
        board.takeBack([2], "cursor", to: [1])
        #expect(board.own["cursor"] == [3])
        board.takeBack([3], "cursor", to: nil)
        #expect(board.own.isEmpty)
    }
}
