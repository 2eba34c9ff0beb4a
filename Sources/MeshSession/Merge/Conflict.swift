package import MeshWire

/// What two branches of the room did and a merge could not join (`30-consensus.md` §9).
///
/// Replicated until a member acknowledges it; one for each key. What the winner has stays in the
/// state, what the loser had stands here, so that nothing is lost in silence.
package struct Conflict: Hashable, Sendable {
    /// What the two branches disagree on.
    package enum Subject: UInt8, CaseIterable, Sendable {
        /// The value under ``Conflict/key``.
        case value = 0
        /// The session's activity; the bytes are its payload.
        case activity = 1
        /// Whether the session has ended: one branch ended it, the other went on with it.
        case ending = 2
        /// A session that found no place: the room has 16 already, or another has its slot.
        case session = 3
    }

    /// One branch's word.
    package struct Side: Hashable, Sendable {
        /// What it has; `nil` if it deleted the value or ended the session.
        package var content: ValueContent?
        /// The participant that wrote it; zero if that is not known.
        package var author: ParticipantID
        /// Where it was written on its branch; zero if that is not known.
        package var version: Position

        package init(content: ValueContent?, author: ParticipantID, version: Position) {
            self.content = content
            self.author = author
            self.version = version
        }

        init(_ value: StoredValue?) {
            self.init(
                content: value?.content,
                author: value?.author ?? .zero,
                version: value?.version ?? .zero
            )
        }

        /// The bytes it costs.
        var byteCount: Int { (content?.byteCount ?? 0) + 48 }
    }

    /// The session.
    package let session: SessionID
    /// What it is about.
    package let subject: Subject
    /// The key of a value; empty for other subjects.
    package let key: String
    /// What both branches had before they parted; `nil` if that is not known or was nothing.
    package internal(set) var base: ValueContent?
    /// What the room's state has now.
    package internal(set) var kept: Side
    /// What was lost, the newest last; several if branch after branch lost.
    package internal(set) var lost: [Side]

    /// The most losing sides that are kept of one key; older ones give way.
    static let sides = 4

    /// The bytes it costs.
    var byteCount: Int {
        key.utf8.count + (base?.byteCount ?? 0) + kept.byteCount
            + lost.reduce(32) { $0 + $1.byteCount }
    }
}

extension Conflict {
    /// A conflict about `key`; see the properties.
    package init(
        about subject: Subject,
        of session: SessionID,
        key: String,
        base: ValueContent?,
        kept: Side,
        lost: [Side]
    ) {
        self.init(
            session: session,
            subject: subject,
            key: key,
            base: base,
            kept: kept,
            lost: lost
        )
    }
}

/// The conflicts of a room that nobody has acknowledged, sorted, bounded in number and in bytes.
package struct ConflictList: Hashable, Sendable {
    /// By session, subject and the bytes of the key.
    package private(set) var conflicts: [Conflict] = []

    package init() {}

    /// Conflicts that found no place here; their winner's side is in the state, the loser's is gone.
    package internal(set) var unlisted: UInt32 = 0

    /// The conflict about this.
    package func conflict(
        _ session: SessionID,
        _ subject: Conflict.Subject,
        _ key: String
    ) -> Conflict? {
        conflicts.first {
            $0.session == session && $0.subject == subject && $0.key.utf8.elementsEqual(key.utf8)
        }
    }

    private var byteCount: Int { conflicts.reduce(0) { $0 + $1.byteCount } }

    /// Lists a conflict; a former one about the same keeps what it had lost.
    package mutating func add(_ conflict: Conflict) {
        var new = conflict
        if let old = remove(conflict.session, conflict.subject, conflict.key) {
            new.base = old.base ?? new.base
            new.lost = Array((old.lost + conflict.lost).suffix(Conflict.sides))
        }
        guard conflicts.count < SessionLimits.conflicts,
            byteCount + new.byteCount <= SessionLimits.conflictBytes
        else {
            unlisted &+= 1
            return
        }
        let place = conflicts.firstIndex { Self.precedes(new, $0) } ?? conflicts.count
        conflicts.insert(new, at: place)
    }

    /// Takes the conflict about this off the list and answers it.
    @discardableResult
    mutating func remove(
        _ session: SessionID,
        _ subject: Conflict.Subject,
        _ key: String
    ) -> Conflict? {
        let place = conflicts.firstIndex {
            $0.session == session && $0.subject == subject && $0.key.utf8.elementsEqual(key.utf8)
        }
        return place.map { conflicts.remove(at: $0) }
    }

    /// Appends in order, as a snapshot does; `false` unless it comes after every other.
    mutating func append(_ conflict: Conflict) -> Bool {
        if let last = conflicts.last, !Self.precedes(last, conflict) { return false }
        conflicts.append(conflict)
        return true
    }

    private static func precedes(_ left: Conflict, _ right: Conflict) -> Bool {
        if left.session != right.session { return left.session < right.session }
        if left.subject != right.subject { return left.subject.rawValue < right.subject.rawValue }
        return left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
    }
}
