import MeshEngine
import MeshSession
public import MeshWire

/// The nodes that share a room secret, with one replicated state.
///
/// A handle: cheap, sendable, and still safe to use when the node has left the room.
public struct Room: Sendable {
    /// The node that is a member.
    public let node: Node
    /// The name people gave the room; empty if this node has not learned it yet.
    public let name: String

    /// The members, those that are away too, sorted by name.
    public var members: [Member] {
        get async { await node.members }
    }

    /// The installed view: its epoch, leader, and whether it takes writes.
    public var view: RoomView? {
        get async { await node.roomView }
    }

    /// The sessions, oldest first.
    public var sessions: [Session] {
        get async { await node.sessions }
    }

    /// What a merge after a split could not join and nobody has acknowledged, from this node's own
    /// state: by session, subject and key.
    public var conflicts: [Conflict] {
        get async { await node.conflicts }
    }

    /// Conflicts that found no place in ``conflicts``, which holds 1,024 of them and 1 MiB; counted
    /// since the room's beginning.
    public var unlistedConflicts: Int {
        get async { await node.unlistedConflicts }
    }

    /// Settles a conflict for the whole room: it was seen and needs no memory any more.
    ///
    /// The value stays as it is; write it before if it is to be another. The conflict about the same
    /// thing is meant as it stands when the room hears of this, even if one more side was lost since.
    ///
    /// - Throws: ``HuddleError`` of kind ``HuddleError/Kind/noConflict`` if there is none about this or
    ///   somebody settled it before; of another kind if the room did not answer.
    public func acknowledge(_ conflict: Conflict) async throws(HuddleError) {
        try await node.acknowledge(conflict.session, conflict.subject, conflict.key)
    }

    /// What happens in the room from now on.
    ///
    /// A reader more than 1,024 updates behind loses the oldest.
    public func updates() async -> MailboxSequence<RoomUpdate> {
        await node.updates()
    }

    /// Opens an invitation for one guest.
    ///
    /// Throws `tooManyInvites` above four. It ends when used, after ten minutes, or after five wrong
    /// guesses.
    public func invite() async throws(HuddleError) -> Invite {
        try await node.invite()
    }

    /// Closes every open invitation.
    public func closeInvites() async {
        await node.closeInvites()
    }

    /// Starts a session and joins it.
    ///
    /// - Parameters:
    ///   - activity: Names the kind of activity, 1 to 255 bytes.
    ///   - payload: The application's description of it, at most 64 KiB.
    ///   - capacity: The most participants, 1 to 64.
    ///   - canSwitchLead: Whether any participant may take the lead.
    /// - Returns: The session, joined.
    /// - Throws: ``HuddleError`` if the room refuses it or is not there.
    public func start(
        _ activity: String,
        payload: [UInt8] = [],
        capacity: Int = 33,
        canSwitchLead: Bool = false
    ) async throws(HuddleError) -> Session {
        var blueprint = SessionBlueprint(activity: Activity(identifier: activity, payload: payload))
        blueprint.options.capacity = UInt8(clamping: capacity)
        blueprint.leadMode = canSwitchLead ? .switchable : .fixed
        let id = await node.newSessionID()
        return try await node.startSession(id, blueprint)
    }

    /// The session of this name that a room has once: joined here, and started if it is not there.
    ///
    /// Its identifier is made of its name, so two nodes that start it at once start the same one.
    /// `name` has 1 to 15 bytes.
    public func standingSession(_ name: String) async throws(HuddleError) -> Session {
        try await node.standingSession(name)
    }

    /// The standing session every member's node is in from the start; for what belongs to the room itself.
    public var shared: Session {
        Session(id: SessionID(standing: Node.sharedSessionName), node: node)
    }

    /// The rule that the room follows when its members lose sight of each other.
    public var policy: PartitionPolicy {
        get async { await node.partitionPolicy }
    }

    /// Makes the members in reach the room, by a person's word, where those with the weight are gone.
    ///
    /// For a side of a split that is not primary, or that is suspended. Should the others come back after
    /// all, both sides are merged, theirs wins, and what cannot be joined is in ``conflicts``. Answers at
    /// once; the view that follows is told as ``RoomUpdate/view(_:)``. No effect in a primary view.
    public func adoptPrimary() async throws(HuddleError) {
        try await node.adoptPrimary()
    }

    /// Leaves the room for good: its keys are forgotten and its file is removed.
    public func leave() async throws(HuddleError) {
        try await node.leaveRoom()
    }
}

/// The view a node is in: one membership with one leader.
public struct RoomView: Hashable, Sendable {
    /// The view's name; it grows with every change of membership or leader.
    public let epoch: Epoch
    /// The nodes, in the order in which they would lead.
    public let members: [NodeID]
    /// The leader, unless it is being replaced.
    public let leader: NodeID?
    /// Whether this side of a split is the room's primary one.
    public let isPrimary: Bool
    /// Whether it takes writes now.
    public let isUsable: Bool
    /// Why it takes no writes, in a room that follows ``PartitionPolicy/majority``; `nil` if it does.
    public let suspension: Suspension?

    /// Too few of the members are in reach.
    public struct Suspension: Hashable, Sendable {
        /// The members heard here, this node included.
        public let have: Int
        /// The members that it takes.
        public let need: Int
    }
}

/// What happens in a room.
public enum RoomUpdate: Hashable, Sendable {
    /// A view was installed, became usable, or its leader changed.
    case view(RoomView)
    /// Somebody came into the room.
    case memberJoined(NodeID)
    /// Somebody is out of the view and may come back.
    case memberAway(NodeID)
    /// Somebody that was away is in the view again.
    case memberReturned(NodeID)
    /// Somebody left the room.
    case memberLeft(NodeID)
    /// Somebody shows this name now.
    case nameChanged(NodeID, String)
    /// A session began.
    case sessionStarted(SessionID)
    /// A session ended for all.
    case sessionEnded(SessionID)
    /// A guest came in with the invitation of this slot.
    case inviteUsed(slot: Int, by: NodeID)
    /// An invitation was closed without a guest.
    case inviteBurned(slot: Int, reason: String)
    /// A split healed: the room took in what the other side did, told here in figures.
    case merged(MergeSummary)
    /// Two sides had changed the same and it could not be joined; also told when a node that was away
    /// catches up.
    case conflictFound(Conflict)
    /// Somebody acknowledged the conflict about this.
    case conflictSettled(SessionID, Conflict.Subject, key: String)
    /// After a split healed, this side's acknowledged writes are not in the room's state any more, and
    /// no merge covers them.
    case writesDiscarded(count: Int)
    /// As leader this node signed two different histories; its lead is over, and this node follows it
    /// no more.
    case equivocated(NodeID)
    /// This node is in the room no more.
    case left
}
