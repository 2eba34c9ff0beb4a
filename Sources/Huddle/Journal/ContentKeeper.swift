import MeshContent
import MeshSession
import MeshStore
import MeshWire
import Synchronization

/// What a node keeps for the journals of its sessions; belongs to the node's thread.
///
/// A class, so that the exchange is changed in place and not copied with the node.
final class ContentKeeper {
    /// Somebody who waits for bytes.
    struct Load {
        let number: UInt64
        let content: ContentID
        let session: SessionID
        let reporter: TransferReporter
        let continuation: CheckedContinuation<Result<Content, JournalError>, Never>
        /// Since when nobody in reach holds any of it.
        var lonelySince: Instant?
    }

    /// Somebody who waits until others hold bytes.
    struct HolderWait {
        let number: UInt64
        let content: ContentID
        let count: Int
        let continuation: CheckedContinuation<JournalError?, Never>
    }

    /// What the log said in one turn, until it is followed.
    struct News {
        /// Contents that entries name now.
        var added: [ContentID] = []
        /// Nodes that take part in a session now.
        var peers: Set<NodeID> = []
        /// This node takes part in a session now, or uses its journal.
        var isHere = false
        /// Why contents may have lost their entries.
        var loss: JournalError?

        var isEmpty: Bool { added.isEmpty && peers.isEmpty && !isHere && loss == nil }
    }

    var exchange: ContentExchange
    /// The files of what is here, whole or in part.
    var files: [ContentID: LazyContentFile] = [:]
    var index = JournalIndex()
    var news = News()
    /// The sessions whose journals are used here.
    var inUse: Set<SessionID> = []
    /// Contents of uploads that are not in the log yet.
    var pinned: [ContentID: Int] = [:]
    /// Why contents are not fetched again by themselves.
    var failures: [ContentID: JournalError] = [:]
    var loads: [Load] = []
    var holderWaits: [HolderWait] = []
    private var nextNumber: UInt64 = 1
    /// The attachments of each session, as far as they were told.
    var told: [SessionID: [Attachment]] = [:]

    /// How long a load waits while nobody in reach holds any of it.
    static let lonelyTime: Duration = .seconds(30)
    /// Bytes of what is kept though nobody here asked for it.
    static let keptBytes: UInt64 = 1_000_000_000

    /// What `node` keeps: nothing yet; each node asks in an order of its own.
    init(of node: NodeID) {
        let seed = node.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        exchange = ContentExchange(seed: seed)
    }

    func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// When something must be done.
    var deadline: Instant? {
        let lonely = loads.compactMap { $0.lonelySince.map { $0 + Self.lonelyTime } }
        return ([exchange.deadline].compactMap(\.self) + lonely).min()
    }

    /// Ends the loads of a content.
    func end(_ content: ContentID, _ result: Result<Content, JournalError>) {
        let ended = loads.filter { $0.content == content }
        loads.removeAll { $0.content == content }
        for load in ended { load.continuation.resume(returning: result) }
    }
}

/// Which contents the room's journals name, of what sizes, in which sessions.
struct JournalIndex {
    struct Use {
        var session: SessionID
        /// The size that the entry names; `nil` of metadata.
        var size: UInt64?
    }

    private(set) var uses: [ContentID: [Use]] = [:]

    init(_ room: RoomState? = nil) {
        for session in room?.sessions ?? [] {
            for record in session.journal {
                let entry = record.entry
                uses[entry.root, default: []].append(Use(session: session.id, size: entry.size))
                guard entry.metadataRoot != .zero else { continue }
                uses[entry.metadataRoot, default: []].append(Use(session: session.id, size: nil))
            }
        }
    }

    /// The sizes that a content may have.
    func sizes(of content: ContentID) -> ContentSizes {
        let uses = uses[content] ?? []
        return ContentSizes(
            exact: uses.compactMap(\.size),
            atMost: uses.contains { $0.size == nil } ? UInt64(Journal.metadataBytes) : 0
        )
    }
}

/// A file that is made when the first chunk of it is written, on the thread that writes it.
final class LazyContentFile: Sendable {
    private let directory: String
    private let shape: ContentShape
    private let made = Mutex<ContentFile?>(nil)

    init(in directory: String, shape: ContentShape) {
        self.directory = directory
        self.shape = shape
    }

    init(_ file: ContentFile, in directory: String) {
        self.directory = directory
        shape = file.shape
        made.withLock { $0 = file }
    }

    func file() throws(FileError) -> ContentFile {
        let result = made.withLock { made -> Result<ContentFile, FileError> in
            if let made { return .success(made) }
            do throws(FileError) {
                let file = try ContentFile(in: directory, shape: shape)
                made = file
                return .success(file)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
