import MeshCrypto
import MeshTransport
import MeshWire

/// Endpoints joined by a link that loses, doubles and delays, on virtual time.
final class EndpointNetwork {
    /// One datagram under way.
    struct Packet {
        var from: SocketAddress
        var to: SocketAddress
        var bytes: [UInt8]
        var delay: Duration

        /// The first byte.
        var type: UInt8 { bytes.first ?? 0 }
    }

    /// One process of the network.
    final class Node {
        var endpoint: Endpoint
        var address: SocketAddress
        var deadline: Instant?
        var isDown = false
        /// Whether a granted room is taken at once, as the engine does.
        var takesGrants = true
        var events: [EndpointEvent] = []

        init(_ endpoint: consuming Endpoint, at address: SocketAddress) {
            self.endpoint = endpoint
            self.address = address
        }

        var nodeID: NodeID { endpoint.nodeID }

        var connected: [PeerConnection] {
            events.compactMap { if case .connected(let peer) = $0 { peer } else { nil } }
        }

        var disconnected: [DisconnectReason] {
            events.compactMap {
                if case .disconnected(_, _, let reason) = $0 { reason } else { nil }
            }
        }

        var failures: [JoinFailure] {
            events.compactMap { if case .dialFailed(_, let failure) = $0 { failure } else { nil } }
        }

        var granted: [RoomSecret] {
            events.compactMap { if case .granted(let secret, _) = $0 { secret } else { nil } }
        }

        var burned: [BurnReason] {
            events.compactMap { if case .inviteBurned(_, let reason) = $0 { reason } else { nil } }
        }

        /// The bytes of the reliable messages that came, in order.
        var messages: [[UInt8]] {
            events.compactMap {
                if case .connection(_, .received(let message)) = $0 { message.bytes } else { nil }
            }
        }

        var outcomes: [SendOutcome] {
            events.compactMap {
                if case .connection(_, .outcome(_, let outcome)) = $0 { outcome } else { nil }
            }
        }

        var violations: Int {
            events.count { if case .violation = $0 { true } else { false } }
        }
    }

    private struct Arrival {
        var due: Instant
        var order: Int
        var packet: Packet
    }

    private(set) var now = Instant.zero + .seconds(1000)
    private(set) var nodes: [Node] = []
    private var arrivals: [Arrival] = []
    private var order = 0
    private var lastStep = Instant.zero
    private var stepsHere = 0
    private var generator: SeededGenerator
    /// One way.
    var delay: Duration = .milliseconds(10)
    var loss = 0.0
    var duplication = 0.0
    /// What becomes of a datagram: none, one or more in its place.
    var tap: (Packet) -> [Packet] = { [$0] }
    /// All that was sent, for replays.
    var recorded: [Packet] = []
    var records = false

    init(seed: UInt64 = 1) {
        generator = SeededGenerator(seed: seed)
    }

    /// A further process; `number` makes its identity and its address.
    @discardableResult
    func addNode(
        _ number: UInt8,
        incarnation: UInt64 = 1,
        hardwareAES: Bool = false,
        room: RoomSecret? = nil,
        configuration: EndpointConfiguration = EndpointConfiguration()
    ) -> Node {
        let node = Node(
            makeEndpoint(
                number,
                incarnation: incarnation,
                hardwareAES: hardwareAES,
                room: room,
                configuration: configuration
            ),
            at: SocketAddress(10, 0, 0, number, port: 4000)
        )
        nodes.append(node)
        return node
    }

    /// An endpoint of the identity `number`.
    func makeEndpoint(
        _ number: UInt8,
        incarnation: UInt64 = 1,
        hardwareAES: Bool = false,
        room: RoomSecret? = nil,
        configuration: EndpointConfiguration = EndpointConfiguration()
    ) -> Endpoint {
        let seed = [UInt8](repeating: number, count: 32)
        var endpoint = Endpoint(
            configuration: configuration,
            identity: Identity(seed: seed.raw),
            incarnation: incarnation,
            secrets: SeededSecrets(seed: UInt64(number) << 32 | incarnation),
            hardwareAES: hardwareAES,
            seed: UInt64(number),
            now: now
        )
        endpoint.setRoom(room, now: now)
        return endpoint
    }

    static func room(_ byte: UInt8 = 0x11) -> RoomSecret {
        let secret = [UInt8](repeating: byte, count: 32)
        return RoomSecret(
            room: RoomID([UInt8](repeating: 0x22, count: 32)) ?? .zero,
            counter: 1,
            secret: Secret(secret.raw)
        )
    }

    /// Puts a datagram on the link.
    func inject(_ packet: Packet) {
        order += 1
        arrivals.append(Arrival(due: now + packet.delay, order: order, packet: packet))
    }

    /// Polls a node and puts what it sends on the link.
    func flush(_ node: Node) {
        while let event = node.endpoint.nextEvent() { note(event, of: node) }
        var batch = DatagramBatch()
        node.deadline = node.endpoint.poll(now: now, into: &batch)
        while let event = node.endpoint.nextEvent() { note(event, of: node) }
        for entry in batch.entries {
            guard case .address(let to) = entry.destination else { continue }
            let packet = Packet(
                from: node.address,
                to: to,
                bytes: batch.bytes(of: entry),
                delay: delay
            )
            if records { recorded.append(packet) }
            guard !node.isDown else { continue }
            for packet in tap(packet) where !generator.happens(loss) {
                inject(packet)
                if generator.happens(duplication) {
                    var copy = packet
                    copy.delay += .milliseconds(3)
                    inject(copy)
                }
            }
        }
    }

    private func note(_ event: EndpointEvent, of node: Node) {
        node.events.append(event)
        if case .granted(let secret, _) = event, node.takesGrants {
            node.endpoint.setRoom(secret, now: now)
        }
    }

    /// Lets virtual time pass.
    func run(for duration: Duration) {
        let end = now + duration
        for node in nodes { flush(node) }
        while true {
            let arrival = arrivals.map(\.due).min() ?? .distantFuture
            let timer = nodes.filter { !$0.isDown }.compactMap(\.deadline).min() ?? .distantFuture
            let next = max(now, min(arrival, timer))
            guard next <= end else { break }
            now = next
            step()
        }
        now = end
    }

    /// Runs until `condition` holds, at most so long; whether it does.
    func run(until condition: () -> Bool, within duration: Duration) -> Bool {
        let end = now + duration
        for node in nodes { flush(node) }
        while !condition() {
            let arrival = arrivals.map(\.due).min() ?? .distantFuture
            let timer = nodes.filter { !$0.isDown }.compactMap(\.deadline).min() ?? .distantFuture
            let next = max(now, min(arrival, timer))
            guard next <= end else { return false }
            now = next
            step()
        }
        return true
    }

    private func step() {
        stepsHere = now == lastStep ? stepsHere + 1 : 0
        lastStep = now
        precondition(stepsHere < 10_000, "a deadline that never moves: \(now)")
        var due = arrivals.filter { $0.due <= now }
        arrivals.removeAll { $0.due <= now }
        due.sort { ($0.due, $0.order) < ($1.due, $1.order) }
        for arrival in due {
            for node in nodes where node.address == arrival.packet.to && !node.isDown {
                let bytes = arrival.packet.bytes
                node.endpoint.receive(bytes.raw, from: arrival.packet.from, now: now)
            }
        }
        for node in nodes where !node.isDown {
            node.endpoint.advance(to: now)
            flush(node)
        }
    }
}

extension EndpointNetwork {
    /// Two members of one room that are connected; `a` has the smaller identity.
    static func pair(
        hardwareAES: Bool = false,
        configuration: EndpointConfiguration = EndpointConfiguration()
    ) -> (network: EndpointNetwork, a: Node, b: Node) {
        let network = EndpointNetwork()
        let room = room()
        let made = [1, 2].map {
            network.addNode(
                $0,
                hardwareAES: hardwareAES,
                room: room,
                configuration: configuration
            )
        }
        let sorted = made.sorted { $0.nodeID < $1.nodeID }
        sorted[0].endpoint.dial(
            .member(address: sorted[1].address, expected: sorted[1].nodeID),
            now: network.now
        )
        _ = network.run(
            until: { made.allSatisfy { !$0.connected.isEmpty } },
            within: .seconds(2)
        )
        return (network, sorted[0], sorted[1])
    }
}
