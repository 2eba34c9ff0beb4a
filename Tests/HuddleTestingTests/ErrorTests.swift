import GroupActivities
import Huddle
import HuddleTesting
import Testing

@Suite("What a simulation says when it does not come to rest")
struct ErrorTests {
    @Test("who waits for a message is named")
    func unsettled() async throws {
        let party = try await Party(seed: 9, ["A", "B"])
        try await party.gather()
        party.simulation.network.partition([party.participants[1]])
        let program = party.programs[0]
        try await party.participants[0].run {
            await program.messenger?.send(Stroke(number: 1)) { _ in }
        }
        do {
            try await party.simulation.settle(within: .milliseconds(300))
            Issue.record("it settled with a message under way")
        } catch let error as SimulationError {
            let flight = InFlight(participant: "A", kind: .messages(1))
            #expect(error == .unsettled(after: .milliseconds(300), [flight]))
            #expect("\(error)".contains("A waits for 1 messages"))
        }
    }

    private static func never() async {
        let (stream, feed) = AsyncStream.makeStream(of: Int.self)
        for await _ in stream {}
        feed.finish()
    }

    @Test("a simulation that nobody keeps is named as the reason")
    func notKept() async throws {
        var simulation: Simulation? = Simulation(seed: 9)
        let a = try await #require(simulation).participant("A")
        simulation = nil
        // Whether it was gone before, or while this ran.
        await #expect(throws: SimulationError.over(participant: "A")) {
            try await a.run { await Self.never() }
        }
    }

    @Test("a closure that does not return is given up after its virtual time")
    func unfinished() async throws {
        let simulation = Simulation(seed: 9)
        let a = try await simulation.participant("A")
        do {
            try await a.run(within: .seconds(5)) {
                for await _ in Canvas.sessions() {}
            }
            Issue.record("it returned")
        } catch let error as SimulationError {
            guard case .unfinished("A", .seconds(5), let flights) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(flights.contains(InFlight(participant: "A", kind: .closure)))
        }
        // It was cancelled, so it is over now.
        try await simulation.settle(within: .seconds(1))
    }

    @Test("nobody enters where nothing passes")
    func notAdmitted() async throws {
        let simulation = Simulation(seed: 9)
        _ = try await simulation.participant("A")
        simulation.network.set(loss: 1)
        for _ in 1...5 {
            await #expect(throws: SimulationError.self) {
                _ = try await simulation.participant("B")
            }
        }
        // The next one does, and those before leave nothing behind.
        simulation.network.set()
        let c = try await simulation.participant("C")
        #expect(c.name == "C")
        #expect(simulation.participants.map(\.name) == ["A", "C"])
        #expect(await c.node.room?.members.count == 2)
        try await simulation.settle(within: .seconds(5))
    }

    @Test("what a closure throws is thrown")
    func throwing() async throws {
        struct Wrong: Error {}
        let simulation = Simulation(seed: 2)
        let a = try await simulation.participant("A")
        await #expect(throws: Wrong.self) { try await a.run { throw Wrong() } }
    }

    @Test("a simulation that is let go of ends its nodes and the tasks of its programs")
    func letGo() async throws {
        let ended: Task<Int, Never>
        do {
            let simulation = Simulation(seed: 2)
            let a = try await simulation.participant("A")
            ended = try await a.run {
                Task {
                    let updates = Conversation.current.eligibilityChanges()
                    var count = 0
                    for await diagnosis in updates {
                        count += 1
                        if diagnosis == .nodeStopped { break }
                    }
                    return count
                }
            }
            try await simulation.settle(within: .seconds(1))
        }
        #expect(await ended.value == 2)
    }
}
