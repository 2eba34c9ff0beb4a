import GroupActivities
import Huddle
import HuddleTesting
import Testing

@Suite("Who asks too often is held back, then refused — 50-journal-and-playback A9")
struct PaceTests {
    @Test("of 230 attachments at once 100 go at once, 100 wait up to 5 s, and 30 are refused")
    func journal() async throws {
        let party = try await Party(seed: 71, ["A", "B"])
        try await party.gather()
        let journal = try #require(await party.programs[0].session?.session.journal)
        let seen = try #require(await party.programs[1].session?.session)
        let start = party.simulation.elapsed
        let outcomes = try await party.participants[0].run {
            await withTaskGroup(of: JournalError?.self) { group in
                for number in 0..<230 {
                    group.addTask {
                        do throws(JournalError) {
                            _ = try await journal.add(.bytes([UInt8(number)])).value
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await group.reduce(into: [JournalError?]()) { $0.append($1) }
            }
        }
        let took = party.simulation.elapsed - start
        #expect(took > .milliseconds(4_500) && took < .seconds(7), "\(took)")
        let refused = outcomes.compactMap(\.self)
        // One a 50th of a second that the reading itself took may be more.
        #expect((26...30).contains(refused.count), "\(refused.count)")
        #expect(refused.allSatisfy { $0 == .tooFast(perSecond: 20) })
        try await party.simulation.settle(within: .seconds(2))
        let sets = await seen.journal.attachments
        let count = try await party.participants[1].run { () -> Int? in
            for await set in sets { return set.count }
            return nil
        }
        #expect(count == 230 - refused.count)
    }

    @Test("the seventeenth request for the state is refused, and one is taken a second later")
    func state() async throws {
        let party = try await Party(seed: 72, ["A", "B"])
        try await party.gather()
        let session = try #require(await party.programs[1].session?.session)
        let (b, clock) = (party.participants[1], party.simulation)
        let error = try await b.run { () -> HuddleError? in
            for _ in 0..<40 {
                do throws(HuddleError) {
                    _ = try await session.state()
                } catch {
                    return error
                }
            }
            return nil
        }
        #expect(error?.kind == .tooFast)
        await clock.advance(by: .seconds(2))
        try await b.run { _ = try await session.state() }
    }
}
