import MeshCrypto
import MeshEngine
import MeshNet
import MeshSession
import MeshStore
import MeshTransport
package import MeshWire

// The room as the application sees it, read from the engine's own state.

extension Node {
    /// The standing session that every member's node joins by itself.
    static let sharedSessionName = "room"

    /// The room's name: what its founder wrote into the shared session, or what was stored.
    var currentRoomName: String {
        let shared = engine.room?.session(SessionID(standing: Self.sharedSessionName))
        let text = shared.flatMap { String(validating: $0.activity.payload, as: UTF8.self) }
        return text ?? roomName
    }

    package var members: [Member] {
        let leader = view?.leader
        let members = (engine.room?.members ?? []).map { member in
            Member(
                node: member.process.nodeID,
                name: member.name,
                isPresent: member.isPresent,
                isLeader: member.process == leader,
                isLocal: member.process == engine.process
            )
        }
        return members.sorted { ($0.name, $0.node) < ($1.name, $1.node) }
    }

    var roomView: RoomView? { view.map(RoomView.init) }

    var sessions: [Session] {
        let sessions = engine.room?.sessions ?? []
        return sessions.sorted { $0.startedAt < $1.startedAt }.map {
            Session(id: $0.id, node: self)
        }
    }

    package func updates() -> MailboxSequence<RoomUpdate> {
        let mailbox = Mailbox<RoomUpdate>(.newest(1024))
        listeners.append(mailbox)
        return mailbox.makeSequence()
    }

    // MARK: Invitations

    func invite() async throws(HuddleError) -> Invite {
        switch await perform({ .openInvite($0) }) {
        case .inviteOpened(_, let invite)?:
            return Invite(
                code: invite.code.text,
                link: link(invite.link).text,
                slot: Int(invite.code.slot),
                lifetime: invite.expires - loop.turnInstant
            )
        case .inviteRefused(_, let refusal)?: throw HuddleError(refusal)
        default: throw abandoned
        }
    }

    package func closeInvites() {
        handle(.closeInvites)
        invites = [:]
    }

    /// The addresses of this machine's interfaces that the node listens at.
    private var localAddresses: [SocketAddress] {
        guard configuration.reach == .everywhere else {
            return [SocketAddress(127, 0, 0, 1, port: port)]
        }
        // Without the list there are no hints, and discovery has to do.
        let interfaces = (try? Interfaces.list()) ?? []
        return interfaces.filter { $0.isUp && !$0.isLoopback }.flatMap { interface in
            interface.addresses.map(\.address).filter { !$0.isLinkLocal }
        }
    }

    /// The link with the addresses at which this node can be dialed from near.
    private func link(_ link: InviteLink) -> InviteLink {
        InviteLink(
            secret: link.secret,
            isSingleUse: link.isSingleUse,
            inviter: link.inviter,
            addresses: localAddresses.map { $0.with(port: port) }
        )
    }

    // MARK: Sessions

    func newSessionID() -> SessionID {
        var secrets = SystemSecrets()
        return secrets.identifier()
    }

    func startSession(
        _ id: SessionID,
        _ blueprint: SessionBlueprint
    ) async throws(HuddleError) -> Session {
        _ = try await submit(.startSession(blueprint), session: id)
        try await joinSession(id)
        return Session(id: id, node: self)
    }

    func standingSession(_ name: String) async throws(HuddleError) -> Session {
        guard (1...15).contains(name.utf8.count) else {
            throw HuddleError(.tooLarge, "a standing session's name has 1 to 15 bytes")
        }
        let id = SessionID(standing: name)
        if engine.room?.session(id) == nil {
            let payload = name == Self.sharedSessionName ? Array(roomName.utf8) : []
            let activity = Activity(identifier: "huddle.\(name)", payload: payload)
            do {
                _ = try await submit(
                    .startSession(SessionBlueprint(activity: activity)),
                    session: id
                )
            } catch {
                // Somebody was faster, which is as good.
                guard error.refusal == .sessionExists else { throw error }
            }
        }
        try await joinSession(id)
        return Session(id: id, node: self)
    }

    @discardableResult
    func joinSession(_ id: SessionID) async throws(HuddleError) -> Participant {
        if let participant = localParticipant(of: id) { return participant }
        do {
            _ = try await submit(.join, session: id)
        } catch {
            guard case .alreadyJoined? = error.refusal else { throw error }
        }
        guard let participant = localParticipant(of: id) else {
            throw HuddleError(.noSession, "the session ended meanwhile")
        }
        return participant
    }

    func leaveSession(_ id: SessionID) async throws(HuddleError) {
        do {
            _ = try await submit(.leave, session: id)
        } catch {
            guard error.refusal == .notJoined || error.refusal == .noSuchSession else {
                throw error
            }
        }
    }

    func endSession(_ id: SessionID) async throws(HuddleError) {
        do {
            _ = try await submit(.endSession(isExpiry: false), session: id)
        } catch {
            guard error.refusal == .noSuchSession else { throw error }
        }
    }

    // MARK: Participants

    func participants(of session: SessionID) -> [Participant] {
        (engine.room?.session(session)?.participants ?? []).map(participant)
    }

    func localParticipant(of session: SessionID) -> Participant? {
        engine.room?.session(session)?.participant(of: engine.process).map(participant)
    }

    func lead(of session: SessionID) -> Participant? {
        guard let found = engine.room?.session(session), let lead = found.lead else { return nil }
        return found.participant(lead).map(participant)
    }

    /// A participant in the words of the public interface.
    func participant(_ participant: MeshSession.Participant) -> Huddle.Participant {
        Participant(
            id: participant.id,
            node: participant.process.nodeID,
            name: engine.room?.member(participant.process)?.name ?? "",
            number: Int(participant.number),
            isPresent: participant.isPresent
        )
    }

    /// The kind of activity of a session; `nil` if there is no such session.
    package func activity(of session: SessionID) -> String? {
        engine.room?.session(session)?.activity.identifier
    }

    // MARK: Messages

    func send(_ message: OutboundMessage, confirm: Confirmation) async throws(MessengerError) {
        guard message.channel.utf8.count <= SessionChannelName.nameLimit else {
            throw .badChannel(limit: SessionChannelName.nameLimit)
        }
        let request = takeRequest()
        guard !isStopped, localParticipant(of: message.session) != nil else {
            throw .sessionInvalidated
        }
        let isConfirmed = confirm == .delivered && message.lane == .reliable
        waiting[request] = .announced
        if isConfirmed { outcomes[request] = .announced }
        handle(.send(request, message))
        switch await answer(to: request) {
        case .sendOutcome(_, let report)?:
            outcomes[request] = nil
            // Nobody promised that a fast message arrives.
            guard message.lane == .reliable else { return try report.checkSize() }
            return try report.check(deadline: message.expires)
        case .accepted?: break
        default:
            outcomes[request] = nil
            if !isStopped { handle(.cancelSend(request)) }
            throw .cancelled
        }
        guard isConfirmed else { return }
        // Without a report the wait was cancelled; the message goes its way.
        try await outcome(of: request)?.check(deadline: message.expires)
    }

    // MARK: Values

    func value(_ key: String, in session: SessionID) -> Value? {
        engine.room?.session(session)?.values[key].flatMap(Value.init)
    }

    func values(in session: SessionID) -> [(key: String, value: Value)] {
        (engine.room?.session(session)?.values.entries ?? []).compactMap { entry in
            Value(entry.value).map { (entry.key, $0) }
        }
    }

    /// Writes, and answers with the revision or the reason.
    func write(_ command: RoomCommand, session: SessionID) async -> Result<Revision, ValueError> {
        do {
            let committed = try await submit(command, session: session)
            return .success(Revision(committed.position))
        } catch {
            return .failure(ValueError(error))
        }
    }

    // MARK: Leaving

    func leaveRoom() async throws(HuddleError) {
        guard phase != .none else { throw .noRoom }
        let room = record?.secret.room
        guard case .left? = await perform({ .leaveRoom($0) }) else { throw abandoned }
        record = nil
        await saving?.value
        guard let room else { return }
        do {
            try store.delete(room)
        } catch {
            throw HuddleError(
                .roomFile,
                "the room was left, but its file stays: \(error)",
                hint: "remove \(configuration.places.rooms)"
            )
        }
    }
}

extension SessionID {
    /// The identifier of the session of this name that a room has once: the name, then zeros.
    init(standing name: String) {
        let bytes = Array(name.utf8.prefix(15))
        self = SessionID(bytes + Array(repeating: 0, count: 16 - bytes.count)) ?? .zero
    }
}

// What is stored to come back (`MeshStore.RoomStore`).
extension Node {
    /// Stores what the engine wants kept; a failure is reported, the node goes on.
    func keep(_ record: MeshEngine.RoomRecord) {
        self.record = record
        if !record.name.isEmpty { roomName = record.name }
        let stored = MeshStore.RoomRecord(
            secret: record.secret,
            name: currentRoomName,
            addresses: record.addresses,
            savedSeconds: SystemClock.unixSeconds()
        )
        // The disk may take its time, and this thread keeps the room alive meanwhile.
        saving = Task.detached { [weak self, store, previous = saving] in
            await previous?.value
            do {
                try store.save(stored)
                await self?.saved(failure: nil)
            } catch {
                await self?.saved(failure: "\(error)")
            }
        }
    }

    private func saved(failure: String?) {
        storeFailure = failure
    }

    /// The room stored last, if any.
    func storedRoom() throws(HuddleError) -> MeshEngine.RoomRecord? {
        do {
            let contents = try store.load()
            if let failure = contents.failures.first, contents.records.isEmpty { throw failure }
            guard let stored = contents.records.first else { return nil }
            return MeshEngine.RoomRecord(
                secret: stored.secret,
                name: stored.name,
                addresses: stored.addresses
            )
        } catch let error as RoomStoreError {
            throw HuddleError(.roomFile, error.description)
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }
}
