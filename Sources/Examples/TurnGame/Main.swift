import GroupActivities
import Huddle

// Noughts and crosses for two, and as many as like to watch:
//
//     huddle up --detach
//     TurnGame
//
// One of them says `start`; the others find the table, now or later. The other lines it understands:
// `sit x`, `sit o`, `play CELL`, `deal`, `show`, `leave`.

@main
struct TurnGame {
    @MainActor static func main() async throws {
        let place = Place()
        Task {
            for await session in NoughtsAndCrosses.sessions() { await place.take(session) }
        }
        let observer = GroupStateObserver()
        let subscription = observer.$isEligibleForGroupSession.sink { isEligible in
            say(
                isEligible
                    ? "in the room; say `start`, or wait for who does"
                    : "in no room; `huddle up --detach` makes one"
            )
        }
        defer { subscription.cancel() }
        for await line in lines() {
            let words = line.split(separator: " ")
            do {
                if words.first == "start" {
                    _ = try await NoughtsAndCrosses().activate()
                    continue
                }
                guard let table = place.table else {
                    say("there is no table yet: start")
                    continue
                }
                switch (words.first, words.last.map(String.init) ?? "") {
                case ("sit", let name):
                    guard let mark = Mark(rawValue: name) else { throw Table.Problem.notSeated }
                    try await table.sit(mark)
                    say("you are \(mark.rawValue)")
                case ("play", let cell): try await table.play(Int(cell) ?? -1)
                case ("deal", _): try await table.deal()
                case ("leave", _): try await table.leave()
                case ("show", _): await place.show()
                default: say("sit x, sit o, play CELL, deal, show, or leave")
                }
            } catch {
                say("no: \(error)")
            }
        }
    }
}

/// Where this program sits.
@MainActor
final class Place {
    private(set) var table: Table?
    private var watching: Task<Void, Never>?
    private var ending: Task<Void, Never>?

    func take(_ shared: GroupSession<NoughtsAndCrosses>) async {
        watching?.cancel()
        ending?.cancel()
        table = nil
        do {
            let session = shared.session
            let me = try await session.join()
            let changes = await session.values.changes()
            let events = await session.events
            table = Table(session, me)
            say("table open")
            await show()
            watching = Task { [weak self] in
                for await _ in changes { await self?.show() }
            }
            ending = Task { [weak self] in
                for await event in events {
                    guard case .invalidated(let reason) = event else { continue }
                    say("table closed: \(reason)")
                    self?.table = nil
                    self?.watching?.cancel()
                }
            }
        } catch {
            say("no table: \(error)")
        }
    }

    func show() async {
        guard let (number, game) = await table?.game() else { return }
        say(game.board)
        if let winner = game.winner {
            say("game \(number): \(winner.rawValue) wins")
        } else if let turn = game.turn {
            say("game \(number): move \(game.moves.count), \(turn.rawValue) to play")
        } else {
            say("game \(number): a draw")
        }
    }
}

/// Prints a line at once, also into a pipe.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// The lines of the standard input, read by a thread that may wait.
func lines() -> AsyncStream<String> {
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
        while let line = readLine() { feed.yield(line) }
        feed.finish()
    }
    return lines
}
