import GroupActivities
import Huddle
import MeshFaults

// A small SharePlay program, driven by lines on its input, for tests with real processes.
//
// It tells what it sees by lines on its output; `Tests/GroupActivitiesTests/Peer.swift` reads them.

/// What the peers do together.
struct Canvas: GroupActivity {
    static let activityIdentifier = "test.canvas"

    var title: String
    var endsWithInitiator = false

    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = title
        metadata.type = .createTogether
        if endsWithInitiator { metadata.lifetimePolicy = .endsWhenInitiatorLeaves }
        return metadata
    }
}

struct Note: Codable {
    var number: Int
    var text: String
}

@MainActor
final class Peer {
    private let observer: GroupStateObserver
    private var session: GroupSession<Canvas>?
    private var reliable: GroupSessionMessenger?
    private var unreliable: GroupSessionMessenger?
    private var subscriptions = Set<AnyCancellable>()
    private var tasks: [Task<Void, Never>] = []
    private var isSilent = false
    /// Whoever was ever there, so that a message can be meant for one that is gone.
    private var known: Set<Participant> = []

    init() {
        observer = GroupStateObserver()
        observer.$isEligibleForGroupSession.sink { say("eligible \($0)") }.store(in: &subscriptions)
        Task {
            for await session in Canvas.sessions() { configure(session) }
        }
    }

    private func configure(_ session: GroupSession<Canvas>) {
        self.session = session
        reliable = GroupSessionMessenger(session: session)
        unreliable = GroupSessionMessenger(session: session, deliveryMode: .unreliable)
        say(
            "session \(session.id) \(session.activity.title) "
                + "\(session.isLocallyInitiated ? "local" : "remote") \(session.localParticipant.id)"
        )
        session.$state.sink { state in
            switch state {
            case .waiting: say("state waiting")
            case .joined: say("state joined")
            case .invalidated(let reason): say("state invalidated \(reason)")
            }
        }.store(in: &subscriptions)
        session.$activeParticipants.sink { [weak session] new in
            let old = session?.activeParticipants ?? []
            self.known.formUnion(new)
            let ids = { (set: Set<Participant>) in set.map(\.id.uuidString).sorted() }
            say("participants \(new.count) \(ids(new).joined(separator: ","))")
            for id in ids(new.subtracting(old)) { say("newcomer \(id)") }
        }.store(in: &subscriptions)
        session.$activity.dropFirst().sink { say("activity \($0.title)") }.store(in: &subscriptions)
    }

    /// Begins to read the messages of both modes.
    private func listen() {
        guard let reliable, let unreliable else { return }
        tasks.append(
            Task {
                var count = 0
                for await (note, context) in reliable.messages(of: Note.self) {
                    count += 1
                    if isSilent {
                        if note.number != count { say("gap \(count) \(note.number)") }
                        if count % 1000 == 0 { say("counted \(count)") }
                    } else {
                        say("note \(note.number) \(note.text) from \(context.source.id)")
                    }
                }
                say("notes end")
            }
        )
        tasks.append(
            Task {
                for await (note, _) in unreliable.messages(of: Note.self) {
                    say("fast \(note.number) \(note.text)")
                }
            }
        )
        tasks.append(
            Task {
                for await (data, _) in reliable.messages(of: Data.self) {
                    say("data \(data.count)")
                }
            }
        )
        tasks.append(
            Task {
                for await (text, _) in reliable.messages(of: String.self) { say("string \(text)") }
            }
        )
    }

    func obey(_ line: String) async {
        let words = line.split(separator: " ").map(String.init)
        do {
            switch words[0] {
            case "activate":
                let canvas = Canvas(title: words[1], endsWithInitiator: words.contains("bound"))
                say("activated \(try await canvas.activate())")
            case "prepare": say("prepared \(await Canvas(title: "x").prepareForActivation())")
            case "join": session?.join()
            case "leave": session?.leave()
            case "end": session?.end()
            case "listen": listen()
            case "silent": isSilent = true
            case "unlisten":
                for task in tasks { task.cancel() }
                tasks = []
            case "title": session?.activity.title = words[1]
            case "note":
                let to = recipients(words.dropFirst(3))
                try await reliable?.send(Note(number: Int(words[1])!, text: words[2]), to: to)
                say("sent \(words[1])")
            case "post":
                // All at once, without waiting in between.
                for number in 1...Int(words[1])! {
                    reliable?.send(Note(number: number, text: words[2])) { error in
                        if let error { say("failed \(number) \(error)") }
                        if number == Int(words[1])! { say("posted") }
                    }
                }
            case "fast":
                try await unreliable?.send(Note(number: Int(words[1])!, text: words[2]))
                say("sent \(words[1])")
            case "data":
                try await reliable?.send(Data(repeating: 7, count: Int(words[1])!))
                say("sent \(words[1])")
            case "fastdata":
                try await unreliable?.send(Data(repeating: 7, count: Int(words[1])!))
                say("sent \(words[1])")
            case "string":
                try await reliable?.send(words[1])
                say("sent string")
            default: say("error unknown word \(words[0])")
            }
        } catch {
            say("error \(error)")
        }
    }

    private func recipients(_ words: ArraySlice<String>) -> Participants {
        guard let kind = words.first else { return .all }
        let ids = Set(words.dropFirst().compactMap(UUID.init(uuidString:)))
        precondition(kind == "only")
        let local = (session?.localParticipant).map { [$0] } ?? []
        return .only(known.union(local).filter { ids.contains($0.id) })
    }
}

func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

@main
struct Program {
    /// `SharePlayPeer FOLDER host` makes a room; `SharePlayPeer FOLDER guest LINK` enters it.
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
        // A tenth of what people are given, so that a test sees its end.
        configuration.adapt = { $0.grace = .seconds(3) }
        if arguments.count > 4 { configuration.faults = try LinkConditions(parsing: arguments[4]) }
        let node = try await Node.start(configuration)
        let room: Room
        if arguments[2] == "host" {
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
