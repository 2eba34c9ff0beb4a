package import MeshWire

/// What changed in the room, in the order in which the log changed it.
///
/// ``RoomObserver`` finds them by comparing what it saw last with what the state is now.
package enum RoomEvent: Hashable, Sendable {
    /// A process came into the room.
    case memberJoined(ProcessID)
    /// A process is out of the view and may come back.
    case memberAway(ProcessID)
    /// A process that was away is in the view again.
    case memberBack(ProcessID)
    /// A process left the room, or was away for so long that it was forgotten.
    case memberLeft(ProcessID)
    /// A member shows this now.
    case profileChanged(ProcessID, MemberProfile)
    /// A session began; this is how it was then, with nobody in it.
    case sessionStarted(RoomSession)
    /// A session ended with all its participants; none of them gets an event of its own.
    case sessionEnded(SessionID, SessionEndReason)
    /// The session's activity was replaced.
    case activityChanged(SessionID, Activity)
    /// Capacity, lock or control changed.
    case optionsChanged(SessionID, SessionOptions)
    /// A participant joined.
    case participantJoined(SessionID, Participant)
    /// A participant's process is out of the view; it has the grace to come back.
    case participantAway(SessionID, Participant)
    /// A participant that was away is back, with its old identifier.
    case participantBack(SessionID, Participant)
    /// A participant is gone.
    case participantLeft(SessionID, Participant, ParticipantLeaveReason)
    /// A participant is there again that had been taken out: it lived on a branch that was merged.
    case participantReturned(SessionID, Participant)
    /// The lead went from one participant to another.
    case leadChanged(SessionID, old: ParticipantID?, new: ParticipantID?, LeadChange)
    /// Who may move the lead changed.
    case leadModeChanged(SessionID, LeadMode)
    /// A participant asked for the session's state; whoever did not follow the log does not hear of it.
    case stateRequested(SessionID, StateRequest)
    /// A value was written, or removed if `value` is `nil`; `by` is not known after a restore of a
    /// removal.
    case valueChanged(SessionID, key: String, value: StoredValue?, by: ParticipantID?)
    /// An entry stands at the end of the session's sequence.
    case logAppended(SessionID, LogRecord)
    /// Entries stand in the sequence no more, oldest first: they were a branch's that lost a merge.
    case logRolledBack(SessionID, [LogRecord])
    /// The arbiter answered a move with a no; whoever did not follow the log does not hear of it.
    case moveRefused(SessionID, MoveID, note: String)
    /// An attachment stands in the session's journal.
    case attachmentAdded(SessionID, JournalRecord)
    /// An attachment stands there no more.
    case attachmentRemoved(SessionID, AttachmentID)
    /// Two branches disagreed and the winner's word stays; the conflict tells both.
    case conflictFound(Conflict)
    /// A conflict was acknowledged.
    case conflictSettled(SessionID, Conflict.Subject, key: String)
    /// The log holds a command that this version does not know; every session ended here.
    case upgradeNeeded(type: UInt16)
}

/// A participant's request for the session's state, the same for all who apply it.
package struct StateRequest: Hashable, Sendable {
    /// The place of the request in the log.
    package let position: Position
    /// The participant that asks.
    package let requester: ParticipantID
    /// Who is asked: the lead, or while that is away the present participant that joined first.
    package let provider: ParticipantID?
    /// The participants that were present there, in the order of their joins, the requester too.
    package let present: [ParticipantID]
    /// Those that were away there and in their grace.
    package let away: [ParticipantID]

    package init(
        position: Position,
        requester: ParticipantID,
        provider: ParticipantID?,
        present: [ParticipantID],
        away: [ParticipantID] = []
    ) {
        self.position = position
        self.requester = requester
        self.provider = provider
        self.present = present
        self.away = away
    }

    init(_ session: RoomSession, by requester: ParticipantID, at position: Position) {
        self.init(
            position: position,
            requester: requester,
            provider: session.arbiter,
            present: session.participants.filter(\.isPresent).map(\.id),
            away: session.participants.filter { !$0.isPresent }.map(\.id)
        )
    }
}

/// Why a session ended.
package enum SessionEndReason: Hashable, Sendable {
    /// A process ended it for all, as this participant if it was one.
    case ended(by: ProcessID, as: Participant?)
    /// Another session, with an activity of this identifier, took its slot.
    case replaced(by: String)
    /// The last participant is gone.
    case everyoneLeft
    /// The initiator is gone and the session's life was bound to it.
    case initiatorLeft
    /// Nobody joined it in time.
    case expired
    /// This version is too old for the room.
    case upgradeNeeded
    /// It ended on a branch that was merged, and nobody went on with it here.
    case endedElsewhere
    /// It ended while this process did not follow the log.
    case unobserved
}

/// Why a participant is gone.
package enum ParticipantLeaveReason: Hashable, Sendable {
    /// It left.
    case left
    /// Its process left the room, or was started anew.
    case processLeft
    /// It was away for longer than the grace.
    case expired
    /// Somebody removed it.
    case removed(by: ParticipantID, note: String, isBan: Bool)
    /// It left while this process did not follow the log.
    case unobserved
}

/// Why the lead changed.
package enum LeadChange: Hashable, Sendable {
    /// The first to join has it.
    case first
    /// The holder gave it.
    case given
    /// The new holder took it.
    case taken
    /// The holder is gone; the present participant that joined first has it.
    case succeeded
    /// The mode changed.
    case mode
    /// It changed while this process did not follow the log.
    case unobserved
}
