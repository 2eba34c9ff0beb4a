import MeshSession
import MeshWire

// How often this node asks the room for what costs all others something; the leader demands the same.
extension Node {
    /// How long a caller is held back at the most; who would have to wait longer is refused.
    private static let patience = Duration.seconds(5)

    /// What this node has used up, each until when.
    struct Paces {
        var journal = Instant.zero
        var state = Instant.zero
        var profile = Instant.zero
    }

    /// Takes one of what a pace allows now; throws `tooFast` if that is nothing.
    func take(
        _ pace: Pace,
        _ end: WritableKeyPath<Paces, Instant>,
        _ what: String
    ) throws(HuddleError) {
        guard pace.next(after: paces[keyPath: end]) <= instant else {
            throw HuddleError(
                .tooFast,
                "\(what) too often: \(pace.perSecond) a second is what the room takes of a node"
            )
        }
        paces[keyPath: end] = pace.taking(paces[keyPath: end], at: instant)
    }

    /// Waits for its turn to change a journal.
    ///
    /// Throws `tooFast` if that is more than 5 s away, and `cancelled`.
    func awaitJournalPace() async throws(JournalError) {
        let pace = CommandType.journalPace
        let due = pace.next(after: paces.journal)
        let wait = due - instant
        guard wait <= Self.patience else { throw .tooFast(perSecond: pace.perSecond) }
        // The place is taken before the wait, so that those who wait keep their order.
        paces.journal = pace.taking(paces.journal, at: instant)
        if wait > .zero { await sleep(for: wait) }
        guard !Task.isCancelled else { throw .cancelled }
    }
}
