package import MeshCrypto
package import MeshWire

/// The name of one dial, never used twice.
package struct DialID: Hashable, Comparable, Sendable {
    package let number: UInt64

    package static func < (left: DialID, right: DialID) -> Bool { left.number < right.number }
}

/// Whom to dial, and by which right.
package enum DialTarget: Sendable {
    /// A member at `address`; it must prove to be `expected`, if that is given.
    case member(address: SocketAddress, expected: NodeID?)
    /// The node that issued `code`; `inviteID` is that of its beacon, `nil` for a manual address.
    case code(InviteCode, inviteID: InviteID?, address: SocketAddress)
    /// A node that offers `link`.
    case link(InviteLink, address: SocketAddress)

    /// Where the dial goes.
    package var address: SocketAddress {
        switch self {
        case .member(let address, _), .code(_, _, let address), .link(_, let address): address
        }
    }
}

/// Why a dial came to nothing.
package enum JoinFailure: Error, Hashable, Sendable {
    /// No invite with that slot was met: nothing answered the HELLO.
    case notFound
    /// An answer came, its confirmation did not: wrong code, used or expired (one error on purpose).
    case unconfirmed
    /// The address answered nothing.
    case unreachable
    /// The room is full.
    case roomFull
    /// The peer closed at once, for this reason.
    case refused(CloseReason)
    /// The address is our own.
    case selfDialed
    /// Another identity answered than the one meant.
    case wrongPeer(NodeID)
    /// Three tries of this code are spent; a person must type it again.
    case triesSpent
    /// There is no room to prove membership of.
    case noRoom
    /// So many dials are under way already.
    case tooManyDials
}

/// Why a peer is connected no more.
package enum DisconnectReason: Hashable, Sendable {
    /// The peer sent CLOSE.
    case closed(CloseReason)
    /// Nothing was heard for the whole grace.
    case lost
    /// The same identity came back as another process.
    case restarted
    /// This side called `close`.
    case local(CloseReason)
    /// The peer broke the protocol.
    case violation
}

/// A peer that proved itself.
package struct PeerConnection: Hashable, Sendable {
    /// Who it is.
    package var peer: NodeID
    /// Which of its lives.
    package var incarnation: UInt64
    /// By which right it connected.
    package var mode: HandshakeMode
    /// Where it is.
    package var address: SocketAddress
    /// Whether this side dialled.
    package var isInitiator: Bool
    /// Whether the channels of before go on; else all of them are new.
    package var resumed: Bool
    /// The dial that led here, if the owner asked for it.
    package var dial: DialID?
}

/// An invite for one guest: a code to say and a link to show; using one burns both.
package struct OpenInvite: Sendable {
    /// The code.
    package var code: InviteCode
    /// The link, without address hints.
    package var link: InviteLink
    /// What discovery announces.
    package var announcement: InviteAnnouncement
    /// When it burns by itself.
    package var expires: Instant
}

/// What an INVITE-BEACON says (`10-security.md` §8).
package struct InviteAnnouncement: Hashable, Sendable {
    /// The invite's public name.
    package var inviteID: InviteID
    /// The code's public slot, 0 to 99.
    package var slot: UInt8
    /// Whether a link is open too.
    package var offersLink: Bool
}

/// Why an invite burned.
package enum BurnReason: Hashable, Sendable {
    /// Five wrong guesses: somebody is trying.
    case guesses
    /// Ten minutes went by.
    case expired
}

/// Why an invite was not opened.
package enum InviteError: Error, Hashable, Sendable {
    /// There is no room to invite into.
    case noRoom
    /// So many invites are open already.
    case tooMany(limit: Int)
}

/// What an endpoint tells the engine.
package enum EndpointEvent: Sendable {
    /// A peer proved itself; from now on the lanes to it are open.
    case connected(PeerConnection)
    /// A peer is gone; what was sent to it has ended before this event.
    case disconnected(peer: NodeID, incarnation: UInt64, reason: DisconnectReason)
    /// A peer we asked by code or link let us in: ``Endpoint/setRoom(_:now:)`` takes the secret.
    case granted(RoomSecret, by: NodeID)
    /// A guest came in by an own invite, which is burned now.
    case inviteUsed(slot: UInt8, by: NodeID)
    /// An own invite burned without a guest.
    case inviteBurned(slot: UInt8, reason: BurnReason)
    /// A dial ended without a connection.
    case dialFailed(DialID, JoinFailure)
    /// Something happened on the lanes of a peer.
    case connection(NodeID, ConnectionEvent)
    /// A peer broke the protocol; `disconnected` follows.
    case violation(NodeID)
}

/// Why a call on the lanes of a peer was refused.
package enum LaneError: Error, Hashable, Sendable {
    /// No peer of this name is connected.
    case notConnected(NodeID)
    /// The connection refused, for this reason.
    case refused(SendError)
}
