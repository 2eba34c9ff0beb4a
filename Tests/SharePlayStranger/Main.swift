import GroupActivities
import Huddle

// Another program than `SharePlayPeer`, with types of its own that bear the same names: what two programs
// of one kind are to each other. It joins what it is offered, and repeats what is whispered to it.

struct Canvas: GroupActivity {
    static let activityIdentifier = "test.canvas"

    var title: String
    /// What the other program does not know.
    var colour: String?

    var metadata: GroupActivityMetadata { GroupActivityMetadata() }
}

private struct Whisper: Codable {
    var text: String
}

func say(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
}

@main
struct Program {
    /// `SharePlayStranger FOLDER guest LINK` enters a room.
    @MainActor static func main() async throws {
        let arguments = CommandLine.arguments
        var configuration = NodeConfiguration(
            name: URL(fileURLWithPath: arguments[1]).lastPathComponent,
            places: Places(below: arguments[1])
        )
        configuration.reach = .loopback
        configuration.isDiscovering = false
        let node = try await Node.start(configuration)
        _ = try await node.join(Invitation(arguments[3]))
        await Conversation.process.use(node)
        say("ready")
        for await session in Canvas.sessions() {
            let messenger = GroupSessionMessenger(session: session)
            Task {
                for await (whisper, context) in messenger.messages(of: Whisper.self) {
                    say("whisper \(whisper.text) from \(context.source.id)")
                    try await messenger.send(
                        Whisper(text: "\(whisper.text), you say"),
                        to: .only(context.source)
                    )
                }
            }
            session.join()
            say("session \(session.id) \(session.activity.title) \(session.localParticipant.id)")
        }
    }
}
