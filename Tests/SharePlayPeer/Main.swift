import GroupActivities
import Huddle
import MeshFaults

@main
struct Program {
    /// `SharePlayPeer FOLDER host -` makes a room; `SharePlayPeer FOLDER guest LINK` enters it;
    /// `SharePlayPeer FOLDER alone -` has a node in no room.
    ///
    /// Two more may follow: how bad the links are, as `huddle up --fault` has it, and the grace in seconds.
    @MainActor static func main() async throws {
        let arguments = CommandLine.arguments
        // `SharePlayPeer FOLDER local`: as a program that knows of no node does, in the room of this user's.
        if arguments[2] == "local" { return try await serve(nil) }
        var configuration = NodeConfiguration(
            name: URL(fileURLWithPath: arguments[1]).lastPathComponent,
            places: Places(below: arguments[1])
        )
        configuration.reach = .loopback
        configuration.isDiscovering = false
        // Unless told otherwise a tenth of what people are given, so that a test sees its end.
        let grace = arguments.count > 5 ? Int(arguments[5])! : 3
        configuration.adapt = { $0.grace = .seconds(grace) }
        if arguments.count > 4, !arguments[4].isEmpty {
            configuration.faults = try LinkConditions(parsing: arguments[4])
        }
        let node = try await Node.start(configuration)
        let room: Room?
        if arguments[2] == "alone" {
            room = nil
        } else if arguments[2] == "host" {
            room = try await node.createRoom(named: "test")
        } else {
            room = try await node.join(Invitation(arguments[3]))
        }
        await Conversation.process.use(node)
        try await serve(room)
        await node.stop()
    }

    @MainActor private static func serve(_ room: Room?) async throws {
        let peer = Peer()
        say("ready")
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            while let line = readLine() { feed.yield(line) }
            feed.finish()
        }
        for await line in lines {
            if line == "invite", let room {
                say("link \(try await room.invite().link)")
            } else {
                await peer.obey(line)
            }
        }
    }
}
