import MeshSession
public import MeshWire

/// What happens to this node's part in a session.
public enum SessionEvent: Sendable, Equatable {
    /// This node is a participant.
    case joined(Participant)
    /// This node is a participant and the room takes no writes: too few of its members are in reach.
    case away
    /// The room takes writes again.
    case back
    /// The session has another activity.
    case activityChanged(SessionActivity)
    /// Capacity, lock or rights changed.
    case optionsChanged(Session.Options)
    /// The participation is over; nothing follows.
    case invalidated(GroupSessionError)
}

/// What the participants of a session do together.
public struct SessionActivity: Hashable, Sendable {
    /// Names the kind of activity, 1 to 255 bytes.
    public var identifier: String
    /// The application's description of it; with the metadata at most 64 KiB.
    public var payload: [UInt8]
    /// What people are shown of it, in a form of the application's, at most 8 KiB.
    public var metadata: [UInt8]

    /// An activity; nothing is checked before it is sent.
    public init(identifier: String, payload: [UInt8] = [], metadata: [UInt8] = []) {
        self.identifier = identifier
        self.payload = payload
        self.metadata = metadata
    }

    init(_ activity: Activity) {
        self.init(
            identifier: activity.identifier,
            payload: activity.payload,
            metadata: activity.metadata
        )
    }

    var inner: Activity {
        Activity(identifier: identifier, payload: payload, metadata: metadata)
    }
}

/// A session that runs in the room, as it stood when this was told.
public struct SessionUpdate: Sendable {
    /// The session.
    public let session: Session
    /// The place of which the room has one; empty for none.
    public let slot: String
    /// What its participants do together.
    public var activity: SessionActivity
    /// The node that started it.
    public let initiator: NodeID
    /// Whether this process started it.
    public let isLocallyInitiated: Bool
    /// Whether this node took part before and asks for it anew.
    package var isAgain = false
}

extension Session {
    /// Who may do a thing in a session.
    public enum Right: Hashable, Sendable {
        /// Every participant.
        case everyone
        /// The process that started the session, while it runs.
        case initiator
        /// The participant that leads.
        case lead

        init(_ right: SessionRight) {
            switch right {
            case .everyone: self = .everyone
            case .initiator: self = .initiator
            case .lead: self = .lead
            }
        }

        var inner: SessionRight {
            switch self {
            case .everyone: .everyone
            case .initiator: .initiator
            case .lead: .lead
            }
        }
    }

    /// What the room's log decides about a session's joins, rights and life.
    public struct Options: Hashable, Sendable {
        /// The most participants, 1 to 64; 33 is oneself and SharePlay's 32 others.
        public var capacity: Int
        /// Whether nobody else may join.
        public var isLocked: Bool
        /// Whether the session ends when its initiator's participant is gone; fixed at the start.
        public var endsWhenInitiatorLeaves: Bool
        /// Who may end the session for all.
        public var mayEnd = Right.everyone
        /// Who may replace the activity, and the session by another one in its slot.
        public var mayReplace = Right.everyone
        /// Who may kick and ban.
        public var mayKick = Right.lead
        /// Who may set the capacity, lock and unlock.
        public var mayLock = Right.lead
        /// Who may take attachments out of the journal.
        public var mayRemove = Right.everyone
        /// Bytes of the largest attachment, 100 MB as SharePlay has it, at most 64 GiB.
        public var attachmentLimit: UInt64 = 100_000_000

        /// Options with the defaults of SharePlay.
        public init(
            capacity: Int = 33,
            isLocked: Bool = false,
            endsWhenInitiatorLeaves: Bool = false
        ) {
            self.capacity = capacity
            self.isLocked = isLocked
            self.endsWhenInitiatorLeaves = endsWhenInitiatorLeaves
        }

        init(_ options: SessionOptions, _ lifetime: SessionLifetime) {
            self.init(
                capacity: Int(options.capacity),
                isLocked: options.isLocked,
                endsWhenInitiatorLeaves: lifetime == .endsWhenInitiatorLeaves
            )
            mayEnd = Right(options.mayEnd)
            mayReplace = Right(options.mayReplace)
            mayKick = Right(options.mayKick)
            mayLock = Right(options.mayLock)
            mayRemove = Right(options.mayRemove)
            attachmentLimit = options.attachmentLimit
        }

        var inner: SessionOptions {
            var options = SessionOptions(
                capacity: UInt8(clamping: capacity),
                isLocked: isLocked
            )
            options.mayEnd = mayEnd.inner
            options.mayReplace = mayReplace.inner
            options.mayKick = mayKick.inner
            options.mayLock = mayLock.inner
            options.mayRemove = mayRemove.inner
            options.attachmentLimit = attachmentLimit
            return options
        }
    }

    // MARK: Activity

    /// What the participants do together; `nil` once the session has ended.
    public var activity: SessionActivity? {
        get async { await node.sessionActivity(of: id) }
    }

    /// Capacity, lock and life; `nil` once the session has ended.
    public var options: Options? {
        get async { await node.options(of: id) }
    }

    /// Whether this process started the session; `false` once it has ended.
    public var isLocallyInitiated: Bool {
        get async { await node.isLocallyInitiated(id) }
    }

    /// Replaces the activity for all; the session stays.
    ///
    /// Of several at once the one that the room's log has last stays. Throws `notJoined`, `tooLarge`, or
    /// `refused` if the session's rules say no.
    public func replaceActivity(_ activity: SessionActivity) async throws(HuddleError) {
        try await node.replaceActivity(of: id, activity)
    }

    // MARK: Rules

    /// Sets the most participants, 1 to 64; who is in stays in.
    ///
    /// Throws `refused` unless ``Options/mayLock`` lets this node.
    public func setCapacity(_ capacity: Int) async throws(HuddleError) {
        try await node.set({ $0.capacity = UInt8(clamping: capacity) }, of: id)
    }

    /// Lets nobody else join.
    ///
    /// Throws `refused` unless ``Options/mayLock`` lets this node.
    public func lock() async throws(HuddleError) {
        try await node.set({ $0.isLocked = true }, of: id)
    }

    /// Lets others join again.
    ///
    /// Throws `refused` unless ``Options/mayLock`` lets this node.
    public func unlock() async throws(HuddleError) {
        try await node.set({ $0.isLocked = false }, of: id)
    }

    /// Takes a participant out, which may join again; `note` of at most 256 bytes tells it why.
    ///
    /// Throws `refused` unless ``Options/mayKick`` lets this node.
    public func kick(
        _ participant: ParticipantID,
        note: String = ""
    ) async throws(HuddleError) {
        try await node.remove(participant, from: id, isBan: false, note: note)
    }

    /// Takes a participant out and keeps its node from joining again, for the life of the session.
    ///
    /// Throws `refused` unless ``Options/mayKick`` lets this node.
    public func ban(
        _ participant: ParticipantID,
        note: String = ""
    ) async throws(HuddleError) {
        try await node.remove(participant, from: id, isBan: true, note: note)
    }

    /// What happens to this node's part in the session, from how it stands now to its end.
    ///
    /// Begins with `joined` if this node is a participant, and ends after `invalidated`, which comes at
    /// once if the session has ended. To join again is another participation with events of its own.
    public var events: MailboxSequence<SessionEvent> {
        get async { await node.sessionEvents(of: id) }
    }

    /// The identifier that this node's participant has or, before the join, will have; `nil` without a
    /// room.
    package var localParticipantID: ParticipantID? {
        get async { await node.localParticipantID(of: id) }
    }
}

extension Room {
    /// The sessions that run, oldest first, and those that begin from now on.
    ///
    /// Goes on after the node has left the room, and ends with the node. A reader more than 1,024 sessions
    /// behind loses the oldest.
    public func sessionUpdates() async -> MailboxSequence<SessionUpdate> {
        await node.sessionUpdates()
    }
}
