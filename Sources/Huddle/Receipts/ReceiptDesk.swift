import MeshEngine
import MeshWire

/// What a session's hub keeps for receipts: those that this node owes, and those that it waits for.
///
/// Belongs to the node's thread.
final class ReceiptDesk {
    /// A message that its sender wants a receipt for.
    struct Key: Hashable {
        var sender: ParticipantID
        var number: RequestID
    }

    private struct Owed {
        /// The readers that have not taken it.
        var readers: Int
        var isTaken = false
    }

    /// Bounded by what readers have not taken, and that by the windows.
    private var owed: [Key: Owed] = [:]
    /// Messages that no reader will take, or that need none.
    private var unclaimed: [(key: Key, isTaken: Bool)] = []
    /// The receipts that this node's sends wait for.
    private var awaited: [RequestID: AwaitedReceipts] = [:]

    // MARK: Owing

    /// So many readers have the message to take.
    func owe(_ key: Key, readers: Int) { owed[key] = Owed(readers: readers) }

    /// No reader gets the message; `isTaken` if the program has what it says all the same.
    func drop(_ key: Key, isTaken: Bool) { unclaimed.append((key, isTaken)) }

    /// What was dropped since the last call.
    func takeDropped() -> [(key: Key, isTaken: Bool)] {
        defer { unclaimed = [] }
        return unclaimed
    }

    /// One reader took the message, or never will; whether any did, once all are through.
    func settle(_ key: Key, isTaken: Bool) -> Bool? {
        guard var entry = owed[key] else { return nil }
        entry.readers -= 1
        entry.isTaken = entry.isTaken || isTaken
        owed[key] = entry.readers > 0 ? entry : nil
        return entry.readers > 0 ? nil : entry.isTaken
    }

    // MARK: Waiting

    func await(_ request: RequestID) -> AwaitedReceipts {
        let receipts = AwaitedReceipts()
        awaited[request] = receipts
        return receipts
    }

    func forget(_ request: RequestID) { awaited[request] = nil }

    func expire(_ request: RequestID) { awaited[request]?.expire() }

    func cancel(_ request: RequestID) { awaited[request]?.end(.cancelled) }

    func receive(_ receipt: Receipt, from participant: ParticipantID) {
        awaited[receipt.number]?.receive(
            receipt.isTaken ? .taken : .unread,
            from: participant
        )
    }

    /// A participant is gone: it takes nothing any more.
    func gone(_ participant: ParticipantID) {
        // order: each wait stands for itself
        for receipts in awaited.values { receipts.receive(.left, from: participant) }
    }

    /// The participation is over, and with it every wait.
    func end() {
        owed = [:]
        unclaimed = []
        for receipts in awaited.values { receipts.end(.over) }
    }
}

/// The receipts that one send waits for.
final class AwaitedReceipts {
    /// What became of a message at one recipient.
    enum Outcome: Hashable {
        case taken, unread, left
    }

    /// How the wait ended.
    enum End: Hashable {
        case all([ParticipantID: Outcome])
        case late(Set<ParticipantID>)
        case cancelled
        case over
    }

    private var outcomes: [ParticipantID: Outcome] = [:]
    /// Who has the message, once that is known.
    private var recipients: Set<ParticipantID>?
    private var end: End?
    private var waiter: CheckedContinuation<End, Never>?

    func receive(_ outcome: Outcome, from participant: ParticipantID) {
        guard outcomes[participant] == nil else { return }
        outcomes[participant] = outcome
        look()
    }

    /// Waits for these; the first call counts.
    func wait(for recipients: Set<ParticipantID>, _ continuation: CheckedContinuation<End, Never>) {
        self.recipients = recipients
        waiter = continuation
        look()
    }

    /// The time is over.
    func expire() {
        end(.late((recipients ?? []).subtracting(outcomes.keys)))
    }

    /// Ends the wait; the first end counts.
    func end(_ end: End) {
        self.end = self.end ?? end
        look()
    }

    private func look() {
        if end == nil, let recipients, recipients.isSubset(of: outcomes.keys) {
            end = .all(outcomes.filter { recipients.contains($0.key) })
        }
        guard let end, let waiter else { return }
        self.waiter = nil
        waiter.resume(returning: end)
    }
}

/// What a node tells the sender of a message, on a reliable channel of its own: `number u64 · taken u8`.
struct Receipt: Hashable {
    var number: RequestID
    /// Whether a reader took it.
    var isTaken: Bool

    static let channel = "huddle.receipts"

    init(number: RequestID, isTaken: Bool) {
        self.number = number
        self.isTaken = isTaken
    }

    var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 9)
        writer.write(number)
        writer.write(UInt8(isTaken ? 1 : 0))
        return writer.bytes
    }

    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        number = try reader.read()
        let flag: UInt8 = try reader.read()
        guard flag <= 1 else { throw .invalid(at: 8) }
        isTaken = flag == 1
        try reader.finish()
    }
}
