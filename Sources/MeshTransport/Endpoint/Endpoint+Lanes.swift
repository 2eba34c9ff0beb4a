package import MeshCrypto
package import MeshWire

// The lanes of one peer, as its connection offers them.
extension Endpoint {
    /// The connected peers, sorted.
    package var peers: [NodeID] { peerTable.filter(\.isConnected).map(\.nodeID) }

    private func connected(_ peer: NodeID) -> Peer? {
        guard let found = self.peer(peer), found.isConnected else { return nil }
        return found
    }

    /// The life of the peer that is connected.
    package func incarnation(of peer: NodeID) -> UInt64? { connected(peer)?.incarnation }

    /// Where the peer is.
    package func address(of peer: NodeID) -> SocketAddress? { connected(peer)?.address }

    /// When an authenticated packet of the peer came last.
    package func lastHeard(of peer: NodeID) -> Instant? { connected(peer)?.lastHeard }

    /// The figures of the peer's connection.
    package func statistics(of peer: NodeID) -> TransportStatistics? {
        connected(peer)?.connection.statistics
    }

    /// The suite of the keys that carry data to the peer.
    package func suite(of peer: NodeID) -> Suite? {
        connected(peer)?.current?.box.traffic.suite
    }

    /// Opens a channel to a peer.
    package mutating func openChannel(
        to peer: NodeID,
        name: [UInt8],
        class: TrafficClass
    ) throws(LaneError) -> ChannelNumber {
        guard let found = connected(peer) else { throw .notConnected(peer) }
        do {
            return try found.connection.openChannel(name: name, class: `class`)
        } catch {
            throw .refused(error)
        }
    }

    /// Closes a channel to a peer behind what was sent on it.
    package mutating func closeChannel(_ channel: ChannelNumber, to peer: NodeID, now: Instant) {
        connected(peer)?.connection.closeChannel(channel, now: now)
    }

    /// Sends a message to a peer; it leaves with the next poll.
    package mutating func send(
        _ message: [UInt8],
        on channel: ChannelNumber,
        to peer: NodeID,
        options: SendOptions = .reliable,
        now: Instant
    ) throws(LaneError) -> SendToken {
        guard let found = connected(peer) else { throw .notConnected(peer) }
        do {
            return try found.connection.send(message, on: channel, options: options, now: now)
        } catch {
            throw .refused(error)
        }
    }

    /// Calls a message back, if it is not whole at the peer yet.
    package mutating func cancel(_ token: SendToken, to peer: NodeID, now: Instant) {
        guard let found = connected(peer) else { return }
        found.connection.cancel(token, now: now)
        drain(found, now: now)
    }

    /// Sends one datagram of a machine; false if the peer is not connected or the queue is full.
    @discardableResult
    package mutating func sendControl(machine: UInt8, _ bytes: [UInt8], to peer: NodeID) -> Bool {
        connected(peer)?.connection.sendControl(machine: machine, bytes) ?? false
    }

    /// While held, delivered bytes of the peer's channel are not given back to the peer.
    package mutating func hold(_ channel: ChannelNumber, of peer: NodeID, _ isHeld: Bool) {
        connected(peer)?.connection.hold(channel, isHeld)
    }
}
