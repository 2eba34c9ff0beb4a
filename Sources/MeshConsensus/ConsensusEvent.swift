package import MeshWire

/// Names an operation of the caller until it is answered.
package struct Ticket: Hashable, Comparable, Sendable {
    /// Unique in one process.
    package var value: UInt64

    /// The ticket `value`.
    package init(value: UInt64) { self.value = value }

    /// Orders by issue.
    package static func < (left: Ticket, right: Ticket) -> Bool { left.value < right.value }
}

/// How fresh a read must be.
package enum ReadLevel: Sendable {
    /// Never older than the caller's last position.
    case local
    /// As if all writes of the branch stood in one line; costs a round with a commit quorum.
    case linearizable
}

/// What a process is in its room.
package enum Role: Hashable, Sendable {
    /// Learns the log; no quorum counts it.
    case joining
    /// Listed in the view it installed.
    case member
    /// Its own view was installed by a commit quorum.
    case leader
    /// Without a quorum, in a room that follows ``PartitionPolicy/majority(survivor:)``.
    case suspended
    /// Left, kicked or refused; terminal.
    case left
}

/// Why a process is no longer in the room.
package enum LeaveReason: UInt8, Hashable, Sendable {
    /// It asked to go.
    case requested = 0
    /// It was removed by the others.
    case kicked = 1
}

/// Why a join was refused for good.
package enum JoinRefusal: UInt8, Hashable, Sendable {
    /// The room has ``Limits/members`` members.
    case full = 1
    /// The tag belongs to a present or buried process: draw a new incarnation.
    case tagCollision = 2
    /// The identity is alive in another process.
    case duplicateIdentity = 3
    /// The process left or was kicked.
    case buried = 4
    /// The room follows another partition policy.
    case policyMismatch = 5
    /// What was offered belongs to another genesis.
    case otherRoom = 6
}

/// Why a command was not carried out.
package enum SubmitError: Error, Hashable, Sendable {
    /// This process is no member, or no longer one.
    case notJoined
    /// The command demands the primary component and this is another one, or the part that had ordered it
    /// lost a merge before the primary confirmed it.
    case notPrimary
    /// `have` members are heard here and `need` must be: the room follows the majority alone.
    case suspended(have: Int, need: Int)
    /// Too much is waiting: at most 256 commands a process.
    case busy
    /// The payload has more than ``Limits/commandBytes``.
    case tooLarge(limit: Int)
    /// `.durable` was asked for and nobody has a disk.
    case noStore
    /// The signature does not verify.
    case badSignature
    /// The room no longer knows whether it ran this command.
    case originExpired
    /// The sequence is not above the ones submitted before.
    case sequenceReused
}

/// How an operation ended well.
package struct Completion: Hashable, Sendable {
    /// Where the command stands in the history.
    package var position: Position
    /// What the state machine answered; empty with `.sequenced`.
    package var result: [UInt8]
    /// Whether the view was primary.
    package var isPrimary: Bool
}

/// A command of a branch that lost a merge.
package struct DiscardedEntry: Hashable, Sendable {
    /// Where it stood in the lost branch.
    package var position: Position
    /// The command.
    package var command: Command
    /// Whether it had been committed there, as far as this process knew.
    package var isCommitted: Bool
}

/// What the machine tells its engine.
package enum ConsensusEvent: Sendable {
    /// This process installed the view.
    case viewInstalled(View)
    /// The view was installed by its commit quorum, as far as this process knows; writes go on.
    case viewUsable(View)
    /// The leader of the installed view.
    case leaderChanged(ProcessID?)
    /// A command was applied; events come in log order.
    case applied(position: Position, command: Command, result: [UInt8])
    /// The state was replaced by a snapshot or an earlier checkpoint at this position.
    case stateReplaced(Position)
    /// A submitted command ended.
    case completed(Ticket, Result<Completion, SubmitError>)
    /// The state is fresh enough for the read; it was at this position when that became true.
    case readReady(Ticket, Position)
    /// The read cannot be answered now.
    case readRefused(Ticket, SubmitError)
    /// The role changed.
    case roleChanged(Role)
    /// The processes that were lost without leaving.
    case estranged([ProcessID])
    /// Nothing was heard from the member for 150 ms, or it is heard again.
    case linkShaky(ProcessID, isShaky: Bool)
    /// A branch was taken in; what it had done is applied, or listed as a conflict in the state.
    case merged(MergeReport)
    /// What this process gave up when its branch lost a merge; never silent.
    case branchDiscarded([DiscardedEntry])
    /// The leader showed two histories: both its heads, or one and my own log. It is followed no more.
    case evidence(against: ProcessID, SignedHead, SignedHead?)
    /// The machine wants a connection with this process.
    case contactWanted(ProcessID)
    /// The process is out of the room for good.
    case left(LeaveReason)
    /// The join was refused for good.
    case refused(JoinRefusal)
}

/// A message to send.
package struct OutgoingMessage: Sendable {
    /// The receiver.
    package var to: ProcessID
    /// The message, header included.
    package var bytes: [UInt8]
    /// Whether it exceeds a datagram and goes over the reliable lane, channel 0.
    package var isLarge: Bool
}

/// What a poll fills.
package struct ConsensusOutput: Sendable {
    /// Messages in the order they were made.
    package var messages: [OutgoingMessage] = []
    /// Events in order.
    package var events: [ConsensusEvent] = []

    /// Nothing.
    package init() {}
}
