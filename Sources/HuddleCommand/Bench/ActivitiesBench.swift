import Foundation
import GroupActivities
import Huddle
import MeshNet
import MeshWire
import Synchronization

/// `huddle bench activities`: Apple's names beside the lanes they stand on, between two nodes on loopback.
///
/// The bars are those of `40-groupactivities.md` §15; each figure stands beside what it is compared with, of
/// the same run.
struct ActivitiesBench {
    private let isJSON: Bool
    private let isOfJournal: Bool

    private static let sequential = 2000
    private static let batch = 10_000
    private static let joins = 50

    init(_ invocation: Invocation) throws(Failure) {
        for option in ["--nodes", "--trials", "--loss", "--keep"] where invocation.has(option) {
            throw .usage("\(option) is of failover, not of activities", command: "bench")
        }
        isJSON = invocation.wantsJSON
        isOfJournal = invocation.has("--journal")
    }

    /// What is done together here.
    private struct Drawing: GroupActivity {
        static let activityIdentifier = "huddle.bench"
        var title: String
        var metadata: GroupActivityMetadata { GroupActivityMetadata() }
    }

    /// About a hundred bytes, encoded.
    private struct Stroke: Codable {
        var number: Int
        var points: [Double]

        init(_ number: Int) {
            self.number = number
            points = (0..<9).map { Double($0) * 1.5 }
        }
    }

    @MainActor
    func run() async throws(Failure) -> Int32 {
        do {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("huddle-bench-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            if isOfJournal {
                try await JournalBench(isJSON: isJSON).run(in: folder.path)
                return ExitCode.success
            }
            let ada = try await BenchPair.start("ada", in: folder.path)
            let bob = try await BenchPair.start("bob", in: folder.path)
            let room = try await ada.createRoom(named: "bench")
            _ = try await bob.join(Invitation(try await room.invite().link))
            try await measure(ada, bob)
            await bob.stop()
            await ada.stop()
        } catch {
            throw Failure("failed", "the measurement did not come to its end: \(error)")
        }
        return ExitCode.success
    }

    @MainActor
    private func measure(_ ada: Node, _ bob: Node) async throws {
        let (first, second) = (Conversation(), Conversation())
        await first.use(ada)
        await second.use(bob)
        var mine = await first.run { Drawing.sessions().makeAsyncIterator() }
        var yours = await second.run { Drawing.sessions().makeAsyncIterator() }

        var offers: [Double] = []
        var joins: [Double] = []
        var pair: (GroupSession<Drawing>, GroupSession<Drawing>)?
        for number in 0..<Self.joins {
            let start = SystemClock.now()
            _ = try await first.run { try await Drawing(title: "\(number)").activate() }
            guard let theirs = await yours.next(), let own = await mine.next() else {
                throw Ended()
            }
            offers.append((SystemClock.now() - start).milliseconds)
            let joining = SystemClock.now()
            own.join()
            for await state in own.$state.values where state == .joined { break }
            joins.append((SystemClock.now() - joining).milliseconds)
            theirs.join()
            for await state in theirs.$state.values where state == .joined { break }
            pair = (own, theirs)
        }
        show("activate → sessions() elsewhere", offers, goal: "10 / 60 ms")
        show("join → joined", joins, goal: "10 / 50 ms")
        guard let (own, theirs) = pair else { throw Ended() }
        for await set in own.$activeParticipants.values where set.count == 2 { break }
        for await set in theirs.$activeParticipants.values where set.count == 2 { break }
        try await messages(own, theirs)
    }

    /// Sends one by one and many at once, by the raw lane and by the messenger.
    @MainActor
    private func messages(
        _ own: GroupSession<Drawing>,
        _ theirs: GroupSession<Drawing>
    ) async throws {
        let raw = own.session
        let payload = [UInt8](repeating: 7, count: 100)
        let bytes = await theirs.session.messages(on: "bench")
        let messenger = GroupSessionMessenger(session: own)
        let strokes = GroupSessionMessenger(session: theirs).messages(of: Stroke.self)
        let arrivals = Arrivals()
        let readers = [
            Task.detached { for await _ in bytes { arrivals.count() } },
            Task { for await _ in strokes { arrivals.count() } },
        ]
        defer { for reader in readers { reader.cancel() } }

        func rate(_ number: Int, _ body: () async throws -> Void) async rethrows -> Double {
            let start = SystemClock.now()
            try await body()
            await arrivals.wait(for: number)
            return Double(number) / ((SystemClock.now() - start).milliseconds / 1000)
        }
        let rawOneByOne = try await rate(Self.sequential) {
            for _ in 0..<Self.sequential { try await raw.send(payload, on: "bench") }
        }
        let oneByOne = try await rate(Self.sequential) {
            for number in 0..<Self.sequential { try await messenger.send(Stroke(number)) }
        }
        let rawBatch = try await rate(Self.batch) {
            for _ in 0..<Self.batch {
                try await raw.send(payload, on: "bench", confirm: .accepted)
            }
        }
        let batch = await rate(Self.batch) {
            for number in 0..<Self.batch { messenger.send(Stroke(number)) { _ in } }
        }
        compare("sends awaited one by one", oneByOne, rawOneByOne, goal: "≥ 2000/s")
        compare("sends in a batch", batch, rawBatch, goal: "≥ 0.6×")
    }

    private struct Ended: Error {}

    /// Counts what arrives, for one that waits until a number of it has.
    private final class Arrivals: Sendable {
        private let state = Mutex(
            (count: 0, wanted: 0, waiting: CheckedContinuation<Void, Never>?.none)
        )

        func count() {
            let ready = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.count += 1
                guard let waiting = state.waiting, state.count >= state.wanted else { return nil }
                (state.count, state.waiting) = (0, nil)
                return waiting
            }
            ready?.resume()
        }

        func wait(for number: Int) async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    guard state.count < number else {
                        state.count = 0
                        return true
                    }
                    (state.wanted, state.waiting) = (number, continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    private func show(_ name: String, _ samples: [Double], goal: String) {
        let sorted = samples.sorted()
        let (median, most) = (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
        if isJSON {
            let members = [
                JSON.Member("name", .string(name)), JSON.Member("p50", .number(median)),
                JSON.Member("p99", .number(most)), JSON.Member("unit", .string("ms")),
            ]
            return Terminal.print(JSON.object(members).description)
        }
        Terminal.print(
            name.padded(34)
                + "\(decimals(median, 1)) / \(decimals(most, 1)) ms   goal \(goal)"
        )
    }

    private func compare(_ name: String, _ own: Double, _ raw: Double, goal: String) {
        if isJSON {
            let members = [
                JSON.Member("name", .string(name)), JSON.Member("messenger", .number(own)),
                JSON.Member("raw", .number(raw)), JSON.Member("unit", .string("/s")),
            ]
            return Terminal.print(JSON.object(members).description)
        }
        Terminal.print(
            name.padded(34)
                + "\(Int(own))/s of \(Int(raw))/s raw = \(decimals(own / raw, 2))×   goal \(goal)"
        )
    }
}
