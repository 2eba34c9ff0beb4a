import GroupActivities
import Huddle

// What the sample takes for granted.

@MainActor var knownParticipants: Set<Participant> = []
let currentState = SyncMessage(
    action: "state",
    timestamp: Date(timeIntervalSince1970: 0),
    data: [:]
)

func loadActivity(_ activity: WatchTogetherActivity?) {
    print("Loaded \(activity?.movieTitle ?? "nothing")")
}

func handleReceivedMessage(_ message: SyncMessage, from sender: Participant) {
    print(
        "Received \(message.action) \(message.data.sorted { $0.key < $1.key }) at \(message.timestamp)"
    )
}

/// Another picture of each program.
let sharedImageItem = Data("picture of \(ProcessInfo.processInfo.processIdentifier)".utf8)

func handleReceivedFile(_ data: Data) {
    print("Received file \(String(decoding: data, as: UTF8.self))")
}

func startLocalExperience() {
    print("Going on alone")
}

/// Each line at once, though the output is a pipe.
func print(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
}

@main
struct Program {
    /// `SeedSamples FOLDER local`: the sample, driven by lines, in the room of this user's 'huddle up'.
    @MainActor static func main() async throws {
        let observer = GroupStateObserver()
        for await isEligible in observer.$isEligibleForGroupSession.values where isEligible {
            break
        }
        let manager = SharePlayManager()
        manager.observeSessions()
        print("ready")
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            while let line = readLine() { feed.yield(line) }
            feed.finish()
        }
        for await line in lines {
            switch line {
            case "start": try await startSharePlay()
            case "listen": manager.observeMessages()
            case "leave": manager.viewDidDisappear()
            case "end": manager.finish()
            default:
                let now = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
                try await manager.sendSync(
                    SyncMessage(action: line, timestamp: now, data: ["a": "1"])
                )
                print("Sent \(line)")
            }
        }
    }
}
