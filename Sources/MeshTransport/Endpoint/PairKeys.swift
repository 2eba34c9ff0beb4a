internal import MeshCrypto
internal import MeshWire

/// The keys of one finished handshake, and what the driver knows of them.
final class PairKeys {
    let box: KeyBox
    /// Who the peer proved to be.
    let peer: NodeID
    /// Which of its lives.
    let incarnation: UInt64
    /// By which right the handshake went.
    let mode: HandshakeMode
    /// Which end of the handshake we were.
    let role: HandshakeRole
    /// Where the handshake took place; packets under these keys go there.
    let address: SocketAddress
    /// The connection's number space that these keys carry.
    let space: UInt32
    /// Whether the initiator showed that it has the keys (`10-security.md` §5, Confirmed).
    var isConfirmed: Bool
    /// When the pair came up here.
    var established: Instant
    /// When a packet opened last.
    var lastOpened: Instant
    /// When a previous key may be wiped at the earliest.
    var retires: Instant = .distantFuture

    /// The responder's AUTH at the initiator, which may come again; empty at the responder.
    var peerProof: [UInt8] = []
    /// Our own AUTH at the responder, sent until the initiator answers.
    var proof: [UInt8] = []
    /// When our AUTH leaves again.
    var resend: ResendTimer
    /// The mac1 of the HS1 and HS3 that made the keys: late copies of them may come.
    var firstMAC: [UInt8] = []
    var thirdMAC: [UInt8] = []
    /// Why the peer is not taken: sent in the packet that carries our AUTH.
    var refusal: CloseReason?
    /// The dial that the peer's own handshake took the place of, or that led here.
    var dial: DialID?

    init(
        box: KeyBox,
        peer: Authentication,
        mode: HandshakeMode,
        role: HandshakeRole,
        address: SocketAddress,
        space: UInt32,
        resend: ResendTimer,
        now: Instant
    ) {
        self.box = box
        self.peer = peer.nodeID
        incarnation = peer.incarnation
        self.mode = mode
        self.role = role
        self.address = address
        self.space = space
        self.resend = resend
        isConfirmed = role == .initiator
        established = now
        lastOpened = now
    }

    /// The index by which the peer names these keys.
    var index: UInt32 { box.traffic.localIndex }
}

/// Keys of a connection that we closed: they say CLOSE again while the peer still talks.
struct ClosingPair {
    let keys: PairKeys
    let reason: CloseReason
    let text: String
    /// How often CLOSE may still leave.
    var remaining: Int
    let until: Instant
}
