import MeshEngine
import MeshSession
import MeshWire

extension Node {
    func append(_ payload: [UInt8], in session: SessionID) async throws(HuddleError) -> LogEntry {
        guard !isStopped else { throw .stopped }
        guard let own = localParticipant(of: session) else { throw .notJoined }
        let draft = LogDraft(number: takeRequest(), payload: payload)
        let command = RoomCommand.append(draft)
        do {
            try command.validate()
        } catch {
            throw HuddleError(error)
        }
        let desk = hub(session).log
        let id = LogEntry.ID(author: own.participantID, number: draft.number)
        guard desk.begin(id, payload) else {
            throw HuddleError(
                .tooFast,
                "\(SessionLog.pendingLimit) entries wait for their places already",
                hint: "wait for some of them before you append more"
            )
        }
        do throws(HuddleError) {
            let result = try await submit(command, session: session).result
            guard case .appended(let index, _) = result else {
                throw HuddleError(.refused, "the room answered with something else: \(result)")
            }
            return LogEntry(id: id, index: index, payload: payload, mover: nil)
        } catch {
            if error.isFinal { desk.rollBack([id]) }
            throw error
        }
    }

    func logEntries(of session: SessionID) -> [LogEntry] {
        (engine.room?.session(session)?.log.entries ?? []).map(LogEntry.init)
    }

    func logChanges(of session: SessionID) -> MailboxSequence<LogChange> {
        let isOver = isStopped || engine.room?.session(session) == nil
        let desk = isOver ? LogDesk() : hub(session).log
        let changes = desk.read(logEntries(of: session)) { [weak self] in
            Task { await self?.decideMoves(in: session) }
        }
        if isOver { desk.end() }
        return changes
    }

    // MARK: What the room's log says

    func appended(_ record: LogRecord, in session: SessionID) {
        let entry = LogEntry(record)
        hubs[session]?.log.confirm(entry)
        if let move = record.draft.answers { answered(move, .success(entry), in: session) }
    }

    func rolledBack(_ records: [LogRecord], in session: SessionID) {
        hubs[session]?.log.rollBack(records.map { LogEntry($0).id })
    }
}

extension HuddleError {
    static let notJoined = HuddleError(
        .notJoined,
        "this node is no participant of the session"
    )

    /// Whether what was asked for will not happen after all.
    fileprivate var isFinal: Bool { ![.timedOut, .cancelled, .stopped].contains(kind) }
}
