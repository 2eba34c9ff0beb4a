import MeshContent
import MeshSession
import MeshStore
public import MeshWire

/// Something that stands in a session's journal: bytes that every participant can have.
public struct Attachment: Identifiable, Hashable, Sendable {
    /// The same on every node, drawn by who added it.
    public let id: AttachmentID
    /// The session whose journal it stands in.
    public let session: SessionID
    /// How many bytes it has.
    public let size: UInt64
    /// What its file is called; display text that is never to be used as a path.
    ///
    /// Empty if it has no name.
    public let name: String
    /// Its type, a MIME type or the identifier of a uniform one; empty if that was not said.
    public let type: String
    /// The participant that added it.
    public let author: ParticipantID
    /// The name of the bytes: the root of their hash tree.
    public let content: ContentID

    /// What the application says about it, if it is short.
    let metadata: [UInt8]
    /// The name of what it says, if that is long; else zero.
    let metadataContent: ContentID

    init(_ record: JournalRecord, of session: SessionID) {
        id = record.entry.id
        self.session = session
        size = record.entry.size
        name = record.entry.name
        type = record.entry.type
        author = record.author
        content = record.entry.root
        metadata = record.entry.metadata
        metadataContent = record.entry.metadataRoot
    }
}

/// Where the bytes of a new attachment come from.
public enum AttachmentSource: Sendable {
    /// These bytes.
    case bytes([UInt8])
    /// The regular file at this path, which is copied; a link is refused.
    case file(String)
    /// As many bytes as `size`, read in order by `read`, which is given an offset and a count.
    ///
    /// `read` is called on a thread of the pool. It answers fewer bytes only if they are not there, which
    /// ends the upload with `changedWhileReading`.
    case reader(size: UInt64, read: @Sendable (_ offset: UInt64, _ count: Int) -> [UInt8])
}

/// What changed in a journal.
public enum JournalChange: Hashable, Sendable {
    /// An attachment was added.
    case added(Attachment)
    /// An attachment was removed, for all.
    case removed(AttachmentID)
    /// Other nodes began or ceased to hold all of an attachment: so many do now, of those in reach.
    case stateChanged(Attachment, holders: Int)
}

/// The bytes of an attachment, complete and verified, on this machine.
///
/// They are in a file without a name, which stays while this value lives, also when the attachment is
/// removed or the session ends.
public final class Content: Sendable {
    /// How many bytes.
    public let size: UInt64
    /// The name of the bytes: the root of their hash tree.
    public let id: ContentID
    /// A path by which this process, and no other user's, can open or map the file while this value lives.
    public let path: String

    private let file: ContentFile

    init(_ id: ContentID, _ file: ContentFile) {
        self.id = id
        self.file = file
        size = file.shape.size
        path = file.path
    }

    /// Reads `count` bytes at `offset`, fewer only at the end; waits for the disk.
    ///
    /// Throws `unreadable`.
    public func read(_ count: Int, at offset: UInt64 = 0) throws(JournalError) -> [UInt8] {
        do {
            return try file.read(max(count, 0), at: offset)
        } catch {
            throw JournalError(error, needed: 0)
        }
    }
}
