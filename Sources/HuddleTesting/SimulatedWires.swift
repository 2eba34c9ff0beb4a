import Huddle
import MeshFaults
import MeshWire
import Synchronization

/// The wires between the nodes of a simulation, and what can go wrong on them.
final class SimulatedWires: Sendable {
    fileprivate struct State {
        var faults: FaultEngine<Int>
        var links: [SimulatedLink?] = []
        var delivered: (datagrams: Int, bytes: Int) = (0, 0)
        /// FNV-1a over what was delivered: when, from where, to where, which bytes.
        var fingerprint: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func mix(_ word: UInt64) {
            fingerprint = (fingerprint ^ word) &* 0x100_0000_01b3
        }
    }

    private let state: Mutex<State>

    /// What every datagram spends on the way besides the faults.
    private static let baseDelay = Duration.microseconds(50)

    init(seed: UInt64) {
        state = Mutex(State(faults: FaultEngine(seed: seed)))
    }

    /// A new node's end of the wires.
    func makeLink(_ core: SimulationCore, _ loop: SimulatedLoop) -> SimulatedLink {
        state.withLock { state in
            let index = state.links.count
            let link = SimulatedLink(index: index, wires: self, core: core, loop: loop)
            state.links.append(link)
            return link
        }
    }

    /// Pulls a node's plug.
    func unplug(_ index: Int) {
        state.withLock { $0.links[index] = nil }
    }

    static func address(of index: Int) -> SocketAddress {
        SocketAddress(10, 0, UInt8(index >> 8), UInt8(index & 255), port: UInt16(20_000 + index))
    }

    /// The number of the node that receives at `address`.
    private static func index(of address: SocketAddress) -> Int? {
        let index = Int(address.low & 0xffff)
        return self.address(of: index) == address ? index : nil
    }

    /// Carries what a node sends.
    func send(_ batch: DatagramBatch, from index: Int, core: SimulationCore) {
        let now = core.now
        let deliveries = state.withLock { state -> [(Instant, [UInt8], SimulatedLink)] in
            guard state.links[index] != nil else { return [] }
            return batch.entries.flatMap { entry in
                let receivers: [Int] =
                    switch entry.destination {
                    case .address(let address): Self.index(of: address).map { [$0] } ?? []
                    case .discovery: state.links.indices.filter { $0 != index }
                    }
                return receivers.flatMap { receiver in
                    state.carry(batch, entry, from: index, to: receiver, now: now)
                }
            }
        }
        let sender = Self.address(of: index)
        for (instant, bytes, link) in deliveries {
            core.plan(
                .datagram(bytes, from: sender, to: link),
                at: instant + Self.baseDelay
            )
        }
    }

    /// A datagram arrives.
    func note(_ bytes: [UInt8], from: SocketAddress, to: SocketAddress, at instant: Instant) {
        state.withLock { state in
            state.delivered.datagrams += 1
            state.delivered.bytes += bytes.count
            state.mix(UInt64(bitPattern: instant.nanoseconds))
            state.mix(from.low << 16 ^ to.low)
            for byte in bytes { state.mix(UInt64(byte)) }
        }
    }

    var fingerprint: UInt64 { state.withLock { $0.fingerprint } }

    var delivered: (datagrams: Int, bytes: Int) { state.withLock { $0.delivered } }

    /// Reads or changes the faults.
    func faults<Result: Sendable>(
        _ body: (inout FaultEngine<Int>) -> Result
    ) -> Result {
        state.withLock { body(&$0.faults) }
    }
}

extension SimulatedWires.State {
    /// When and how the copies of a datagram reach a receiver.
    fileprivate mutating func carry(
        _ batch: DatagramBatch,
        _ entry: DatagramBatch.Entry,
        from: Int,
        to: Int,
        now: Instant
    ) -> [(Instant, [UInt8], SimulatedLink)] {
        guard to < links.count, let link = links[to] else { return [] }
        let deliveries = faults.submit(byteCount: entry.byteCount, from: from, to: to, now: now)
        return deliveries.map { delivery in
            var bytes = batch.bytes(of: entry)
            delivery.corrupt(&bytes)
            return (now + delivery.delay, bytes, link)
        }
    }
}

/// A node's end of the wires.
final class SimulatedLink: SimulatedPort {
    private struct Receiver {
        weak var node: Node?
    }

    let index: Int
    let address: SocketAddress
    private let wires: SimulatedWires
    private let core: SimulationCore
    private let loop: SimulatedLoop
    private let receiver = Mutex(Receiver())

    init(index: Int, wires: SimulatedWires, core: SimulationCore, loop: SimulatedLoop) {
        self.index = index
        self.wires = wires
        self.core = core
        self.loop = loop
        address = SimulatedWires.address(of: index)
    }

    /// Whom it belongs to from now on.
    func attach(_ node: Node) {
        receiver.withLock { $0.node = node }
    }

    func send(_ batch: DatagramBatch) {
        wires.send(batch, from: index, core: core)
    }

    /// Hands a datagram to the node, in the simulation's turn.
    func deliver(_ bytes: [UInt8], from sender: SocketAddress) {
        let node = receiver.withLock { $0.node }
        // It answers in this turn, not with its next timer.
        core.touch(loop)
        node?.assumeIsolated { node in node.receive(bytes.raw, from: sender) }
    }
}
