package import MeshConsensus
package import MeshCrypto
package import MeshSession
package import MeshTransport
package import MeshWire

/// A number the caller gives a command, so that it knows the answer again.
package typealias RequestID = UInt64

/// What the application asks of an engine.
package enum Command: Sendable {
    /// Make a room with this node as its first member. Answered by `joined` or `joinFailed`.
    ///
    /// The room follows `policy` for ever.
    case createRoom(RequestID, name: String, policy: PartitionPolicy = .available)
    /// Go back to a room this node was a member of. Answered by `joined` or `joinFailed`.
    ///
    /// Members that are near are found and joined; with none in reach the node starts alone, and the
    /// rooms of all who did meet as one when they find each other. In a room that follows the
    /// majority it takes no writes until enough of the others are in reach, or ``adoptPrimary``.
    case resumeRoom(RequestID, RoomRecord)
    /// Open an invitation for one guest. Answered by `inviteOpened` or `inviteRefused`.
    case openInvite(RequestID)
    /// Close every open invitation; they are answered no more.
    case closeInvites
    /// Become a member of somebody's room. Answered by `joined` or `joinFailed`.
    case join(RequestID, JoinTarget)
    /// Leave the room gracefully: hand over, say so, forget the keys. Answered by `left`.
    case leaveRoom(RequestID)
    /// A person says that the component in reach is the room's primary one from now on.
    case adoptPrimary
    /// Change the room's replicated state. Answered by `completed`.
    case submit(RequestID, RoomCommand, session: SessionID, level: WriteLevel)
    /// Show this to the others, in this room and those to come. Answered by `completed`.
    ///
    /// The engine signs it, and adds the person that it was told at its start.
    case setProfile(RequestID, MemberProfile)
    /// Wait until the local state is as fresh as `level` says. Answered by `readReady`.
    case read(RequestID, ReadLevel)
    /// Send a message on a session's lane. Answered by `accepted` and, once all is known,
    /// `sendOutcome`.
    case send(RequestID, OutboundMessage)
    /// Give up an unfinished send. Its `sendOutcome` says what had arrived by then.
    case cancelSend(RequestID)
    /// Stop or go on giving room to the senders of a session's reliable channel: its reader is full.
    ///
    /// What has been sent within their windows still arrives; then the senders wait.
    case pauseReading(SessionID, channel: String, isPaused: Bool)
    /// Send a message about contents to a member's node, behind all other traffic of the pair.
    ///
    /// One that `isPart` of a content is answered by `contentTaken` once the pair has it. Dropped if
    /// there is no pair, or that ceases to be.
    case sendContent(NodeID, [UInt8], isPart: Bool)
    /// An interface came, went or changed its address, or the machine woke up.
    case networkChanged
}

/// Where somebody who invites can be found.
package enum JoinTarget: Sendable {
    /// A short code, spoken; `near` is an address to try besides what discovery finds.
    case code(InviteCode, near: SocketAddress?)
    /// A link with a secret of 256 bits and address hints.
    case link(InviteLink)
}

/// What a node keeps of a room so that it can come back: secret, so only ever stored 0600.
package struct RoomRecord: Sendable {
    /// The room's keys.
    package var secret: RoomSecret
    /// The name people gave the room.
    package var name: String
    /// Where members were last seen, at most 64.
    package var addresses: [SocketAddress]
    /// The rule that the room follows; `nil` until the room has told.
    package var policy: PartitionPolicy?

    package init(
        secret: RoomSecret,
        name: String,
        addresses: [SocketAddress],
        policy: PartitionPolicy? = nil
    ) {
        self.policy = policy
        self.secret = secret
        self.name = name
        self.addresses = addresses
    }
}

/// Who should get a message.
package enum Recipients: Hashable, Sendable {
    /// Everybody joined in the session but the sender.
    case all
    /// These participants; the sender among them is left out.
    case only([ParticipantID])
}

/// A message on its way out of a session.
package struct OutboundMessage: Sendable {
    package var session: SessionID
    /// The application's channel; order holds inside one channel and priority.
    package var channel: String
    package var payload: [UInt8]
    /// What follows it, each a message of its own that is alike in all else; the request is answered once for all.
    package var others: [[UInt8]] = []
    package var recipients: Recipients = .all
    package var lane: Lane = .reliable
    /// Whether the message waits for its predecessors of the channel at the receiver.
    package var ordered = true
    /// How long the message is worth sending; `nil` for as long as the receiver stays.
    package var expires: Duration?
    package var priority: Priority = .normal
    /// Fast lane: the stream inside the channel of which only the newest counts; 0 for none.
    package var key: UInt64 = 0
    /// Fast lane: the final value also arrives reliably.
    package var latest = false
    /// Reliable lane: somebody waits for the delivery.
    package var acknowledgeAtOnce = false
    /// What the message marks, if it is not the application's.
    package var mark: StateMark?
    /// The number by which the sender wants a receipt once the program there has read it.
    package var receipt: UInt64?

    package init(session: SessionID, channel: String, payload: [UInt8]) {
        self.session = session
        self.channel = channel
        self.payload = payload
    }
}

/// The rank of a reliable message among others of the same link (`20-transport.md` §4.1).
package enum Priority: Hashable, Sendable, CaseIterable {
    /// Before the others.
    case high
    /// As most messages.
    case normal
    /// After the others.
    case low
}
