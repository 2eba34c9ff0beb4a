import GroupActivities
import Huddle
import HuddleTesting
import Synchronization
import Testing

import class Foundation.ProcessInfo

/// What several do in the same instant (`40-groupactivities.md` §14, the rows of kind S).
@Suite("In the same instant")
struct RaceTests {
    /// Whether `HUDDLE_LONG=1` asks for the runs that take minutes.
    private static let isLong = ProcessInfo.processInfo.environment["HUDDLE_LONG"] == "1"

    /// So many seeds, or the thousand of the design.
    private static func seeds(_ count: UInt64) -> ClosedRange<UInt64> {
        1...(isLong ? 1000 : count)
    }

    /// Two programs on a network that delays and loses, as the seed has it.
    private func pair(_ seed: UInt64) async throws -> Party {
        let party = try await Party(seed: seed, ["A", "B"])
        party.simulation.network.set(
            loss: 0.02,
            delay: .milliseconds(Int64(seed % 30)),
            jitter: .milliseconds(2)
        )
        return party
    }

    @Test("G14: both activate the same: one session, and both are told that it is theirs")
    func same() async throws {
        for seed in Self.seeds(40) {
            let party = try await pair(seed)
            async let one = party.participants[0].run { try await Canvas().activate() }
            async let two = party.participants[1].run { try await Canvas().activate() }
            let told = try await [one, two]
            #expect(told == [true, true])
            try await party.simulation.settle(within: .seconds(10))
            var ids: Set<UUID> = []
            for program in party.programs {
                #expect(await program.sessions.count == 1, "seed \(seed)")
                #expect(await program.session?.state == .joined, "seed \(seed)")
                #expect(await program.present.count == 2, "seed \(seed)")
                if let id = await program.session?.id { ids.insert(id) }
            }
            #expect(ids.count == 1, "seed \(seed)")
        }
    }

    @Test("G15: different ones: one survives everywhere, the other was replaced")
    func different() async throws {
        for seed in Self.seeds(20) {
            let party = try await pair(seed)
            async let one = party.participants[0].run { try await Canvas(title: "a").activate() }
            async let two = party.participants[1].run { try await Canvas(title: "b").activate() }
            _ = try await (one, two)
            try await party.simulation.settle(within: .seconds(10))
            var left: Set<UUID> = []
            for program in party.programs {
                let sessions = await program.sessions
                let joined = sessions.filter { $0.state == .joined }
                #expect(joined.count == 1, "seed \(seed)")
                for session in joined { left.insert(session.id) }
                for session in sessions where session.state != .joined {
                    guard case .invalidated(let reason) = session.state,
                        case .replaced? = reason as? GroupSessionError
                    else {
                        Issue.record("seed \(seed): \(session.state)")
                        continue
                    }
                }
            }
            #expect(left.count == 1, "seed \(seed)")
        }
    }

    @Test("G16: both replace the activity: it ends equal for all")
    func replacement() async throws {
        for seed in Self.seeds(20) {
            let party = try await pair(seed)
            try await party.gather()
            async let one: Void = party.participants[0].run {
                await MainActor.run {
                    party.programs[0].session?.activity = Canvas(title: "from A")
                }
            }
            async let two: Void = party.participants[1].run {
                await MainActor.run {
                    party.programs[1].session?.activity = Canvas(title: "from B")
                }
            }
            _ = try await (one, two)
            try await party.simulation.settle(within: .seconds(10))
            let titles = await [
                party.programs[0].session?.activity.title,
                party.programs[1].session?.activity.title,
            ]
            #expect(titles[0] == titles[1], "seed \(seed)")
            #expect(["from A", "from B"].contains(titles[0]), "seed \(seed)")
        }
    }

    @Test(
        "G23: a split of 10 s and of 90 s: the same ids after it, nothing twice, misses are named"
    )
    func split() async throws {
        for (seed, seconds) in [(1, 10), (2, 10), (3, 90), (4, 90)] as [(UInt64, Int64)] {
            let party = try await pair(seed)
            try await party.gather()
            let ids = await party.programs[0].present
            let simulation = party.simulation
            simulation.network.partition([party.participants[0]], [party.participants[1]])
            await simulation.advance(by: .seconds(1))
            let failures = Failures()
            for (participant, program) in zip(party.participants, party.programs) {
                let begin = program.name == "A" ? 1 : 11
                for number in begin..<begin + 5 {
                    try await participant.run {
                        await program.messenger?.send(Stroke(number: number)) { error in
                            if error != nil { failures.numbers.withLock { $0.append(number) } }
                        }
                    }
                }
            }
            await simulation.advance(by: .seconds(seconds))
            simulation.network.heal()
            try await simulation.settle(within: .seconds(30))
            let (a, b) = (party.programs[0], party.programs[1])
            for program in [a, b] {
                #expect(await program.present == ids, "seed \(seed)")
                #expect(await program.sessions.count == 1, "seed \(seed)")
            }
            let got = await (a.reliable + b.reliable).map(\.number)
            #expect(Set(got).count == got.count, "seed \(seed)")
            let missed = Set(Array(1...5) + Array(11...15)).subtracting(got)
            #expect(missed == Set(failures.numbers.withLock { $0 }), "seed \(seed)")
            if seconds == 10 { #expect(missed.isEmpty, "seed \(seed)") }
        }
    }

    /// As many as a session of Apple's has, or as many as take a moment in a debug build.
    private static let crowd = isLong ? 32 : 10

    @Test(
        "G29: many join in any order over 5 % loss: equal sets, nobody heard before it was published"
    )
    func many() async throws {
        let crowd = Self.crowd
        let names = (1...crowd).map { "P\($0)" }
        let party = try await Party(seed: 29, names, joinsAtOnce: false)
        let simulation = party.simulation
        let wall = ContinuousClock.now
        simulation.network.set(loss: 0.05, delay: .milliseconds(5), jitter: .milliseconds(3))
        let begin = simulation.elapsed
        try await party.participants[0].run { _ = try await Canvas().activate() }
        try await simulation.settle(within: .seconds(20))
        // Who joins speaks at once.
        let order = (0..<crowd).map { ($0 * 13 + 5) % crowd }
        for index in order {
            let program = party.programs[index]
            try await party.participants[index].run {
                await MainActor.run {
                    program.session?.join()
                    program.messenger?.send(Stroke(number: index)) { _ in }
                }
            }
            await simulation.advance(by: .milliseconds(Int64(index % 7)))
        }
        try await simulation.settle(within: .seconds(60))
        let first = await party.programs[0].present
        #expect(first.count == crowd)
        for program in party.programs {
            #expect(await program.present == first)
            #expect(await program.strangers == 0)
            let heard = await program.reliable.map(\.number)
            #expect(Set(heard).count == heard.count)
        }
        let passed = simulation.elapsed - begin
        let ratio = passed / (ContinuousClock.now - wall)
        print(
            "\(crowd) participants: \(passed) of virtual time, \(ratio) times as fast as the wall"
        )
    }
}

/// Messages that did not arrive, as their senders were told.
private final class Failures: Sendable {
    let numbers = Mutex<[Int]>([])
}
