internal import MeshCrypto
internal import MeshWire

/// A handshake that this side began.
final class Dial {
    /// What the dial waits for.
    enum Phase {
        /// The RETRY that answers HELLO.
        case hello
        /// HS2.
        case first
        /// The responder's AUTH.
        case third
        /// The Join entry of a member that has proved itself.
        case held(Proven, until: Instant)
    }

    /// A responder whose AUTH verified.
    struct Proven {
        var proof: Authentication
        /// The content of the packet that carried it.
        var content: [UInt8]
        var number: UInt64
    }

    let id: DialID
    /// Whether the owner asked, and hears of the end.
    let isAsked: Bool
    /// The connected peer whose keys are replaced, or that is looked for.
    let renewal: NodeID?
    /// Whom the responder must prove to be.
    let expected: NodeID?
    let mode: HandshakeMode
    let code: InviteCode?
    let address: SocketAddress
    /// Our index; the same after a RETRY.
    let index: UInt32
    let clientNonce: ClientNonce
    let started: Instant
    /// What the handshake rests on; in code mode known when a RETRY has named the invite.
    var keys: ModeKeys?
    /// The invite that the beacon named.
    let invite: InviteID?
    var phase: Phase
    /// The attempt whose HS1 is out.
    var attempt: Attempt?
    /// The keys behind HS3.
    var traffic: KeyBox?
    /// What the responder's AUTH must fit.
    var proof: Authentication.Proof?
    /// The message sent last, sent again until something answers.
    var bytes: [UInt8] = []
    var resend: ResendTimer
    /// RETRY messages followed.
    var retries = 0

    init(
        id: DialID,
        isAsked: Bool,
        renewal: NodeID?,
        expected: NodeID?,
        mode: HandshakeMode,
        code: InviteCode? = nil,
        invite: InviteID? = nil,
        keys: ModeKeys?,
        address: SocketAddress,
        index: UInt32,
        clientNonce: ClientNonce,
        resend: ResendTimer,
        now: Instant
    ) {
        self.id = id
        self.isAsked = isAsked
        self.renewal = renewal
        self.expected = expected
        self.mode = mode
        self.code = code
        self.invite = invite
        self.keys = keys
        self.address = address
        self.index = index
        self.clientNonce = clientNonce
        self.resend = resend
        started = now
        phase = mode == .code ? .hello : .first
    }

    /// When to look at the dial again.
    var deadline: Instant {
        if case .held(_, let until) = phase { return until }
        return resend.deadline
    }
}

/// One Noise attempt of a dial; a class, so that an optional one can be borrowed.
final class Attempt {
    let handshake: InitiatorHandshake

    init(_ handshake: consuming InitiatorHandshake) {
        self.handshake = handshake
    }
}

/// Traffic keys with one owner that may hand them on; a class for the same reason.
final class KeyBox {
    var traffic: TrafficKeys

    init(_ traffic: consuming TrafficKeys) {
        self.traffic = traffic
    }
}

/// A handshake that this side answered, before its initiator has proved itself.
final class HalfOpen {
    let handshake: ResponderHandshake
    let source: SocketAddress
    /// The mac1 of its HS1: the same again is answered by the same HS2.
    let firstMAC: [UInt8]
    /// When its HS1 came last.
    var touched: Instant
    /// An HS3 that verified, of a process not in the roster yet.
    var held: (third: LaterMessage, mac: [UInt8], until: Instant)?

    init(
        _ handshake: consuming ResponderHandshake,
        source: SocketAddress,
        firstMAC: [UInt8],
        now: Instant
    ) {
        self.handshake = handshake
        self.source = source
        self.firstMAC = firstMAC
        touched = now
    }
}
