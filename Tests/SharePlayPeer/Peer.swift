import GroupActivities
import Huddle

// A small SharePlay program, driven by lines on its input, for tests with real processes.
//
// It tells what it sees by lines on its output; `Tests/GroupActivitiesTests/Peer.swift` reads them.

/// What the peers do together.
struct Canvas: GroupActivity {
    static let activityIdentifier = "test.canvas"

    var title: String
    var endsWithInitiator = false
    /// Where those go who lack the program.
    var address: String?

    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = title
        metadata.type = .createTogether
        metadata.fallbackURL = address.flatMap { URL(string: $0) }
        if endsWithInitiator { metadata.lifetimePolicy = .endsWhenInitiatorLeaves }
        return metadata
    }
}

@MainActor
final class Peer {
    private let observer: GroupStateObserver
    private(set) var session: GroupSession<Canvas>?
    private var journal: JournalPeer?
    private var reliable: GroupSessionMessenger?
    private var unreliable: GroupSessionMessenger?
    private var subscriptions = Set<AnyCancellable>()
    private var tasks: [Task<Void, Never>] = []
    private var cursor: Task<Void, Never>?
    private var isSilent = false
    /// Whoever was ever there, so that a message can be meant for one that is gone.
    private var known: Set<Participant> = []
    private let sharing = Sharing()

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

    /// Begins to read messages, of all kinds or of this one.
    private func listen(to kind: String?) {
        guard let reliable, let unreliable else { return }
        func reads(_ one: String) -> Bool { kind ?? one == one }
        if reads("notes") { tasks.append(Task { await hearNotes(reliable) }) }
        if reads("fast") { tasks.append(Task { await hearFast(unreliable) }) }
        if reads("data") { tasks.append(Task { await hearData(reliable) }) }
        if reads("strings") {
            tasks.append(
                Task {
                    for await (text, _) in reliable.messages(of: String.self) {
                        say("string \(text)")
                    }
                }
            )
        }
        if reads("whispers") { tasks.append(Task { await reliable.hearWhispers() }) }
        if reads("values") { tasks += Specimens.hear(from: reliable) }
    }

    private func hearNotes(_ messenger: GroupSessionMessenger) async {
        var count = 0
        for await (note, context) in messenger.messages(of: Note.self) {
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

    private func hearFast(_ messenger: GroupSessionMessenger) async {
        var last = 0
        for await (note, _) in messenger.messages(of: Note.self) {
            if note.number <= last { say("older \(note.number) after \(last)") }
            last = note.number
            say("fast \(note.number) \(note.text)")
        }
    }

    private func hearData(_ messenger: GroupSessionMessenger) async {
        var blobs = 0
        for await (data, _) in messenger.messages(of: Data.self) {
            if isSilent {
                blobs += 1
                say("blob \(blobs) \(data == Blob.make(blobs) ? "whole" : "broken")")
            } else {
                say("data \(data.count)")
            }
        }
    }

    // MARK: What goes on while other words are obeyed

    /// Sends this many notes one after the other, each when the one before has arrived.
    private func stream(_ count: Int, _ text: String, by messenger: GroupSessionMessenger) {
        Task {
            do {
                for number in 1...count {
                    try await messenger.send(Note(number: number, text: text))
                }
                say("streamed \(count)")
            } catch {
                say("error \(error)")
            }
        }
    }

    private func sendBlobs(_ count: Int, by messenger: GroupSessionMessenger) {
        Task {
            do {
                for number in 1...count { try await messenger.send(Blob.make(number)) }
                say("blobs sent")
            } catch {
                say("error \(error)")
            }
        }
    }

    /// Sends a position sixty times a second, as a program that shows a cursor does.
    private func moveCursor(by messenger: GroupSessionMessenger) {
        cursor = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                // One that does not leave is as good as one that is lost.
                try? await messenger.send(Note(number: number, text: "cursor"))
                try? await Task.sleep(for: .seconds(1) / 60)
            }
            say("cursor rests at \(number)")
        }
    }

    func obey(_ line: String) async {
        let words = line.split(separator: " ").map(String.init)
        do {
            switch words[0] {
            case "activate":
                var canvas = Canvas(title: words[1], endsWithInitiator: words.contains("bound"))
                canvas.address = words.first { $0.hasPrefix("http") }
                say("activated \(try await canvas.activate())")
            case "prepare": say("prepared \(await Canvas(title: "x").prepareForActivation())")
            case "join": session?.join()
            case "leave": session?.leave()
            case "end": session?.end()
            case "rejoin": try await session?.session.rejoin()
            case "listen": listen(to: words.count > 1 ? words[1] : nil)
            case "silent": isSilent = true
            case "journal": journal = session.map { JournalPeer(session: $0) }
            case "attach", "attachfile", "load", "remove", "metadata", "spread":
                // Others go on meanwhile.
                Task { [journal] in await journal?.obey(words) }
            case "unlisten":
                for task in tasks { task.cancel() }
                tasks = []
            case "profile", "who": try await Profiles.obey(words, session)
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
            case "stream": if let reliable { stream(Int(words[1])!, words[2], by: reliable) }
            case "blobs": if let reliable { sendBlobs(Int(words[1])!, by: reliable) }
            case "cursor":
                if words[1] == "stop" {
                    cursor?.cancel()
                } else if let unreliable {
                    moveCursor(by: unreliable)
                }
            case "values":
                if let reliable { try await Specimens.send(by: reliable) }
                say("sent values")
            case "whisper":
                try await reliable?.whisper(words[1])
                say("sent whisper")
            case "both":
                // The same type by both ways, in turn.
                for number in 1...Int(words[1])! {
                    try await reliable?.send(Note(number: number, text: "reliable"))
                    try await unreliable?.send(Note(number: number, text: "unreliable"))
                }
                say("sent both")
            case "string":
                try await reliable?.send(words[1])
                say("sent string")
            default: try await sharing.obey(words, self)
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
    do {
        try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    } catch {
        // Whoever started this program is gone.
        exit(1)
    }
}
