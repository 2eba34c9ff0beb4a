import MeshSession
import MeshStore

/// Why an attachment was not added, loaded or removed (`50-journal-and-playback.md` A10).
public enum JournalError: Error, Hashable, Sendable {
    /// The attachment has more bytes than the session allows; nothing was read.
    case tooLarge(size: UInt64, limit: UInt64)
    /// The room, or this node's part of it, has all the attachments that it can have.
    case quotaExceeded(used: Int, limit: Int)
    /// This node changes journals faster than the room takes it, so many a second: wait 5 s.
    case tooFast(perSecond: Int)
    /// The source changed while it was read.
    case changedWhileReading
    /// The source, or the file that holds the bytes, cannot be read: the `errno` of the system.
    case unreadable(errno: Int32)
    /// The disk is full.
    case noSpace(needed: UInt64, free: UInt64)
    /// Nobody in reach holds what is missing, so many chunks of 64 KiB; 0 if not even that is known.
    case noHolder(missing: Int)
    /// The attachment was removed.
    case removed
    /// The bytes are not what the journal says of them.
    case badManifest
    /// No representation of the type asked for fits the attachment's type.
    case noRepresentation(type: String)
    /// The metadata cannot be encoded or decoded.
    case metadata(String)
    /// This node takes part in the session no more, or not yet.
    case sessionInvalidated(GroupSessionError)
    /// The room does not take the change.
    case refused(HuddleError)
    /// It was cancelled.
    case cancelled
}

extension JournalError: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .tooLarge(let size, let limit):
            "the attachment has \(size) bytes, the limit is \(limit)"
        case .quotaExceeded(let used, let limit):
            "there are \(used) attachments of \(limit) already: remove some"
        case .tooFast(let perSecond):
            "the journal is changed too often: \(perSecond) a second is what the room takes of a node"
        case .changedWhileReading: "the file changed while it was read: try again"
        case .unreadable(let errno): "the file cannot be read (errno \(errno))"
        case .noSpace(let needed, let free):
            "the disk is full: \(needed) bytes are needed, \(free) are free"
        case .noHolder(0): "nobody who is here has the attachment"
        case .noHolder(let missing):
            "nobody who is here has all of the attachment: \(missing) chunks of it are missing"
        case .removed: "the attachment was removed"
        case .badManifest: "the attachment's bytes are not what the journal says of them"
        case .noRepresentation(let type): "the type cannot be made of '\(type)'"
        case .metadata(let why): "the metadata cannot be used: \(why)"
        case .sessionInvalidated(let reason): "\(reason)"
        case .refused(let error): error.description
        case .cancelled: "it was cancelled"
        }
    }
}

extension JournalError {
    private static let noSpaceCodes: [Int32] = [28, 122]  // ENOSPC, EDQUOT

    init(_ error: FileError, needed: UInt64) {
        guard Self.noSpaceCodes.contains(error.code) else {
            self = .unreadable(errno: error.code)
            return
        }
        self = .noSpace(needed: needed, free: ContentFile.freeBytes(at: error.path))
    }

    init(_ error: ContentSourceError, needed: UInt64) {
        switch error {
        case .tooLarge(let size, let limit): self = .tooLarge(size: size, limit: limit)
        case .changedWhileReading: self = .changedWhileReading
        case .cancelled: self = .cancelled
        case .system(let error): self.init(error, needed: needed)
        }
    }

    init(_ error: HuddleError, size: UInt64 = 0) {
        switch error.refusal {
        case .full(.journal, let limit)?, .full(.ownAttachments, let limit)?:
            self = .quotaExceeded(used: limit, limit: limit)
        case .tooLarge(let limit)?: self = .tooLarge(size: size, limit: UInt64(limit))
        case .notJoined?, .noSuchSession?, .notMember?: self = .sessionInvalidated(.left)
        case .noSuchAttachment?: self = .removed
        default: self = .refused(error)
        }
    }
}
