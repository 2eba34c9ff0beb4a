package import MeshWire

/// What a process asks of the room's replicated state.
///
/// A command travels in the log as a type, the session it speaks of and a payload
/// (`30-consensus.md` §8, §12); this enum is the typed form of type and payload. The session is
/// all zero for commands of the room itself.
///
/// Reserved numbers, decoded as unknown until they are built: 0x02 roster.kick, 0x03
/// roster.generation, 0x26 lock.acquire, 0x27 lock.release, 0x29 provider.set, 0x38 timeline.
package enum RoomCommand: Hashable, Sendable {
    /// 0x01: what a member shows of itself.
    case setProfile(MemberProfile)
    /// 0x10: starts the session that the record names; it may take the place of the one in its slot.
    case startSession(SessionBlueprint)
    /// 0x11: replaces the session's activity.
    case setActivity(Activity)
    /// 0x12: ends the session for all; `isExpiry` is the leader's, for a session nobody joined.
    case endSession(isExpiry: Bool)
    /// 0x13: the origin becomes a participant of the session; the nonce, drawn anew for each join,
    /// makes its identifier.
    case join(nonce: UInt64)
    /// 0x14: the origin's participant leaves.
    case leave
    /// 0x15: the leader removes a participant that was away longer than the grace.
    case expire(ParticipantID)
    /// 0x16: capacity, lock, control and rights.
    case setOptions(SessionOptions)
    /// 0x17: removes a participant; a ban also keeps its node from joining again.
    case remove(ParticipantID, isBan: Bool, note: String)
    /// 0x18: the holder gives the lead away.
    case giveLead(to: ParticipantID)
    /// 0x19: takes the lead of a session in mode ``LeadMode/switchable``.
    case takeLead
    /// 0x1A: sets who may move the lead.
    case setLeadMode(LeadMode)
    /// 0x1B: asks the lead for the session's state; it changes nothing and marks a place in the log.
    case requestState
    /// 0x20: writes a value, whatever was there.
    case put(key: String, value: [UInt8])
    /// 0x21: writes a value if the present one is as expected.
    case compareAndSet(key: String, expected: Expectation, value: [UInt8])
    /// 0x22: removes a value if it is as expected.
    case delete(key: String, expected: Expectation)
    /// 0x23: adds to a counter, which starts at zero.
    case add(key: String, amount: Int64)
    /// 0x24: puts an element into a set of byte strings, which starts empty.
    case insert(key: String, element: [UInt8])
    /// 0x25: takes an element out of a set.
    case withdraw(key: String, element: [UInt8])
    /// 0x28: puts an entry at the end of the session's sequence.
    case append(LogDraft)
    /// 0x2A: the arbiter answers a move with a no; the sequence stays as it is.
    case refuseMove(MoveID, note: String)
    /// 0x30: puts an attachment into the session's journal; its bytes travel outside of the log.
    case addAttachment(JournalEntry)
    /// 0x31: takes an attachment out, for all.
    case removeAttachment(AttachmentID)
    /// 0x40: a conflict is seen and needs no memory any more.
    case acknowledgeConflict(Conflict.Subject, key: String)
}

extension RoomCommand {
    /// Whether only the room's primary component may do it: what both sides of a split would regret.
    package var demandsPrimary: Bool {
        // An expiry is the leader's own tidying.
        self == .endSession(isExpiry: false)
    }
}

/// The numbers of the commands that this version knows.
package enum CommandType: UInt16, CaseIterable, Sendable {
    case setProfile = 0x01
    case startSession = 0x10
    case setActivity = 0x11
    case endSession = 0x12
    case join = 0x13
    case leave = 0x14
    case expire = 0x15
    case setOptions = 0x16
    case remove = 0x17
    case giveLead = 0x18
    case takeLead = 0x19
    case setLeadMode = 0x1a
    case requestState = 0x1b
    case put = 0x20
    case compareAndSet = 0x21
    case delete = 0x22
    case add = 0x23
    case insert = 0x24
    case withdraw = 0x25
    case append = 0x28
    case refuseMove = 0x2a
    case addAttachment = 0x30
    case removeAttachment = 0x31
    case acknowledgeConflict = 0x40
}

extension CommandType {
    /// Changes of a journal that a node may make, 20 a second (`50-journal-and-playback.md` A9).
    package static let journalPace = Pace(perSecond: 20, burst: 100)
    /// Requests for the state that a node may make, in all sessions together; each makes all others act.
    package static let statePace = Pace(perSecond: 1, burst: 16)
    /// Changes of its profile that a node may make.
    package static let profilePace = Pace(perSecond: 1, burst: 5)

    /// What the leader lets into the log no faster, by the numbers of the types.
    package static let paces: [UInt16: Pace] = [
        setProfile.rawValue: profilePace,
        requestState.rawValue: statePace,
        addAttachment.rawValue: journalPace,
        removeAttachment.rawValue: journalPace,
    ]
}

/// What a new session is made of.
package struct SessionBlueprint: Hashable, Sendable {
    /// What the participants do together.
    package var activity: Activity
    /// How long the session lives.
    package var lifetime: SessionLifetime
    /// Who may move the lead.
    package var leadMode: LeadMode
    /// Capacity, lock and control.
    package var options: SessionOptions
    /// The place of which the room has one, at most 32 bytes; empty for none
    /// (`40-groupactivities.md` D3).
    package var slot: String
    /// The session that the initiator believes to run in the slot; zero for none.
    package var expected: SessionID

    package init(
        activity: Activity,
        lifetime: SessionLifetime = .untilEmpty,
        leadMode: LeadMode = .fixed,
        options: SessionOptions = SessionOptions(),
        slot: String = "",
        expected: SessionID = .zero
    ) {
        self.slot = slot
        self.expected = expected
        self.activity = activity
        self.lifetime = lifetime
        self.leadMode = leadMode
        self.options = options
    }
}

/// What the participants of a session do together.
package struct Activity: Hashable, Sendable {
    /// Names the kind of activity, 1 to 255 bytes.
    package var identifier: String
    /// The application's description of it; with the metadata at most 64 KiB.
    package var payload: [UInt8]
    /// What people are shown of it, opaque here, at most 8 KiB.
    package var metadata: [UInt8]

    package init(identifier: String, payload: [UInt8] = [], metadata: [UInt8] = []) {
        self.identifier = identifier
        self.payload = payload
        self.metadata = metadata
    }

    /// Whether both mean the same thing to do, however it is shown (`40-groupactivities.md` §3.1).
    func isSameActivity(as other: Activity) -> Bool {
        identifier.utf8.elementsEqual(other.identifier.utf8) && payload == other.payload
    }
}

/// How long a session lives.
package enum SessionLifetime: UInt8, CaseIterable, Sendable {
    /// Until its last participant left.
    case untilEmpty = 0
    /// Until the initiator's participant left, or the last one.
    case endsWhenInitiatorLeaves = 1
}

/// Who may move the lead of a session.
package enum LeadMode: UInt8, CaseIterable, Sendable {
    /// Only the holder gives it away.
    case fixed = 0
    /// Any participant may take it.
    case switchable = 1
    /// There is no lead.
    case none = 2
}

/// Who may change a session's activity and values, and end it.
package enum SessionControl: UInt8, CaseIterable, Sendable {
    /// Every participant.
    case everyone = 0
    /// The lead alone.
    case leadOnly = 1
}

/// Who may do a thing in a session (`40-groupactivities.md` §9.6).
package enum SessionRight: UInt8, CaseIterable, Sendable {
    /// Every participant; to end or replace, every member of the room.
    case everyone = 0
    /// The process that started the session.
    case initiator = 1
    /// The lead, or who answers for a session without one.
    case lead = 2
}

/// What the log decides about a session's joins and rights.
package struct SessionOptions: Hashable, Sendable {
    /// The most participants, 1 to 64; 33 is oneself and SharePlay's 32 others.
    package var capacity: UInt8
    /// Whether nobody else may join.
    package var isLocked: Bool
    /// Who may change things.
    package var control: SessionControl
    /// Who may end the session for all, unless ``control`` leaves it to the lead.
    package var mayEnd: SessionRight = .everyone
    /// Who may replace the session or its activity, unless ``control`` leaves it to the lead.
    package var mayReplace: SessionRight = .everyone
    /// Who may remove participants and ban nodes.
    package var mayKick: SessionRight = .lead
    /// Who may set capacity and lock.
    package var mayLock: SessionRight = .lead
    /// Who may take attachments out, unless ``control`` leaves it to the lead.
    package var mayRemove: SessionRight = .everyone
    /// Bytes of the largest attachment, at most 64 GiB; 100 MB as SharePlay has it.
    package var attachmentLimit: UInt64 = 100_000_000

    package init(capacity: UInt8 = 33, isLocked: Bool = false, control: SessionControl = .everyone)
    {
        self.capacity = capacity
        self.isLocked = isLocked
        self.control = control
    }
}

/// What a conditional write expects to find.
package enum Expectation: Hashable, Sendable {
    /// Anything or nothing.
    case anything
    /// No value under the key.
    case absent
    /// The value that this entry of the log wrote.
    case version(Position)
    /// These bytes.
    case value([UInt8])
}

extension RoomCommand {
    /// The number of the command.
    package var type: CommandType {
        switch self {
        case .setProfile: .setProfile
        case .startSession: .startSession
        case .setActivity: .setActivity
        case .endSession: .endSession
        case .join: .join
        case .leave: .leave
        case .expire: .expire
        case .setOptions: .setOptions
        case .remove: .remove
        case .giveLead: .giveLead
        case .takeLead: .takeLead
        case .setLeadMode: .setLeadMode
        case .requestState: .requestState
        case .put: .put
        case .compareAndSet: .compareAndSet
        case .delete: .delete
        case .add: .add
        case .insert: .insert
        case .withdraw: .withdraw
        case .append: .append
        case .refuseMove: .refuseMove
        case .addAttachment: .addAttachment
        case .removeAttachment: .removeAttachment
        case .acknowledgeConflict: .acknowledgeConflict
        }
    }

    /// Throws unless every field is inside its limit, so that a caller learns it before it submits.
    ///
    /// Throws ``CommandRefusal/tooLarge(limit:)`` or ``CommandRefusal/invalid``. Every replica asks
    /// the same again when the command applies.
    package func validate() throws(CommandRefusal) {
        switch self {
        case .setProfile(let profile):
            try profile.validate()
        case .startSession(let blueprint):
            try blueprint.activity.validate()
            try blueprint.options.validate()
            try Self.require(blueprint.slot.utf8.count, atMost: SessionLimits.slotBytes)
        case .setActivity(let activity):
            try activity.validate()
        case .setOptions(let options):
            try options.validate()
        case .remove(_, _, let note):
            try Self.require(note.utf8.count, atMost: SessionLimits.noteBytes)
        case .put(let key, let value):
            try Self.validate(key: key, bytes: value)
        case .compareAndSet(let key, let expected, let value):
            try Self.validate(key: key, bytes: value)
            try expected.validate()
        case .delete(let key, let expected):
            try Self.validate(key: key)
            try expected.validate()
        case .add(let key, _):
            try Self.validate(key: key)
        case .insert(let key, let element), .withdraw(let key, let element):
            try Self.validate(key: key)
            try Self.require(element.count, atMost: SessionLimits.elementBytes)
        case .append(let draft):
            try Self.require(draft.payload.count, atMost: Limits.valueBytes)
        case .refuseMove(_, let note):
            try Self.require(note.utf8.count, atMost: SessionLimits.noteBytes)
        case .addAttachment(let entry):
            try entry.validate()
        case .acknowledgeConflict(_, let key):
            try Self.require(key.utf8.count, atMost: Limits.keyBytes)
        case .endSession, .join, .leave, .expire, .giveLead, .takeLead, .setLeadMode,
            .removeAttachment, .requestState:
            break
        }
    }

    static func require(_ count: Int, atMost limit: Int) throws(CommandRefusal) {
        guard count <= limit else { throw .tooLarge(limit: limit) }
    }

    private static func validate(key: String, bytes: [UInt8] = []) throws(CommandRefusal) {
        guard !key.isEmpty else { throw .invalid }
        try require(key.utf8.count, atMost: Limits.keyBytes)
        try require(bytes.count, atMost: Limits.valueBytes)
    }
}

extension Activity {
    fileprivate func validate() throws(CommandRefusal) {
        guard !identifier.isEmpty else { throw .invalid }
        try RoomCommand.require(identifier.utf8.count, atMost: SessionLimits.identifierBytes)
        try RoomCommand.require(metadata.count, atMost: SessionLimits.metadataBytes)
        try RoomCommand.require(payload.count + metadata.count, atMost: Limits.activityBytes)
    }
}

extension SessionOptions {
    fileprivate func validate() throws(CommandRefusal) {
        guard capacity >= 1, capacity <= Limits.participants,
            attachmentLimit <= SessionLimits.attachmentBytes
        else { throw .invalid }
    }
}

extension Expectation {
    fileprivate func validate() throws(CommandRefusal) {
        guard case .value(let bytes) = self else { return }
        try RoomCommand.require(bytes.count, atMost: Limits.valueBytes)
    }
}
