import MeshCrypto
import MeshEngine
import MeshNet
import MeshSession
import MeshTransport
package import MeshWire

// Sessions, their participants, messages and values, as the application sees them.

extension Node {
    /// The standing session that every member's node joins by itself.
    static let sharedSessionName = "room"

    var sessions: [Session] {
        let sessions = engine.room?.sessions ?? []
        return sessions.sorted { $0.startedAt < $1.startedAt }.map {
            Session(id: $0.id, node: self)
        }
    }

    func newSessionID() -> SessionID {
        secrets.identifier()
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
            _ = try await submit(.join(nonce: nonce(of: id)), session: id)
        } catch {
            // A number that makes an identifier of somebody else's is not tried again.
            if error.refusal == .invalid { nonces[id] = nil }
            guard case .alreadyJoined? = error.refusal else { throw error }
        }
        guard let participant = localParticipant(of: id) else {
            throw HuddleError(.noSession, "the session ended meanwhile")
        }
        return participant
    }

    func leaveSession(_ id: SessionID) async throws(HuddleError) {
        closeOutbox()
        // Who never joined has no participation that the log could end.
        defer {
            nonces[id] = nil
            hubs[id]?.invalidate(.left)
        }
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
        let (profile, person) = shown(participant.process)
        return Participant(
            participantID: participant.id,
            node: participant.process.nodeID,
            profile: profile,
            person: person,
            number: Int(participant.number),
            isPresent: participant.isPresent,
            isNearbyWithLocalParticipant: isNearby(participant.process)
        )
    }

    /// Whether a process is this one, or its current path leads through a network of this machine.
    private func isNearby(_ process: ProcessID) -> Bool {
        guard process != engine.process else { return true }
        guard let address = addresses[process.nodeID]?.last else { return false }
        return networks.contain(address, now: loop.turnInstant)
    }

    /// The kind of activity of a session; `nil` if there is no such session.
    package func activity(of session: SessionID) -> String? {
        engine.room?.session(session)?.activity.identifier
    }

    // MARK: Messages

    func send(_ message: OutboundMessage, confirm: Confirmation) async throws(MessengerError) {
        if confirm == .processed, message.lane == .reliable {
            return try await sendProcessed(message)
        }
        let isConfirmed = confirm == .delivered && message.lane == .reliable
        let request = takeRequest()
        try await accept(message, as: request, isConfirmed: isConfirmed)
        guard isConfirmed else { return }
        // Without a report the wait was cancelled; the message goes its way.
        try await outcome(of: request)?.check(deadline: message.expires)
    }

    /// Hands messages to their lane in one go, in portions that no backlog overflows of, and waits as for each.
    func send(
        _ payloads: [[UInt8]],
        like message: OutboundMessage,
        confirm: Confirmation
    ) async throws(MessengerError) {
        guard confirm != .processed else {
            for payload in payloads {
                var message = message
                message.payload = payload
                try await send(message, confirm: confirm)
            }
            return
        }
        let isConfirmed = confirm == .delivered
        var begun: [RequestID] = []
        defer { for request in begun { outcomes[request] = nil } }
        var rest = payloads[...]
        while !rest.isEmpty {
            var bytes = 0
            let portion = rest.prefix(Self.portionMessages).prefix { payload in
                defer { bytes += payload.count }
                return bytes == 0 || bytes + payload.count <= Self.portionBytes
            }
            rest = rest.dropFirst(portion.count)
            var message = message
            message.payload = portion.first ?? []
            message.others = Array(portion.dropFirst())
            let request = takeRequest()
            try begin(message, as: request, isConfirmed: isConfirmed)
            begun.append(request)
            try await accepted(message, as: request, isConfirmed: isConfirmed)
        }
        guard isConfirmed else { return }
        for request in begun {
            try await outcome(of: request)?.check(deadline: message.expires)
        }
    }

    /// How much of a batch waits for its acceptance at once.
    private static let portionMessages = 256
    private static let portionBytes = 256 << 10

    /// Hands a message to its lane and waits until that has taken it.
    ///
    /// With `isConfirmed` somebody asks for its `outcome(of:)` next.
    func accept(
        _ message: OutboundMessage,
        as request: RequestID,
        isConfirmed: Bool
    ) async throws(MessengerError) {
        try begin(message, as: request, isConfirmed: isConfirmed)
        try await accepted(message, as: request, isConfirmed: isConfirmed)
    }

    /// Hands a message to its lane; `accepted(_:as:isConfirmed:)` comes next.
    private func begin(
        _ message: OutboundMessage,
        as request: RequestID,
        isConfirmed: Bool
    ) throws(MessengerError) {
        guard message.channel.utf8.count <= SessionChannelName.nameLimit else {
            throw .badChannel(limit: SessionChannelName.nameLimit)
        }
        guard !isStopped, localParticipant(of: message.session) != nil else {
            throw .sessionInvalidated
        }
        takePosted()
        outbox.open(message.session)
        waiting[request] = .announced
        if isConfirmed { outcomes[request] = .announced }
        markStream(message)
        handle(.send(request, message))
    }

    private func accepted(
        _ message: OutboundMessage,
        as request: RequestID,
        isConfirmed: Bool
    ) async throws(MessengerError) {
        switch await answer(to: request) {
        case .sendOutcome(_, let report)?:
            // It was over before it was accepted, well or not; who asks for the outcome finds it.
            guard isConfirmed else {
                // Nobody promised that a fast message arrives.
                guard message.lane == .reliable else { return try report.checkSize() }
                return try report.check(deadline: message.expires)
            }
        case .accepted?: return
        default:
            outcomes[request] = nil
            if !isStopped { handle(.cancelSend(request)) }
            throw .cancelled
        }
    }

    /// The same for a message whose `outcome(of:)` is asked for next.
    func accept(_ message: OutboundMessage) async throws(MessengerError) -> RequestID {
        let request = takeRequest()
        try await accept(message, as: request, isConfirmed: true)
        return request
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
}

extension SessionID {
    /// The identifier of the session of this name that a room has once: the name, then zeros.
    init(standing name: String) {
        let bytes = Array(name.utf8.prefix(15))
        self = SessionID(bytes + Array(repeating: 0, count: 16 - bytes.count)) ?? .zero
    }
}
