import GroupActivities
import Huddle

/// Where this program sits: it follows the table, and decides what others propose while it leads.
@MainActor
final class Place {
    private var session: Session?
    private var table = Table()
    private var tasks: [Task<Void, Never>] = []

    func take(_ shared: GroupSession<NoughtsAndCrosses>) async {
        close()
        let session = shared.session
        do {
            try await session.join()
            let (changes, events) = (await session.log.changes(), await session.events)
            // Who comes late has the table from the lead, and the log for what came after.
            await session.provideState { [weak self] in await self?.state ?? [] }
            if let bytes = try await session.state().bytes,
                let table = try? JSONDecoder().decode(Table.self, from: Data(bytes))
            {
                self.table = table
            }
            await session.arbiter.decide { [weak self] move in
                await self?.judge(move) ?? .refuse("nobody is at the table")
            }
            self.session = session
            say("table open")
            show()
            tasks.append(
                Task { [weak self] in for await change in changes { await self?.hear(change) } }
            )
            tasks.append(Task { [weak self] in for await event in events { self?.hear(event) } })
        } catch {
            say("no table: \(error)")
        }
    }

    /// What the player says; `false` if there is no table.
    func propose(_ line: String) async throws -> Bool {
        guard let session else { return false }
        try await session.arbiter.propose(Array(line.utf8))
        return true
    }

    func leave() async throws { try await session?.leave() }

    func show() {
        guard session != nil else { return }
        say(table.game.board)
        if let winner = table.game.winner {
            say("game \(table.number): \(winner.rawValue) wins")
        } else if let turn = table.game.turn {
            let count = table.game.moves.count
            say("game \(table.number): move \(count), \(turn.rawValue) to play")
        } else {
            say("game \(table.number): a draw")
        }
    }

    private var state: [UInt8] { Array((try? JSONEncoder().encode(table)) ?? Data()) }

    private func judge(_ move: Move) async -> MoveDecision {
        guard let session else { return .refuse("nobody is at the table") }
        let objection = table.objection(
            to: String(decoding: move.payload, as: UTF8.self),
            by: move.from,
            lead: await session.lead,
            present: await session.participants
        )
        return objection.map { .refuse($0) } ?? .accept(move.payload)
    }

    private func hear(_ change: LogChange) async {
        switch change {
        case .confirmed(let entry): table.apply(entry)
        case .pending: return
        case .rolledBack:
            // Another part of the room went on: what it has is the table.
            table = Table()
            for entry in await session?.log.entries ?? [] { table.apply(entry) }
        }
        show()
    }

    private func hear(_ event: SessionEvent) {
        guard case .invalidated(let reason) = event else { return }
        say("table closed: \(reason)")
        close()
    }

    private func close() {
        for task in tasks { task.cancel() }
        (session, table, tasks) = (nil, Table(), [])
    }
}
