import GroupActivities
import Huddle
import HuddleTesting

/// What the participants of these tests do together.
struct Canvas: GroupActivity, Equatable {
    var title = "sketch"

    var metadata: GroupActivityMetadata { GroupActivityMetadata() }
}

/// A message of these tests.
struct Stroke: Codable, Hashable {
    var number: Int
}

/// One participant's program, written as programs of Apple's are: on the main actor.
@MainActor
final class Program {
    let name: String
    private let clock: SimulationClock
    private(set) var sessions: [GroupSession<Canvas>] = []
    private(set) var lines: [String] = []
    private(set) var reliable: [Stroke] = []
    private(set) var unreliable: [Stroke] = []
    /// Messages whose sender was not published when they came.
    private(set) var strangers = 0
    private(set) var sets: [Set<UUID>] = []
    private var messengers: [GroupSessionMessenger] = []
    private var subscriptions = Set<AnyCancellable>()
    private let joinsAtOnce: Bool

    init(_ name: String, _ clock: SimulationClock, joinsAtOnce: Bool = true) {
        self.name = name
        self.clock = clock
        self.joinsAtOnce = joinsAtOnce
    }

    /// Begins to observe; called as the participant's program.
    func begin() {
        Task {
            for await session in Canvas.sessions() { take(session) }
        }
    }

    var session: GroupSession<Canvas>? { sessions.last }
    var messenger: GroupSessionMessenger? { messengers.first }
    var fast: GroupSessionMessenger? { messengers.last }
    var present: Set<UUID> { Set((session?.activeParticipants ?? []).map(\.id)) }

    private func take(_ session: GroupSession<Canvas>) {
        sessions.append(session)
        note("session \(session.activity.title)")
        session.$state.sink { [weak self] in self?.note("state \($0)") }.store(in: &subscriptions)
        session.$activity.sink { [weak self] in self?.note("activity \($0.title)") }
            .store(in: &subscriptions)
        session.$activeParticipants.sink { [weak self] participants in
            self?.sets.append(Set(participants.map(\.id)))
            self?.note("participants \(participants.map(\.id.uuidString).sorted())")
        }.store(in: &subscriptions)
        messengers = [
            GroupSessionMessenger(session: session),
            GroupSessionMessenger(session: session, deliveryMode: .unreliable),
        ]
        for messenger in messengers { read(messenger, session) }
        if joinsAtOnce { session.join() }
    }

    private func read(_ messenger: GroupSessionMessenger, _ session: GroupSession<Canvas>) {
        Task {
            for await (stroke, context) in messenger.messages(of: Stroke.self) {
                if !session.activeParticipants.contains(context.source) { strangers += 1 }
                let isReliable = messenger.deliveryMode == .reliable
                if isReliable { reliable.append(stroke) } else { unreliable.append(stroke) }
                note("stroke \(stroke.number) \(isReliable) \(context.source.id)")
            }
        }
    }

    private func note(_ text: String) {
        lines.append("\(clock.now.elapsed) \(name) \(text)")
    }
}

/// A simulation with programs in it.
struct Party {
    let simulation: Simulation
    let participants: [SimulatedParticipant]
    let programs: [Program]

    init(seed: UInt64, _ names: [String], joinsAtOnce: Bool = true) async throws {
        let simulation = Simulation(seed: seed)
        var participants: [SimulatedParticipant] = []
        var programs: [Program] = []
        for name in names {
            let participant = try await simulation.participant(name)
            let program = await Program(name, simulation.clock, joinsAtOnce: joinsAtOnce)
            try await participant.run { await program.begin() }
            participants.append(participant)
            programs.append(program)
        }
        self.simulation = simulation
        self.participants = participants
        self.programs = programs
    }

    /// One activates, all join.
    func gather() async throws {
        try await participants[0].run { _ = try await Canvas().activate() }
        try await simulation.settle(within: .seconds(10))
    }

    /// What all programs saw, in the order in which they saw it.
    var transcript: [String] {
        get async {
            var lines: [String] = []
            for program in programs { lines += await program.lines }
            return lines
        }
    }
}
