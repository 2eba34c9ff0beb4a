import MeshSession
public import MeshWire

/// One sequence of entries that all participants of a session share, each at the same place for all.
///
/// What a participant appends stands behind everything that it had seen, and of two that append at once
/// one is first, the same one everywhere. The newest 1,024 entries, at most 256 KiB of them, are kept for
/// those who come later; a program that needs more keeps it, or hands it on (`provideState`).
///
/// Two parts of a room that lost each other each go on with the sequence; once they meet, the one that
/// wins stays, and the others hear that what they had since is rolled back.
public struct SessionLog: Sendable {
    let session: SessionID
    let node: Node

    /// The most bytes of an entry, 16 KiB.
    public static let entryLimit = Limits.valueBytes
    /// The most entries of this node that may wait for their places.
    static let pendingLimit = 1024

    /// Puts an entry at the end of the sequence; returns once it has its place.
    ///
    /// The readers of ``changes()`` at this node see it at once as ``LogChange/pending(_:payload:)``.
    ///
    /// - Parameter payload: The application's bytes, at most ``entryLimit``.
    /// - Returns: The entry with its place.
    /// - Throws: `tooLarge`; `notJoined` unless this node is a participant; `refused` if only the lead may
    ///   write or the room has no place; `tooFast` with 1,024 that wait; `suspended`; `timedOut` and
    ///   `cancelled`, after which it may still get its place.
    @discardableResult
    public func append(_ payload: [UInt8]) async throws(HuddleError) -> LogEntry {
        try await node.append(payload, in: session)
    }

    /// The newest entries, as this node knows them, oldest first.
    public var entries: [LogEntry] {
        get async { await node.logEntries(of: session) }
    }

    /// The entries that are kept, then what changes, in the order of the sequence.
    ///
    /// A reader more than 1,024 changes behind loses the oldest, and sees it as a gap in
    /// ``LogEntry/index``, as does who was away for longer than the entries are kept. Ends with this
    /// node's part in the session.
    public func changes() async -> MailboxSequence<LogChange> {
        await node.logChanges(of: session)
    }
}

/// One entry of a session's sequence.
public struct LogEntry: Hashable, Identifiable, Sendable {
    /// Tells an entry from every other of its session, before and after it has its place.
    public struct ID: Hashable, Sendable {
        /// The participant that appended it; it may be gone.
        public let author: ParticipantID
        let number: UInt64
    }

    /// Who appended it, and which of its entries it is.
    public let id: ID
    /// Its place in the sequence, from 0.
    public let index: UInt64
    /// The application's bytes.
    public let payload: [UInt8]
    /// The participant whose move it answers, if the arbiter put it there.
    public let mover: ParticipantID?
}

/// What happens to a session's sequence.
public enum LogChange: Hashable, Sendable {
    /// This node appended an entry, which has no place yet.
    case pending(LogEntry.ID, payload: [UInt8])
    /// An entry has its place; it was pending here if this node appended it.
    case confirmed(LogEntry)
    /// These do not stand in the sequence, oldest first: refused, or a part's that lost a merge.
    ///
    /// Who still wants one of its own appends it again.
    case rolledBack([LogEntry.ID])
}

extension Session {
    /// The sequence that all participants share.
    public var log: SessionLog { SessionLog(session: id, node: node) }
}

extension LogEntry {
    init(_ record: LogRecord) {
        id = ID(author: record.author, number: record.draft.number)
        index = record.index
        payload = record.payload
        mover = record.draft.answers?.participant
    }
}
