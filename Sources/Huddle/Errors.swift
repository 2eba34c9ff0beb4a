package import MeshSession
public import MeshWire

/// What went wrong that no narrower error covers; `description` says what to do about it.
///
/// A struct with a kind, so that a kind can be added without breaking a `switch`.
public struct HuddleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened.
    public struct Kind: Hashable, Sendable {
        /// A stable word for programs.
        public let code: String

        /// The node is a member of no room.
        public static let noRoom = Kind(code: "noRoom")
        /// The node is in a room already, and it can be in one at a time.
        public static let alreadyInRoom = Kind(code: "alreadyInRoom")
        /// The node was stopped.
        public static let stopped = Kind(code: "stopped")
        /// There is no such session.
        public static let noSession = Kind(code: "noSession")
        /// This node is no participant of the session.
        public static let notJoined = Kind(code: "notJoined")
        /// The room's rules say no: locked, full, banned, not the lead.
        public static let refused = Kind(code: "refused")
        /// There is no such conflict, or it was acknowledged before.
        public static let noConflict = Kind(code: "noConflict")
        /// Something is larger than its limit.
        public static let tooLarge = Kind(code: "tooLarge")
        /// This was asked more often than the room takes it of a node.
        public static let tooFast = Kind(code: "tooFast")
        /// No leader could be reached in time; the write may still happen.
        public static let timedOut = Kind(code: "timedOut")
        /// This side of a split takes no writes now.
        public static let suspended = Kind(code: "suspended")
        /// Only the room's primary side may do this, and this is another side of a split.
        public static let notPrimary = Kind(code: "notPrimary")
        /// The wait was cancelled; what was asked for may still happen.
        public static let cancelled = Kind(code: "cancelled")
        /// Four invitations are open already.
        public static let tooManyInvites = Kind(code: "tooManyInvites")
        /// Another process uses the UDP port.
        public static let portInUse = Kind(code: "portInUse")
        /// Another process runs a node with this identity.
        public static let identityInUse = Kind(code: "identityInUse")
        /// The key file cannot be used.
        public static let keyFile = Kind(code: "keyFile")
        /// A stored room cannot be read.
        public static let roomFile = Kind(code: "roomFile")
        /// The system refused a call.
        public static let system = Kind(code: "system")
    }

    /// What happened.
    public var kind: Kind
    /// One sentence that a user can act on, with no stop.
    public var description: String
    /// What to try next.
    public var hint: String?
    /// What the room's state said, if it was that.
    package var refusal: CommandRefusal?

    /// The error `kind`, in words.
    public init(_ kind: Kind, _ description: String, hint: String? = nil) {
        self.kind = kind
        self.description = description
        self.hint = hint
    }
}

/// Why somebody could not enter a room (`10-security.md` §7).
public enum JoinError: Error, Hashable, Sendable {
    /// The code or link has a typing error: nothing was sent and no guess was spent.
    case mistyped
    /// Nobody near invites with that slot, or nobody answered.
    case notFound
    /// Somebody answered and did not confirm: the code is wrong, used or expired.
    case unconfirmed
    /// The other side speaks another version.
    case incompatible(theirs: Int)
    /// The room has all the members it can have.
    case roomFull
    /// The address did not answer.
    case unreachable(address: SocketAddress)
    /// A name that is known belongs to another key now.
    case identityChanged(name: String)
    /// The room removed this node and does not take it back.
    case evicted
    /// Admitted, but the room's members did not take the node in time.
    case notAdmitted
    /// The invitation is this node's own.
    case ownInvite
    /// The node is in a room already, or another attempt runs.
    case busy
    /// The wait was cancelled or the node stopped.
    case cancelled
}

extension JoinError: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .mistyped:
            "that code or link has a typing error; nothing was sent, so it still works"
        case .notFound: "nobody near invites with that code"
        case .unconfirmed: "the code was not accepted: it is wrong, already used, or expired"
        case .incompatible(let theirs):
            "the other side speaks version \(theirs) of the protocol, this one speaks version 1"
        case .roomFull: "the room is full: it has its \(Limits.members) members"
        case .unreachable(let address): "nobody answers at \(address)"
        case .identityChanged(let name): "'\(name)' has another key than before"
        case .evicted: "the room removed this machine"
        case .notAdmitted: "the invitation was good, but the room's members did not answer in time"
        case .ownInvite: "this is this node's own invitation; give it to somebody else"
        case .busy: "the node is in a room already, or another attempt to join runs"
        case .cancelled: "the attempt was stopped"
        }
    }

    /// What to try next.
    public var hint: String? {
        switch self {
        case .mistyped: "look at it again: the last symbol checks the others"
        case .notFound:
            "is the inviting node up and its invitation open (10 min)? where multicast does not "
                + "reach, add --at ADDRESS"
        case .unconfirmed: "ask for a new one: 'huddle invite'"
        case .incompatible: "bring both machines to the same version"
        case .roomFull: "somebody must 'huddle leave' first"
        case .unreachable: "check address and port ('huddle status' there shows it) and firewalls"
        case .identityChanged: "compare fingerprints in person: 'huddle keys verify FINGERPRINT'"
        case .evicted: "ask a member"
        case .notAdmitted: "try again"
        case .ownInvite: nil
        case .busy: "'huddle status' shows the room; 'huddle leave' leaves it"
        case .cancelled: nil
        }
    }

    /// A stable word for programs.
    public var code: String {
        switch self {
        case .mistyped: "mistyped"
        case .notFound: "notFound"
        case .unconfirmed: "unconfirmed"
        case .incompatible: "incompatible"
        case .roomFull: "roomFull"
        case .unreachable: "unreachable"
        case .identityChanged: "identityChanged"
        case .evicted: "evicted"
        case .notAdmitted: "notAdmitted"
        case .ownInvite: "ownInvite"
        case .busy: "busy"
        case .cancelled: "cancelled"
        }
    }

    /// The exit code of `huddle join` (`10-security.md` §7).
    package var exitCode: Int32 {
        switch self {
        case .mistyped: 2
        case .notFound, .unreachable, .notAdmitted: 4
        default: 1
        }
    }
}

/// Why a message did not get to everybody (`40-groupactivities.md` §7).
public enum MessengerError: Error, Hashable, Sendable {
    /// The message is larger than its lane takes; nothing was sent.
    case tooLarge(size: Int, limit: Int)
    /// The message could not be encoded: what is wrong, and where in it; nothing was sent.
    case encoding(String, path: String)
    /// The channel's name is too long or empty.
    case badChannel(limit: Int)
    /// This participant shows so many values already; one of their names can be used again.
    case tooManyValues(limit: Int)
    /// This node is no participant of the session any more.
    case sessionInvalidated
    /// These participants did not get it; the others did.
    case notDelivered([ParticipantID: DeliveryFailure])
    /// The time ran out before these participants had it.
    case deadlineExceeded(undelivered: Set<ParticipantID>)
    /// The wait was cancelled before the message was accepted; it was not sent.
    case cancelled
}

extension MessengerError: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .tooLarge(let size, let limit):
            "the message has \(size) bytes, the limit is \(limit)"
        case .encoding(let what, let path): "the message cannot be encoded at '\(path)': \(what)"
        case .badChannel(let limit):
            "the name is empty or has more than \(limit) bytes of UTF-8"
        case .tooManyValues(let limit):
            "this participant shows \(limit) values already, the limit; use one of their names again"
        case .sessionInvalidated: "this node is no participant of the session"
        case .notDelivered(let failures):
            "not delivered to \(failures.count) participant(s): "
                + failures.sorted { $0.key < $1.key }
                .map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
        case .deadlineExceeded(let undelivered):
            "the time ran out before \(undelivered.count) participant(s) had the message"
        case .cancelled: "the send was cancelled"
        }
    }
}

/// Why one participant did not get a message.
public enum DeliveryFailure: Hashable, Sendable {
    /// It is not joined in the session.
    case notActive
    /// It left before the message was acknowledged.
    case left
    /// Its node was out of reach for longer than the grace.
    case unreachable
    /// Too much was queued for it already.
    case fellBehind
    /// Its node and this one have `limit` channels open already, the most a pair can have.
    ///
    /// Each channel name of a session counts once a lane, until the session ends: use fewer names and
    /// tell kinds of messages apart by their bytes, or end sessions that are not needed any more.
    case tooManyChannels(limit: Int)
    /// The message's time ran out.
    case expired
    /// It arrived, and the program's readers let go of it unread.
    case unread
}

extension DeliveryFailure: CustomStringConvertible {
    /// A few words that a user can act on.
    public var description: String {
        switch self {
        case .notActive: "it is not in the session"
        case .left: "it left"
        case .unreachable: "it was out of reach for too long"
        case .fellBehind: "too much waits for it already: send slower, or read faster there"
        case .tooManyChannels(let limit):
            "the two nodes have \(limit) channels open, the most they can: use fewer channel names, "
                + "or end sessions"
        case .expired: "its time ran out"
        case .unread: "its program let go of the message unread"
        }
    }
}

/// Why a value was not written.
public enum ValueError: Error, Hashable, Sendable {
    /// The value is not as expected; `current` is its revision, or `nil` if there is none.
    case conflict(current: Revision?)
    /// Key or value is longer than its limit in bytes.
    case tooLarge(limit: Int)
    /// The session holds as many keys or bytes as it can.
    case full(limit: Int)
    /// The key holds a value of another kind.
    case wrongKind
    /// Anything that is not about values.
    case failed(HuddleError)
}

extension ValueError: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .conflict(let current?):
            "the value is not the expected one; its revision is \(current)"
        case .conflict(nil): "there is no such value"
        case .tooLarge(let limit): "too long: the limit is \(limit) bytes"
        case .full(let limit): "the session's values are full: the limit is \(limit)"
        case .wrongKind: "the key holds a value of another kind"
        case .failed(let error): error.description
        }
    }
}
