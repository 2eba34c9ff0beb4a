package import MeshWire

/// What participants put into one sequence, the same for all (`40-groupactivities.md` §9.4).
///
/// Of the whole sequence the newest entries are kept, within a bound in number and in bytes, so that the
/// state stays small and a newcomer still sees what was last.
package struct OrderedLog: Hashable, Sendable {
    /// The newest entries, oldest first, with ascending indices and no gap.
    package private(set) var entries: [LogRecord] = []
    /// The index of the entry that comes next; the first one has 0.
    package private(set) var nextIndex: UInt64 = 0
    /// What the kept entries cost, in bytes.
    package private(set) var byteCount = 0

    /// What an entry costs beside its content, in bytes.
    static let overheadBytes = 96

    mutating func append(_ record: LogRecord) {
        nextIndex = record.index + 1
        entries.append(record)
        byteCount += Self.cost(record.payload)
        let excess = entries.indices.prefix { place in
            guard
                entries.count - place > SessionLimits.logEntries
                    || byteCount > SessionLimits.logBytes
            else { return false }
            byteCount -= Self.cost(entries[place].payload)
            return true
        }
        entries.removeFirst(excess.count)
    }

    /// The same as a snapshot does; `false` if it cannot be.
    mutating func append(_ record: LogRecord, of nextIndex: UInt64) -> Bool {
        let isNext = entries.isEmpty || record.index == self.nextIndex
        guard isNext, record.index < nextIndex,
            byteCount + Self.cost(record.payload) <= SessionLimits.logBytes
        else { return false }
        append(record)
        return true
    }

    /// The log of which nothing is kept.
    static func empty(nextIndex: UInt64) -> OrderedLog {
        var log = OrderedLog()
        log.nextIndex = nextIndex
        return log
    }

    /// The kept entry at an index.
    package func entry(at index: UInt64) -> LogRecord? {
        guard let first = entries.first, index >= first.index, index < nextIndex else { return nil }
        return entries[Int(index - first.index)]
    }

    static func cost(_ payload: [UInt8]) -> Int { payload.count + overheadBytes }
}

/// One entry of a session's sequence.
package struct LogRecord: Hashable, Sendable {
    /// Its place in the sequence, from 0.
    package let index: UInt64
    /// The entry of the room's log that put it there.
    package let position: Position
    /// The participant that appended it; it may be gone.
    package let author: ParticipantID
    /// What it was appended as.
    package let draft: LogDraft

    /// The application's bytes.
    package var payload: [UInt8] { draft.payload }
}

/// An entry that is to be appended.
package struct LogDraft: Hashable, Sendable {
    /// Tells it from others of its author, who draws the number.
    package var number: UInt64
    /// The move that it answers; only the arbiter may.
    package var answers: MoveID?
    /// The application's bytes, at most 16 KiB.
    package var payload: [UInt8]

    package init(number: UInt64, answers: MoveID? = nil, payload: [UInt8]) {
        self.number = number
        self.answers = answers
        self.payload = payload
    }
}

/// What a participant asks the arbiter to decide.
package struct MoveID: Hashable, Sendable {
    /// Who asks.
    package var participant: ParticipantID
    /// Ascending among the moves of a participant, from 1.
    package var number: UInt64

    package init(participant: ParticipantID, number: UInt64) {
        self.participant = participant
        self.number = number
    }
}

extension RoomSession {
    /// The participant that decides moves: the lead, or while that is away the present one that joined
    /// first; `nil` in a session without a lead.
    package var arbiter: ParticipantID? {
        guard let lead else { return nil }
        return participant(lead)?.isPresent == true ? lead : successor
    }

    /// Whether the move was answered, or one of the same participant after it.
    package func isDecided(_ move: MoveID) -> Bool {
        participant(move.participant).map { move.number <= $0.decidedMove } ?? false
    }
}

extension RoomState {
    mutating func append(
        _ draft: LogDraft,
        by author: ParticipantID,
        sessionAt index: Int,
        at position: Position
    ) throws(CommandRefusal) -> CommandResult {
        let before = sessions[index].log
        let record = LogRecord(
            index: before.nextIndex,
            position: position,
            author: author,
            draft: draft
        )
        guard record.index < UInt64.max else { throw .outOfRange }
        var after = before
        after.append(record)
        try requireRoom(forBytes: after.byteCount - before.byteCount)
        if let move = draft.answers { try decide(move, by: author, sessionAt: index) }
        sessions[index].log = after
        events.append(.logAppended(sessions[index].id, record))
        return .appended(index: record.index, version: position)
    }

    mutating func refuse(
        _ move: MoveID,
        _ note: String,
        by author: ParticipantID,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        try decide(move, by: author, sessionAt: index)
        events.append(.moveRefused(sessions[index].id, move, note: note))
    }

    /// Notes that a move is answered; of two answers to one the first counts.
    private mutating func decide(
        _ move: MoveID,
        by author: ParticipantID,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        let session = sessions[index]
        guard session.leadMode != .none else { throw .noLead }
        guard session.arbiter == author else { throw .notLead(holder: session.arbiter) }
        let place = session.participants.firstIndex { $0.id == move.participant }
        guard let place else { throw .noSuchParticipant(move.participant) }
        guard !session.isDecided(move) else { throw .moveDecided }
        sessions[index].participants[place].decidedMove = move.number
    }
}

extension ByteWriter {
    mutating func write(_ move: MoveID) {
        write(move.participant)
        write(move.number)
    }

    mutating func write(_ draft: LogDraft) {
        write(draft.number)
        write(flag: draft.answers != nil)
        if let move = draft.answers { write(move) }
        writeBlob(draft.payload)
    }

    mutating func write(_ log: OrderedLog) {
        write(log.nextIndex)
        writeCount(log.entries.count)
        for record in log.entries {
            write(record.index)
            write(record.position)
            write(record.author)
            write(record.draft)
        }
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    mutating func readMove() throws(WireError) -> MoveID {
        MoveID(participant: try read(), number: try read())
    }

    @_lifetime(self: copy self)
    mutating func readDraft(limit: Int) throws(WireError) -> LogDraft {
        let number: UInt64 = try read()
        let answers = try readFlag() ? try readMove() : nil
        return LogDraft(number: number, answers: answers, payload: try readBlob(limit: limit))
    }

    @_lifetime(self: copy self)
    mutating func readLog() throws(WireError) -> OrderedLog {
        let start = offset
        let nextIndex: UInt64 = try read()
        var log = OrderedLog.empty(nextIndex: nextIndex)
        for _ in 0..<(try readCount(limit: SessionLimits.logEntries)) {
            let start = offset
            let record = LogRecord(
                index: try read(),
                position: try readPosition(),
                author: try read(),
                draft: try readDraft(limit: Limits.valueBytes)
            )
            guard log.append(record, of: nextIndex) else { throw .invalid(at: start) }
        }
        guard log.nextIndex == nextIndex else { throw .invalid(at: start) }
        return log
    }
}
