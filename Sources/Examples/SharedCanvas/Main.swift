import GroupActivities

// A canvas in the terminal, shared by all who run it in the same room:
//
//     huddle up --detach
//     SharedCanvas
//
// One of them says `start`; the others find the canvas, now or later. The other lines it understands:
// `draw 1,1 2,1 3,2`, `point 7,3`, `show`.

@main
struct SharedCanvas {
    @MainActor static func main() async throws {
        let manager = CanvasManager()
        Task {
            for await session in Canvas.sessions() {
                say("canvas open")
                manager.join(session)
            }
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
            let points = words.dropFirst().compactMap { Point($0) }
            do {
                switch words.first {
                case "start": _ = try await Canvas().activate()
                case "draw" where !points.isEmpty: try await manager.draw(points)
                case "point" where points.count == 1: try await manager.point(at: points[0])
                case "show": say(manager.picture)
                case nil: break
                default: say("start, draw X,Y X,Y …, point X,Y, or show")
                }
            } catch {
                say("no: \(error)")
            }
        }
    }
}

extension Point {
    /// Reads `7,3`; the canvas has 48 columns and 12 rows.
    init?(_ text: Substring) {
        let numbers = text.split(separator: ",").compactMap { UInt8($0) }
        guard numbers.count == 2, numbers[0] < Drawing.columns, numbers[1] < Drawing.rows else {
            return nil
        }
        self.init(column: Int(numbers[0]), row: Int(numbers[1]))
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
