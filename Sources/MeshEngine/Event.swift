package import MeshConsensus
package import MeshSession
package import MeshTransport
package import MeshWire

/// What an engine tells the application.
package enum Event: Sendable {
    /// The node's relation to its room changed.
    case roomPhase(RoomPhase)
    /// What to store to come back later; secret.
    case roomRecord(RoomRecord)
    /// A view was installed, became usable, or its leader changed.
    case view(ViewSummary)
    /// The room's replicated state changed.
    case room(RoomEvent)

    /// An invitation is open.
    case inviteOpened(RequestID, OpenInvite)
    /// No invitation was opened.
    case inviteRefused(RequestID, InviteError)
    /// A guest came in with an invitation, which is closed by that.
    case inviteUsed(by: NodeID, slot: UInt8)
    /// An invitation was closed by wrong guesses or by time.
    case inviteBurned(slot: UInt8, BurnReason)

    /// The room is joined and usable.
    case joined(RequestID)
    /// The room was not joined.
    case joinFailed(RequestID, AdmissionFailure)
    /// The room was left and its keys are forgotten.
    case left(RequestID)

    /// A command took effect, or why not.
    case completed(RequestID, Result<Committed, SubmitFailure>)
    /// The local state is fresh enough to be read, or why not.
    case readReady(RequestID, Result<Position, SubmitFailure>)

    /// A message stands in the window of every addressed connection whose node answers.
    case accepted(RequestID)
    /// A message has arrived at every addressed node that answers; `sendOutcome` waits for the others.
    case settledInPart(RequestID)
    /// All that will be known about a message is known.
    case sendOutcome(RequestID, SendReport)
    /// A message for a session of this node.
    case message(InboundMessage)

    /// A message about contents of a node.
    case content(NodeID, [UInt8])
    /// A pair has taken this many more parts of contents that it was to send.
    case contentTaken(NodeID, Int)

    /// A pair with a node changed.
    case peer(NodeID, PeerChange)
    /// This component lost a merge: these committed writes are not in the room's state any more.
    case branchDiscarded([DiscardedWrite])
    /// As leader the node signed two different histories; it is followed no more.
    case evidence(against: NodeID)
    /// Two branches of the room met and are one again; what could not be joined is in
    /// ``RoomState/conflicts``.
    case merged(MergeReport)
}

/// A node's relation to its room.
package enum RoomPhase: Hashable, Sendable {
    /// In no room.
    case none
    /// Looking for members, or catching up.
    case connecting
    /// A member with a usable view.
    case joined
    /// Not a member any more.
    case left(RoomExit)
}

/// Why a node is in its room no more.
package enum RoomExit: Hashable, Sendable {
    /// It left.
    case leaving
    /// The room removed it.
    case removed
    /// The room has no place for it.
    case full
    /// Another node uses the same identity.
    case duplicateIdentity
}

/// A view in the words a person needs.
package struct ViewSummary: Hashable, Sendable {
    package var epoch: Epoch
    /// The members, in rank order.
    package var members: [ProcessID]
    package var leader: ProcessID?
    /// Whether this component is the room's primary one.
    package var isPrimary: Bool
    /// Whether the view takes writes.
    package var isUsable: Bool
    /// Why it takes none, in a room that follows the majority.
    package var suspension: Suspension?

    /// Too few members are in reach.
    package struct Suspension: Hashable, Sendable {
        /// The members heard here.
        package var have: Int
        /// The members that must be.
        package var need: Int
    }
}

/// A command that is in the log.
package struct Committed: Sendable {
    package var position: Position
    package var result: CommandResult
}

/// Why a submitted command or a read has no result.
package enum SubmitFailure: Error, Hashable, Sendable {
    /// The node is in no room, or not yet a member.
    case notJoined
    /// The consensus refused it.
    case refused(SubmitError)
}

/// What became of a reliable message, for each addressed participant.
package struct SendReport: Hashable, Sendable {
    package var delivered: [ParticipantID]
    /// Those that did not get it and why, in the order they were addressed.
    package var failures: [Failure]
    /// Why nothing was sent at all, if so.
    package var refusal: SendFailure?

    package struct Failure: Hashable, Sendable {
        package var participant: ParticipantID
        package var reason: SendFailure
    }
}

/// Why one participant did not get a message.
package enum SendFailure: Hashable, Sendable {
    /// It is not joined in the session.
    case notActive
    /// It left before the message was acknowledged.
    case left
    /// Its node was out of reach for longer than the grace.
    case peerLost
    /// The message's time ran out.
    case expired
    /// The sender gave it up.
    case cancelled
    /// The message is larger than its lane takes; nothing was sent.
    case tooLarge(size: Int, limit: Int)
    /// Too much is queued for it already; nothing was sent.
    case backlogFull
    /// The pair with its node has all the channels it can have; nothing was sent.
    case tooManyChannels(limit: Int)
}

/// A message that came on a session's lane.
package struct InboundMessage: Sendable {
    package var session: SessionID
    package var from: ParticipantID
    package var channel: String
    package var lane: Lane
    /// The stream inside a fast channel; 0 for none.
    package var key: UInt64
    package var payload: [UInt8]
    /// The sender's number of the channel and priority, which keep their order.
    package var stream: ChannelNumber
    /// What the message marks, if it is not the application's.
    package var mark: StateMark?
    /// The number by which its sender wants a receipt once the program here has read it.
    package var receipt: UInt64?

    package init(
        session: SessionID,
        from: ParticipantID,
        channel: String,
        lane: Lane,
        key: UInt64,
        payload: [UInt8],
        stream: ChannelNumber,
        mark: StateMark?,
        receipt: UInt64? = nil
    ) {
        self.session = session
        self.from = from
        self.channel = channel
        self.lane = lane
        self.key = key
        self.payload = payload
        self.stream = stream
        self.mark = mark
        self.receipt = receipt
    }
}

/// What changed about the pair with a node.
package enum PeerChange: Hashable, Sendable {
    case connected(SocketAddress)
    /// Nothing was heard for a second.
    case quiet
    /// Something was heard again.
    case heard
    case disconnected
}

/// Why somebody could not become a member; the cases of `10-security.md` §7.
package enum AdmissionFailure: Error, Hashable, Sendable {
    /// No invitation of that slot was seen, or nobody answered in time.
    case notFound
    /// The code or link was not confirmed: wrong, used or expired.
    case unconfirmed
    /// The other side speaks another version.
    case incompatible(theirs: UInt8)
    /// The room has its 64 members.
    case roomFull
    /// The address did not answer.
    case unreachable(SocketAddress)
    /// Another join is under way, or the node is in a room already.
    case busy
    /// The invitation was this node's own.
    case ownInvite
    /// Admitted, but the room did not take this node in time.
    case notAdmitted
}

/// An acknowledged write that a lost merge took out of the state.
package struct DiscardedWrite: Hashable, Sendable {
    package var position: Position
    package var origin: NodeID
    package var session: SessionID
    package var command: RoomCommand?
}
