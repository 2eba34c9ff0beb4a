internal import MeshCrypto
internal import MeshWire

/// One identity we share a room with, or are about to: its keys and its lanes.
final class Peer {
    let nodeID: NodeID
    /// Which of the peer's lives the connection belongs to.
    var incarnation: UInt64
    /// The lanes; they outlive keys and, within the grace, silence.
    var connection: Connection
    /// Whether `connected` was reported.
    var isConnected = false
    /// Whether the peer may still hold a connection of this life that ended here: then nothing it
    /// sends counts before it has shown that it began anew, too.
    var isGated = false
    /// Carries data.
    var current: PairKeys?
    /// The keys before; they open, and seal acknowledgments.
    var previous: PairKeys?
    /// A pair we answered whose initiator has not shown that it has the keys.
    var next: PairKeys?
    /// Where the peer was last.
    var address: SocketAddress
    /// When an authenticated packet came last.
    var lastHeard: Instant
    /// The handshake of ours under way.
    var renewal: DialID?
    /// No handshake of our own to this peer starts earlier.
    var nextAttempt: Instant
    /// Since when the current key asks to be replaced.
    var rekeyWanted: Instant?
    /// Whether the silence is longer than the idle time-out.
    var isAway = false
    /// Whether the peer let us in by link or code, and so may send a GRANT.
    var mayGrant = false
    /// The GRANT taken from this peer.
    var grant: [UInt8]?
    /// The next number space.
    var nextSpace: UInt32 = 0
    /// Handshakes from the peer's address that no flood of others can starve.
    var handshakes: TokenBucket

    init(
        nodeID: NodeID,
        incarnation: UInt64,
        connection: Connection,
        address: SocketAddress,
        handshakes: TokenBucket,
        now: Instant
    ) {
        self.nodeID = nodeID
        self.incarnation = incarnation
        self.connection = connection
        self.address = address
        self.handshakes = handshakes
        lastHeard = now
        nextAttempt = now
    }

    /// The keys that are held.
    var allKeys: [PairKeys] { [next, current, previous].compactMap(\.self) }

    /// A number space for the keys of a new handshake.
    func takeSpace() -> UInt32 {
        defer { nextSpace &+= 1 }
        return nextSpace
    }
}
