import MeshCrypto
import MeshEngine
import MeshSession
import MeshWire
import Testing

/// Engines on a network with a fixed delay, virtual time and no loss: the smallest whole world.
///
/// The faults live in `MeshSimulator`; here the contract and the composition are looked at.
final class EngineWorld {
    final class Node {
        var engine: Engine
        let address: SocketAddress
        var deadline: Instant?
        var events: [Event] = []

        init(engine: consuming Engine, address: SocketAddress) {
            self.engine = engine
            self.address = address
        }
    }

    private struct Flight {
        var at: Instant
        var from: SocketAddress
        var to: Int
        var bytes: [UInt8]
    }

    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var nodes: [Node] = []
    /// Every datagram sent so far, in order.
    private(set) var wire: [[UInt8]] = []
    /// In the order in which they land, since all take the same time.
    private var flights = Queue<Flight>()
    private let delay: Duration
    /// The person behind every node, if any.
    private let person: Identity?
    private var chance: SeededGenerator
    /// The part of datagrams that the network loses.
    var loss = 0.0
    /// Whether a datagram from one node to another passes.
    var passes: (Int, Int) -> Bool = { _, _ in true }

    init(
        nodes count: Int,
        seed: UInt64 = 1,
        delay: Duration = .milliseconds(1),
        person: Identity? = nil
    ) {
        self.delay = delay
        self.person = person
        chance = SeededGenerator(seed: seed).stream("network")
        for number in 0..<count { addNode(number, seed: seed) }
    }

    func addNode(_ number: Int, seed: UInt64) {
        var secrets = SeededSecrets(seed: seed &* 1000 &+ UInt64(number))
        let identity = Identity(from: &secrets)
        var configuration = EngineConfiguration(
            displayName: "node \(number)",
            incarnation: secrets.word(),
            seed: seed &* 77 &+ UInt64(nodes.count),
            dataPort: 4000
        )
        configuration.person = person
        configuration.unixOrigin = 1_700_000_000
        let engine = Engine(
            configuration: configuration,
            identity: identity,
            secrets: secrets,
            now: now
        )
        let address = SocketAddress(10, 0, 0, UInt8(nodes.count + 1), port: 4000)
        nodes.append(Node(engine: engine, address: address))
        drive(nodes.count - 1)
    }

    /// Steps 4 and 5 of the loop.
    private func drive(_ index: Int) {
        let node = nodes[index]
        var outlets = Outlets()
        node.deadline = node.engine.poll(now: now, into: &outlets)
        node.events.append(contentsOf: outlets.events)
        for entry in outlets.batch.entries {
            let bytes = outlets.batch.bytes(of: entry)
            wire.append(bytes)
            switch entry.destination {
            case .address(let address):
                if let to = nodes.firstIndex(where: { $0.address == address }) {
                    launch(bytes, from: index, to: to)
                }
            case .discovery:
                for to in nodes.indices where to != index { launch(bytes, from: index, to: to) }
            }
        }
    }

    private func launch(_ bytes: [UInt8], from: Int, to: Int) {
        guard passes(from, to), !chance.happens(loss) else { return }
        flights.append(
            Flight(at: now + delay, from: nodes[from].address, to: to, bytes: bytes)
        )
    }

    func command(_ index: Int, _ command: Command) {
        nodes[index].engine.handle(.command(command), now: now)
        drive(index)
    }

    /// Lets virtual time pass.
    func run(_ duration: Duration) {
        _ = run(until: now + duration) { false }
    }

    /// Lets time pass until `condition` holds; whether it did within `limit`.
    func run(for limit: Duration = .seconds(20), until condition: () -> Bool) -> Bool {
        run(until: now + limit, condition)
    }

    private func run(until end: Instant, _ condition: () -> Bool) -> Bool {
        while !condition() {
            let timer = nodes.indices.filter { nodes[$0].deadline != nil }.min {
                (nodes[$0].deadline ?? .distantFuture) < (nodes[$1].deadline ?? .distantFuture)
            }
            let arrival = flights.first?.at ?? .distantFuture
            let expiry = timer.flatMap { nodes[$0].deadline } ?? .distantFuture
            guard min(arrival, expiry) <= end else {
                now = end
                return condition()
            }
            now = max(now, min(arrival, expiry))
            if arrival <= expiry, let landed = flights.popFirst() {
                nodes[landed.to].engine.handle(
                    .datagram(landed.bytes.raw, from: landed.from),
                    now: now
                )
                drive(landed.to)
            } else if let timer {
                nodes[timer].engine.handle(.timer, now: now)
                drive(timer)
            }
        }
        return true
    }

    /// The first event of node `index` that `pick` finds something in.
    func first<Found>(_ index: Int, _ pick: (Event) -> Found?) -> Found? {
        nodes[index].events.lazy.compactMap(pick).first
    }

    func count(_ index: Int, _ predicate: (Event) -> Bool) -> Int {
        nodes[index].events.count(where: predicate)
    }
}

extension EngineWorld {
    /// Engines that are members of one room.
    static func room(_ count: Int, person: Identity? = nil) throws -> EngineWorld {
        let world = EngineWorld(nodes: count, person: person)
        world.command(0, .createRoom(1, name: "den"))
        #expect(world.run { world.joined(0, 1) })
        for index in 1..<count {
            let request = RequestID(100 + index)
            world.command(0, .openInvite(request))
            world.command(
                index,
                .join(2, .code(try #require(world.code(of: request)), near: nil))
            )
            #expect(world.run { world.joined(index, 2) })
        }
        return world
    }
}
