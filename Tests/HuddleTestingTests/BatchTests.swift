import HuddleTesting
import MeshFaults
import MeshWire
import Synchronization
import Testing

@testable import Huddle

/// Counts on any thread.
private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ amount: Int) { count.add(amount, ordering: .relaxed) }
}

@Suite("Many messages in one call — 20-transport §7")
struct BatchTests {
    private func room(
        seed: UInt64
    ) async throws -> (Simulation, [SimulatedParticipant], [Session]) {
        let simulation = Simulation(seed: seed)
        let first = try await simulation.participant("A")
        let id = try await first.run {
            try await #require(await first.node.room).start("org.example.batch").id
        }
        var participants = [first]
        for name in ["B", "C"] { participants.append(try await simulation.participant(name)) }
        let sessions = participants.map { Session(id: id, node: $0.node) }
        for (participant, session) in zip(participants, sessions) {
            try await participant.run { _ = try await session.join() }
        }
        try await simulation.settle(within: .seconds(5))
        return (simulation, participants, sessions)
    }

    @Test("a batch arrives at all, in order, among messages before and after it, under loss")
    func order() async throws {
        let (simulation, participants, sessions) = try await room(seed: 1)
        simulation.network.set(loss: 0.05, delay: .milliseconds(5))
        let readers = try await withThrowingTaskGroup(of: Task<[Int], Never>.self) { group in
            for (participant, session) in zip(participants, sessions).dropFirst() {
                group.addTask {
                    try await participant.run {
                        let messages = await session.messages(on: "x")
                        return Task {
                            var numbers: [Int] = []
                            for await message in messages {
                                numbers.append(
                                    Int(message.payload[0]) << 8 | Int(message.payload[1])
                                )
                                if numbers.count == 2002 { break }
                            }
                            return numbers
                        }
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        @Sendable func payload(_ number: Int) -> [UInt8] {
            [UInt8(number >> 8), UInt8(number & 255)]
        }
        let session = sessions[0]
        try await participants[0].run {
            try await session.send(payload(0), on: "x")
            try await session.send(contentsOf: (1...2000).map(payload), on: "x")
            try await session.send(payload(2001), on: "x")
        }
        for reader in readers { #expect(await reader.value == Array(0...2001)) }
    }

    @Test("a batch that a slow recipient has no room for waits, and loses nothing")
    func backPressure() async throws {
        let (simulation, participants, sessions) = try await room(seed: 2)
        simulation.network.set(try LinkConditions(parsing: "rate 20Mbit/s delay 5ms"))
        let (session, theirs, clock) = (sessions[0], sessions[1], simulation.clock)
        let reader = try await participants[1].run {
            let messages = await theirs.messages(on: "large")
            return Task {
                var iterator = messages.makeAsyncIterator()
                var count = 0
                while count < 400, let batch = await iterator.nextBatch() { count += batch.count }
                return count
            }
        }
        let target = try #require(await theirs.localParticipant).participantID
        let time = try await participants[0].run(within: .seconds(120)) {
            let start = clock.now
            let payload = [UInt8](repeating: 7, count: 32 << 10)
            try await session.send(
                contentsOf: Array(repeating: payload, count: 400),
                on: "large",
                to: .only([target])
            )
            return start.duration(to: clock.now)
        }
        // 12.5 MiB take five seconds at 20 Mbit/s.
        #expect(time > .seconds(5))
        #expect(time < .seconds(9))
        #expect(await reader.value == 400)
    }

    @Test("messages that nobody waits for keep their place among those that somebody does")
    func unawaited() async throws {
        let (simulation, participants, sessions) = try await room(seed: 4)
        simulation.network.set(loss: 0.05, delay: .milliseconds(5))
        let (session, theirs) = (sessions[0], sessions[1])
        let reader = try await participants[1].run {
            let messages = await theirs.messages(on: "x")
            return Task {
                var numbers: [Int] = []
                for await message in messages {
                    numbers.append(Int(message.payload[0]) << 8 | Int(message.payload[1]))
                    if numbers.count == 1500 { break }
                }
                return numbers
            }
        }
        try await participants[0].run(within: .seconds(60)) {
            for number in 0..<1500 {
                let confirm: Huddle.Confirmation = number % 100 == 99 ? .delivered : .accepted
                try await session.send(
                    [UInt8(number >> 8), UInt8(number & 255)],
                    on: "x",
                    confirm: confirm
                )
            }
        }
        #expect(await reader.value == Array(0..<1500))
    }

    @Test("who only hands over waits for a slow reader all the same, and hears that it left")
    func boundedAdvance() async throws {
        let (simulation, participants, sessions) = try await room(seed: 5)
        let (session, theirs) = (sessions[0], sessions[1])
        let target = try #require(await theirs.localParticipant).participantID
        let sent = Counter()
        let sender = try await participants[0].run {
            Task {
                // 64 MiB fit nowhere on the way to somebody who does not read.
                for _ in 0..<4096 {
                    try await session.send(
                        [UInt8](repeating: 7, count: 16 << 10),
                        on: "x",
                        to: .only([target]),
                        confirm: .accepted
                    )
                    sent.add(1)
                }
            }
        }
        await simulation.advance(by: .seconds(30))
        #expect(sent.value < 2048, "\(sent.value)")
        try await participants[0].run {
            try await session.leave()
            do throws(MessengerError) {
                try await session.send([1], on: "x", confirm: .accepted)
                Issue.record("no participant any more")
            } catch {
                #expect(error == .sessionInvalidated)
            }
        }
        sender.cancel()
    }

    @Test("the first that cannot be sent is told, and an empty batch is nothing")
    func errors() async throws {
        let (simulation, participants, sessions) = try await room(seed: 3)
        defer { withExtendedLifetime(simulation) {} }
        let session = sessions[0]
        try await participants[0].run {
            try await session.send(contentsOf: [], on: "x")
            do throws(MessengerError) {
                let large = [UInt8](repeating: 0, count: (16 << 20) + 1)
                try await session.send(contentsOf: [[1], large], on: "x")
                Issue.record("too large")
            } catch {
                guard case .tooLarge = error else { throw error }
            }
            try await session.leave()
            do throws(MessengerError) {
                try await session.send(contentsOf: [[1]], on: "x")
                Issue.record("no participant any more")
            } catch {
                #expect(error == .sessionInvalidated)
            }
        }
    }
}
