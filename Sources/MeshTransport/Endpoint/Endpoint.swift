package import MeshCrypto
package import MeshWire

/// One process's end of every pair: handshakes, keys, admission, and a ``Connection`` a peer.
///
/// Datagrams come in by ``receive(_:from:now:)`` and leave by ``poll(now:into:)``; what happened is
/// taken by ``nextEvent()``. Between two polls anything may be called; the owner then polls, sends
/// the batch and waits for the deadline the poll gave. The endpoint has no clock and no chance of
/// its own: `now`, keys and seed are handed in, so the same inputs give the same bytes.
///
/// One handshake pattern serves three modes, which differ in the pre-shared key alone: *member* (the
/// room secret), *link* (a link's secret) and *code* (the outcome of CPace). `10-security.md` §4 to
/// §7 and §9 are its specification; `20-transport.md` §3 tells what outlives a silence.
package struct Endpoint: ~Copyable {
    /// Who this process is, in this life of its node.
    package let process: ProcessID
    /// What was counted so far.
    package internal(set) var statistics = EndpointStatistics()

    let configuration: EndpointConfiguration
    let node: LocalNode
    let slab = SecretSlab()
    var secrets: any SecretSource
    var chance: SeededGenerator
    var indices: IndexTable
    var events: [EndpointEvent] = []
    var eventsTaken = 0
    var outbox: [(address: SocketAddress, bytes: [UInt8])] = []
    /// Where packets are opened; kept for its memory.
    var scratch: [UInt8] = []

    // Who may come in.
    var room: RoomSecret?
    var roomKeys: ModeKeys?
    var roster: [NodeID] = []
    var anyoneWithSecret = true
    var invites: [Invite] = []

    // Handshakes.
    var dials: [Dial] = []
    var nextDial: UInt64 = 1
    var halfOpen: [HalfOpen] = []
    var selfAddresses: [SocketAddress] = []
    /// What typed codes cost so far, the oldest first.
    var tries: [(code: InviteCode, count: Int)] = []

    // Pairs.
    /// The peers, sorted by identity.
    var peerTable: [Peer] = []
    /// Pairs that only say that the room is full.
    var refused: [PairKeys] = []
    var closing: [ClosingPair] = []
    var penalties = Penalties()
    /// Lives of peers whose connection ended here, which they may not know.
    var ended: [(peer: NodeID, incarnation: UInt64)] = []

    // What strangers may cost.
    var cookies: CookieJar
    var sources: SourceBuckets
    var cookieless: TokenBucket
    var arithmetic: TokenBucket
    var arithmeticOfCodes: TokenBucket
    var retryBudget: TokenBucket

    /// An endpoint without a room.
    ///
    /// - Parameters:
    ///   - configuration: limits and times.
    ///   - identity: the key this process signs with.
    ///   - incarnation: random, new at each start of the process.
    ///   - secrets: where keys come from: the system, or a seed in the simulator.
    ///   - hardwareAES: whether this machine has AES in hardware; asked once, outside.
    ///   - seed: of the chance that needs no secrecy, such as jitter.
    ///   - now: the present.
    package init(
        configuration: EndpointConfiguration = EndpointConfiguration(),
        identity: Identity,
        incarnation: UInt64,
        secrets: any SecretSource,
        hardwareAES: Bool,
        seed: UInt64,
        now: Instant
    ) {
        var secrets = secrets
        var capabilities: Capabilities = []
        if hardwareAES, !configuration.prefersChaCha { capabilities.insert(.hardwareAES) }
        self.configuration = configuration
        process = ProcessID(
            nodeID: identity.nodeID,
            incarnation: incarnation,
            tag: Hash.processTag(identity.nodeID, incarnation: incarnation)
        )
        node = LocalNode(
            identity: identity,
            capabilities: capabilities,
            incarnation: incarnation
        )
        chance = SeededGenerator(seed: seed).stream("endpoint")
        indices = IndexTable(rest: configuration.indexRest)
        cookies = CookieJar(now: now, from: &secrets)
        sources = SourceBuckets(
            key: (secrets.word(), secrets.word()),
            rate: configuration.sourceRate
        )
        func bucket(_ rate: Double) -> TokenBucket {
            TokenBucket(perSecond: rate, burst: rate, now: now)
        }
        cookieless = bucket(configuration.cookielessRate)
        arithmetic = bucket(configuration.arithmeticRate)
        arithmeticOfCodes = bucket(
            configuration.arithmeticRate * configuration.arithmeticShareOfCodes
        )
        retryBudget = bucket(configuration.retryRate)
        self.secrets = secrets
    }

    /// Who this process is.
    package var nodeID: NodeID { process.nodeID }

    /// The oldest event not taken yet; the events of one peer keep their order.
    ///
    /// The owner takes all of them after every call that may make some: they wait without a bound
    /// of their own, since what one datagram can cause is bounded.
    package mutating func nextEvent() -> EndpointEvent? {
        guard eventsTaken < events.count else {
            events.removeAll(keepingCapacity: true)
            eventsTaken = 0
            return nil
        }
        defer { eventsTaken += 1 }
        return events[eventsTaken]
    }

    /// Takes the room whose members may dial us and whom we may dial; `nil` for none.
    ///
    /// Pairs that are up stay so; open invites burn with their room.
    package mutating func setRoom(_ secret: RoomSecret?, now: Instant) {
        if let secret, let room, secret.isEqual(to: room) { return }
        room = secret
        roomKeys = secret.map { ModeKeys.member($0) }
        closeInvites(now: now)
    }

    /// Says who may come in member mode.
    ///
    /// With `anyoneWithSecret` every holder of the room secret may. Else a process that proved itself
    /// and is not in `allowed` is held up to 2 s for a call that adds it, then dropped.
    package mutating func setRoster(_ allowed: [NodeID], anyoneWithSecret: Bool, now: Instant) {
        roster = allowed.sorted()
        self.anyoneWithSecret = anyoneWithSecret
        releaseHeld(now: now)
    }

    /// Whether the roster lets this identity in by the room secret.
    func isAllowed(_ peer: NodeID) -> Bool {
        anyoneWithSecret || roster.contains(peer) || self.peer(peer)?.isConnected == true
    }
}

/// Peers that broke the protocol, and when they may come again (`10-security.md` §11).
struct Penalties {
    private struct Entry {
        let peer: NodeID
        var count = 0
        var first: Instant
        var until: Instant
    }

    private var entries: [Entry] = []

    /// Notes a violation: 1 s without a handshake, 60 s after the third within 60 s.
    mutating func note(_ peer: NodeID, now: Instant) {
        let index = entries.firstIndex { $0.peer == peer }
        var entry =
            index.map { entries.remove(at: $0) } ?? Entry(peer: peer, first: now, until: now)
        if now - entry.first > .seconds(60) { (entry.count, entry.first) = (0, now) }
        entry.count += 1
        entry.until = now + (entry.count >= 3 ? .seconds(60) : .seconds(1))
        // As many as a room has members: the oldest is forgiven.
        if entries.count >= Limits.members { entries.removeFirst() }
        entries.append(entry)
    }

    /// Whether the peer must wait.
    func holds(_ peer: NodeID, now: Instant) -> Bool {
        entries.contains { $0.peer == peer && $0.until > now }
    }
}
