import MeshCrypto
import MeshTransport
import MeshWire

/// The node's relation to its room; transitions are in `Engine+Room.swift`.
enum Membership: Sendable {
    /// In no room.
    case none
    /// Looking for somebody who invites.
    case searching(JoinAttempt)
    /// Admitted by an invitation or by founding the room; not yet in a usable view.
    case entering(RequestID, RoomRecord, deadline: Instant)
    /// Back after a restart; goes on alone at `until` unless members are found.
    case resuming(RequestID, RoomRecord, until: Instant)
    /// In a view.
    case member(RoomRecord)
    /// Waits for the others to know that it leaves.
    case leaving(RequestID, RoomRecord)

    /// The room's keys and name, where there are any.
    var record: RoomRecord? {
        switch self {
        case .none, .searching: nil
        case .entering(_, let record, _), .resuming(_, let record, _), .member(let record),
            .leaving(_, let record):
            record
        }
    }

    /// When something must be given up or begun.
    var deadline: Instant? {
        switch self {
        case .searching(let attempt): attempt.deadline
        case .entering(_, _, let deadline): deadline
        case .resuming(_, _, let until): until
        case .none, .member, .leaving: nil
        }
    }
}

/// One attempt to come into somebody's room.
struct JoinAttempt: Sendable {
    var request: RequestID
    var target: JoinTarget
    /// When the attempt is given up.
    var deadline: Instant
    /// The dials under way.
    var dials: [DialID] = []
    /// The invites and addresses that were tried.
    var triedInvites: [InviteID] = []
    var triedAddresses: [SocketAddress] = []
    /// What the last failed dial says about the attempt.
    var failure: AdmissionFailure = .notFound

    /// Invites tried for one code (`10-security.md` §7).
    static let codeTries = 3
    /// Beacons that offer a link tried for one link.
    static let linkTries = 8
    /// How long after a wrong guess another invite of the same slot may still be met.
    static let patience: Duration = .milliseconds(1500)
}
