package import MeshWire

/// The consensus group of one room, as one process sees it.
///
/// A sans-IO value. Inlets: ``receive(_:from:now:)``, ``submit(_:now:)``, ``read(_:after:now:)``,
/// link reports, ``advance(to:)``. Outlet: ``poll(into:)``, which answers with the next deadline; call
/// it after every batch of inlets until the output is drained, and ``advance(to:)`` at the deadline.
package struct Consensus<Machine: StateMachine>: ~Copyable, Sendable {
    private var core: ConsensusCore

    /// A process outside every room; call ``create(now:)`` or ``join(via:now:)`` next.
    ///
    /// `digest` is H of the chain (BLAKE2b-256 in the product); `verify` says whether a command's
    /// signature holds; `signing` exchanges signed heads and
    /// relayed messages, `nil` none; `ability`, 0...255, ranks it among leaders; `machine` is pristine.
    package init(
        configuration: ConsensusConfiguration,
        process: ProcessID,
        ability: UInt8,
        machine: Machine,
        digest: @escaping @Sendable ([UInt8]) -> Digest,
        verify: @escaping @Sendable (Command) -> Bool,
        signing: Signing? = nil,
        seed: UInt64,
        now: Instant
    ) {
        core = ConsensusCore(
            configuration: configuration,
            process: process,
            ability: ability,
            machine: machine,
            digest: digest,
            verify: verify,
            signing: signing,
            seed: seed,
            now: now
        )
    }

    private init(core: consuming ConsensusCore) { self.core = core }

    /// A second process in the same state, for whoever explores both ways to go on.
    package func copy() -> Consensus { Consensus(core: ConsensusCore(copying: core)) }

    /// Founds the room: a new genesis and a first view of this process alone.
    package mutating func create(now: Instant) { core.create(isFounding: true, now: now) }

    /// Goes on alone with a room that this node knows and finds nobody of.
    ///
    /// Its view is not primary, and no view after it, until it meets one that descends from the
    /// room's first: what the room had decided is not known here.
    package mutating func resume(now: Instant) { core.create(isFounding: false, now: now) }

    /// Makes the component that this process hears the room's primary one, by a person's word.
    ///
    /// For when those who had the weight are gone for good. The view and all after it say `forced`: if
    /// the others come back after all, theirs wins the merge. No effect in a primary component.
    package mutating func adoptPrimary(now: Instant) { core.adoptPrimary(now: now) }

    /// Becomes a learner of the room that `process` is in; may be called again with others.
    package mutating func join(via process: ProcessID, now: Instant) {
        core.join(via: process, now: now)
    }

    /// Notes that an authenticated connection with `process` is up.
    package mutating func reachable(_ process: ProcessID, now: Instant) {
        core.reachable(process, now: now)
    }

    /// Notes that no connection with `process` is left.
    package mutating func unreachable(_ process: ProcessID, now: Instant) {
        core.unreachable(process, now: now)
    }

    /// Notes that any authenticated packet came from `process`; cheap.
    package mutating func heard(_ process: ProcessID, now: Instant) {
        core.heard(process, now: now)
    }

    /// Takes a message that `process` sent; what does not decode is counted and dropped.
    package mutating func receive(_ bytes: RawSpan, from process: ProcessID, now: Instant) {
        core.receive(bytes, from: process, now: now)
    }

    /// Why the bytes are no message, or `nil` if they are one.
    package static func fault(in bytes: RawSpan) -> WireError? {
        do {
            _ = try Message.decode(bytes)
            return nil
        } catch {
            return error
        }
    }

    /// Takes a signed command of this process and retries until it is answered, exactly once.
    ///
    /// Sequences ascend. The answer is the event `.completed` with the ticket.
    package mutating func submit(_ command: Command, now: Instant) throws(SubmitError) -> Ticket {
        try core.submit(command, now: now)
    }

    /// Asks when the state is fresh enough to be read; the answer is `.readReady`.
    package mutating func read(_ level: ReadLevel, after: Position? = nil, now: Instant) -> Ticket {
        core.read(level, after: after, now: now)
    }

    /// Leaves gracefully; a leader hands over first.
    ///
    /// Ends with `.left`, at the latest after 1 s.
    package mutating func leave(now: Instant) { core.leave(now: now) }

    /// Removes a kicked process; only the leader acts on it, so every replica may call it.
    package mutating func expel(_ process: ProcessID, now: Instant) {
        core.expel(process, now: now)
    }

    /// Runs every timer due at `now`.
    package mutating func advance(to now: Instant) { core.advance(to: now) }

    /// Moves messages and events out and answers with the next deadline.
    package mutating func poll(into output: inout ConsensusOutput) -> Instant? {
        core.poll(into: &output)
    }

    /// The room's state at ``applied``.
    package var machine: Machine {
        guard let machine = core.machine as? Machine else {
            preconditionFailure("the machine keeps its type")
        }
        return machine
    }
    /// The room's partition policy, once it is known; before, the one demanded.
    package var policy: PartitionPolicy { core.policy }
    /// Why a write is refused in a component without quorum: the members heard, and how many it takes.
    package var suspension: SubmitError? { core.role == .suspended ? core.suspension : nil }
    /// The configurations that a primary view must outweigh, as far as this process knows.
    package var required: [PrimaryConfiguration] { core.knownRequired }
    /// The newest view this process installed.
    package var view: View? { core.view }
    /// The leader of ``view``.
    package var leader: ProcessID? { core.view?.leader }
    /// What this process is.
    package var role: Role { core.role }
    /// Whether the view is primary and known to have committed.
    package var isPrimary: Bool { core.isPrimary }
    /// Whether the view is known to be installed by its commit quorum.
    package var isUsable: Bool { core.isUsable }
    /// What checkers compare after every step, in one cheap look.
    package var marks: ConsensusMarks { core.marks }
    /// Whether a leader that was heard lately, with a quorum behind it, holds this process in its view.
    package var isHeld: Bool { core.hasLiveLeader }
    /// The highest epoch promised.
    package var promised: Epoch { core.promised }
    /// The last committed position known.
    package var commit: Position { core.commitPosition }
    /// The last applied position.
    package var applied: Position { core.appliedPosition }
    /// The last position of the log.
    package var head: Position { core.headPosition }
    /// The hash of the log up to ``head``.
    package var headHash: Digest { core.headHash }
    /// The hash of the log up to ``applied``.
    package var appliedHash: Digest { core.appliedHash }
    /// The hash at the log's start, which names the lineage; `nil` before the room is known.
    package var genesis: Digest? { core.genesis }
    /// The member that carries what is sent to `process`, since the direct way is broken.
    package func relay(to process: ProcessID) -> ProcessID? { core.carrier(to: process) }
    /// Members lost without leaving.
    package var estranged: [ProcessID] { core.estranged }
    /// The chain's hash at `index`, unless it is compacted away or not there yet.
    package func hash(at index: UInt64) -> Digest? { core.log.hash(at: index) }
    /// The entry at `index`, unless it is compacted away or not there yet.
    package func position(at index: UInt64) -> Position? { core.log.position(at: index) }
    /// The canonical bytes of the whole replicated state at ``applied``: equal histories, equal bytes.
    package var snapshot: [UInt8] { core.replica.snapshot(genesis: core.genesis ?? .zero) }
    /// What waits and what is under way, for people who look into a run.
    package var diagnostics: String { core.diagnostics }
    /// Counters.
    package var statistics: ConsensusStatistics { core.statistics }
}

/// The figures of one process that tell whether anything changed; plain numbers, no arrays.
package struct ConsensusMarks: Hashable, Sendable {
    /// What the process is.
    package var role: Role
    /// The highest epoch promised.
    package var promised: Epoch
    /// The epoch of the newest view installed; zero if there is none.
    package var view: Epoch
    /// The last committed position known.
    package var commit: Position
    /// The last applied position.
    package var applied: Position
    /// The last position of the log.
    package var head: Position
    /// The hash of the log up to ``head``.
    package var headHash: Digest
    /// The hash of the log up to ``applied``.
    package var appliedHash: Digest
}
