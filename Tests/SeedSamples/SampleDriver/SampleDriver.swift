import Foundation
import GroupActivities

// What runs a sample as a process of its own: the room, the words it is told, and what is seen of its sessions.

/// Waits until the program is in the room of this user's `huddle up`, then obeys the lines of the input.
@MainActor
public func serve(_ obey: @MainActor (String) async throws -> Void) async throws {
    printLinesAtOnce()
    let observer = GroupStateObserver()
    for await isEligible in observer.$isEligibleForGroupSession.values where isEligible { break }
    print("ready")
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
        while let line = readLine() { feed.yield(line) }
        feed.finish()
    }
    for await line in lines { try await obey(line) }
}

/// Lets `print` write each line at once, though the output is a pipe.
public func printLinesAtOnce() {
    setvbuf(stdout, nil, _IOLBF, 0)
}

/// A second reader of an activity's sessions, which tells what it sees of them.
@MainActor
public final class Witness<Activity: GroupActivity> {
    /// The newest session.
    public private(set) var session: GroupSession<Activity>?

    private var subscriptions = Set<AnyCancellable>()

    /// Begins to read.
    public init(_ type: Activity.Type) {
        Task {
            for await session in Activity.sessions() { tell(of: session) }
        }
    }

    private func tell(of session: GroupSession<Activity>) {
        self.session = session
        print("session \(session.id)")
        session.$state.sink { state in
            switch state {
            case .waiting: print("state waiting")
            case .joined: print("state joined")
            case .invalidated(let reason): print("state invalidated: \(reason)")
            }
        }.store(in: &subscriptions)
    }
}
