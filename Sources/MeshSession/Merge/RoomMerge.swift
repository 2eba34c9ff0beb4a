import MeshConsensus
import MeshWire

/// Decides what a merge takes from the losing branch (`30-consensus.md` §9, outcome per datum).
///
/// Compares three states: where the branches parted, the winner's and the loser's. What only the
/// loser changed is applied, what can be joined is joined, and the rest stays the winner's and is
/// listed as a conflict. For a process of the losing view its own branch is the authority on where it
/// takes part. Without the common state every difference is a conflict.
struct RoomMerge {
    let base: RoomState?
    let ours: RoomState
    let theirs: RoomState
    /// The members of the losing view.
    let members: [ProcessID]
    private(set) var patch = RoomPatch()
    /// What became of each value that the loser changed.
    private var fates: [Slot: MergeOutcome] = [:]
    /// Sessions of the loser's whose values went into the winner's session of the same slot.
    private var folded: [SessionID] = []

    private struct Slot: Hashable {
        var session: SessionID
        var key: [UInt8]

        init(_ session: SessionID, _ key: String) {
            self.session = session
            self.key = Array(key.utf8)
        }
    }

    init(base: RoomState?, ours: RoomState, theirs: RoomState, members: [ProcessID]) {
        self.base = base
        self.ours = ours
        self.theirs = theirs
        self.members = members.sorted()
        mergeProfiles()
        mergeSessions()
        mergeConflicts()
    }

    private func isTheirs(_ process: ProcessID) -> Bool { members.contains(process) }

    private mutating func mergeProfiles() {
        for member in theirs.members where isTheirs(member.process) {
            guard let mine = ours.member(member.process),
                !mine.profile.isSame(as: member.profile)
            else { continue }
            patch.profiles.append(.init(process: member.process, profile: member.profile))
        }
    }

    // MARK: Sessions

    private mutating func mergeSessions() {
        // First what ends, since that frees its slot for what comes.
        for session in ours.sessions where theirs.session(session.id) == nil {
            // Nobody there knew it, or they ended it.
            guard let before = base?.session(session.id) else { continue }
            if session.differs(from: before) {
                surfaceEnding(of: session, isKept: true)
            } else {
                patch.ended.append(session.id)
            }
        }
        for session in theirs.sessions {
            if let mine = ours.session(session.id) {
                merge(session, into: mine)
            } else {
                bring(session)
            }
        }
    }

    /// A session that the winner lacks: it ended it, or never had it.
    private mutating func bring(_ session: RoomSession) {
        let before = base?.session(session.id)
        if let before, !session.differs(from: before) { return }
        if let holder = ours.session(inSlot: session.slot), !patch.ended.contains(holder.id) {
            // One session has the slot, and it is the winner's (`40-groupactivities.md` §3.1).
            if before == nil, holder.activity.isSameActivity(as: session.activity) {
                fold(session, into: holder)
            } else {
                drop(session, kept: .init(holder.activity))
            }
            return
        }
        if before != nil { surfaceEnding(of: session, isKept: false) }
        guard ours.sessions.count - patch.ended.count + patch.started.count < Limits.sessions
        else {
            drop(session, kept: .init(nil))
            return
        }
        patch.started.append(session)
    }

    /// There is no place for a session of the loser's.
    private mutating func drop(_ session: RoomSession, kept: Conflict.Side) {
        patch.conflicts.append(
            Conflict(
                session: session.id,
                subject: .session,
                key: "",
                base: nil,
                kept: kept,
                lost: [
                    .init(
                        content: .bytes(
                            Array(session.activity.payload.prefix(Limits.valueBytes))
                        ),
                        author: .zero,
                        version: session.startedAt
                    )
                ]
            )
        )
    }

    /// Both branches started the same in one slot: the values meet in the winner's session.
    ///
    /// Its participants do not: each is offered the winner's session and joins it by its own will.
    private mutating func fold(_ session: RoomSession, into mine: RoomSession) {
        var changes = RoomPatch.Session(id: mine.id)
        mergeValues(of: session, into: mine, nil, &changes)
        mergeJournal(of: session, into: mine, nil, &changes)
        folded.append(session.id)
        if !changes.isEmpty { patch.sessions.append(changes) }
    }

    /// One branch ended the session, the other went on with it: it lives, and that is said.
    private mutating func surfaceEnding(of session: RoomSession, isKept: Bool) {
        patch.conflicts.append(
            Conflict(
                session: session.id,
                subject: .ending,
                key: "",
                base: nil,
                kept: .init(
                    content: .bytes([]),
                    author: .zero,
                    version: isKept ? session.startedAt : .zero
                ),
                lost: [.init(nil)]
            )
        )
    }

    private mutating func merge(_ session: RoomSession, into mine: RoomSession) {
        let before = base?.session(session.id)
        var changes = RoomPatch.Session(id: session.id)
        mergeParticipants(of: session, into: mine, before, &changes)
        for ban in session.bans where !mine.bans.contains(ban) {
            guard mine.bans.count + changes.bans.count < SessionLimits.bans else { break }
            changes.bans.append(ban)
        }
        changes.kicked = session.kicked.filter { !mine.kicked.contains($0) }
        mergeValues(of: session, into: mine, before, &changes)
        mergeJournal(of: session, into: mine, before, &changes)
        if session.activity != mine.activity, base == nil || session.activity != before?.activity {
            patch.conflicts.append(
                Conflict(
                    session: session.id,
                    subject: .activity,
                    key: "",
                    base: nil,
                    kept: .init(mine.activity),
                    lost: [.init(session.activity)]
                )
            )
        }
        if !changes.isEmpty { patch.sessions.append(changes) }
    }

    private func mergeParticipants(
        of session: RoomSession,
        into mine: RoomSession,
        _ before: RoomSession?,
        _ changes: inout RoomPatch.Session
    ) {
        for participant in session.participants where mine.participant(participant.id) == nil {
            guard ours.member(participant.process) != nil,
                !mine.kicked.contains(participant.id),
                !mine.bans.contains(participant.process.nodeID)
            else { continue }
            // Where the process lives decides whether it takes part: it is there, or it was taken
            // out here although nobody there did.
            let isWinners = mine.participant(of: participant.process) != nil
            guard isTheirs(participant.process) || !isWinners else { continue }
            changes.joined.append(
                .init(participant: participant.id, process: participant.process)
            )
        }
        for participant in mine.participants where session.participant(participant.id) == nil {
            if session.kicked.contains(participant.id) {
                changes.left.append(.init(participant: participant.id, isRemoval: true))
            } else if isTheirs(participant.process) {
                changes.left.append(.init(participant: participant.id, isRemoval: false))
            }
        }
        let room = Limits.participants - mine.participants.count + changes.left.count
        if changes.joined.count > room { changes.joined.removeLast(changes.joined.count - room) }
    }

    // MARK: Values

    private mutating func mergeValues(
        of session: RoomSession,
        into mine: RoomSession,
        _ before: RoomSession?,
        _ changes: inout RoomPatch.Session
    ) {
        var keys = session.values.entries.map(\.key)
        if base != nil {
            keys += (before?.values.entries ?? []).map(\.key).filter {
                session.values[$0] == nil
            }
        }
        for key in keys {
            let theirs = session.values[key]
            let ours = mine.values[key]
            let slot = Slot(session.id, key)
            guard base != nil else {
                mergeUnknown(key, theirs, ours, slot, mine.id, &changes)
                continue
            }
            let old = before?.values[key]
            guard theirs != old else { continue }
            if ours == old {
                changes.values.append(.init(key: key, theirs))
                fates[slot] = .applied
            } else if ours?.content == theirs?.content {
                fates[slot] = .joined
            } else if let joined = Self.join(old?.content, ours?.content, theirs?.content) {
                if joined != ours?.content {
                    changes.values.append(
                        .init(key: key, content: joined, author: theirs?.author ?? .zero)
                    )
                }
                fates[slot] = .joined
            } else if ours == nil {
                // They updated what was deleted here: the update stays, the delete is said.
                changes.values.append(.init(key: key, theirs))
                fates[slot] = .applied
                list(mine.id, key, old, kept: theirs, lost: nil)
            } else {
                fates[slot] = .conflict
                list(mine.id, key, old, kept: ours, lost: theirs)
            }
        }
        bound(&changes, of: mine, session.id)
    }

    /// Nobody has the common state any more.
    private mutating func mergeUnknown(
        _ key: String,
        _ theirs: StoredValue?,
        _ ours: StoredValue?,
        _ slot: Slot,
        _ session: SessionID,
        _ changes: inout RoomPatch.Session
    ) {
        guard let theirs, ours?.content != theirs.content else {
            fates[slot] = .joined
            return
        }
        guard let ours else {
            changes.values.append(.init(key: key, theirs))
            fates[slot] = .applied
            return
        }
        fates[slot] = .conflict
        list(session, key, nil, kept: ours, lost: theirs)
    }

    private mutating func list(
        _ session: SessionID,
        _ key: String,
        _ base: StoredValue?,
        kept: StoredValue?,
        lost: StoredValue?
    ) {
        patch.conflicts.append(
            Conflict(
                session: session,
                subject: .value,
                key: key,
                base: base?.content,
                kept: .init(kept),
                lost: [.init(lost)]
            )
        )
    }

    /// Counters and sets that both changed from one state; `nil` if they cannot be joined.
    private static func join(
        _ base: ValueContent?,
        _ ours: ValueContent?,
        _ theirs: ValueContent?
    ) -> ValueContent? {
        switch (base, ours, theirs) {
        case (nil, .counter(let mine)?, .counter(let other)?):
            let (sum, isOverflow) = mine.addingReportingOverflow(other)
            return isOverflow ? nil : .counter(sum)
        case (.counter(let old)?, .counter(let mine)?, .counter(let other)?):
            let (growth, isFar) = other.subtractingReportingOverflow(old)
            let (sum, isOverflow) = mine.addingReportingOverflow(growth)
            return isFar || isOverflow ? nil : .counter(sum)
        case (nil, .set(let mine)?, .set(let other)?):
            return .set(union(mine, other))
        case (.set(let old)?, .set(let mine)?, .set(let other)?):
            let removed = old.filter { !other.contains($0) }
            let kept = mine.filter { !removed.contains($0) }
            return .set(union(kept, other.filter { !old.contains($0) }))
        default: return nil
        }
    }

    private static func union(_ left: [[UInt8]], _ right: [[UInt8]]) -> [[UInt8]] {
        (left + right.filter { !left.contains($0) }).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// What the winner's table has no room for becomes a conflict.
    private mutating func bound(
        _ changes: inout RoomPatch.Session,
        of mine: RoomSession,
        _ session: SessionID
    ) {
        var table = mine.values
        var room = SessionLimits.stateBytes - ours.byteCount
        var kept: [RoomPatch.Value] = []
        for value in changes.values {
            var next = table
            if let content = value.content {
                next.set(
                    value.key,
                    to: StoredValue(content: content, version: .zero, author: value.author)
                )
            } else {
                next.remove(value.key)
            }
            let growth = next.byteCount - table.byteCount
            let fits =
                value.content.map { $0.byteCount <= Limits.valueBytes } ?? true
                && next.entries.count <= Limits.valueKeys
                && next.byteCount <= Limits.sessionValueBytes && growth <= room
            if fits || growth <= 0 {
                table = next
                room -= growth
                kept.append(value)
            } else {
                fates[Slot(session, value.key)] = .conflict
                patch.conflicts.append(
                    Conflict(
                        session: mine.id,
                        subject: .value,
                        key: value.key,
                        base: nil,
                        kept: .init(mine.values[value.key]),
                        lost: [
                            .init(content: value.content, author: value.author, version: .zero)
                        ]
                    )
                )
            }
        }
        changes.values = kept
    }

    // MARK: Journal

    /// Attachments unite by their identifiers; one that either branch took out stays out.
    private mutating func mergeJournal(
        of session: RoomSession,
        into mine: RoomSession,
        _ before: RoomSession?,
        _ changes: inout RoomPatch.Session
    ) {
        guard session.journal != mine.journal else { return }
        let former = Set((before?.journal ?? []).map(\.entry.id))
        let (here, there) = (
            Set(mine.journal.map(\.entry.id)), Set(session.journal.map(\.entry.id))
        )
        changes.removed = mine.journal.map(\.entry.id).filter {
            former.contains($0) && !there.contains($0)
        }
        var room = SessionLimits.journalEntries - ours.journalCount + changes.removed.count
        for record in session.journal
        where !here.contains(record.entry.id) && !former.contains(record.entry.id) && room > 0 {
            changes.added.append(record)
            room -= 1
        }
    }

    // MARK: Conflicts

    /// Conflicts of earlier merges: those of both, less what either has acknowledged.
    private mutating func mergeConflicts() {
        for conflict in theirs.conflicts.conflicts {
            let isKnown = { (state: RoomState) in
                state.conflicts.conflict(conflict.session, conflict.subject, conflict.key)
                    == conflict
            }
            guard !isKnown(ours), !(base.map(isKnown) ?? false) else { continue }
            patch.conflicts.insert(conflict, at: 0)
        }
        for conflict in base?.conflicts.conflicts ?? []
        where theirs.conflicts.conflict(conflict.session, conflict.subject, conflict.key) == nil {
            patch.settled.append(
                .init(session: conflict.session, subject: conflict.subject, key: conflict.key)
            )
        }
        // What the list has no room for must not make the merge entry too long to be sent either.
        var bytes = 0
        let fitting = patch.conflicts.prefix(SessionLimits.conflicts).prefix { conflict in
            bytes += conflict.byteCount
            return bytes <= SessionLimits.conflictBytes
        }
        patch.unlisted = UInt32(patch.conflicts.count - fitting.count)
        patch.conflicts = Array(fitting)
        patch.unlisted &+=
            theirs.conflicts.unlisted
            &- min(
                theirs.conflicts.unlisted,
                max(base?.conflicts.unlisted ?? 0, ours.conflicts.unlisted)
            )
    }

    // MARK: Fates

    /// The fate of each command, in their order.
    func outcomes(of commands: [LosingBranch.BranchCommand]) -> [MergeOutcome] {
        var last: [Slot: Int] = [:]
        let read = commands.map {
            try? RoomCommand(type: $0.command.type, payload: $0.command.payload)
        }
        for (place, command) in read.enumerated() {
            if let key = command?.register {
                last[Slot(commands[place].command.session, key)] = place
            }
        }
        return commands.indices.map { place in
            let record = commands[place]
            // What was refused had no effect to lose.
            if let result = record.result, let answer = try? CommandResult(decoding: result),
                case .refused = answer
            {
                return .applied
            }
            guard let command = read[place] else { return .superseded }
            let session = record.command.session
            if let key = command.valueKey {
                let slot = Slot(session, key)
                if command.register != nil, let final = last[slot], final != place {
                    return .superseded
                }
                if let fate = fates[slot] {
                    return command.register == nil && fate == .applied ? .joined : fate
                }
                let isBrought =
                    folded.contains(session) || patch.started.contains { $0.id == session }
                // Written and taken back on its own branch, or written as it was.
                return isBrought || ours.session(session) != nil ? .applied : .superseded
            }
            return outcome(of: command, in: session)
        }
    }

    private func outcome(of command: RoomCommand, in session: SessionID) -> MergeOutcome {
        switch command {
        case .setProfile, .join, .leave, .remove, .requestState, .acknowledgeConflict,
            .removeAttachment, .refuseMove:
            return .applied
        case .append:
            // Two sequences are not joined: whoever appended hears that the entry is rolled back.
            return patch.started.contains { $0.id == session } ? .applied : .superseded
        case .addAttachment(let entry):
            // Taken out again on its own branch, or there is no room for it.
            guard theirs.session(session)?.attachment(entry.id) != nil else { return .superseded }
            let isThere =
                ours.sessions.contains { $0.attachment(entry.id) != nil }
                || patch.started.contains { $0.attachment(entry.id) != nil }
                || patch.sessions.contains { $0.added.contains { $0.entry.id == entry.id } }
            return isThere ? .applied : .conflict
        case .startSession:
            let isDropped = patch.conflicts.contains {
                $0.session == session && $0.subject == .session
            }
            if folded.contains(session) { return .joined }
            return isDropped ? .conflict : .applied
        case .endSession:
            let isKept = patch.conflicts.contains {
                $0.session == session && $0.subject == .ending
            }
            return isKept ? .conflict : .applied
        case .setActivity:
            let isLost = patch.conflicts.contains {
                $0.session == session && $0.subject == .activity
            }
            if isLost { return .conflict }
            return ours.session(session)?.activity == theirs.session(session)?.activity
                ? .applied : .superseded
        case .expire, .setOptions, .giveLead, .takeLead, .setLeadMode: return .superseded
        case .put, .compareAndSet, .delete, .add, .insert, .withdraw: return .superseded
        }
    }
}

extension RoomCommand {
    /// The key of a value's command.
    fileprivate var valueKey: String? {
        switch self {
        case .put(let key, _), .compareAndSet(let key, _, _), .delete(let key, _),
            .add(let key, _), .insert(let key, _), .withdraw(let key, _):
            key
        default: nil
        }
    }

    /// The key that a write replaces whole, so that a later one stands for it.
    fileprivate var register: String? {
        switch self {
        case .put(let key, _), .compareAndSet(let key, _, _), .delete(let key, _): key
        default: nil
        }
    }
}

extension RoomSession {
    /// Whether anybody did something in it since; that somebody was away is nothing.
    fileprivate func differs(from before: RoomSession) -> Bool {
        activity != before.activity || options != before.options || leadMode != before.leadMode
            || nextNumber != before.nextNumber || values != before.values
            || journal != before.journal || log != before.log
    }
}

extension Conflict.Side {
    fileprivate init(_ activity: Activity) {
        self.init(
            content: .bytes(Array(activity.payload.prefix(Limits.valueBytes))),
            author: .zero,
            version: .zero
        )
    }
}

extension RoomPatch.Value {
    fileprivate init(key: String, _ value: StoredValue?) {
        self.init(key: key, content: value?.content, author: value?.author ?? .zero)
    }
}
