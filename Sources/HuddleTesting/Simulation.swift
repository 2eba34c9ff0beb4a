import Huddle
import MeshCrypto
import MeshFaults
import MeshNet
import MeshWire
import Synchronization

/// Several participants of one room in one process, on a simulated network and in virtual time.
///
/// Each participant has a real node: the same handshakes, elections and retransmissions as between
/// machines. What is simulated is below it: datagrams, clocks and chance, all drawn from the seed.
///
/// ```swift
/// let simulation = Simulation(seed: 7)
/// let a = try await simulation.participant("A")
/// let b = try await simulation.participant("B")
/// try await a.run { _ = try await Canvas().activate() }
/// simulation.network.set(loss: 0.05)
/// try await simulation.settle(within: .seconds(2))  // virtual
/// ```
///
/// Time stands still unless a test waits: in ``advance(by:)``, ``settle(within:)``, in
/// ``SimulatedParticipant/run(within:_:)`` and while a participant enters. It moves when everything that
/// can run has run, on the main actor too, and then jumps to the next thing that happens.
///
/// **What repeats.** The same seed gives the same run to the last datagram, ``fingerprint``, if the program
/// takes its time, chance and order from nowhere else. Tasks, actors and the main actor are run in one
/// order, threads and queues that the program makes itself are not. `Task.sleep`, timers and clocks of the
/// system wait by the wall: give such code ``clock``. `Set` and `Dictionary` have another order each time.
///
/// All of it runs on the main thread, between what else that has to do, so nothing may block the main thread
/// for the sake of a simulation. Of several in a process one works at a time.
public final class Simulation: Sendable {
    /// What all chance is drawn from.
    public let seed: UInt64
    /// The network between the participants.
    public let network: SimulatedNetwork
    /// The simulation's clock.
    public let clock: SimulationClock

    private struct State {
        var participants: [SimulatedParticipant] = []
        /// The last entry, for which the next one waits.
        var entry: Task<SimulatedParticipant, any Error>?
    }

    private let core: SimulationCore
    private let state = Mutex(State())

    /// Seconds since 1970 at the simulation's beginning; any recent time would do.
    private static let unixOrigin: Int64 = 1_800_000_000
    /// How much virtual time an entry may take.
    private static let entry = Duration.seconds(60)
    /// How long nothing may be under way before that counts as rest.
    ///
    /// Longer than what a last value waits for to be sent again for sure, 100 ms.
    private static let rest = Duration.milliseconds(250)

    /// A simulation without participants; the same seed gives the same run again.
    public init(seed: UInt64) {
        self.seed = seed
        core = SimulationCore(seed: seed)
        network = SimulatedNetwork(core: core)
        clock = SimulationClock(core: core)
    }

    deinit {
        let nodes = state.withLock { $0.participants.map(\.node) }
        core.close {
            for node in nodes { node.assumeIsolated { $0.crash() } }
        }
    }

    // MARK: Participants

    /// Adds a participant: the first makes the room, each other one enters it by invitation.
    ///
    /// - Parameter name: The name the others see.
    /// - Returns: The participant, eligible for activities.
    /// - Throws: ``SimulationError/notAdmitted(participant:_:)``, such as while the network is down.
    public func participant(_ name: String) async throws -> SimulatedParticipant {
        let goal = core.prepare()
        let core = core
        let task = state.withLock { state in
            let task = GlobalJobs.$simulation.withValue(core) {
                Task { [self, previous = state.entry] in
                    defer { core.reach(goal) }
                    _ = await previous?.result
                    return try await enter(name)
                }
            }
            state.entry = task
            return task
        }
        core.open(goal, within: Self.entry)
        guard await core.end(of: goal) else {
            task.cancel()
            throw SimulationError.notAdmitted(
                participant: name,
                "not within \(Self.entry) of virtual time"
            )
        }
        return try await task.value
    }

    /// The participants, in the order in which they entered; those who are gone too.
    public var participants: [SimulatedParticipant] { state.withLock { $0.participants } }

    private func enter(_ name: String) async throws -> SimulatedParticipant {
        let loop = SimulatedLoop(core: core)
        let link = core.network.makeLink(core, loop)
        var draws = SeededGenerator(seed: seed).stream("node", UInt64(link.index))
        let place = SimulatedPlace(
            loop: EventLoop(backend: loop),
            port: link,
            secrets: SeededSecrets(seed: draws.next()),
            unixOrigin: Self.unixOrigin
        )
        var places = Places(below: "")
        // Attachments are in memory: a simulation touches no disk.
        places.cache = ""
        let configuration = NodeConfiguration(name: name, places: places)
        let node: Node
        do {
            node = try await Node.start(configuration, in: place)
        } catch {
            throw SimulationError.notAdmitted(participant: name, "\(error)")
        }
        link.attach(node)
        let host = await participants.first { !$0.isGone }?.node.room
        do {
            if let host {
                _ = try await node.join(Invitation(try await host.invite().link))
            } else {
                _ = try await node.createRoom(named: "simulation")
            }
            let participant = SimulatedParticipant(
                name: name,
                index: link.index,
                node: node,
                core: core
            )
            await participant.conversation.use(node)
            for await diagnosis in participant.conversation.eligibilityChanges()
            where diagnosis == nil {
                break
            }
            // Its time is over if the task was cancelled.
            try Task.checkCancellation()
            state.withLock { $0.participants.append(participant) }
            return participant
        } catch {
            core.network.unplug(link.index)
            await node.crash()
            // A host has four at most.
            await host?.closeInvites()
            throw SimulationError.notAdmitted(participant: name, "\(error)")
        }
    }

    // MARK: Time

    /// How much virtual time has passed.
    public var elapsed: Duration { clock.now.elapsed }

    /// Lets virtual time pass.
    public func advance(by duration: Duration) async {
        _ = await core.end(of: core.aim(within: duration))
    }

    /// Lets virtual time pass until nothing is under way.
    ///
    /// That is: commands have their answers and messages their outcomes, no closure runs, and participants
    /// who reach each other are in one view with equal state; all this for as long as a datagram may be on
    /// its way.
    ///
    /// - Parameter limit: How much virtual time it may take.
    /// - Throws: ``SimulationError/unsettled(after:_:)``, which says what is still under way.
    public func settle(within limit: Duration) async throws {
        let core = core
        let conditions = core.network.faults { $0.conditions }
        let rest = min(limit, Self.rest + (conditions.delay + conditions.jitter) * 2)
        let box = Rest(rest: rest)
        let goal = core.aim(within: limit) { [weak self] in
            guard let self else { return true }
            return box.isReached(now: core.now) {
                let quick = core.flights(of: self.participants, digests: false)
                guard quick.isEmpty else { return false }
                return core.flights(of: self.participants, digests: true).isEmpty
            }
        }
        guard await core.end(of: goal) else {
            throw SimulationError.unsettled(
                after: limit,
                await core.inFlight(of: participants, digests: true)
            )
        }
    }

    // MARK: The run

    /// A digest of every datagram that arrived so far: alike in two runs, they were the same run.
    public var fingerprint: UInt64 { core.network.fingerprint }
}

/// How long there has been rest.
private final class Rest: Sendable {
    private let since = Mutex<Instant?>(nil)
    private let rest: Duration

    init(rest: Duration) {
        self.rest = rest
    }

    /// Whether there has been rest for long enough, if there `isRest` now.
    func isReached(now: Instant, _ isRest: () -> Bool) -> Bool {
        let isRest = isRest()
        return since.withLock { since in
            guard isRest else {
                since = nil
                return false
            }
            let begin = since ?? now
            since = begin
            return now - begin >= rest
        }
    }
}
