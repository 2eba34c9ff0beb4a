import MeshNet
package import MeshWire

/// The network of a node that a simulation runs; the node hears from it by ``Node/receive(_:from:)``.
package protocol SimulatedPort: AnyObject, Sendable {
    /// Where the node receives.
    var address: SocketAddress { get }
    /// Takes what the node sends: to addresses, and to everybody near.
    func send(_ batch: DatagramBatch)
}

/// The way from a node to its network: the machine's sockets, or a simulation.
enum NodePort {
    case machine(DataPort)
    case simulated(any SimulatedPort)

    /// The port of the node's own address.
    var number: UInt16 {
        switch self {
        case .machine(let port): port.port
        case .simulated(let port): port.address.port
        }
    }

    /// The sockets to watch; a simulation calls by itself.
    var sockets: [UDPSocket] {
        switch self {
        case .machine(let port): port.sockets
        case .simulated: []
        }
    }

    func send(_ batch: DatagramBatch) {
        switch self {
        case .machine(let port): port.send(batch)
        case .simulated(let port): port.send(batch)
        }
    }
}
