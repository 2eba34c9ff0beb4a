import Huddle
import HuddleTesting
import MeshFaults
import Testing

import class Foundation.ProcessInfo

@Suite("The lead decides moves — 40-groupactivities §9.4")
struct ArbiterTests {
    /// Seeds of a crash of the lead with moves under way; more by `HUDDLE_ARBITER_SEEDS`.
    static let seeds =
        ProcessInfo.processInfo.environment["HUDDLE_ARBITER_SEEDS"].flatMap { UInt64($0) } ?? 4

    /// What the others propose until all places are taken; says which of its moves were accepted.
    private func play(
        _ index: Int,
        of room: Ledgers,
        upTo count: Int
    ) async throws -> [LogEntry] {
        let ledger = room.ledgers[index]
        let session = ledger.session
        let clock = room.simulation.clock
        return try await room.participants[index].run(within: .seconds(600)) {
            var accepted: [LogEntry] = []
            while await ledger.entries.count < count {
                let move = [UInt8(await ledger.entries.count), UInt8(index)]
                do throws(ArbiterError) {
                    accepted.append(try await session.arbiter.propose(move))
                } catch {
                    guard case .refused = error else { throw error }
                    try await clock.sleep(for: .milliseconds(1))
                }
            }
            return accepted
        }
    }

    @Test("of two that move at once one is accepted, whoever decides knows all that was")
    func turns() async throws {
        let room = try await Ledgers(seed: 11, ["A", "B", "C"])
        room.simulation.network.set(loss: 0.05, delay: .milliseconds(5))
        async let first = play(1, of: room, upTo: 20)
        async let second = play(2, of: room, upTo: 20)
        async let own = play(0, of: room, upTo: 20)
        let accepted = try await first + second + own
        try await room.simulation.settle(within: .seconds(5))
        for ledger in room.ledgers {
            #expect(await ledger.payloads.map { Int($0[0]) } == Array(0..<20))
            #expect(await ledger.faults == [])
            let heard = Set(await ledger.entries.map(\.id))
            #expect(heard == Set(accepted.map(\.id)))
        }
        #expect(accepted.count == 20)
        // The lead alone was asked.
        #expect(await room.ledgers[1].asked.isEmpty)
    }

    @Test("the lead crashes with moves under way: none is lost, none counts twice")
    func crash() async throws {
        var handedOver = 0
        for seed in 1...Self.seeds {
            let room = try await Ledgers(seed: 100 + seed, ["A", "B", "C", "D"])
            room.simulation.network.set(
                loss: 0.02,
                delay: .milliseconds(5),
                jitter: .milliseconds(3)
            )
            async let first = play(1, of: room, upTo: 30)
            async let second = play(2, of: room, upTo: 30)
            async let third = play(3, of: room, upTo: 30)
            await room.simulation.advance(by: .milliseconds(Int64(60 + 13 * seed % 200)))
            await room.participants[0].crash()
            let accepted = try await first + second + third
            try await room.simulation.settle(within: .seconds(60))
            for ledger in room.ledgers.dropFirst() {
                #expect(
                    await ledger.payloads.map { Int($0[0]) } == Array(0..<30),
                    "seed \(seed)"
                )
                // Nobody but the movers proposed, so every entry was told to the one who did.
                #expect(
                    Set(await ledger.entries.map(\.id)) == Set(accepted.map(\.id)),
                    "seed \(seed)"
                )
                #expect(await ledger.faults == [], "seed \(seed)")
            }
            #expect(accepted.count == 30, "seed \(seed)")
            if await !room.ledgers[1].asked.isEmpty { handedOver += 1 }
        }
        #expect(handedOver == Int(Self.seeds))
    }

    @Test("a lead that is cut off and comes back answers no move a second time")
    func returning() async throws {
        let room = try await Ledgers(seed: 12, ["A", "B", "C"])
        let (lead, mover) = (room.participants[0], room.participants[1])
        let session = room.ledgers[1].session
        // It hears the move, and its answer goes nowhere.
        let silence = try LinkConditions(parsing: "loss 100%")
        for other in room.participants.dropFirst() {
            room.simulation.network.set(silence, from: lead, to: other)
        }
        try await mover.run {
            let answer = try await session.arbiter.propose([0, 1])
            #expect(answer.payload == [0, 1])
        }
        room.simulation.network.set()
        try await room.simulation.settle(within: .seconds(30))
        for ledger in room.ledgers { #expect(await ledger.payloads == [[0, 1]]) }
        #expect(await room.ledgers[0].asked == [[0, 1]])
        #expect(await room.ledgers[1].asked == [[0, 1]])
        // The lead decides again.
        try await mover.run { try await session.arbiter.propose([1, 1]) }
        #expect(await room.ledgers[0].asked == [[0, 1], [1, 1]])
    }

    @Test("the lead that hands over leaves what waits to the next")
    func handOver() async throws {
        let room = try await Ledgers(seed: 13, ["A", "B"])
        let (lead, session) = (room.ledgers[0].session, room.ledgers[1].session)
        let next = try #require(await session.localParticipant)
        try await room.participants[0].run {
            // Without a closure moves wait.
            await lead.arbiter.decide(nil)
        }
        let clock = room.simulation.clock
        try await room.participants[1].run {
            async let entry = session.arbiter.propose([0])
            try await clock.sleep(for: .seconds(1))
            #expect(await session.log.entries.isEmpty)
            try await room.participants[0].run { try await lead.giveLead(to: next.participantID) }
            #expect(try await entry.payload == [0])
            #expect(await session.arbiter.participant == next)
        }
    }

    @Test("what is no move, and who does not decide, is told at once")
    func errors() async throws {
        let room = try await Ledgers(seed: 14, ["A", "B"])
        let (lead, session) = (room.ledgers[0].session, room.ledgers[1].session)
        func failure(_ move: [UInt8], within: Duration = .seconds(1)) async throws -> ArbiterError?
        {
            try await room.participants[1].run { () -> ArbiterError? in
                do throws(ArbiterError) {
                    try await session.arbiter.propose(move, within: within)
                    return nil
                } catch {
                    return error
                }
            }
        }
        #expect(
            try await failure(Array(repeating: 0, count: Arbiter.moveLimit + 1))
                == .tooLarge(size: 16_385, limit: 16_384)
        )
        #expect(try await failure([9]) == .refused("it is move 0's turn"))
        try await room.participants[0].run {
            await lead.arbiter.decide { _ in .refuse(String(repeating: "ä", count: 200)) }
        }
        #expect(try await failure([0]) == .refused(String(repeating: "ä", count: 128)))
        try await room.participants[0].run {
            await lead.arbiter.decide { _ in .accept(Array(repeating: 1, count: 20_000)) }
        }
        let tooLong = try await failure([0])
        guard case .refused(let reason)? = tooLong else { return #expect(tooLong != nil) }
        #expect(reason.contains("20000"))
        try await room.participants[0].run { await lead.arbiter.decide(nil) }
        #expect(try await failure([0]) == .timedOut)
        try await room.participants[1].run { try await session.leave() }
        guard case .failed(let error)? = try await failure([0]) else {
            Issue.record("who is no participant proposes nothing")
            return
        }
        #expect(error.kind == .notJoined)
    }
}
