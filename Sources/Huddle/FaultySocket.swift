package import MeshFaults
import MeshNet
package import MeshWire

/// Whom a cut or a rule of the running node means.
package enum FaultPeer: Hashable, Sendable {
    /// Exactly this address.
    case address(SocketAddress)
    /// Any address with this port, for nodes of one machine.
    case port(UInt16)
    /// A node, wherever it was seen.
    case node(NodeID)
}

/// The data port behind the node's own faults (`60-lab.md` §3).
///
/// Conditions judge what the node sends: when every node of an experiment has them, each directed
/// link is judged once. A cut peer is cut in both directions. Without a fault a batch passes at the
/// price of one branch. Discovery is not impaired: a beacon is a hint, and the dial it leads to is.
package struct FaultySocket {
    private let port: NodePort
    private var engine: FaultEngine<SocketAddress>
    private var held = HeldDatagrams()
    private let local: SocketAddress

    /// The peers that are cut off.
    package private(set) var cuts: [FaultPeer] = []
    /// The conditions of single peers.
    package private(set) var rules: [(peer: FaultPeer, conditions: LinkConditions)] = []
    /// The conditions of all other links.
    package var conditions: LinkConditions { engine.conditions }

    init(_ port: NodePort, seed: UInt64, conditions: LinkConditions) {
        self.port = port
        local = SocketAddress(127, 0, 0, 1, port: port.number)
        engine = FaultEngine(seed: seed, conditions: conditions)
    }

    /// The sockets to watch.
    var sockets: [UDPSocket] { port.sockets }

    /// The address that a simulation gave; `nil` on a machine, which has several.
    var simulatedAddress: SocketAddress? {
        guard case .simulated(let port) = port else { return nil }
        return port.address
    }

    /// The port of the sockets.
    var number: UInt16 { port.number }

    /// When a datagram that is held back is due.
    var deadline: Instant? { held.deadline }

    /// Whether any fault is in force.
    package var isImpaired: Bool { !engine.isIdle || !cuts.isEmpty || !rules.isEmpty }

    /// Gives every link these conditions and keeps the cuts.
    mutating func set(_ conditions: LinkConditions) {
        engine.setAll(conditions)
        rules = []
    }

    /// Gives the links to one peer conditions of their own.
    mutating func set(_ conditions: LinkConditions, to peer: FaultPeer) {
        rules.removeAll { $0.peer == peer }
        rules.append((peer, conditions))
    }

    /// Cuts peers off, in both directions.
    mutating func cut(_ peers: [FaultPeer]) {
        for peer in peers where !cuts.contains(peer) { cuts.append(peer) }
    }

    /// Ends every cut and keeps the conditions.
    mutating func heal() {
        cuts = []
    }

    /// Ends everything.
    mutating func clear() {
        engine.clear()
        cuts = []
        rules = []
    }

    /// Whether a datagram from `address` is swallowed.
    func swallows(_ address: SocketAddress, whose: (NodeID) -> [SocketAddress]) -> Bool {
        !cuts.isEmpty && cuts.contains { Self.matches($0, address, whose) }
    }

    /// Sends the datagrams of `batch` that go to addresses, as the faults allow.
    mutating func send(
        _ batch: DatagramBatch,
        now: Instant,
        whose: (NodeID) -> [SocketAddress]
    ) {
        guard isImpaired else { return port.send(batch) }
        var passed = DatagramBatch()
        for entry in batch.entries {
            guard case .address(let address) = entry.destination,
                !swallows(address, whose: whose)
            else { continue }
            if !rules.isEmpty {
                let rule = rules.first { Self.matches($0.peer, address, whose) }
                engine.set(rule?.conditions, from: local, to: address)
            }
            let deliveries = engine.submit(
                byteCount: entry.byteCount,
                from: local,
                to: address,
                now: now
            )
            let bytes = batch.bytes(of: entry)
            if deliveries == [Delivery(delay: .zero)] {
                passed.append(bytes, to: entry.destination)
            } else {
                held.hold(bytes, address: address, deliveries: deliveries, now: now)
            }
        }
        port.send(passed)
    }

    /// Sends what was held back and is due.
    mutating func sendDue(now: Instant) {
        var due = DatagramBatch()
        while let datagram = held.popDue(now: now) {
            due.append(datagram.bytes, to: .address(datagram.address))
        }
        port.send(due)
    }

    private static func matches(
        _ peer: FaultPeer,
        _ address: SocketAddress,
        _ whose: (NodeID) -> [SocketAddress]
    ) -> Bool {
        switch peer {
        case .address(let other): address == other
        case .port(let port): address.port == port
        case .node(let node): whose(node).contains(address)
        }
    }
}
