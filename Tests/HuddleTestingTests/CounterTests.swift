import GroupActivities
import Huddle
import HuddleTesting
import Testing

/// A message that nobody reads at first.
private struct Late: Codable, Hashable {
    var number: Int
}

@Suite("What nobody reads is kept in part, and counted — 40-groupactivities D13, G17")
struct CounterTests {
    private func take(_ count: Int, _ messages: GroupSessionMessenger.Messages<Late>) async -> [Int]
    {
        var numbers: [Int] = []
        for await (late, _) in messages {
            numbers.append(late.number)
            if numbers.count == count { break }
        }
        return numbers
    }

    @Test("a late reader gets the newest 256; the 44 before them are counted as unclaimed")
    func unclaimed() async throws {
        let party = try await Party(seed: 61, ["A", "B"])
        try await party.gather()
        let (sender, receiver) = (
            try #require(await party.programs[0].messenger),
            try #require(await party.programs[1].messenger)
        )
        try await party.participants[0].run {
            for number in 1...300 { try await sender.send(Late(number: number)) }
        }
        try await party.simulation.settle(within: .seconds(2))
        #expect(receiver.statistics.unclaimed == 44)
        let numbers = try await party.participants[1].run {
            await take(256, receiver.messages(of: Late.self))
        }
        #expect(numbers == Array(45...300))
        #expect(receiver.statistics.unclaimed == 44)
        #expect(receiver.statistics.overrun == 0)
        #expect(sender.statistics.unclaimed == 0)
    }

    @Test(
        "a reader of the unreliable mode that stands still keeps the newest 1,024; the rest is counted"
    )
    func overrun() async throws {
        let party = try await Party(seed: 62, ["A", "B"])
        try await party.gather()
        let (sender, receiver) = (
            try #require(await party.programs[0].fast),
            try #require(await party.programs[1].fast)
        )
        // It asks for its first message and then stands still.
        try await party.participants[1].run {
            let messages = receiver.messages(of: Late.self)
            Task {
                for await _ in messages {
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                }
            }
        }
        for round in 0..<12 {
            try await party.participants[0].run {
                for number in 0..<100 { try await sender.send(Late(number: round * 100 + number)) }
            }
            try await party.simulation.settle(within: .seconds(2))
        }
        let lost = receiver.statistics.overrun
        #expect(lost > 0 && lost <= 1200 - 1024, "\(lost)")
        #expect(receiver.statistics.unclaimed == 0)
    }
}
