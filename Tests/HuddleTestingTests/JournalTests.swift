import GroupActivities
import HuddleTesting
import Testing

@Suite("Attachments between simulated participants")
struct JournalTests {
    @Test("under loss an attachment outlives the machine that added it, and a late one loads it")
    func outlives() async throws {
        let party = try await Party(seed: 11, ["A", "B"])
        party.simulation.network.set(loss: 0.02, delay: .milliseconds(10))
        try await party.gather()
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 65_536 &+ $0) })
        let programs = party.programs
        let mine = try await party.participants[0].run {
            let session = try #require(await programs[0].session)
            return GroupSessionJournal(session: session)
        }
        let other = try await party.participants[1].run {
            let session = try #require(await programs[1].session)
            return GroupSessionJournal(session: session)
        }
        let added = try await party.participants[0].run {
            try await mine.add(bytes, metadata: ["title": "den"])
        }
        await party.simulation.advance(by: .seconds(20))
        await party.participants[0].crash()
        await party.simulation.advance(by: .seconds(40))

        let late = try await party.simulation.participant("C")
        let program = await Program("C", party.simulation.clock)
        try await late.run { await program.begin() }
        await party.simulation.advance(by: .seconds(5))
        let (data, title) = try await late.run {
            let session = try #require(await program.session)
            var sets = GroupSessionJournal(session: session).attachments.makeAsyncIterator()
            let first = try #require(await sets.next()?.first)
            #expect(first.id == added.id)
            let metadata = try await first.loadMetadata(of: [String: String].self)
            return (try await first.load(Data.self), metadata["title"])
        }
        #expect(data == bytes)
        #expect(title == "den")
        try await party.participants[1].run { try await other.remove(attachment: added) }
    }
}
