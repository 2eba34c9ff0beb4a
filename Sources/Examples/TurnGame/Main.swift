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
                switch words.first {
                case "start": _ = try await NoughtsAndCrosses().activate()
                case "leave": try await place.leave()
                case "show": place.show()
                default:
                    guard try await place.propose(line) else {
                        say("there is no table yet: start")
                        continue
                    }
                    if words.first == "sit" { say("you are \(words.last ?? "")") }
                }
            } catch ArbiterError.refused(let reason) {
                say("no: \(reason)")
            } catch {
                say("no: \(error)")
            }
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
