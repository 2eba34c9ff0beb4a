import MeshConsensus
import MeshWire

extension RoomState {
    /// Does what `command` asks, or throws before it changed anything.
    mutating func perform(
        _ command: RoomCommand,
        from record: Command,
        at position: Position
    ) throws(CommandRefusal) -> CommandResult {
        guard let member = memberIndex(record.origin) else { throw .notMember }
        let origin = members[member].process

        // Commands that need no session.
        switch command {
        case .setProfile(let profile):
            set(profile, ofMemberAt: member)
            return .done
        case .startSession(let blueprint):
            return try start(record.session, blueprint, by: origin, at: position)
        case .acknowledgeConflict(let subject, let key):
            try acknowledge(record.session, subject, key)
            return .done
        default:
            break
        }

        guard let index = sessionIndex(record.session) else { throw .noSuchSession }
        // Commands of those that need not have joined.
        switch command {
        case .endSession(let isExpiry):
            try end(sessionAt: index, isExpiry: isExpiry, by: origin)
            return .done
        case .join(let nonce):
            return try join(
                sessionAt: index,
                members[member],
                nonce: nonce,
                at: position
            )
        case .expire(let participant):
            try expire(participant, sessionAt: index, by: origin)
            return .done
        default:
            break
        }

        guard let caller = sessions[index].participant(of: origin) else { throw .notJoined }
        switch command {
        case .setProfile, .startSession, .endSession, .join, .expire, .acknowledgeConflict:
            preconditionFailure("handled above: \(command.type)")
        case .leave:
            remove(caller.id, fromSessionAt: index, .left)
            return .done
        case .setActivity(let activity):
            try require(sessions[index].options.replacing, of: origin, sessionAt: index)
            let growth = activity.byteCount - sessions[index].activity.byteCount
            try requireRoom(forBytes: growth)
            sessions[index].activity = activity
            events.append(.activityChanged(record.session, activity))
            return .done
        case .setOptions(let options):
            let old = sessions[index].options
            let isGate = options.capacity != old.capacity || options.isLocked != old.isLocked
            let isRight = !options.hasSameRights(as: old)
            if isRight { try requireSteward(caller, sessionAt: index) }
            if isGate || !isRight { try require(old.mayLock, of: origin, sessionAt: index) }
            guard old != options else { return .done }
            sessions[index].options = options
            events.append(.optionsChanged(record.session, options))
            return .done
        case .remove(let target, let isBan, let note):
            try require(sessions[index].options.mayKick, of: origin, sessionAt: index)
            try remove(target, isBan: isBan, note: note, by: caller.id, sessionAt: index)
            return .done
        case .giveLead(let target):
            try give(to: target, by: caller, sessionAt: index)
            return .done
        case .takeLead:
            try take(by: caller, sessionAt: index)
            return .done
        case .setLeadMode(let mode):
            try requireSteward(caller, sessionAt: index)
            set(mode, by: caller, sessionAt: index)
            return .done
        case .append(let draft):
            try requireControl(caller, sessionAt: index)
            return try append(draft, by: caller.id, sessionAt: index, at: position)
        case .refuseMove(let move, let note):
            try refuse(move, note, by: caller.id, sessionAt: index)
            return .done
        case .addAttachment(let entry):
            try requireControl(caller, sessionAt: index)
            try add(entry, by: caller, sessionAt: index)
            return .done
        case .removeAttachment(let attachment):
            try require(sessions[index].options.removing, of: origin, sessionAt: index)
            try removeAttachment(attachment, sessionAt: index)
            return .done
        case .requestState:
            let request = StateRequest(sessions[index], by: caller.id, at: position)
            events.append(.stateRequested(record.session, request))
            return .done
        case .put, .compareAndSet, .delete, .add, .insert, .withdraw:
            try requireControl(caller, sessionAt: index)
            return try write(command, by: caller.id, sessionAt: index, at: position)
        }
    }

    mutating func set(_ profile: MemberProfile, ofMemberAt index: Int) {
        guard !members[index].profile.isSame(as: profile) else { return }
        members[index].profile = profile
        events.append(.profileChanged(members[index].process, profile))
    }

    private mutating func start(
        _ id: SessionID,
        _ blueprint: SessionBlueprint,
        by origin: ProcessID,
        at position: Position
    ) throws(CommandRefusal) -> CommandResult {
        guard id != .zero else { throw .invalid }
        guard sessionIndex(id) == nil else { throw .sessionExists }
        let holder = slotIndex(blueprint.slot)
        if let holder {
            let running = sessions[holder]
            // Two that start the same at once mean one session; who knows of it means a new one.
            if running.id != blueprint.expected,
                running.activity.isSameActivity(as: blueprint.activity)
            {
                return .merged(running.id)
            }
            try require(running.options.replacing, of: origin, sessionAt: holder)
        }
        guard sessions.count - (holder == nil ? 0 : 1) < Limits.sessions else {
            throw .full(.sessions, limit: Limits.sessions)
        }
        let freed = holder.map { sessions[$0].byteCount } ?? 0
        try requireRoom(forBytes: blueprint.activity.byteCount - freed)
        if let holder {
            end(sessionAt: holder, .replaced(by: blueprint.activity.identifier))
        }
        let session = RoomSession(
            id: id,
            initiator: origin,
            startedAt: position,
            blueprint: blueprint
        )
        let index = sessions.firstIndex { id < $0.id } ?? sessions.count
        sessions.insert(session, at: index)
        events.append(.sessionStarted(session))
        return .done
    }

    /// By the leader alone, and while nobody ever joined, if it is an expiry; else by control.
    private mutating func end(
        sessionAt index: Int,
        isExpiry: Bool,
        by origin: ProcessID
    ) throws(CommandRefusal) {
        let session = sessions[index]
        if isExpiry {
            guard origin.tag == leader else { throw .notLeader }
            guard !session.wasJoined else { throw .notExpired }
        } else {
            try require(session.options.ending, of: origin, sessionAt: index)
        }
        end(
            sessionAt: index,
            isExpiry ? .expired : .ended(by: origin, as: session.participant(of: origin))
        )
    }

    /// Throws unless a process, in the session or not, has a right of it.
    private func require(
        _ right: SessionRight,
        of origin: ProcessID,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        let session = sessions[index]
        switch right {
        case .everyone: return
        case .initiator:
            guard session.initiator == origin else { throw .notInitiator }
        case .lead:
            let isHolder = session.participant(of: origin).map { $0.id == session.steward }
            guard isHolder ?? (session.steward == nil && session.initiator == origin) else {
                throw .notLead(holder: session.steward)
            }
        }
    }

    mutating func end(sessionAt index: Int, _ reason: SessionEndReason) {
        let session = sessions.remove(at: index)
        events.append(.sessionEnded(session.id, reason))
    }

    /// Capacity, lock and ban are decided here, so that no race breaks them.
    private mutating func join(
        sessionAt index: Int,
        _ member: RoomMember,
        nonce: UInt64,
        at position: Position
    ) throws(CommandRefusal) -> CommandResult {
        let session = sessions[index]
        if let present = session.participant(of: member.process) {
            throw .alreadyJoined(present.id)
        }
        guard !session.bans.contains(member.process.nodeID) else { throw .banned }
        guard !session.options.isLocked else { throw .locked }
        let capacity = min(Int(session.options.capacity), Limits.participants)
        guard session.participants.count < capacity else {
            throw .full(.participants, limit: capacity)
        }
        let number = session.nextNumber
        let (next, isOverflow) = number.addingReportingOverflow(1)
        guard !isOverflow else { throw .outOfRange }
        let participant = Participant(
            id: participantID(
                session: session.id,
                process: member.process,
                nonce: nonce
            ),
            number: number,
            process: member.process,
            joinedAt: position,
            isPresent: member.isPresent
        )
        guard session.participant(participant.id) == nil, !session.kicked.contains(participant.id)
        else { throw .invalid }
        sessions[index].nextNumber = next
        sessions[index].participants.append(participant)
        events.append(.participantJoined(session.id, participant))
        if participant.process == session.initiator { seat(participant, sessionAt: index) }
        assignLead(sessionAt: index, .first)
        return .joined(participant.id, number: number)
    }

    private mutating func expire(
        _ id: ParticipantID,
        sessionAt index: Int,
        by origin: ProcessID
    ) throws(CommandRefusal) {
        guard origin.tag == leader else { throw .notLeader }
        guard let participant = sessions[index].participant(id) else {
            throw .noSuchParticipant(id)
        }
        guard !participant.isPresent else { throw .notExpired }
        remove(id, fromSessionAt: index, .expired)
    }

    private mutating func remove(
        _ target: ParticipantID,
        isBan: Bool,
        note: String,
        by caller: ParticipantID,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        guard let participant = sessions[index].participant(target) else {
            throw .noSuchParticipant(target)
        }
        if isBan, !sessions[index].bans.contains(participant.process.nodeID) {
            guard sessions[index].bans.count < SessionLimits.bans else {
                throw .full(.bans, limit: SessionLimits.bans)
            }
            sessions[index].bans.append(participant.process.nodeID)
            sessions[index].bans.sort()
        }
        sessions[index].kicked.append(target)
        if sessions[index].kicked.count > SessionLimits.kicked {
            sessions[index].kicked.removeFirst()
        }
        remove(target, fromSessionAt: index, .removed(by: caller, note: note, isBan: isBan))
    }

    private func requireControl(
        _ caller: Participant,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        guard sessions[index].options.control == .leadOnly else { return }
        try requireSteward(caller, sessionAt: index)
    }

    private func requireSteward(
        _ caller: Participant,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        let steward = sessions[index].steward
        guard steward == caller.id else { throw .notLead(holder: steward) }
    }

    /// Throws if the room would hold more than its bytes after growing by `growth`.
    func requireRoom(forBytes growth: Int) throws(CommandRefusal) {
        guard growth <= 0 || byteCount + growth <= SessionLimits.stateBytes else {
            throw .full(.state, limit: SessionLimits.stateBytes)
        }
    }
}

extension SessionOptions {
    /// Who may end the session, by right and by control.
    fileprivate var ending: SessionRight { control == .leadOnly ? .lead : mayEnd }

    /// Who may replace the session or its activity, by right and by control.
    fileprivate var replacing: SessionRight { control == .leadOnly ? .lead : mayReplace }

    /// Who may take attachments out, by right and by control.
    fileprivate var removing: SessionRight { control == .leadOnly ? .lead : mayRemove }

    fileprivate func hasSameRights(as other: SessionOptions) -> Bool {
        control == other.control && mayEnd == other.mayEnd && mayReplace == other.mayReplace
            && mayKick == other.mayKick && mayLock == other.mayLock
            && mayRemove == other.mayRemove
    }
}
