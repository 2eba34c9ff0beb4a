import MeshWire

extension RoomState {
    mutating func give(
        to target: ParticipantID,
        by caller: Participant,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        let session = sessions[index]
        guard session.leadMode != .none else { throw .noLead }
        guard session.lead == caller.id else { throw .notLead(holder: session.lead) }
        guard let heir = session.participant(target) else { throw .noSuchParticipant(target) }
        guard heir.isPresent else { throw .participantAway(target) }
        sessions[index].isLeadReserved = false
        setLead(target, sessionAt: index, .given)
    }

    mutating func take(
        by caller: Participant,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        let session = sessions[index]
        switch session.leadMode {
        case .none:
            throw .noLead
        case .fixed where session.lead != nil && session.lead != caller.id:
            throw .notLead(holder: session.lead)
        case .fixed, .switchable:
            sessions[index].isLeadReserved = false
            setLead(caller.id, sessionAt: index, .taken)
        }
    }

    mutating func set(_ mode: LeadMode, by caller: Participant, sessionAt index: Int) {
        guard sessions[index].leadMode != mode else { return }
        sessions[index].leadMode = mode
        sessions[index].isLeadReserved = false
        events.append(.leadModeChanged(sessions[index].id, mode))
        switch mode {
        case .none:
            setLead(nil, sessionAt: index, .mode)
        case .fixed, .switchable:
            if sessions[index].lead == nil { setLead(caller.id, sessionAt: index, .mode) }
        }
    }

    /// The initiator has come: the lead is its own, whoever was faster, unless people have decided.
    mutating func seat(_ initiator: Participant, sessionAt index: Int) {
        guard sessions[index].isLeadReserved else { return }
        sessions[index].isLeadReserved = false
        if sessions[index].leadMode != .none { setLead(initiator.id, sessionAt: index, .first) }
    }

    /// Gives a session without a lead to the present participant that joined first, if its mode
    /// wants one.
    mutating func assignLead(sessionAt index: Int, _ reason: LeadChange) {
        let session = sessions[index]
        guard session.lead == nil, session.leadMode != .none else { return }
        setLead(session.successor, sessionAt: index, reason)
    }

    mutating func setLead(_ new: ParticipantID?, sessionAt index: Int, _ reason: LeadChange) {
        let old = sessions[index].lead
        guard old != new else { return }
        sessions[index].lead = new
        events.append(.leadChanged(sessions[index].id, old: old, new: new, reason))
    }

    /// Takes a participant out and does, in the same command, what follows from it: the lead's
    /// succession, the session's end.
    mutating func remove(
        _ id: ParticipantID,
        fromSessionAt index: Int,
        _ reason: ParticipantLeaveReason
    ) {
        guard let place = sessions[index].participants.firstIndex(where: { $0.id == id }) else {
            preconditionFailure("a participant that is removed is there: \(id)")
        }
        let participant = sessions[index].participants.remove(at: place)
        let session = sessions[index]
        events.append(.participantLeft(session.id, participant, reason))
        let isOrphan =
            session.lifetime == .endsWhenInitiatorLeaves
            && participant.process == session.initiator
        if isOrphan || session.participants.isEmpty {
            end(sessionAt: index, isOrphan ? .initiatorLeft : .everyoneLeft)
        } else if session.lead == id {
            setLead(session.successor, sessionAt: index, .succeeded)
        }
    }
}
