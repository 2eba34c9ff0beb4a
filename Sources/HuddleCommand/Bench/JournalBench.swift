import Foundation
import Huddle
import MeshNet
import MeshWire
import Synchronization

/// `huddle bench activities --journal`: 100 MB from one of three, who goes once a second has it; a fourth
/// that comes then loads it from who is left (`40-groupactivities.md` G31).
///
/// All nodes are of this process and share its machine. What small messages take meanwhile stands beside
/// what they take when nothing else is sent.
struct JournalBench {
    private let isJSON: Bool
    private static let size: UInt64 = 100_000_000
    private static let messages = 200

    init(isJSON: Bool) {
        self.isJSON = isJSON
    }

    func run(in folder: String) async throws {
        let ada = try await BenchPair.start("ada", in: folder)
        let bob = try await BenchPair.start("bob", in: folder)
        let cyd = try await BenchPair.start("cyd", in: folder)
        let hall = try await ada.createRoom(named: "bench")
        let mine = try await hall.start("bench")
        let bobs = try await Self.enter(bob, hall, mine.id)
        let cyds = try await Self.enter(cyd, hall, mine.id)
        for keeper in [bobs, cyds] { await keeper.journal.keep() }
        let changes = await mine.participantChanges()
        while await mine.participants.count < 3 {
            for await _ in changes { break }
        }

        let idle = try await Self.latencies(from: mine, to: bobs) { $0 >= Self.messages }
        let begin = SystemClock.now()
        let upload = mine.journal.add(
            .reader(size: Self.size) { offset, count in
                [UInt8](repeating: UInt8(truncatingIfNeeded: offset >> 16), count: count)
            }
        )
        let attachment = try await upload.value
        let added = SystemClock.now()
        let spread = Task { try await upload.heldElsewhere(by: 1) }
        let isSpread = Occurrence()
        Task {
            _ = await spread.result
            isSpread.raise()
        }
        let busy = try await Self.latencies(from: mine, to: bobs) { _ in isSpread.isRaised }
        try await spread.value
        let held = SystemClock.now()
        // It leaves no time for a hand-over of what it holds: there is none.
        await ada.stop()
        let dan = try await BenchPair.start("dan", in: folder)
        guard let room = await bob.room else { throw Ended() }
        let dans = try await Self.enter(dan, room, mine.id)
        let joined = SystemClock.now()
        let content = try await dans.journal.load(attachment).value
        let loaded = SystemClock.now()
        guard content.size == Self.size else { throw Ended() }
        for node in [bob, cyd, dan] { await node.stop() }

        show("100 MB read, hashed and in the log", (added - begin).milliseconds)
        show("→ held by a second of three", (held - added).milliseconds)
        show("late fourth, uploader gone: join → loaded", (loaded - joined).milliseconds)
        show("message, nothing else sent, p50", idle.middle)
        show("message, nothing else sent, p99", idle.most)
        show("message beside the transfer, p50", busy.middle)
        show("message beside the transfer, p99", busy.most)
    }

    private struct Ended: Error {}

    private static func enter(
        _ node: Node,
        _ host: Room,
        _ session: SessionID
    ) async throws -> Session {
        let room = try await node.join(Invitation(try await host.invite().link))
        guard let found = await room.sessions.first(where: { $0.id == session }) else {
            throw Ended()
        }
        try await found.join()
        return found
    }

    private struct Latencies {
        var middle: Double
        var most: Double
    }

    /// Sends small messages one by one until `isDone` of their number; each is awaited.
    private static func latencies(
        from sender: Session,
        to receiver: Session,
        until isDone: (Int) -> Bool
    ) async throws -> Latencies {
        let reader = Task.detached {
            for await _ in await receiver.messages(on: "bench") {}
        }
        defer { reader.cancel() }
        var samples: [Double] = []
        repeat {
            let start = SystemClock.now()
            try await sender.send([1, 2, 3], on: "bench")
            samples.append((SystemClock.now() - start).milliseconds)
        } while !isDone(samples.count)
        samples.sort()
        return Latencies(
            middle: samples[samples.count / 2],
            most: samples[samples.count * 99 / 100]
        )
    }

    private func show(_ name: String, _ milliseconds: Double) {
        if isJSON {
            let members = [
                JSON.Member("name", .string(name)), JSON.Member("value", .number(milliseconds)),
                JSON.Member("unit", .string("ms")),
            ]
            return Terminal.print(JSON.object(members).description)
        }
        Terminal.print(name.padded(44) + "\(decimals(milliseconds, 1)) ms")
    }
}

/// Something that happened, as another task sees it.
private final class Occurrence: Sendable {
    private let state = Mutex(false)

    var isRaised: Bool { state.withLock { $0 } }

    func raise() { state.withLock { $0 = true } }
}
