import Huddle
import MeshWire

/// The chat of a node: the newest lines, and whether the node takes part.
struct ChatRoom {
    /// The name of the standing session.
    static let name = "chat"
    /// Lines kept for those who look later.
    static let kept = 200

    var session: Session?
    /// Whether an attempt to take part is under way.
    var isEntering = false
    var history: [JSON] = []

    mutating func keep(_ line: JSON) {
        history.append(line)
        if history.count > Self.kept { history.removeFirst(history.count - Self.kept) }
    }
}

extension ControlServer {
    // MARK: Subscriptions

    func subscribe(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let topic = try request.text("topic")
        switch topic {
        case "chat":
            _ = try await enterChat()
            let connection = connection(request.connection)
            connection?.topics.insert(topic)
            connection?.owed += chat.history.map { $0.merging([JSON.Member("isHistory", true)]) }
        case "room", "invites", "notices":
            _ = try await requireRoom()
            connection(request.connection)?.topics.insert(topic)
        case "values":
            try await subscribeValues(request)
        default:
            throw ControlFailure(
                "request",
                "there is no topic '\(topic)'; it is chat, invites, notices, room or values",
                exit: 2
            )
        }
        return []
    }

    private func subscribeValues(_ request: ControlRequest) async throws(ControlFailure) {
        let room = try await requireRoom()
        let name = try request.optionalText("session") ?? "room"
        let values = name == "room" ? room.shared.values : try await session(request).values
        let key = try request.optionalText("key")
        let changes = await values.changes()
        let topic = "values \(request.connection) \(key ?? "")"
        connection(request.connection)?.topics.insert(topic)
        let task = Task {
            for await change in changes where key == nil || change.key == key {
                var members = [
                    JSON.Member("key", .string(change.key)), JSON.Member("value", .null),
                ]
                if let value = change.value { members = self.describe(change.key, value) }
                self.publish(topic, ControlMessage.event("value", members))
            }
        }
        connection(request.connection)?.tasks.append(task)
    }

    // MARK: Chat

    func sendChat(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let text = try request.text("text")
        guard text.utf8.count <= 8192 else {
            throw ControlFailure("tooLarge", "a chat line has at most 8192 bytes", exit: 2)
        }
        let session = try await enterChat()
        await waitForListeners(session)
        let own = await session.localParticipant
        let others = await session.participants.filter { $0.id != own?.id }
        let line = chatLine(node.configuration.displayName, text, isLocal: true)
        chat.keep(line)
        publish("chat", line)
        // Who is away seldom comes back while somebody waits for the prompt.
        let patience: Duration = others.allSatisfy(\.isPresent) ? .seconds(30) : .seconds(5)
        var missed: Set<ParticipantID> = []
        do {
            try await session.send(Array(text.utf8), on: "text", deadline: patience)
        } catch {
            switch error {
            case .notDelivered(let failures): missed = Set(failures.keys)
            case .deadlineExceeded(let undelivered): missed = undelivered
            default: throw ControlFailure(error)
            }
        }
        func names(_ participants: [Participant]) -> JSON {
            .array(participants.map { .string(shown($0.name, $0.node)) })
        }
        return [
            JSON.Member("delivered", names(others.filter { !missed.contains($0.participantID) })),
            JSON.Member("missed", names(others.filter { missed.contains($0.participantID) })),
        ]
    }

    /// Waits until every present member takes part, for at most 2 s: they enter by themselves.
    private func waitForListeners(_ session: Session) async {
        for _ in 0..<40 {
            let listeners = Set(await session.participants.map(\.node))
            let present = await node.members.filter(\.isPresent).map(\.node)
            guard !present.allSatisfy(listeners.contains) else { return }
            // Cancelled means that nobody waits for this any more; the message goes out all the same.
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Takes part in the room's chat, which is started if it is not there.
    func enterChat() async throws(ControlFailure) -> Session {
        if let session = chat.session, await session.localParticipant != nil { return session }
        let room = try await requireRoom()
        let session: Session
        do {
            session = try await room.standingSession(ChatRoom.name)
        } catch {
            throw ControlFailure(error)
        }
        guard chat.session == nil else { return session }
        chat.session = session
        let messages = await session.messages(on: "text")
        let changes = await session.participantChanges()
        watch { await $0.hear(messages) }
        watch { await $0.hear(changes) }
        return session
    }

    private func hear(_ messages: MailboxSequence<Message>) async {
        for await message in messages {
            let from = await chat.session?.participants.first { $0.participantID == message.from }
            let name = from.map { shown($0.name, $0.node) } ?? "somebody"
            let line = chatLine(
                name,
                String(decoding: message.payload, as: UTF8.self),
                isLocal: false
            )
            chat.keep(line)
            publish("chat", line)
        }
        // The session is over; the next line starts a new one.
        chat.session = nil
    }

    private func hear(_ changes: MailboxSequence<ParticipantChange>) async {
        for await change in changes {
            let (kind, participant): (String, Participant?) =
                switch change {
                case .joined(let participant): ("joined", participant)
                case .away(let participant): ("away", participant)
                case .returned(let participant): ("returned", participant)
                case .left(let participant): ("left", participant)
                case .lead, .profile: ("lead", nil)
                }
            guard let participant, participant.node != node.id else { continue }
            let name = shown(participant.name, participant.node)
            publish("chat", ControlMessage.event(kind, [JSON.Member("from", .string(name))]))
        }
    }

    private func chatLine(_ name: String, _ text: String, isLocal: Bool) -> JSON {
        ControlMessage.event(
            "chat",
            [
                JSON.Member("from", .string(name)),
                JSON.Member("text", .string(text)),
                JSON.Member("isLocal", .bool(isLocal)),
            ]
        )
    }

    // MARK: The room

    /// Follows the node's room: into the chat when there is one, and news to whoever listens.
    func followRoom() async {
        let updates = await node.updates()
        for await update in updates {
            switch update {
            case .inviteUsed(let slot, let guest):
                let name = shown(await node.name(of: guest), guest)
                let members = [
                    JSON.Member("slot", .count(slot)), JSON.Member("name", .string(name)),
                ]
                publish("invites", ControlMessage.event("inviteUsed", members))
            case .inviteBurned(let slot, let reason):
                let members = [
                    JSON.Member("slot", .count(slot)), JSON.Member("reason", .string(reason)),
                ]
                publish("invites", ControlMessage.event("inviteBurned", members))
            case .view(let view): await publishView(view)
            case .merged(let summary):
                publish("room", ControlMessage.event("merged", describe(summary)))
            case .conflictFound(let conflict):
                publish("room", ControlMessage.event("conflict", await describe(conflict)))
            case .conflictSettled(let session, let subject, let key):
                let members = describe(session, subject, key)
                publish("room", ControlMessage.event("settled", members))
            case .left:
                // What was said there stays there.
                chat = ChatRoom()
            default: break
            }
            await followChat()
        }
    }

    /// Everybody in the room hears the chat, once somebody has begun one.
    private func followChat() async {
        guard chat.session == nil, !chat.isEntering, let room = await node.room else { return }
        for session in await room.sessions
        where await node.activity(of: session.id) == "huddle.\(ChatRoom.name)" {
            chat.isEntering = true
            // Not now is not never: the next update tries again.
            _ = try? await enterChat()
            chat.isEntering = false
        }
    }

    private func publishView(_ view: RoomView) async {
        var members = [
            JSON.Member("epoch", .string(view.epoch.description)),
            JSON.Member("size", .count(view.members.count)),
            JSON.Member("isUsable", .bool(view.isUsable)),
        ]
        if let leader = view.leader {
            members.append(
                JSON.Member("leader", .string(shown(await node.name(of: leader), leader)))
            )
        }
        publish("room", ControlMessage.event("view", members))
    }
}
