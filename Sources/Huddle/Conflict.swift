import MeshConsensus
import MeshSession
public import MeshWire

/// What the two sides of a healed split had both changed and no rule could join.
///
/// The merge left one side's word in the room's state, ``kept``; the other's stands in ``lost``, so
/// nothing is lost in silence. Every member has the same conflicts, until one of them says
/// ``Room/acknowledge(_:)``. A write of the value settles nothing by itself.
public struct Conflict: Hashable, Sendable {
    /// What the two sides disagree on.
    public enum Subject: Hashable, Sendable, CaseIterable {
        /// The value under ``Conflict/key``.
        case value
        /// The session's activity; the contents are its payload.
        case activity
        /// Whether the session goes on, which it does: one side had ended it.
        case ending
        /// A session of the losing side for which the room had no place.
        case session
    }

    /// What a value is.
    public enum Content: Hashable, Sendable {
        /// The application's bytes.
        case bytes([UInt8])
        /// A counter's sum.
        case counter(Int64)
        /// The elements of a set, sorted.
        case set([[UInt8]])
    }

    /// What one side has.
    public struct Side: Hashable, Sendable {
        /// What it wrote; `nil` if it deleted the value or ended the session.
        public let content: Content?
        /// The participant that wrote it, which may be gone; `nil` if that is not known.
        public let author: ParticipantID?
        /// Where it was written on its side; `nil` if that is not known.
        public let revision: Revision?
    }

    /// The session.
    public let session: SessionID
    /// What it is about.
    public let subject: Subject
    /// The value's key; empty for other subjects.
    public let key: String
    /// What both sides had before they parted; `nil` if that was nothing or is not known.
    public let base: Content?
    /// What the room's state had after the merge; a later write may have changed it.
    public let kept: Side
    /// What was lost, the newest last: several if the room was split more than once, 4 at most.
    public let lost: [Side]

    /// Who wrote one of the sides: `kept` first, then `lost`, each once.
    public var authors: [ParticipantID] {
        var authors: [ParticipantID] = []
        for author in ([kept] + lost).compactMap(\.author) where !authors.contains(author) {
            authors.append(author)
        }
        return authors
    }
}

/// What became of the writes of one side of a split when the other side took them in.
public struct MergeSummary: Hashable, Sendable {
    /// Writes that have their effect in the room's state.
    public let applied: Int
    /// Writes joined with the other side's: counters add, sets unite.
    public let joined: Int
    /// Writes in whose place a later one of the same side, or a rule of the room, stands.
    public let superseded: Int
    /// Writes that lost against the other side's; ``Room/conflicts`` tells both.
    public let conflicting: Int
    /// Writes that both sides had carried out.
    public let duplicate: Int
    /// Whether these are all there were: a side whose log was compacted meanwhile merges as well, but
    /// its oldest writes are not counted.
    public let isComplete: Bool
}

// MARK: - From the room's own words

extension Conflict {
    init(_ conflict: MeshSession.Conflict) {
        self.init(
            session: conflict.session,
            subject: Subject(conflict.subject),
            key: conflict.key,
            base: conflict.base.map(Content.init),
            kept: Side(conflict.kept),
            lost: conflict.lost.map(Side.init)
        )
    }
}

extension Conflict.Subject {
    init(_ subject: MeshSession.Conflict.Subject) {
        switch subject {
        case .value: self = .value
        case .activity: self = .activity
        case .ending: self = .ending
        case .session: self = .session
        }
    }

    var inner: MeshSession.Conflict.Subject {
        switch self {
        case .value: .value
        case .activity: .activity
        case .ending: .ending
        case .session: .session
        }
    }
}

extension Conflict.Content {
    init(_ content: ValueContent) {
        switch content {
        case .bytes(let bytes): self = .bytes(bytes)
        case .counter(let sum): self = .counter(sum)
        case .set(let elements): self = .set(elements)
        }
    }
}

extension Conflict.Side {
    init(_ side: MeshSession.Conflict.Side) {
        self.init(
            content: side.content.map(Conflict.Content.init),
            author: side.author == .zero ? nil : side.author,
            revision: side.version == .zero ? nil : Revision(side.version)
        )
    }
}

extension MergeSummary {
    init(_ report: MergeReport) {
        func count(_ outcome: MergeOutcome) -> Int {
            report.commands.count { $0.outcome == outcome }
        }
        self.init(
            applied: count(.applied),
            joined: count(.joined),
            superseded: count(.superseded),
            conflicting: count(.conflict),
            duplicate: count(.duplicate),
            isComplete: report.isComplete
        )
    }
}
