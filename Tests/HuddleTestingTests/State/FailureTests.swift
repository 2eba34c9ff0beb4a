import HuddleTesting
import MeshEngine
import MeshSession
import MeshWire
import Synchronization
import Testing

@testable import Huddle

@Suite("The state for who comes late, when something goes wrong")
struct StateFailureTests {
    @Test("the lead crashes while it makes the state: who follows it gives one, and only one comes")
    func leadCrashes() async throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var party = try await Tallies(seed: seed, incumbents: 3)
            try await party.add("X")
            party.simulation.network.set(loss: 0.05, delay: .milliseconds(5))
            let clock = party.simulation.clock
            let begun = Mutex(false)
            await party.tallies[0].session.provideState {
                begun.withLock { $0 = true }
                try? await clock.sleep(for: .milliseconds(800))
                return [1, 2, 3]
            }
            for index in 0..<3 {
                try await party.send(index, Array(1...100), every: .milliseconds(20))
            }
            let now = party
            async let entry: Void = now.enter(3)
            while !begun.withLock({ $0 }) { await party.simulation.advance(by: .milliseconds(10)) }
            await party.simulation.advance(by: .milliseconds(Int64(seed) * 40))
            await party.participants[0].crash()
            try await entry
            await party.simulation.advance(by: .seconds(3))
            let state = try #require(await party.tallies[3].state)
            #expect(state.from?.participantID == party.tallies[1].own, "seed \(seed)")
            #expect(state.bytes != nil)
            // The second may lack what only the others heard of the one that crashed.
            #expect(await party.tallies[3].lines == party.tallies[1].lines, "seed \(seed)")
            #expect(await party.tallies[1].lines[party.tallies[2].own]?.count == 100)
            #expect(await party.tallies[3].faults == [])
        }
    }

    @Test(
        "an incumbent that stands still is named, and the others' state comes after half a second"
    )
    func stopped() async throws {
        var party = try await Tallies(seed: 9, incumbents: 3)
        try await party.add("X")
        for index in 0..<2 { try await party.send(index, Array(1...50), every: .milliseconds(10)) }
        try await party.send(2, [5], every: .milliseconds(1))
        await party.simulation.advance(by: .milliseconds(100))
        party.simulation.network.partition([party.participants[2]])
        let before = party.simulation.elapsed
        try await party.enter(3)
        #expect(party.simulation.elapsed - before >= .milliseconds(450))
        #expect(party.simulation.elapsed - before < .milliseconds(1500))
        await party.simulation.advance(by: .seconds(2))
        let state = try #require(await party.tallies[3].state)
        #expect(state.incomplete.map(\.participantID) == [party.tallies[2].own])
        #expect(await party.tallies[3].lines == party.tallies[0].lines)
        #expect(await party.tallies[0].lines[party.tallies[1].own]?.count == 50)
        // Back again, it is heard by all.
        party.simulation.network.heal()
        try await party.simulation.settle(within: .seconds(20))
        try await party.send(2, [7, 8], every: .milliseconds(1))
        try await party.simulation.settle(within: .seconds(5))
        let expected = await party.tallies[0].lines
        #expect(expected[party.tallies[2].own] == Tally.Line(count: 3, sum: 20))
        #expect(await party.tallies[3].lines == expected)
    }

    @Test("without somebody to ask the answer comes at once, and says why there is no state")
    func empty() async throws {
        var party = try await Tallies(seed: 4, incumbents: 2)
        try await party.add("X")
        let lead = party.tallies[0].session
        func ask(_ index: Int) async throws -> SharedState {
            let session = party.tallies[index].session
            return try await party.participants[index].run { try await session.state() }
        }
        #expect(try await ask(0).content == .empty(.nobodyElse))
        await lead.provideState(nil)
        #expect(try await ask(2).content == .empty(.noProvider))
        await lead.provideState { [UInt8](repeating: 1, count: SharedState.byteLimit + 1) }
        #expect(try await ask(2).content == .empty(.tooLarge))
        let clock = party.simulation.clock
        await lead.provideState {
            try? await clock.sleep(for: .seconds(2))
            return [1]
        }
        #expect(try await ask(2).content == .empty(.tooLate))
        await lead.provideState { [7] }
        #expect(try await ask(2).content == .bytes([7]))
        #expect(try await ask(2).from?.participantID == party.tallies[0].own)
        let left = party.tallies[2].session
        try await party.participants[2].run { try await left.leave() }
        let error = await #expect(throws: HuddleError.self) { _ = try await ask(2) }
        #expect(error?.kind == .notJoined)
    }

    @Test("a state of a mebibyte arrives whole, and messages larger than the window wait for it")
    func large() async throws {
        var party = try await Tallies(seed: 6, incumbents: 2)
        try await party.add("X")
        let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        await party.tallies[0].session.provideState { bytes }
        party.simulation.network.set(loss: 0.02, delay: .milliseconds(10))
        let newcomer = party.tallies[2].session
        let state = try await party.participants[2].run { try await newcomer.state() }
        #expect(state.bytes == bytes)
        #expect(state.incomplete == [])
    }

    @Test("marks and states that nobody asked for are dropped and counted")
    func hostile() async throws {
        let party = try await Tallies(seed: 2, incumbents: 3)
        let (victim, liar) = (party.participants[0].node, party.participants[2].node)
        let position = Position(epoch: .zero, index: 1)
        let future = Position(epoch: Epoch(counter: 1 << 40, proposer: 1), index: 1)
        func lie(_ channel: String, _ payload: [UInt8], _ position: Position) async throws {
            try await party.participants[2].run {
                var message = OutboundMessage(
                    session: party.session,
                    channel: channel,
                    payload: payload
                )
                message.mark = StateMark(position: position, stream: 3)
                try await liar.send(message, confirm: .accepted)
            }
            await party.simulation.advance(by: .milliseconds(100))
        }
        try await lie("a", [], position)
        try await lie("a", [1, 2], position)
        try await lie(StateNote.channel, StateNote.streams(2).encoded, position)
        try await lie(StateNote.channel, StateNote.busy.encoded, position)
        try await lie(StateNote.channel, StateNote.state([9], incomplete: []).encoded, position)
        try await lie(StateNote.channel, [9, 9], position)
        let counts = await victim.stateStatistics(of: party.session)
        #expect(counts.refused == 4)
        #expect(counts.malformed == 2)
        // A mark of a request that never comes holds up its sender alone, for two seconds.
        try await lie("a", [], future)
        try await party.send(2, [4], every: .milliseconds(1))
        try await party.send(1, [6], every: .milliseconds(1))
        await party.simulation.advance(by: .milliseconds(500))
        #expect(await party.tallies[0].lines[party.tallies[1].own]?.sum == 6)
        await party.simulation.advance(by: .seconds(3))
        try await party.send(2, [5], every: .milliseconds(1))
        try await party.simulation.settle(within: .seconds(5))
        #expect(await party.tallies[0].lines[party.tallies[2].own]?.sum ?? 0 >= 5)
        #expect(await party.tallies[0].faults == [])
    }

    @Test("who is not the lead gives no state, although it knows the request")
    func usurper() async throws {
        var party = try await Tallies(seed: 3, incumbents: 3)
        try await party.add("X")
        let clock = party.simulation.clock
        let begun = Mutex(false)
        await party.tallies[0].session.provideState {
            begun.withLock { $0 = true }
            try? await clock.sleep(for: .milliseconds(500))
            return [7]
        }
        let (newcomer, node) = (party.tallies[3].session, party.participants[3].node)
        let now = party
        async let state = now.participants[3].run { try await newcomer.state() }
        while !begun.withLock({ $0 }) { await party.simulation.advance(by: .milliseconds(5)) }
        var asked: Position?
        while asked == nil {
            await party.simulation.advance(by: .milliseconds(5))
            asked = await node.askedPosition(of: party.session)
        }
        let position = try #require(asked)
        let liar = party.participants[2].node
        try await party.participants[2].run {
            var message = OutboundMessage(
                session: now.session,
                channel: StateNote.channel,
                payload: StateNote.state([66], incomplete: []).encoded
            )
            message.mark = StateMark(position: position, stream: 0)
            try await liar.send(message, confirm: .accepted)
        }
        #expect(try await state.bytes == [7])
        #expect(await node.stateStatistics(of: party.session).refused == 1)
    }
}

extension Node {
    /// The place of the request that this node made last.
    fileprivate func askedPosition(of session: SessionID) -> Position? {
        hubs[session]?.state.exchange.asked?.request.position
    }
}
