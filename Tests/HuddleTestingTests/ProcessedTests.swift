import HuddleTesting
import MeshWire
import Testing

@testable import Huddle

@Suite("What the receiver's program has read — 40-groupactivities §9.1")
struct ProcessedTests {
    private struct Pair {
        let simulation: Simulation
        let (sender, receiver): (SimulatedParticipant, SimulatedParticipant)
        let (mine, theirs): (Session, Session)

        init(seed: UInt64) async throws {
            simulation = Simulation(seed: seed)
            let first = try await simulation.participant("A")
            let second = try await simulation.participant("B")
            let id = try await first.run {
                try await #require(await first.node.room).start("org.example.receipts").id
            }
            (sender, receiver) = (first, second)
            (mine, theirs) = (Session(id: id, node: first.node), Session(id: id, node: second.node))
            let joined = [(sender, mine), (receiver, theirs)]
            for (participant, session) in joined {
                try await participant.run { _ = try await session.join() }
            }
            try await simulation.settle(within: .seconds(5))
        }

        /// Sends and tells how long it took, or what went wrong.
        func send(
            _ payload: [UInt8] = [1],
            deadline: Duration? = nil
        ) async throws -> Result<Duration, MessengerError> {
            let (clock, session) = (simulation.clock, mine)
            return try await sender.run {
                let start = clock.now
                do throws(MessengerError) {
                    try await session.send(
                        payload,
                        on: "work",
                        confirm: .processed,
                        deadline: deadline
                    )
                    return .success(start.duration(to: clock.now))
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    @Test("a send returns when the slow reader comes back for the next, one after the other")
    func slowReader() async throws {
        let pair = try await Pair(seed: 1)
        let (clock, session) = (pair.simulation.clock, pair.theirs)
        try await pair.receiver.run {
            let messages = await session.messages(on: "work")
            Task {
                for await _ in messages { try await clock.sleep(for: .milliseconds(300)) }
            }
        }
        // All are there at once; each is told when it was read, not when the last one was.
        let times = try await withThrowingTaskGroup(of: Duration.self) { group in
            for number in 0..<4 {
                group.addTask { try await pair.send([UInt8(number)]).get() }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        for (place, time) in times.enumerated() {
            let expected = Duration.milliseconds(300 * (place + 1))
            #expect(time >= expected && time < expected + .milliseconds(50), "\(time)")
        }
    }

    @Test("a reader that is there costs one round trip") func fastReader() async throws {
        let pair = try await Pair(seed: 7)
        pair.simulation.network.set(delay: .milliseconds(10))
        let session = pair.theirs
        try await pair.receiver.run {
            let messages = await session.messages(on: "work")
            Task { for await _ in messages {} }
        }
        for _ in 0..<5 {
            let time = try await pair.send().get()
            #expect(time >= .milliseconds(20) && time < .milliseconds(22), "\(time)")
        }
    }

    @Test("of two readers both must have it")
    func twoReaders() async throws {
        let pair = try await Pair(seed: 2)
        let (clock, session) = (pair.simulation.clock, pair.theirs)
        try await pair.receiver.run {
            for pause in [Duration.milliseconds(10), .milliseconds(700)] {
                let messages = await session.messages(on: "work")
                Task { for await _ in messages { try await clock.sleep(for: pause) } }
            }
        }
        let time = try await pair.send().get()
        #expect(time >= .milliseconds(700) && time < .milliseconds(800), "\(time)")
    }

    @Test("a message that nobody reads yet is waited for, until its time is over")
    func nobodyReads() async throws {
        let pair = try await Pair(seed: 3)
        let receiver = try #require(await pair.theirs.localParticipant).participantID
        let late = try await pair.send(deadline: .seconds(2))
        #expect(late == .failure(.deadlineExceeded(undelivered: [receiver])))
        async let second = pair.send([2])
        await pair.simulation.advance(by: .seconds(3))
        let session = pair.theirs
        try await pair.receiver.run {
            let messages = await session.messages(on: "work")
            Task { for await _ in messages {} }
        }
        let time = try await second.get()
        #expect(time >= .seconds(3) && time < .seconds(4), "\(time)")
    }

    @Test("a reader that lets go of a message unread is named, one that broke off has read it")
    func letGo() async throws {
        let pair = try await Pair(seed: 4)
        let (clock, session) = (pair.simulation.clock, pair.theirs)
        let receiver = try #require(await pair.theirs.localParticipant).participantID
        try await pair.receiver.run {
            let messages = await session.messages(on: "work")
            Task {
                try await clock.sleep(for: .seconds(1))
                for await _ in messages { break }
            }
        }
        async let first = pair.send([1])
        async let second = pair.send([2])
        let outcomes = try await [first, second]
        #expect(outcomes.count { (try? $0.get()) != nil } == 1)
        #expect(outcomes.contains(.failure(.notDelivered([receiver: .unread]))))
    }

    @Test("who leaves before it has read is named")
    func leaving() async throws {
        let pair = try await Pair(seed: 5)
        let receiver = try #require(await pair.theirs.localParticipant).participantID
        async let outcome = pair.send()
        await pair.simulation.advance(by: .seconds(1))
        let session = pair.theirs
        try await pair.receiver.run { try await session.leave() }
        #expect(try await outcome == .failure(.notDelivered([receiver: .left])))
    }

    @Test("under loss every send is told, and nobody else is addressed")
    func loss() async throws {
        let pair = try await Pair(seed: 6)
        pair.simulation.network.set(loss: 0.1, delay: .milliseconds(10))
        let session = pair.theirs
        let read = try await pair.receiver.run {
            let messages = await session.messages(on: "work")
            return Task {
                var read: [UInt8] = []
                for await message in messages {
                    read.append(message.payload[0])
                    if read.count == 50 { break }
                }
                return read
            }
        }
        for number in 0..<50 { _ = try await pair.send([UInt8(number)]).get() }
        #expect(await read.value == Array(0..<50))
    }
}
