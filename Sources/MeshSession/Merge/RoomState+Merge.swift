package import MeshConsensus
package import MeshWire

// The merge of two branches: the winner's leader plans, every replica takes the plan over.
extension RoomState {
    /// Decides what becomes of a branch that lost (`30-consensus.md` §9).
    package func plan(_ branch: LosingBranch) -> MergePlan {
        guard upgradeNeeded == nil, let theirs = branch.state as? RoomState else {
            let outcomes = branch.commands.map { _ in MergeOutcome.superseded }
            return MergePlan(outcomes: outcomes, patch: [])
        }
        let merge = RoomMerge(
            base: branch.base as? RoomState,
            ours: self,
            theirs: theirs,
            members: branch.members
        )
        return MergePlan(
            outcomes: merge.outcomes(of: branch.commands),
            patch: merge.patch.encoded
        )
    }

    /// Takes over what ``plan(_:)`` made.
    package mutating func merge(_ bytes: [UInt8], buried: [UInt64], at position: Position) {
        begin(at: position)
        guard upgradeNeeded == nil else { return }
        for member in members
        where !member.isPresent && buried.contains(member.process.tag) {
            forget(member.process)
        }
        // Bytes that are no patch change nothing, alike everywhere.
        guard let patch = try? RoomPatch(decoding: bytes) else { return }
        for shown in patch.profiles {
            if let index = memberIndex(shown.process) { set(shown.profile, ofMemberAt: index) }
        }
        for id in patch.ended {
            guard let index = sessionIndex(id) else { continue }
            let slot = sessions[index].slot
            let heir = patch.started.first {
                !slot.isEmpty && $0.slot.utf8.elementsEqual(slot.utf8)
            }
            end(
                sessionAt: index,
                heir.map { .replaced(by: $0.activity.identifier) } ?? .endedElsewhere
            )
        }
        for session in patch.started { bring(session) }
        for changes in patch.sessions { take(changes, at: position) }
        for item in patch.settled { settle(item.session, item.subject, item.key) }
        for conflict in patch.conflicts {
            conflicts.add(conflict)
            events.append(.conflictFound(conflict))
        }
        conflicts.unlisted &+= patch.unlisted
        for index in sessions.indices { assignLead(sessionAt: index, .first) }
    }

    /// A session of the losing branch, with those of its participants whose processes are known here.
    private mutating func bring(_ session: RoomSession) {
        guard sessionIndex(session.id) == nil, slotIndex(session.slot) == nil,
            sessions.count < Limits.sessions,
            byteCount + session.byteCount <= SessionLimits.stateBytes
        else { return }
        var session = session
        let known = session.participants
        session.participants = known.compactMap { participant in
            guard let member = member(participant.process) else { return nil }
            var participant = participant
            participant.isPresent = member.isPresent
            return participant
        }
        if let lead = session.lead, session.participant(lead) == nil { session.lead = nil }
        let index = sessions.firstIndex { session.id < $0.id } ?? sessions.count
        sessions.insert(session, at: index)
        for event in RoomDifference(bringing: session).events { events.append(event) }
    }

    private mutating func take(_ changes: RoomPatch.Session, at position: Position) {
        guard let first = sessionIndex(changes.id) else { return }
        for ban in changes.bans where !sessions[first].bans.contains(ban) {
            sessions[first].bans.append(ban)
        }
        sessions[first].bans.sort()
        sessions[first].kicked = Array(
            (sessions[first].kicked + changes.kicked).suffix(SessionLimits.kicked)
        )
        for value in changes.values { take(value, sessionAt: first, at: position) }
        takeJournal(changes, sessionAt: first)
        // Who leaves goes first, so that a process is never there twice; the last one waits until
        // somebody has come, or the session would end.
        let steward = sessions[first].steward ?? .zero
        for joining in changes.joined {
            guard let index = sessionIndex(changes.id), let member = member(joining.process) else {
                continue
            }
            if let old = sessions[index].participant(of: joining.process) {
                replace(old, sessionAt: index)
            }
            join(joining, member, sessionAt: index, at: position)
        }
        for leaving in changes.left {
            guard let index = sessionIndex(changes.id),
                let participant = sessions[index].participant(leaving.participant)
            else { continue }
            let isBan = sessions[index].bans.contains(participant.process.nodeID)
            remove(
                leaving.participant,
                fromSessionAt: index,
                leaving.isRemoval ? .removed(by: steward, note: "", isBan: isBan) : .left
            )
        }
    }

    private mutating func takeJournal(_ changes: RoomPatch.Session, sessionAt index: Int) {
        let id = sessions[index].id
        for attachment in changes.removed where sessions[index].attachment(attachment) != nil {
            sessions[index].journal.removeAll { $0.entry.id == attachment }
            events.append(.attachmentRemoved(id, attachment))
        }
        for record in changes.added {
            guard journalCount < SessionLimits.journalEntries,
                byteCount + record.entry.byteCount <= SessionLimits.stateBytes,
                !sessions.contains(where: { $0.attachment(record.entry.id) != nil })
            else { continue }
            sessions[index].journal.append(record)
            events.append(.attachmentAdded(id, record))
        }
    }

    /// A process left and joined again on the losing branch: its old participation ends here too.
    private mutating func replace(_ old: Participant, sessionAt index: Int) {
        sessions[index].participants.removeAll { $0.id == old.id }
        events.append(.participantLeft(sessions[index].id, old, .left))
        if sessions[index].lead == old.id {
            setLead(sessions[index].successor, sessionAt: index, .succeeded)
        }
    }

    private mutating func join(
        _ joining: RoomPatch.Joining,
        _ member: RoomMember,
        sessionAt index: Int,
        at position: Position
    ) {
        let number = sessions[index].nextNumber
        let (next, isOverflow) = number.addingReportingOverflow(1)
        guard !isOverflow, sessions[index].participants.count < Limits.participants,
            sessions[index].participant(joining.participant) == nil
        else { return }
        let participant = Participant(
            id: joining.participant,
            number: number,
            process: joining.process,
            joinedAt: position,
            isPresent: member.isPresent
        )
        sessions[index].nextNumber = next
        sessions[index].participants.append(participant)
        events.append(.participantReturned(sessions[index].id, participant))
    }

    private mutating func take(
        _ value: RoomPatch.Value,
        sessionAt index: Int,
        at position: Position
    ) {
        var stored: StoredValue?
        if let content = value.content {
            let new = StoredValue(content: content, version: position, author: value.author)
            sessions[index].values.set(value.key, to: new)
            stored = new
        } else {
            sessions[index].values.remove(value.key)
        }
        let by: ParticipantID? = value.author == .zero ? nil : value.author
        events.append(
            .valueChanged(sessions[index].id, key: value.key, value: stored, by: by)
        )
    }

    private mutating func settle(
        _ session: SessionID,
        _ subject: Conflict.Subject,
        _ key: String
    ) {
        guard conflicts.remove(session, subject, key) != nil else { return }
        events.append(.conflictSettled(session, subject, key: key))
    }

    /// Any member has seen the conflict: the memory of it ends.
    mutating func acknowledge(
        _ session: SessionID,
        _ subject: Conflict.Subject,
        _ key: String
    ) throws(CommandRefusal) {
        guard conflicts.conflict(session, subject, key) != nil else { throw .noSuchConflict }
        settle(session, subject, key)
    }
}
