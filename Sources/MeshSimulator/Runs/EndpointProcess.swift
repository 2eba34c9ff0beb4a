package import MeshConsensus
import MeshCrypto
package import MeshTransport
package import MeshWire

/// The transport alone: an endpoint that keeps a pair with every other node and carries messages.
package final class EndpointProcess: MeshProcess {
    /// A message to one peer, or the wish to end.
    package enum Command {
        /// Send on the channel of this name; answered by `.outcome` or `.refused`.
        case send(to: NodeID, channel: String, [UInt8], SendOptions, request: UInt64)
        /// Close every pair.
        case close
    }

    /// What the endpoint tells.
    package enum Event {
        case connected(PeerConnection)
        case disconnected(NodeID, incarnation: UInt64, DisconnectReason)
        case message(NodeID, incarnation: UInt64, ReceivedMessage)
        case outcome(request: UInt64, SendOutcome)
        case refused(request: UInt64)
        case violation(NodeID)
    }

    /// This process.
    package let process: ProcessID
    /// Where the other nodes receive.
    package var addresses: [SocketAddress] = []

    private struct Channel: Hashable {
        var peer: NodeID
        var name: String
    }

    private var endpoint: Endpoint
    private var draw: SeededGenerator
    private var events: [Event] = []
    private var nextDials: [Instant] = []
    private var channels: [Channel: ChannelNumber] = [:]
    private var requests: [NodeID: [SendToken: UInt64]] = [:]
    private var connected: [NodeID: PeerConnection] = [:]
    private var isClosed = false

    private static let dialPeriod = Duration.seconds(1)

    /// The endpoint of `life` in the room that all nodes of the seed share.
    package init(life: Life, seed: UInt64, now: Instant) {
        let generator = SeededGenerator(seed: seed)
        var node = generator.stream("identity", UInt64(life.node))
        var own = generator.stream("process", UInt64(life.node) << 32 | UInt64(life.incarnation))
        var room = generator.stream("room")
        var identitySecrets = SeededSecrets(seed: node.next())
        var roomSecrets = SeededSecrets(seed: room.next())
        endpoint = Endpoint(
            identity: Identity(from: &identitySecrets),
            incarnation: own.next(),
            secrets: SeededSecrets(seed: own.next()),
            hardwareAES: false,
            seed: own.next(),
            now: now
        )
        draw = own.stream("dials")
        process = endpoint.process
        endpoint.setRoom(RoomSecret(from: &roomSecrets), now: now)
        endpoint.setRoster([], anyoneWithSecret: true, now: now)
    }

    package var marks: ConsensusMarks? { nil }
    package func observation(of life: Life, hashingState: Bool) -> Observation? { nil }

    /// Whether a pair with this process is up.
    package func isConnected(_ peer: ProcessID) -> Bool {
        connected[peer.nodeID]?.incarnation == peer.incarnation
    }

    package func handle(datagram: RawSpan, from sender: SocketAddress, now: Instant) {
        endpoint.receive(datagram, from: sender, now: now)
        drain()
    }

    package func handleTimer(now: Instant) {}

    package func handle(command: Command, now: Instant) {
        switch command {
        case .send(let peer, let name, let bytes, let options, let request):
            do {
                let channel = try channel(name, options.lane, peer, now)
                let token = try endpoint.send(
                    bytes,
                    on: channel,
                    to: peer,
                    options: options,
                    now: now
                )
                if options.reportsOutcome { requests[peer, default: [:]][token] = request }
            } catch {
                events.append(.refused(request: request))
            }
        case .close:
            isClosed = true
            endpoint.closeAll(reason: .leaving, now: now)
        }
        drain()
    }

    private func channel(
        _ name: String,
        _ lane: Lane,
        _ peer: NodeID,
        _ now: Instant
    ) throws(LaneError) -> ChannelNumber {
        let key = Channel(peer: peer, name: name)
        if let known = channels[key] { return known }
        let number = try endpoint.openChannel(
            to: peer,
            name: Array(name.utf8),
            class: lane == .fast ? .fast : .normal
        )
        channels[key] = number
        return number
    }

    package func poll(
        now: Instant,
        into batch: inout DatagramBatch,
        events: inout [Event]
    ) -> Instant? {
        endpoint.advance(to: now)
        drain()
        dial(now)
        let deadline = endpoint.poll(now: now, into: &batch)
        drain()
        events.append(contentsOf: self.events)
        self.events.removeAll(keepingCapacity: true)
        return [deadline, isClosed ? nil : nextDials.min()].compactMap { $0 }.min()
    }

    private func dial(_ now: Instant) {
        guard !isClosed else { return }
        if nextDials.isEmpty { nextDials = addresses.map { _ in now } }
        for (index, address) in addresses.enumerated() where nextDials[index] <= now {
            nextDials[index] =
                now + Self.dialPeriod + draw.duration(in: .zero...(.milliseconds(300)))
            // order: only whether any matches
            if connected.contains(where: { $0.value.address == address }) { continue }
            _ = endpoint.dial(.member(address: address, expected: nil), now: now)
        }
    }

    private func drain() {
        while let event = endpoint.nextEvent() {
            switch event {
            case .connected(let connection):
                if !connection.resumed { forget(connection.peer) }
                connected[connection.peer] = connection
                events.append(.connected(connection))
            case .disconnected(let peer, let incarnation, let reason):
                if connected[peer]?.incarnation == incarnation {
                    connected[peer] = nil
                    forget(peer)
                }
                events.append(.disconnected(peer, incarnation: incarnation, reason))
            case .connection(let peer, .received(let message)):
                let incarnation = connected[peer]?.incarnation ?? 0
                events.append(.message(peer, incarnation: incarnation, message))
            case .connection(let peer, .outcome(let token, let outcome)):
                guard let request = requests[peer]?.removeValue(forKey: token) else { continue }
                events.append(.outcome(request: request, outcome))
            case .violation(let peer): events.append(.violation(peer))
            case .connection, .granted, .inviteUsed, .inviteBurned, .dialFailed: break
            }
        }
    }

    private func forget(_ peer: NodeID) {
        // order: a filter keeps none
        channels = channels.filter { $0.key.peer != peer }
        requests[peer] = nil
    }
}
