import HuddleTesting
import MeshSession
import Testing

@testable import Huddle

@Suite("The sequence that all share — 40-groupactivities §9.4")
struct LogTests {
    @Test("three append at once under loss: one sequence everywhere, each one's own in its order")
    func order() async throws {
        let room = try await Ledgers(seed: 1, ["A", "B", "C"])
        room.simulation.network.set(loss: 0.05, delay: .milliseconds(10))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<3 { group.addTask { try await room.append(40, as: index) } }
            try await group.waitForAll()
        }
        try await room.simulation.settle(within: .seconds(5))
        let expected = await room.ledgers[0].payloads
        #expect(expected.count == 120)
        for ledger in room.ledgers {
            #expect(await ledger.payloads == expected)
            #expect(await ledger.faults == [])
            #expect(await ledger.pending.isEmpty)
            #expect(await ledger.rolledBack.isEmpty)
        }
        for author in 0..<3 {
            let own = expected.filter { $0[0] == author }.map { Int($0[1]) }
            #expect(own == Array(0..<40))
        }
    }

    @Test("who appends sees its entry before it has its place, and nobody else does")
    func echo() async throws {
        let room = try await Ledgers(seed: 2, ["A", "B"])
        room.simulation.network.set(delay: .milliseconds(50))
        let (session, clock) = (room.ledgers[1].session, room.simulation.clock)
        let ledger = room.ledgers[1]
        try await room.participants[1].run {
            async let entry = session.log.append([7])
            try await clock.sleep(for: .milliseconds(20))
            #expect(await Array(ledger.pending.values) == [[7]])
            #expect(await ledger.entries.isEmpty)
            #expect(try await entry.index == 0)
        }
        #expect(await room.ledgers[0].pending.isEmpty)
        try await room.simulation.settle(within: .seconds(5))
        #expect(await ledger.pending.isEmpty)
        #expect(await ledger.payloads == [[7]])
    }

    @Test("after a split the winner's sequence stays, and the others hear what is rolled back")
    func merge() async throws {
        let room = try await Ledgers(seed: 3, ["A", "B", "C"])
        try await room.append(2, as: 0)
        try await room.simulation.settle(within: .seconds(5))
        room.simulation.network.partition([room.participants[2]])
        await room.simulation.advance(by: .seconds(5))
        try await room.append(3, as: 2)
        try await room.append(2, as: 1)
        room.simulation.network.heal()
        try await room.simulation.settle(within: .seconds(30))
        let expected: [[UInt8]] = [[0, 0], [0, 1], [1, 0], [1, 1]]
        for ledger in room.ledgers { #expect(await ledger.payloads == expected) }
        let lost = await room.ledgers[2].rolledBack
        let own = await room.ledgers[2].session.localParticipant?.participantID
        #expect(lost.count == 3 && lost.allSatisfy { $0.author == own })
        #expect(await room.ledgers[0].rolledBack.isEmpty)
        // Who wants it still says it again.
        try await room.append(1, as: 2)
        try await room.simulation.settle(within: .seconds(5))
        for ledger in room.ledgers {
            #expect(await ledger.payloads == expected + [[2, 0]])
            #expect(await ledger.faults == [])
        }
    }

    @Test("who comes late reads the newest 1,024 entries, and knows by the index what went before")
    func newcomer() async throws {
        var room = try await Ledgers(seed: 4, ["A"])
        let session = room.ledgers[0].session
        try await room.participants[0].run {
            for number in 0..<1100 {
                try await session.log.append([UInt8(number & 255)])
            }
        }
        try await room.add(try await room.simulation.participant("B"))
        try await room.simulation.settle(within: .seconds(5))
        let entries = await room.ledgers[1].entries
        #expect(entries.map(\.index) == Array(76..<1100))
        #expect(entries.last?.payload == [UInt8(1099 & 255)])
        let kept = try await room.participants[1].run { await session.log.entries }
        #expect(kept == entries)
    }

    @Test("what is refused is rolled back at once, and says why")
    func refusals() async throws {
        let room = try await Ledgers(seed: 5, ["A", "B"])
        let ledger = room.ledgers[1]
        let (lead, follower) = (room.ledgers[0].session, ledger.session)
        try await room.participants[0].run {
            let options = SessionOptions(control: .leadOnly)
            _ = try await lead.node.submit(.setOptions(options), session: lead.id)
        }
        try await room.simulation.settle(within: .seconds(5))
        try await room.participants[1].run {
            do throws(HuddleError) {
                try await follower.log.append([1])
                Issue.record("the lead alone may write")
            } catch {
                #expect(error.kind == .refused)
            }
            do throws(HuddleError) {
                try await follower.log.append(Array(repeating: 0, count: SessionLog.entryLimit + 1))
                Issue.record("too large")
            } catch {
                #expect(error.kind == .tooLarge)
                #expect("\(error)".contains("16384"))
            }
        }
        try await room.simulation.settle(within: .seconds(5))
        #expect(await ledger.rolledBack.count == 1)
        #expect(await ledger.pending.isEmpty)
        #expect(await ledger.entries.isEmpty)
    }
}
