import MeshWire

/// The events that lead from one state to another, where nobody recorded them.
///
/// What left comes before what came, so that nobody is seen twice; both are sorted.
struct RoomDifference {
    private(set) var events: [RoomEvent] = []

    init(from old: RoomState, to new: RoomState) {
        if let upgradeNeeded = new.upgradeNeeded, old.upgradeNeeded == nil {
            events.append(.upgradeNeeded(type: upgradeNeeded))
        }
        for session in old.sessions where new.session(session.id) == nil {
            // Who has its slot now took its place, here or on the way.
            let heir = new.session(inSlot: session.slot)
            events.append(
                .sessionEnded(
                    session.id,
                    heir.map { .replaced(by: $0.activity.identifier) } ?? .unobserved
                )
            )
        }
        for member in old.members where new.member(member.process) == nil {
            events.append(.memberLeft(member.process))
        }
        for member in new.members { append(member, from: old.member(member.process)) }
        for conflict in new.conflicts.conflicts
        where old.conflicts.conflict(conflict.session, conflict.subject, conflict.key) != conflict {
            events.append(.conflictFound(conflict))
        }
        for conflict in old.conflicts.conflicts
        where new.conflicts.conflict(conflict.session, conflict.subject, conflict.key) == nil {
            events.append(
                .conflictSettled(conflict.session, conflict.subject, key: conflict.key)
            )
        }
        for session in new.sessions {
            if let before = old.session(session.id), before.startedAt == session.startedAt {
                append(session, from: before)
            } else {
                if old.session(session.id) != nil {
                    events.append(.sessionEnded(session.id, .unobserved))
                }
                events += RoomDifference(bringing: session).events
            }
        }
    }

    /// The events that bring a session into being as it stands.
    init(bringing session: RoomSession) {
        events.append(.sessionStarted(session.started))
        append(session, from: session.started)
    }

    private mutating func append(_ member: RoomMember, from old: RoomMember?) {
        if let old {
            if old.isPresent != member.isPresent {
                events.append(
                    member.isPresent ? .memberBack(member.process) : .memberAway(member.process)
                )
            }
        } else {
            events.append(.memberJoined(member.process))
            if !member.isPresent { events.append(.memberAway(member.process)) }
        }
        if !(old?.profile ?? MemberProfile()).isSame(as: member.profile) {
            events.append(.profileChanged(member.process, member.profile))
        }
    }

    private mutating func append(_ session: RoomSession, from old: RoomSession) {
        let id = session.id
        if session.activity != old.activity {
            events.append(.activityChanged(id, session.activity))
        }
        if session.options != old.options {
            events.append(.optionsChanged(id, session.options))
        }
        for participant in old.participants where session.participant(participant.id) == nil {
            events.append(.participantLeft(id, participant, .unobserved))
        }
        for participant in session.participants {
            let before = old.participant(participant.id)
            if before == nil { events.append(.participantJoined(id, participant)) }
            guard before?.isPresent ?? true != participant.isPresent else { continue }
            events.append(
                participant.isPresent
                    ? .participantBack(id, participant) : .participantAway(id, participant)
            )
        }
        if session.leadMode != old.leadMode {
            events.append(.leadModeChanged(id, session.leadMode))
        }
        if session.lead != old.lead {
            events.append(.leadChanged(id, old: old.lead, new: session.lead, .unobserved))
        }
        append(session.values, in: id, from: old.values)
        append(session.journal, in: id, from: old.journal)
        append(session.log, in: id, from: old.log)
    }

    /// What both have up to the first entry that differs stays.
    ///
    /// Of what neither keeps nothing is known: who reads sees a gap in the indices.
    private mutating func append(_ log: OrderedLog, in id: SessionID, from old: OrderedLog) {
        guard log != old else { return }
        let kept = old.entries.prefix { record in
            guard let first = log.entries.first, record.index >= first.index else {
                return record.index < log.nextIndex
            }
            return log.entry(at: record.index) == record
        }
        let rolledBack = Array(old.entries.dropFirst(kept.count))
        if !rolledBack.isEmpty { events.append(.logRolledBack(id, rolledBack)) }
        let next = rolledBack.first?.index ?? old.nextIndex
        for record in log.entries where record.index >= next {
            events.append(.logAppended(id, record))
        }
    }

    private mutating func append(
        _ journal: [JournalRecord],
        in id: SessionID,
        from old: [JournalRecord]
    ) {
        guard journal != old else { return }
        let (former, present) = (Set(old.map(\.entry.id)), Set(journal.map(\.entry.id)))
        for record in old where !present.contains(record.entry.id) {
            events.append(.attachmentRemoved(id, record.entry.id))
        }
        for record in journal where !former.contains(record.entry.id) {
            events.append(.attachmentAdded(id, record))
        }
    }

    private mutating func append(
        _ values: ValueTable,
        in id: SessionID,
        from old: ValueTable
    ) {
        for entry in old.entries where values[entry.key] == nil {
            events.append(.valueChanged(id, key: entry.key, value: nil, by: nil))
        }
        for entry in values.entries where old[entry.key] != entry.value {
            let author = entry.value.author
            events.append(.valueChanged(id, key: entry.key, value: entry.value, by: author))
        }
    }
}

extension RoomSession {
    /// The session as it was when it started: nobody in it, no values.
    fileprivate var started: RoomSession {
        RoomSession(
            id: id,
            initiator: initiator,
            startedAt: startedAt,
            blueprint: SessionBlueprint(
                activity: activity,
                lifetime: lifetime,
                leadMode: leadMode,
                options: options,
                slot: slot
            )
        )
    }
}
