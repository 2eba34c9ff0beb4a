import MeshSession

/// Why a participation in a session is over (`40-groupactivities.md` §7).
public enum GroupSessionError: Error, Hashable, Sendable {
    /// This node left the session.
    case left
    /// Somebody ended the session for all; `nil` if who is not known or was no participant.
    case ended(by: Participant?)
    /// Another session, with an activity of this identifier, took its place.
    case replaced(by: String)
    /// The initiator is gone and the session's life was bound to it.
    case initiatorLeft
    /// The last participant is gone.
    case everyoneLeft
    /// Nobody joined the session in time.
    case expired
    /// Another node uses this node's identity.
    case duplicateIdentity
    /// This version is too old for what the room does.
    case upgradeNeeded
    /// Somebody removed this node's participant, with a word about why if there was one.
    case removed(by: Participant?, note: String?)
    /// Too much waited for this node's participant.
    case fellBehind
    /// This node is in the room no more.
    case roomLeft
    /// The room is closed.
    case roomClosed
    /// This node was out of the room's reach for longer than the grace.
    case reconnectTimedOut(after: Duration)
    /// The session did not take this node in.
    case joinRefused(JoinRefusal)
    /// Something that should not be; the text says what.
    case internalFault(String)
}

/// Why a session does not take a node in.
public enum JoinRefusal: Hashable, Sendable {
    /// It has all the participants it can have.
    case full(limit: Int)
    /// It takes nobody any more.
    case locked
    /// It takes this node no more.
    case banned
    /// There is no such session, or not any more.
    case unknownSession
    /// It needs a later version than this one.
    case tooOld(needs: Int)
}

extension GroupSessionError: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .left: "this node left the session"
        case .ended(let who?): "\(who) ended the session"
        case .ended(nil): "the session was ended"
        case .replaced(let identifier): "'\(identifier)' took the session's place"
        case .initiatorLeft: "whoever started the session left, and it ended with that"
        case .everyoneLeft: "the last participant left"
        case .expired: "nobody joined the session in time"
        case .duplicateIdentity: "another node uses this node's identity: give it a key of its own"
        case .upgradeNeeded: "this version is too old for the room: bring it up to date"
        case .removed(let who, let note):
            "\(who?.description ?? "somebody") removed this node from the session"
                + (note.map { ": \($0)" } ?? "")
        case .fellBehind: "this node read too slowly: join again"
        case .roomLeft: "this node left the room"
        case .roomClosed: "the room is closed"
        case .reconnectTimedOut(let grace):
            "this node was out of reach for longer than \(grace): join again"
        case .joinRefused(let refusal): refusal.description
        case .internalFault(let text): text
        }
    }
}

extension JoinRefusal: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .full(let limit): "the session is full: it takes \(limit) participants"
        case .locked: "the session is locked: ask a participant to open it"
        case .banned: "the session takes this node no more"
        case .unknownSession: "there is no such session any more"
        case .tooOld(let needs): "the session needs version \(needs) or later"
        }
    }
}

extension GroupSessionError {
    /// What a failed join makes of a participation.
    package init(joinFailure error: HuddleError) {
        switch error.refusal {
        case .full(.participants, let limit)?: self = .joinRefused(.full(limit: limit))
        case .locked?: self = .joinRefused(.locked)
        case .banned?: self = .joinRefused(.banned)
        case .noSuchSession?: self = .joinRefused(.unknownSession)
        case .upgradeNeeded?: self = .upgradeNeeded
        case .notMember?: self = .roomLeft
        default:
            switch error.kind {
            case .noRoom, .stopped: self = .roomLeft
            case .noSession: self = .joinRefused(.unknownSession)
            default: self = .internalFault(error.description)
            }
        }
    }
}
