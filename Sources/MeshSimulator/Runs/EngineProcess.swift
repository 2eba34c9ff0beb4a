package import MeshConsensus
import MeshCrypto
package import MeshEngine
package import MeshSession
package import MeshWire

/// The product's engine on a simulated node.
///
/// With `World` the second caller of the engine; all keys and all chance come from the seed.
package final class EngineProcess: MeshProcess {
    package typealias Command = MeshEngine.Command
    package typealias Event = MeshEngine.Event

    /// This process.
    package let process: ProcessID

    private var engine: Engine
    private var outlets = Outlets()

    /// Seconds since 1970 at the world's beginning; any recent time would do.
    private static let unixOrigin: Int64 = 1_800_000_000

    /// The engine of `life`; its identity is that of the node, whatever the incarnation.
    package init(life: Life, seed: UInt64, port: UInt16, clock: VirtualClock, now: Instant) {
        let generator = SeededGenerator(seed: seed)
        var node = generator.stream("identity", UInt64(life.node))
        var own = generator.stream(
            "process",
            UInt64(life.node) << 32 | UInt64(life.incarnation)
        )
        var identitySecrets = SeededSecrets(seed: node.next())
        var configuration = EngineConfiguration(
            displayName: "n\(life.node)",
            incarnation: own.next(),
            seed: own.next(),
            hardwareAES: false,
            dataPort: port
        )
        configuration.unixOrigin = Self.unixOrigin - clock.offset.components.seconds
        engine = Engine(
            configuration: configuration,
            identity: Identity(from: &identitySecrets),
            secrets: SeededSecrets(seed: own.next()),
            now: now
        )
        process = engine.process
    }

    package func handle(datagram: RawSpan, from sender: SocketAddress, now: Instant) {
        engine.handle(.datagram(datagram, from: sender), now: now)
    }

    package func handleTimer(now: Instant) {
        engine.handle(.timer, now: now)
    }

    package func handle(command: Command, now: Instant) {
        engine.handle(.command(command), now: now)
    }

    package func poll(
        now: Instant,
        into batch: inout DatagramBatch,
        events: inout [Event]
    ) -> Instant? {
        swap(&outlets.batch, &batch)
        swap(&outlets.events, &events)
        let deadline = engine.poll(now: now, into: &outlets)
        swap(&outlets.batch, &batch)
        swap(&outlets.events, &events)
        return deadline
    }

    package var marks: ConsensusMarks? { engine.inspectConsensus { $0.marks } }

    /// Lets `body` look at the room's consensus; `nil` outside every room.
    func inspect<Seen>(_ body: (borrowing Consensus<RoomState>) -> Seen) -> Seen? {
        engine.inspectConsensus(body)
    }

    package var required: [PrimaryConfiguration]? {
        engine.inspectConsensus { $0.view == nil ? nil : $0.required } ?? nil
    }

    /// The room's state as this node has applied it.
    package var room: RoomState? { engine.room }

    /// The node's state in figures.
    package var status: EngineStatus { engine.status }

    package func observation(of life: Life, hashingState: Bool) -> Observation? {
        engine.inspectConsensus {
            Observation($0, tag: process.tag, life: life, hashingState: hashingState)
        }
    }
}
