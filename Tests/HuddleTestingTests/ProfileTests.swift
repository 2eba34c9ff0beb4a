import GroupActivities
import Huddle
import HuddleTesting
import MeshWire
import Testing

@Suite("What participants show of themselves — 40-groupactivities §9.6")
struct ProfileTests {
    private static let blue = Profile(
        name: "Ada",
        colour: Profile.Colour(red: 1, green: 2, blue: 250),
        device: .tablet
    )

    @Test("a change is seen by the others, in the set and as a change, and by newcomers")
    func change() async throws {
        let party = try await Party(seed: 31, ["A", "B"])
        try await party.gather()
        let (a, b) = (party.participants[0], party.participants[1])
        let session = try #require(await party.programs[1].session?.session)
        let changes = await session.participantChanges()
        try await a.run { try await a.node.setProfile(Self.blue) }
        try await party.simulation.settle(within: .seconds(2))

        let seen = try #require(await party.programs[1].session?.activeParticipants)
        let ada = try #require(seen.first { $0.node == a.node.id })
        #expect(ada.profile == Self.blue)
        #expect("\(ada)" == "Ada")
        #expect(seen.count == 2)
        #expect(seen.first { $0.node == b.node.id }?.profile == Profile(name: "B"))
        let change = try await b.run { () -> ParticipantChange? in
            for await change in changes { return change }
            return nil
        }
        guard case .profile(let who)? = change else {
            Issue.record("\(String(describing: change))")
            return
        }
        #expect(who.profile == Self.blue)

        let c = try await party.simulation.participant("C")
        let members = await session.participants
        #expect(members.contains { $0.profile == Self.blue })
        let running = await c.node.room?.sessions.first { $0.id == session.id }
        let late = await running?.participants
        #expect(late?.first { $0.node == a.node.id }?.profile == Self.blue)
    }

    @Test("the sixth change in a second is refused, and the others see the fifth")
    func pace() async throws {
        let party = try await Party(seed: 32, ["A", "B"])
        try await party.gather()
        let a = party.participants[0]
        let error = try await a.run { () -> HuddleError? in
            for number in 1...20 {
                do throws(HuddleError) {
                    try await a.node.setProfile(Profile(name: "name \(number)"))
                } catch {
                    return error
                }
            }
            return nil
        }
        #expect(error?.kind == .tooFast)
        try await party.simulation.settle(within: .seconds(2))
        let seen = await party.programs[1].session?.activeParticipants
        #expect(seen?.first { $0.node == a.node.id }?.name == "name 5")
        await party.simulation.advance(by: .seconds(2))
        try await a.run { try await a.node.setProfile(Profile(name: "again")) }
    }

    @Test("a name is cleaned, and one too long refused") func names() async throws {
        let party = try await Party(seed: 33, ["A", "B"])
        try await party.gather()
        let a = party.participants[0]
        try await a.run {
            try await a.node.setProfile(Profile(name: "  Gr\u{202e}a\u{7}ce\n"))
            await #expect(throws: HuddleError.self) {
                try await a.node.setProfile(Profile(name: String(repeating: "é", count: 33)))
            }
        }
        try await party.simulation.settle(within: .seconds(2))
        let seen = await party.programs[1].session?.activeParticipants
        #expect(seen?.first { $0.node == a.node.id }?.name == "Grace")
    }
}
