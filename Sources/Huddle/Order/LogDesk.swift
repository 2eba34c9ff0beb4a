/// What a session's hub keeps for the readers of its sequence.
///
/// Belongs to the node's thread.
final class LogDesk {
    private var readers: [Mailbox<LogChange>] = []
    /// Entries of this node without a place, in the order of their calls.
    private var pending: [(id: LogEntry.ID, payload: [UInt8])] = []
    /// Changes a reader may be behind before the oldest are dropped.
    private static let changes = 1024

    /// A new reader, which first gets what stands and what waits.
    ///
    /// `onDrained` is called on the reader's thread when it has taken all, if somebody asked for that.
    func read(
        _ entries: [LogEntry],
        onDrained: @escaping @Sendable () -> Void
    ) -> MailboxSequence<LogChange> {
        let mailbox = Mailbox<LogChange>(
            .newest(Self.changes),
            onSpace: onDrained,
            onAbandoned: onDrained
        )
        mailbox.send(contentsOf: entries.map { .confirmed($0) })
        mailbox.send(contentsOf: pending.map { .pending($0.id, payload: $0.payload) })
        readers.append(mailbox)
        return mailbox.makeSequence()
    }

    /// Shows an entry that has no place yet; `false` if too many wait.
    func begin(_ id: LogEntry.ID, _ payload: [UInt8]) -> Bool {
        guard pending.count < SessionLog.pendingLimit else { return false }
        pending.append((id, payload))
        tell(.pending(id, payload: payload))
        return true
    }

    func confirm(_ entry: LogEntry) {
        pending.removeAll { $0.id == entry.id }
        tell(.confirmed(entry))
    }

    func rollBack(_ entries: [LogEntry.ID]) {
        pending.removeAll { entries.contains($0.id) }
        tell(.rolledBack(entries))
    }

    /// Whether every reader has taken all there is and asked for more; the last to do so says it.
    func isDrained() -> Bool {
        var isDrained = true
        // order: each is asked, so that each will tell
        for reader in readers where !reader.isDrained() { isDrained = false }
        return isDrained
    }

    /// The participation is over.
    func end() {
        for reader in readers { reader.finish() }
        readers = []
        pending = []
    }

    private func tell(_ change: LogChange) {
        readers.removeAll { $0.isAbandoned }
        for reader in readers { reader.send(change) }
    }
}
