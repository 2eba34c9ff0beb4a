import HuddleTesting
import MeshEngine
import MeshWire
import Testing

import class Foundation.ProcessInfo

@testable import Huddle

/// A room whose participants count what they hear of each other.
struct Tallies {
    let simulation: Simulation
    private(set) var participants: [SimulatedParticipant] = []
    private(set) var tallies: [Tally] = []
    let session: SessionID

    init(seed: UInt64, incumbents: Int) async throws {
        simulation = Simulation(seed: seed)
        let first = try await simulation.participant("A")
        session = try await first.run {
            let room = try #require(await first.node.room)
            return try await room.start("org.example.tally").id
        }
        participants = [first]
        tallies = [try await Self.tally(first, session)]
        for index in 1..<incumbents { try await add("\(index)") }
        for tally in tallies { await tally.begin() }
    }

    /// Adds a participant that has joined and not read anything.
    mutating func add(_ name: String) async throws {
        let participant = try await simulation.participant(name)
        participants.append(participant)
        tallies.append(try await Self.tally(participant, session))
    }

    private static func tally(
        _ participant: SimulatedParticipant,
        _ id: SessionID
    ) async throws -> Tally {
        try await participant.run {
            let session = Session(id: id, node: participant.node)
            return Tally(session, try await session.join().participantID)
        }
    }

    /// Begins to send in the background.
    func send(_ index: Int, _ numbers: [Int], every pause: Duration) async throws {
        let (tally, clock) = (tallies[index], simulation.clock)
        try await participants[index].run {
            Task { await tally.send(numbers, every: pause, clock) }
        }
    }

    /// Leaves the session with all that it knew, joins it anew after `pause`, asks for the state if it
    /// `asks`, and sends at once.
    func arrive(
        _ index: Int,
        after pause: Duration,
        asks: Bool = true,
        sending numbers: [Int]
    ) async throws -> Tally {
        let (participant, old, clock) = (participants[index], tallies[index], simulation.clock)
        return try await participant.run {
            await old.end()
            try await old.session.leave()
            try await clock.sleep(for: pause)
            let tally = Tally(old.session, try await old.session.join().participantID)
            if asks { try await tally.enter() }
            await tally.send(numbers, every: .milliseconds(1), clock)
            return tally
        }
    }

    mutating func replace(_ index: Int, by tally: Tally) { tallies[index] = tally }

    /// Whether each node has a pair with each other one.
    var isMeshed: Bool {
        get async {
            for participant in participants
            where await participant.node.pairs < participants.count - 1 { return false }
            return true
        }
    }

    /// Messages whose senders were told that somebody was out of reach.
    var unreached: Int {
        get async {
            var sum = 0
            for tally in tallies { sum += await tally.unreached }
            return sum
        }
    }

    /// Whether all have heard the same.
    var isLevel: Bool {
        get async {
            let expected = await tallies[0].lines
            for tally in tallies[..<5] where await tally.lines != expected { return false }
            return true
        }
    }

    /// All but the last have heard the same, and the two before it have a whole state of the first.
    func compare(_ what: String) async throws {
        let expected = await tallies[0].lines
        for (index, tally) in tallies[..<5].enumerated() {
            let lines = await tally.lines
            let wrong = expected.filter { lines[$0.key] != $0.value }.map {
                "\($0.key) \($0.value) \(lines[$0.key] ?? Tally.Line())"
            }
            #expect(lines == expected, "\(what), participant \(index): \(wrong)")
            #expect(await tally.faults == [])
        }
        for tally in tallies[3...4] {
            let state = try #require(await tally.state)
            #expect(state.bytes != nil, "\(what)")
            // Who left meanwhile may be named.
            let missing = Set(state.incomplete.map(\.participantID))
            #expect(missing.isDisjoint(with: tallies.map(\.own)), "\(what)")
            #expect(state.from?.participantID == tallies[0].own)
        }
    }

    /// A newcomer takes the state.
    func enter(_ index: Int) async throws {
        let tally = tallies[index]
        try await participants[index].run { try await tally.enter() }
    }
}

@Suite("The state for who comes late — 40-groupactivities §9.2")
struct StateTests {
    /// Seeds of ten rounds with two newcomers each; more by `HUDDLE_STATE_SEEDS`.
    static let seeds =
        ProcessInfo.processInfo.environment["HUDDLE_STATE_SEEDS"].flatMap { UInt64($0) } ?? 4

    @Test("G20: the newcomers' state and later messages are the incumbents' state, under 5 % loss")
    func newcomers() async throws {
        var total = StateStatistics()
        for seed in 1...Self.seeds {
            var draws = SeededGenerator(seed: seed)
            var party = try await Tallies(seed: seed, incumbents: 3)
            try await party.add("X")
            try await party.add("Y")
            try await party.add("Z")
            // Every pair is up on both sides first: what one loses while two nodes meet is not looked at here.
            for _ in 0..<120 {
                if await party.isMeshed { break }
                await party.simulation.advance(by: .milliseconds(500))
            }
            try #require(await party.isMeshed, "seed \(seed)")
            for round in 1...10 {
                party.simulation.network.set(
                    loss: 0.05,
                    delay: .milliseconds(Int64.random(in: 0...20, using: &draws)),
                    jitter: .milliseconds(Int64.random(in: 0...5, using: &draws))
                )
                for index in 0..<3 {
                    let numbers = (0..<15).map { _ in Int.random(in: 1...1000, using: &draws) }
                    let pause = Duration.milliseconds(Int64.random(in: 1...15, using: &draws))
                    try await party.send(index, numbers, every: pause)
                }
                let pauses = (0..<3).map { _ in
                    Duration.milliseconds(Int64.random(in: 0...100, using: &draws))
                }
                let now = party
                async let x = now.arrive(3, after: pauses[0], sending: [1, 2, 3])
                async let y = now.arrive(4, after: pauses[1], sending: [4, 5])
                // One that asks for nothing, and joins and sends while the others ask.
                async let z = now.arrive(5, after: pauses[2], asks: false, sending: [6, 7])
                party.replace(3, by: try await x)
                party.replace(4, by: try await y)
                party.replace(5, by: try await z)
                await party.simulation.advance(by: .milliseconds(250))
                for _ in 0..<30 {
                    if await party.isLevel { break }
                    await party.simulation.advance(by: .milliseconds(100))
                }
                #expect(await party.unreached == 0, "seed \(seed), round \(round)")
                try await party.compare("seed \(seed), round \(round)")
                for index in 0...5 {
                    let node = party.participants[index].node
                    let counts = await node.stateStatistics(of: party.session)
                    #expect(counts.refused == 0 && counts.malformed == 0, "seed \(seed): \(counts)")
                    total.held += counts.held
                    total.dropped += counts.dropped
                }
            }
        }
        // The requests came while others sent.
        #expect(total.held > 10 * Self.seeds)
        #expect(total.dropped > 2 * Self.seeds)
    }
}

extension Node {
    /// The pairs of this node that are up.
    fileprivate var pairs: Int { engine.status.links.count }
}
