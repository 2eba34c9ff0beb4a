import MeshWire

/// The machine behind ``Consensus``, free of generics so that it is compiled once.
struct ConsensusCore: Sendable {
    var machine: any StateMachine
    var view: View?
    var role: Role = .joining
    var isPrimary: Bool { false }
    var isUsable: Bool { false }
    var promised: Epoch = .zero
    var commitPosition: Position = .zero
    var appliedPosition: Position = .zero
    var headPosition: Position = .zero
    var headHash: Digest = .zero
    var appliedHash: Digest = .zero
    var genesis: Digest?
    var estranged: [ProcessID] = []
    var statistics = ConsensusStatistics()

    init(
        configuration: ConsensusConfiguration,
        process: ProcessID,
        ability: UInt8,
        machine: any StateMachine,
        digest: @escaping @Sendable ([UInt8]) -> Digest,
        verify: @escaping @Sendable (Command) -> Bool,
        seed: UInt64,
        now: Instant
    ) {
        self.machine = machine
    }

    mutating func create(now: Instant) {}
    mutating func join(via process: ProcessID, now: Instant) {}
    mutating func reachable(_ process: ProcessID, now: Instant) {}
    mutating func unreachable(_ process: ProcessID, now: Instant) {}
    mutating func heard(_ process: ProcessID, now: Instant) {}
    mutating func receive(_ bytes: RawSpan, from process: ProcessID, now: Instant) {}
    mutating func submit(_ command: Command, now: Instant) throws(SubmitError) -> Ticket {
        throw .notJoined
    }
    mutating func read(_ level: ReadLevel, after: Position?, now: Instant) -> Ticket {
        Ticket(value: 0)
    }
    mutating func leave(now: Instant) {}
    mutating func expel(_ process: ProcessID, now: Instant) {}
    mutating func advance(to now: Instant) {}
    mutating func poll(into output: inout ConsensusOutput) -> Instant? { nil }
}
