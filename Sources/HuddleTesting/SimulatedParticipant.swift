public import Huddle
import MeshWire
import Synchronization

/// One participant of a simulation: a machine with a node of its own in the simulation's room.
///
/// What runs inside ``run(within:_:)``, and every task that it makes, is this participant's program.
public final class SimulatedParticipant: Sendable {
    /// The name the others see.
    public let name: String
    /// The room's conversation, as this participant's program finds it.
    public let conversation = Conversation()
    /// The participant's node.
    public let node: Node

    let index: Int
    private let core: SimulationCore
    private let closures = Mutex(0)
    private let gone = Mutex(false)

    init(name: String, index: Int, node: Node, core: SimulationCore) {
        self.name = name
        self.index = index
        self.node = node
        self.core = core
    }

    /// Runs `body` as this participant's program, and lets virtual time pass until it returns.
    ///
    /// `GroupActivity`, `GroupSession`, `GroupStateObserver` and `Conversation.current` mean this
    /// participant inside it, also in the tasks that it makes. Tasks made there go on afterwards. Two
    /// closures run at once if two tasks call this.
    ///
    /// - Parameters:
    ///   - limit: How much virtual time it may take.
    ///   - body: The program; it begins once the simulation has nothing else to do at this instant.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``SimulationError/unfinished(participant:after:_:)`` if its time is
    ///   over, where it is cancelled and not waited for; ``SimulationError/over(participant:)`` if the
    ///   simulation was let go.
    @discardableResult
    public func run<Result: Sendable>(
        within limit: Duration = .seconds(60),
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard !core.isClosed else { throw SimulationError.over(participant: name) }
        closures.withLock { $0 += 1 }
        defer { closures.withLock { $0 -= 1 } }
        let goal = core.prepare()
        let task = GlobalJobs.$simulation.withValue(core) {
            Task { [core, conversation] in
                defer { core.reach(goal) }
                return try await conversation.run(body)
            }
        }
        core.open(goal, within: limit)
        let isReached = await withTaskCancellationHandler {
            await core.end(of: goal)
        } onCancel: {
            task.cancel()
        }
        guard isReached else {
            task.cancel()
            guard !core.isClosed else { throw SimulationError.over(participant: name) }
            throw SimulationError.unfinished(
                participant: name,
                after: limit,
                await core.inFlight(of: [self], digests: false)
            )
        }
        return try await task.value
    }

    /// Says farewell and stops the node, as a program that ends; it can not come back.
    public func stop() async throws {
        try await run { [self] in await node.stop() }
        unplug()
    }

    /// Ends the node without a word, as a machine whose plug is pulled.
    ///
    /// Its own program sees its sessions end; the others find out by its silence.
    public func crash() async {
        unplug()
        await node.crash()
    }

    private func unplug() {
        gone.withLock { $0 = true }
        core.network.unplug(index)
    }

    /// Whether it was stopped or crashed.
    public var isGone: Bool { gone.withLock { $0 } }

    /// Closures that run.
    var running: Int { closures.withLock { $0 } }
}
