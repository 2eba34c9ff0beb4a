import MeshNet
import MeshWire
import Synchronization

/// Where a transfer stands.
public struct TransferProgress: Hashable, Sendable {
    /// What is being done.
    public enum Phase: Hashable, Sendable {
        /// The source is read and hashed.
        case reading
        /// The room is asked to take the entry.
        case announcing
        /// Chunks come from others.
        case fetching
        /// Nobody in reach holds what is missing.
        case blocked
        /// It is over, well or not.
        case done
    }

    /// What is being done.
    public var phase: Phase
    /// Bytes that are read, or verified; never falls.
    public var bytesDone: UInt64
    /// All bytes.
    public var bytesTotal: UInt64
    /// Other nodes in reach that hold all of it.
    public var holders: Int
}

/// An attachment on its way to others, or its bytes on their way here.
///
/// It goes on whether or not anybody looks. Iterating it tells how far it is, at most ten times a second
/// and once at the end; who does not want to know ignores that.
public struct Transfer<Value: Sendable>: AsyncSequence, Sendable {
    /// How far it is.
    public typealias Element = TransferProgress
    /// The sequence ends with the transfer and does not fail; ``value`` does.
    public typealias Failure = Never

    let updates: MailboxSequence<TransferProgress>
    let task: Task<Result<Value, JournalError>, Never>
    let node: Node
    let content: @Sendable (Value) -> ContentID

    init(
        node: Node,
        content: @escaping @Sendable (Value) -> ContentID,
        _ body: @escaping @Sendable (TransferReporter) async -> Result<Value, JournalError>
    ) {
        let reporter = TransferReporter()
        updates = reporter.mailbox.makeSequence()
        self.node = node
        self.content = content
        task = Task {
            let result = await body(reporter)
            reporter.finish()
            return result
        }
    }

    /// What it ends with.
    ///
    /// Cancelling ends the wait only; ``cancel()`` ends the transfer.
    public var value: Value {
        get async throws(JournalError) { try await task.value.get() }
    }

    /// Gives it up; an upload that the room has taken stays.
    public func cancel() { task.cancel() }

    /// Waits until so many other nodes in reach hold all of it, so that this one may go.
    ///
    /// Throws what the transfer throws, `removed` if the attachment goes meanwhile, and `cancelled`.
    public func heldElsewhere(by count: Int = 1) async throws(JournalError) {
        let value = try await value
        try await node.waitForHolders(of: content(value), count: count)
    }

    /// How far it is, from now on; for one reader, as every mailbox.
    public func makeAsyncIterator() -> MailboxSequence<TransferProgress>.Iterator {
        updates.makeAsyncIterator()
    }
}

/// An attachment that is added.
public typealias Upload = Transfer<Attachment>
/// An attachment whose bytes are fetched.
public typealias Download = Transfer<Content>

/// Tells the reader of a transfer how far it is, not too often; from any thread.
final class TransferReporter: Sendable {
    let mailbox = Mailbox<TransferProgress>(.newest(1))
    private let state = Mutex(
        (told: Instant?.none, last: TransferProgress?.none)
    )

    /// The least time between two updates.
    private static let spacing: Duration = .milliseconds(100)

    func report(_ progress: TransferProgress) {
        let now = SystemClock.now()
        let isDue = state.withLock { state in
            var progress = progress
            progress.bytesDone = max(progress.bytesDone, state.last?.bytesDone ?? 0)
            let isNew = state.last?.phase != progress.phase
            state.last = progress
            guard isNew || state.told.map({ now - $0 >= Self.spacing }) ?? true else {
                return false
            }
            state.told = now
            return true
        }
        if isDue { mailbox.send(state.withLock { $0.last } ?? progress) }
    }

    func finish() {
        if var last = state.withLock({ $0.last }) {
            last.phase = .done
            mailbox.send(last)
        }
        mailbox.finish()
    }
}
