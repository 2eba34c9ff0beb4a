public import FoundationEssentials
public import MeshWire

/// One node's membership in one session, new at each join.
///
/// Equal, hashed and ordered by ``participantID`` (`40-groupactivities.md` §4.1).
public struct Participant: Identifiable, Sendable {
    /// The same on every node.
    public var id: UUID { participantID.uuid }
    /// The identifier as messages and errors name it.
    public let participantID: ParticipantID
    /// The node behind it.
    public let node: NodeID
    /// What the node shows of itself, as its key has signed it.
    ///
    /// As it stood when the value was made; a change comes as ``ParticipantChange/profile(_:)``.
    public let profile: Profile
    /// The key of the person behind the node, if it shows and proves one; the same in every session.
    public let person: PersonKey?
    /// The name that the node shows; empty if it shows none.
    public var name: String { profile.name }
    /// The ordinal of its join in the session, from 1.
    public let number: Int
    /// Whether its node is in the view; if not, it is away and has the grace to come back.
    public let isPresent: Bool
    /// Whether it is on this machine or reached through a network that this machine is part of.
    ///
    /// As it stood when the value was made; always `true` of oneself.
    public let isNearbyWithLocalParticipant: Bool

    package init(
        participantID: ParticipantID,
        node: NodeID,
        profile: Profile,
        person: PersonKey?,
        number: Int,
        isPresent: Bool,
        isNearbyWithLocalParticipant: Bool
    ) {
        self.participantID = participantID
        self.node = node
        self.profile = profile
        self.person = person
        self.number = number
        self.isPresent = isPresent
        self.isNearbyWithLocalParticipant = isNearbyWithLocalParticipant
    }
}

extension Participant: Hashable, Comparable {
    /// Whether both are the same membership.
    public static func == (left: Participant, right: Participant) -> Bool {
        left.participantID == right.participantID
    }

    /// Orders by identifier.
    public static func < (left: Participant, right: Participant) -> Bool {
        left.participantID < right.participantID
    }

    /// Feeds the identifier to `hasher`.
    public func hash(into hasher: inout Hasher) { hasher.combine(participantID) }
}

extension Participant: CustomStringConvertible {
    /// The name if there is one, else the first 8 hex digits of the identifier.
    public var description: String {
        guard name.isEmpty else { return name }
        return participantID.bytes.prefix(4).map { byte in
            String(UInt16(byte) | 0x100, radix: 16).dropFirst()
        }.joined()
    }
}

/// A change of a session's participants, in the order of the room's log.
public enum ParticipantChange: Hashable, Sendable {
    /// Somebody joined.
    case joined(Participant)
    /// Somebody's node is out of the view and has the grace to come back.
    case away(Participant)
    /// Somebody that was away is back, with its old identifier.
    case returned(Participant)
    /// Somebody is gone.
    case left(Participant)
    /// Somebody shows something else of itself.
    case profile(Participant)
    /// The lead went to this participant, or to nobody.
    case lead(Participant?)
}

/// A member of the room: a node and what it shows.
public struct Member: Hashable, Sendable {
    /// The node's key.
    public let node: NodeID
    /// The name it shows; empty if it shows none.
    public let name: String
    /// Whether it is in the view.
    public let isPresent: Bool
    /// Whether it leads the view.
    public let isLeader: Bool
    /// Whether it is this node.
    public let isLocal: Bool
}
