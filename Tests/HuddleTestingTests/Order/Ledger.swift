import Huddle
import HuddleTesting
import MeshWire
import Testing

/// A program that writes down a session's sequence as its changes come, and decides moves by what it wrote.
actor Ledger {
    let session: Session
    /// The sequence as it was heard, by index; a gap is a fault.
    private(set) var entries: [LogEntry] = []
    private(set) var pending: [LogEntry.ID: [UInt8]] = [:]
    private(set) var rolledBack: [LogEntry.ID] = []
    /// Pending entries of others, and confirmed ones that left a gap.
    private(set) var faults: [String] = []
    /// Moves that this program was asked to decide, as the bytes that were proposed.
    private(set) var asked: [[UInt8]] = []

    init(_ session: Session) {
        self.session = session
    }

    /// Follows the sequence, until the participation ends.
    func follow() async {
        let changes = await session.log.changes()
        Task { for await change in changes { take(change) } }
    }

    /// Accepts a move if it speaks of as many entries as there are: only the next one counts.
    func decide() async {
        await session.arbiter.decide { [weak self] move in
            await self?.judge(move) ?? .refuse("gone")
        }
    }

    private func judge(_ move: Move) -> MoveDecision {
        asked.append(move.payload)
        guard Int(move.payload[0]) == entries.count else {
            return .refuse("it is move \(entries.count)'s turn")
        }
        return .accept(move.payload)
    }

    private func take(_ change: LogChange) {
        switch change {
        case .pending(let id, let payload): pending[id] = payload
        case .confirmed(let entry):
            pending[entry.id] = nil
            if Int(entry.index) != entries.count {
                faults.append("entry \(entry.index) after \(entries.count)")
            }
            entries.append(entry)
        case .rolledBack(let ids):
            rolledBack += ids
            for id in ids { pending[id] = nil }
            entries.removeAll { ids.contains($0.id) }
        }
    }

    var payloads: [[UInt8]] { entries.map(\.payload) }
}

/// Some participants of one session, each with its ledger.
struct Ledgers {
    let simulation: Simulation
    private(set) var participants: [SimulatedParticipant] = []
    private(set) var ledgers: [Ledger] = []
    let session: SessionID

    init(seed: UInt64, _ names: [String]) async throws {
        simulation = Simulation(seed: seed)
        let first = try await simulation.participant(names[0])
        session = try await first.run {
            try await #require(await first.node.room).start("org.example.ledger").id
        }
        try await add(first)
        for name in names.dropFirst() { try await add(try await simulation.participant(name)) }
        try await simulation.settle(within: .seconds(5))
    }

    mutating func add(_ participant: SimulatedParticipant) async throws {
        let id = session
        let ledger = try await participant.run {
            let session = Session(id: id, node: participant.node)
            try await session.join()
            let ledger = Ledger(session)
            await ledger.follow()
            await ledger.decide()
            return ledger
        }
        participants.append(participant)
        ledgers.append(ledger)
    }

    /// Appends numbers one after the other, with the participant's own before each.
    func append(_ count: Int, as index: Int) async throws {
        let session = ledgers[index].session
        try await participants[index].run {
            for number in 0..<count {
                try await session.log.append([UInt8(index), UInt8(number)])
            }
        }
    }
}
