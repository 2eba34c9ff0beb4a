import GroupActivities
import Huddle
import HuddleTesting
import Testing

/// What ``GroupActivityPolicy/willReplace`` was asked, and when it answers.
@MainActor
private final class Prompt {
    private(set) var asked: [GroupActivityReplacement] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func ask(_ replacement: GroupActivityReplacement) async {
        asked.append(replacement)
        await withCheckedContinuation { waiting.append($0) }
    }

    func answer() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}

/// The policy is the process's, so these run one after the other; A has the sessions, B is asked.
@Suite("A replacement is held back for oneself — 40-groupactivities §9.6", .serialized)
struct ReplacementTests {
    private func withPrompt(
        seed: UInt64,
        _ body: (Party, Prompt) async throws -> Void
    ) async throws {
        let party = try await Party(seed: seed, ["A", "B"])
        try await party.gather()
        let prompt = Prompt()
        let own = await party.programs[1].session?.id
        // Other tests of this process replace activities meanwhile, and nobody asks there.
        await MainActor.run {
            GroupActivityPolicy.willReplace = { if $0.session == own { await prompt.ask($0) } }
        }
        do {
            try await body(party, prompt)
        } catch {
            await end(prompt)
            throw error
        }
        await end(prompt)
    }

    private func end(_ prompt: Prompt) async {
        await prompt.answer()
        await MainActor.run { GroupActivityPolicy.willReplace = nil }
    }

    private func titles(_ party: Party) async -> [String?] {
        var titles: [String?] = []
        for program in party.programs { titles.append(await program.session?.activity.title) }
        return titles
    }

    @Test("an activity: the others go on, B follows when it answers") func activity() async throws {
        try await withPrompt(seed: 41) { party, prompt in
            try await party.participants[0].run {
                await MainActor.run {
                    party.programs[0].session?.activity = Canvas(title: "next")
                }
            }
            await party.simulation.advance(by: .seconds(4))
            #expect(await titles(party) == ["next", "sketch"])
            let asked = await prompt.asked
            #expect(asked.map(\.isOtherSession) == [false])
            #expect(asked.first?.identifier == Canvas.activityIdentifier)
            #expect(asked.first?.session == (await party.programs[1].session?.id))
            // Of several the last one is meant.
            try await party.participants[0].run {
                await MainActor.run {
                    party.programs[0].session?.activity = Canvas(title: "last")
                }
            }
            await party.simulation.advance(by: .seconds(1))
            await prompt.answer()
            try await party.simulation.settle(within: .seconds(1))
            #expect(await titles(party) == ["last", "last"])
            #expect(await prompt.asked.count == 1)
        }
    }

    @Test("nobody waits for more than 10 s") func limit() async throws {
        try await withPrompt(seed: 42) { party, prompt in
            try await party.participants[0].run {
                await MainActor.run {
                    party.programs[0].session?.activity = Canvas(title: "next")
                }
            }
            await party.simulation.advance(by: .milliseconds(9_900))
            #expect(await titles(party) == ["next", "sketch"])
            await party.simulation.advance(by: .milliseconds(400))
            #expect(await titles(party) == ["next", "next"])
        }
    }

    @Test("another session: the old one stays joined here, the new one comes when B answers")
    func session() async throws {
        try await withPrompt(seed: 43) { party, prompt in
            let old = try #require(await party.programs[1].session)
            try await party.participants[0].run {
                _ = try await Canvas(title: "other").activate()
            }
            await party.simulation.advance(by: .seconds(4))
            #expect(await party.programs[0].session?.activity.title == "other")
            #expect(old.state == .joined)
            #expect(await party.programs[1].sessions.count == 1)
            #expect(await prompt.asked.map(\.isOtherSession) == [true], "asked once, and not A")
            await prompt.answer()
            await party.simulation.advance(by: .seconds(2))
            guard case .invalidated(let reason) = old.state else {
                Issue.record("\(old.state)")
                return
            }
            #expect(
                reason as? GroupSessionError == .replaced(by: Canvas.activityIdentifier)
            )
            #expect(await titles(party) == ["other", "other"])
            #expect(await party.programs[1].session?.state == .joined)
        }
    }
}
