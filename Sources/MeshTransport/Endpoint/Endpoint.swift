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
    package var statistics = EndpointStatistics()
    let configuration: EndpointConfiguration

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
        self.configuration = configuration
        process = ProcessID(
            nodeID: identity.nodeID,
            incarnation: incarnation,
            tag: Hash.processTag(identity.nodeID, incarnation: incarnation)
        )
    }

    /// Who this process is.
    package var nodeID: NodeID { process.nodeID }

    // MARK: Rights

    /// Takes the room whose members may dial us and whom we may dial; `nil` for none.
    package mutating func setRoom(_ secret: RoomSecret?, now: Instant) {}

    /// Says who may come in member mode.
    ///
    /// With `anyoneWithSecret` every holder of the room secret may. Else a process that proved itself
    /// and is not in `allowed` is held up to 2 s for a call that adds it, then dropped.
    package mutating func setRoster(_ allowed: [NodeID], anyoneWithSecret: Bool, now: Instant) {}

    /// Opens an invite for one guest: a code and a link, for ten minutes.
    package mutating func openInvite(now: Instant) throws(InviteError) -> OpenInvite {
        throw .noRoom
    }

    /// Burns every open invite.
    package mutating func closeInvites(now: Instant) {}

    /// What discovery must announce, in the order the invites were opened.
    package var openInvites: [InviteAnnouncement] { [] }

    // MARK: Dialing

    /// Starts a handshake; its end is `connected` or `dialFailed`.
    ///
    /// A member dialled by its name that is connected and was heard lately is left alone, without an
    /// event; one that is silent is looked for at the new address, and its channels go on there.
    @discardableResult
    package mutating func dial(_ target: DialTarget, now: Instant) -> DialID { DialID(number: 0) }

    /// Ends a dial in silence, without an event.
    package mutating func cancelDial(_ dial: DialID, now: Instant) {}

    /// Forgets the tries spent on `code`, since a person typed it again.
    package mutating func allowTries(of code: InviteCode) {}

    // MARK: Inlet and outlet

    /// Takes one datagram of the types 01 to 10; those of discovery are not for the endpoint.
    ///
    /// Nothing it holds can trap; what is wrong is counted in ``statistics`` and answered by silence.
    package mutating func receive(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {}

    /// Lets the timers that are due act.
    package mutating func advance(to now: Instant) {}

    /// Appends all datagrams that may leave now, and answers when to call ``advance(to:)`` next.
    package mutating func poll(now: Instant, into batch: inout DatagramBatch) -> Instant? { nil }

    /// The oldest event not taken yet; the events of one peer keep their order.
    package mutating func nextEvent() -> EndpointEvent? { nil }

    // MARK: Peers and their lanes

    /// The connected peers, sorted.
    package var peers: [NodeID] { [] }

    /// The life of the peer that is connected.
    package func incarnation(of peer: NodeID) -> UInt64? { nil }

    /// Where the peer is.
    package func address(of peer: NodeID) -> SocketAddress? { nil }

    /// When an authenticated packet of the peer came last.
    package func lastHeard(of peer: NodeID) -> Instant? { nil }

    /// The figures of the peer's connection.
    package func statistics(of peer: NodeID) -> TransportStatistics? { nil }

    /// The suite of the key that carries data to the peer.
    package func suite(of peer: NodeID) -> Suite? { nil }

    /// Opens a channel to a peer.
    package mutating func openChannel(
        to peer: NodeID,
        name: [UInt8],
        class: TrafficClass
    ) throws(LaneError) -> ChannelNumber { throw .notConnected(peer) }

    /// Closes a channel to a peer behind what was sent on it.
    package mutating func closeChannel(_ channel: ChannelNumber, to peer: NodeID, now: Instant) {}

    /// Sends a message to a peer; it leaves with the next poll.
    package mutating func send(
        _ message: [UInt8],
        on channel: ChannelNumber,
        to peer: NodeID,
        options: SendOptions = .reliable,
        now: Instant
    ) throws(LaneError) -> SendToken { throw .notConnected(peer) }

    /// Calls a message back, if it is not whole at the peer yet.
    package mutating func cancel(_ token: SendToken, to peer: NodeID, now: Instant) {}

    /// Sends one datagram of a machine; false if the peer is not connected or the queue is full.
    @discardableResult
    package mutating func sendControl(machine: UInt8, _ bytes: [UInt8], to peer: NodeID) -> Bool {
        false
    }

    /// While held, delivered bytes of the peer's channel are not given back to the peer.
    package mutating func hold(_ channel: ChannelNumber, of peer: NodeID, _ isHeld: Bool) {}

    /// Ends the connection to a peer; its open sends end with `peerLost`, then `disconnected` comes.
    package mutating func close(
        _ peer: NodeID,
        reason: CloseReason,
        text: String = "",
        now: Instant
    ) {}

    /// Ends every connection, as ``close(_:reason:text:now:)`` does.
    package mutating func closeAll(reason: CloseReason, text: String = "", now: Instant) {}
}
