import GroupActivities
import Huddle
import HuddleTesting
import Testing

@Suite("A program as several participants")
struct SimulationTests {
    @Test("two activate, join, and exchange messages of both modes in virtual time")
    func messages() async throws {
        let party = try await Party(seed: 7, ["A", "B"])
        try await party.gather()
        let (a, b) = (party.programs[0], party.programs[1])
        for program in [a, b] {
            #expect(await program.session?.state == .joined)
            #expect(await program.present.count == 2)
        }
        #expect(await a.session?.id == b.session?.id)
        #expect(await a.session?.isLocallyInitiated == true)
        #expect(await b.session?.isLocallyInitiated == false)

        for number in 1...20 {
            try await party.participants[0].run {
                try await a.messenger?.send(Stroke(number: number))
            }
        }
        try await party.participants[1].run { try await b.fast?.send(Stroke(number: 99)) }
        try await party.simulation.settle(within: .seconds(2))
        #expect(await b.reliable == (1...20).map { Stroke(number: $0) })
        #expect(await b.unreliable.isEmpty)
        #expect(await a.unreliable == [Stroke(number: 99)])
        #expect(await a.reliable.isEmpty)
    }

    @Test("the same seed gives the same run, another seed another", arguments: [1, 4242])
    func repeats(seed: UInt64) async throws {
        func run(_ seed: UInt64) async throws -> ([String], UInt64, Duration) {
            let party = try await Party(seed: seed, ["A", "B", "C"])
            party.simulation.network.set(
                loss: 0.05,
                delay: .milliseconds(20),
                jitter: .milliseconds(5),
                duplicate: 0.01
            )
            try await party.gather()
            // Two at once, a burst without waiting, a crash.
            async let one: Void = party.participants[0].run {
                for number in 1...5 {
                    try await party.programs[0].messenger?.send(Stroke(number: number))
                }
            }
            async let two: Void = party.participants[1].run {
                for number in 6...10 {
                    try await party.programs[1].messenger?.send(Stroke(number: number))
                }
            }
            _ = try await (one, two)
            await party.participants[2].crash()
            await party.simulation.advance(by: .seconds(40))
            return (
                await party.transcript, party.simulation.fingerprint, party.simulation.elapsed
            )
        }
        let first = try await run(seed)
        let second = try await run(seed)
        let third = try await run(seed + 1)
        #expect(first.0 == second.0)
        #expect(first.0.count > 30)
        #expect(first.1 == second.1)
        #expect(first.2 == second.2)
        #expect(first.1 != third.1)
    }

    @Test("5 % loss and a partition of 10 s: ids are kept, nothing is doubled or missed")
    func partition() async throws {
        let party = try await Party(seed: 3, ["A", "B", "C"])
        try await party.gather()
        let simulation = party.simulation
        let ids = await party.programs[0].present
        #expect(ids.count == 3)

        simulation.network.set(loss: 0.05, delay: .milliseconds(10))
        simulation.network.partition([party.participants[2]])
        await simulation.advance(by: .seconds(1))
        // Who is cut off gets later what both sides send meanwhile.
        for (index, number) in [(0, 1), (1, 2), (2, 3)] {
            try await party.participants[index].run {
                await party.programs[index].messenger?.send(Stroke(number: number)) { _ in }
            }
        }
        await simulation.advance(by: .seconds(9))
        simulation.network.heal()
        try await simulation.settle(within: .seconds(20))
        for program in party.programs {
            #expect(await program.present == ids)
            #expect(await program.sessions.count == 1)
            #expect(await program.session?.state == .joined)
        }
        func sorted(_ program: Program) async -> [Int] {
            await program.reliable.map(\.number).sorted()
        }
        #expect(await sorted(party.programs[0]) == [2, 3])
        #expect(await sorted(party.programs[1]) == [1, 3])
        #expect(await sorted(party.programs[2]) == [1, 2])
    }

    @Test("who crashes is gone for the others after the grace, who stops at once")
    func leaving() async throws {
        let party = try await Party(seed: 5, ["A", "B", "C"])
        try await party.gather()
        #expect(await party.programs[0].present.count == 3)
        try await party.participants[2].stop()
        try await party.simulation.settle(within: .seconds(5))
        #expect(party.simulation.participants.filter(\.isGone).count == 1)

        await party.participants[1].crash()
        await party.simulation.advance(by: .seconds(60))
        #expect(await party.programs[0].present.count == 1)
        #expect(await party.programs[0].session?.state == .joined)
        let state = await party.programs[1].session?.state
        guard case .invalidated? = state else {
            Issue.record("the crashed program's own session is \(state as Any)")
            return
        }
    }

    @Test("virtual time passes faster than the wall's")
    func speed() async throws {
        let party = try await Party(seed: 8, ["A", "B"])
        try await party.gather()
        let wall = ContinuousClock.now
        await party.simulation.advance(by: .seconds(60))
        let ratio = Duration.seconds(60) / (ContinuousClock.now - wall)
        print("two in a session: \(ratio) times as fast as the wall")
        #expect(ratio > 1)
    }

    @Test("eligibility is the participant's own")
    func eligibility() async throws {
        let simulation = Simulation(seed: 11)
        let a = try await simulation.participant("A")
        try await a.run {
            #expect(GroupStateObserver().isEligibleForGroupSession)
            #expect(await Canvas().prepareForActivation() == .activationPreferred)
        }
        #expect(Conversation.current === Conversation.process)
    }

    @Test("who yields until something comes holds up neither time nor the main actor")
    func yielding() async throws {
        let party = try await Party(seed: 6, ["A", "B"])
        try await party.participants[0].run { _ = try await Canvas().activate() }
        try await party.participants[1].run {
            while await party.programs[1].present.count < 2 { await Task.yield() }
        }
        #expect(await party.programs[1].present.count == 2)
        try await party.participants[1].run {
            await MainActor.run {
                Task { @MainActor in
                    while party.programs[1].reliable.isEmpty { await Task.yield() }
                }
            }
        }
        try await party.participants[0].run {
            try await party.programs[0].messenger?.send(Stroke(number: 1))
        }
        #expect(await party.programs[1].reliable == [Stroke(number: 1)])
    }

    @Test("virtual time: a day passes in moments, a program's clock sleeps in it")
    func time() async throws {
        let simulation = Simulation(seed: 1)
        #expect(simulation.elapsed == .zero)
        let clock = simulation.clock
        let woken = Task { try await clock.sleep(for: .seconds(3600)) }
        await simulation.advance(by: .seconds(86400))
        try await woken.value
        #expect(simulation.elapsed == .seconds(86400))
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
