import MeshCrypto
import MeshEngine
import MeshSession
import MeshWire

// The activity's slot, and this node's part in each session, as the application hears of it.

/// What this node knows of a session that runs, as far as it was told.
struct SessionStanding {
    var update: SessionUpdate
    var lifetime: SessionLifetime
    /// This node's own participant, once joined.
    var local: Participant?
}

extension Node {
    /// The slot that SharePlay's API uses: one activity at a time (`40-groupactivities.md` D3).
    package static let activitySlot = "activity"
    /// Ends of sessions that are remembered for those who ask late.
    private static let rememberedEnds = 64

    /// Starts an activity in the slot of which the room has one; returns when the log has applied it.
    ///
    /// The session this node knows there gives way. If somebody else started the same activity
    /// meanwhile, that session is answered and `isNew` is `false`. Nobody joins by this. Throws
    /// `noRoom`, `tooLarge`, `refused`, and `timedOut` after 5 s.
    package func activate(
        identifier: String,
        payload: [UInt8],
        metadata: [UInt8],
        options: Session.Options = Session.Options()
    ) async throws(HuddleError) -> (session: Session, isNew: Bool) {
        // Told, not applied: what the application cannot know of, it does not mean to replace.
        let running = standings.values.first { $0.update.slot == Self.activitySlot }
        return try await activate(
            Activity(identifier: identifier, payload: payload, metadata: metadata),
            options: options,
            expected: running?.update.session.id ?? .zero
        )
    }

    /// The same by a caller that believes this session to run; zero for none.
    func activate(
        _ activity: Activity,
        options: Session.Options,
        expected: SessionID
    ) async throws(HuddleError) -> (session: Session, isNew: Bool) {
        guard !isStopped else { throw .stopped }
        guard case .joined = phase else { throw .noRoom }
        let blueprint = SessionBlueprint(
            activity: activity,
            lifetime: options.endsWhenInitiatorLeaves ? .endsWhenInitiatorLeaves : .untilEmpty,
            options: options.inner,
            slot: Self.activitySlot,
            expected: expected
        )
        let id = newSessionID()
        let result = try await change(
            .startSession(blueprint),
            session: id,
            within: .seconds(5)
        )
        guard case .merged(let other) = result else { return (Session(id: id, node: self), true) }
        return (Session(id: other, node: self), false)
    }

    func replaceActivity(
        of session: SessionID,
        _ activity: SessionActivity
    ) async throws(HuddleError) {
        _ = try await change(.setActivity(activity.inner), session: session)
    }

    /// Submits what is inside its limits.
    private func change(
        _ command: RoomCommand,
        session: SessionID,
        within timeout: Duration = .seconds(20)
    ) async throws(HuddleError) -> CommandResult {
        do {
            try command.validate()
        } catch {
            throw HuddleError(error)
        }
        return try await submit(command, session: session, within: timeout).result
    }

    func set(
        _ change: (inout SessionOptions) -> Void,
        of session: SessionID
    ) async throws(HuddleError) {
        guard var options = engine.room?.session(session)?.options else {
            throw HuddleError(.noSession, "there is no such session")
        }
        change(&options)
        _ = try await self.change(.setOptions(options), session: session)
    }

    func remove(
        _ participant: ParticipantID,
        from session: SessionID,
        isBan: Bool,
        note: String
    ) async throws(HuddleError) {
        _ = try await change(.remove(participant, isBan: isBan, note: note), session: session)
    }

    func sessionActivity(of session: SessionID) -> SessionActivity? {
        (engine.room?.session(session)?.activity).map(SessionActivity.init)
    }

    func options(of session: SessionID) -> Session.Options? {
        engine.room?.session(session).map { Session.Options($0.options, $0.lifetime) }
    }

    func isLocallyInitiated(_ session: SessionID) -> Bool {
        engine.room?.session(session)?.initiator == engine.process
    }

    // MARK: Identifiers before the join

    func localParticipantID(of session: SessionID) -> ParticipantID? {
        if let participant = localParticipant(of: session) { return participant.participantID }
        return engine.room?.participantID(
            session: session,
            process: engine.process,
            nonce: nonce(of: session)
        )
    }

    /// The number that the next join of a session carries; drawn once for each participation.
    func nonce(of session: SessionID) -> UInt64 {
        if let nonce = nonces[session] { return nonce }
        let nonce = newSessionID().bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        nonces[session] = nonce
        return nonce
    }

    // MARK: Readers

    package func sessionUpdates() -> MailboxSequence<SessionUpdate> {
        let mailbox = Mailbox<SessionUpdate>(.newest(1024))
        let running = standingOrder.compactMap { standings[$0]?.update }
        mailbox.send(contentsOf: running)
        guard !isStopped else {
            mailbox.finish()
            return mailbox.makeSequence()
        }
        sessionListeners.removeAll { $0.isAbandoned }
        sessionListeners.append(mailbox)
        return mailbox.makeSequence()
    }

    /// Ends this node's part in a session, and tells of the session as if it were new.
    func offerAgain(_ session: SessionID) async throws(HuddleError) {
        try await leaveSession(session)
        guard var update = standings[session]?.update else {
            throw HuddleError(.noSession, "the session is over")
        }
        update.isAgain = true
        for listener in sessionListeners { listener.send(update) }
    }

    func sessionEvents(of session: SessionID) -> MailboxSequence<SessionEvent> {
        let standing = standings[session]
        let isRunning = standing != nil || engine.room?.session(session) != nil
        guard !isStopped, isRunning else {
            let end = ends.last { $0.session == session }?.reason
            let mailbox = Mailbox<SessionEvent>(.newest(1))
            mailbox.send(
                .invalidated(end ?? (isStopped ? .roomLeft : .joinRefused(.unknownSession)))
            )
            mailbox.finish()
            return mailbox.makeSequence()
        }
        return hub(session).readEvents(standing?.local.map { SessionEvent.joined($0) })
    }

    // MARK: What the log says

    func began(_ session: RoomSession) {
        let update = SessionUpdate(
            session: Session(id: session.id, node: self),
            slot: session.slot,
            activity: SessionActivity(session.activity),
            initiator: session.initiator.nodeID,
            isLocallyInitiated: session.initiator == engine.process
        )
        standings[session.id] = SessionStanding(update: update, lifetime: session.lifetime)
        standingOrder.removeAll { $0 == session.id }
        standingOrder.append(session.id)
        sessionListeners.removeAll { $0.isAbandoned }
        for listener in sessionListeners { listener.send(update) }
    }

    /// The session is over for all, or this node is out of its room.
    func ended(_ session: SessionID, _ reason: GroupSessionError) {
        standings[session] = nil
        standingOrder.removeAll { $0 == session }
        nonces[session] = nil
        board.finish(session)
        ends.append((session, reason))
        if ends.count > Self.rememberedEnds { ends.removeFirst() }
        hubs.removeValue(forKey: session)?.finish(reason)
        journalEnded(of: session, reason, isOver: true)
    }

    /// Every session is over for this node.
    func endedAll(_ reason: GroupSessionError) {
        for session in standingOrder { ended(session, reason) }
        for session in hubs.keys.sorted() { hubs[session]?.finish(reason) }
        hubs = [:]
        nonces = [:]
        collectContents(.sessionInvalidated(reason))
    }

    func heldActivity(_ session: SessionID, _ activity: Activity) {
        let activity = SessionActivity(activity)
        standings[session]?.update.activity = activity
        hubs[session]?.tell(.activityChanged(activity))
    }

    func heldOptions(_ session: SessionID, _ options: SessionOptions) {
        let lifetime = standings[session]?.lifetime ?? .untilEmpty
        hubs[session]?.tell(.optionsChanged(Session.Options(options, lifetime)))
    }

    /// A participant is there; if it is this node's, the participation begins.
    func came(_ participant: MeshSession.Participant, into session: SessionID) {
        guard participant.process == engine.process,
            standings[session]?.local?.participantID != participant.id
        else { return }
        let local = self.participant(participant)
        standings[session]?.local = local
        nonces[session] = nil
        hubs[session]?.tell(.joined(local))
    }

    /// A participant is gone; if it is this node's, the participation is over.
    func went(
        _ participant: MeshSession.Participant,
        from session: SessionID,
        _ reason: ParticipantLeaveReason
    ) {
        // One that a merge took out and brought back in the same turn was never gone.
        guard participant.process == engine.process,
            engine.room?.session(session)?.participant(participant.id) == nil
        else { return }
        standings[session]?.local = nil
        stateEnded(in: session)
        let reason = error(reason, of: participant.id, in: session)
        hubs[session]?.invalidate(reason)
        journalEnded(of: session, reason, isOver: false)
    }

    private func error(
        _ reason: ParticipantLeaveReason,
        of participant: ParticipantID,
        in session: SessionID
    ) -> GroupSessionError {
        let room = engine.room?.session(session)
        switch reason {
        case .left: return .left
        case .processLeft: return .roomLeft
        case .removed(let by, let note, _):
            return .removed(
                by: room?.participant(by).map(self.participant),
                note: note.isEmpty ? nil : note
            )
        case .unobserved where room?.kicked.contains(participant) == true:
            return .removed(by: nil, note: nil)
        case .expired, .unobserved: return .reconnectTimedOut(after: Limits.grace)
        }
    }

    func error(_ reason: SessionEndReason) -> GroupSessionError {
        switch reason {
        case .ended(_, let who): .ended(by: who.map(participant))
        case .replaced(let identifier): .replaced(by: identifier)
        case .everyoneLeft: .everyoneLeft
        case .initiatorLeft: .initiatorLeft
        case .expired: .expired
        case .upgradeNeeded: .upgradeNeeded
        case .endedElsewhere, .unobserved: .ended(by: nil)
        }
    }

    func error(_ exit: RoomExit) -> GroupSessionError {
        switch exit {
        case .duplicateIdentity: .duplicateIdentity
        case .removed: .removed(by: nil, note: nil)
        case .leaving, .full: .roomLeft
        }
    }

    /// Tells every session that this node is a participant of whether the room takes writes.
    func heldSuspension(_ isSuspended: Bool) {
        for session in standingOrder where standings[session]?.local != nil {
            hubs[session]?.tell(isSuspended ? .away : .back)
        }
    }
}
