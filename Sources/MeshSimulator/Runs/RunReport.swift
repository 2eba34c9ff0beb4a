package import MeshConsensus
import MeshWire

/// What a run should be like, besides its seed.
package struct RunOptions: Sendable {
    /// The seed that everything is drawn from.
    package var seed: UInt64
    /// How many nodes; drawn from the seed unless given.
    package var nodes: Int?
    /// The rule that the room follows; drawn from the seed unless given.
    package var policy: PartitionPolicy?
    /// How long the phase with faults lasts; drawn from the seed unless given.
    package var duration: Duration?
    /// A fault of the protocol that a checker must find; for the checkers' own tests.
    package var planted: PlantedBug?
    /// Instead of a fault mix and a workload drawn from the seed: these.
    package var script: RunScript?
    /// The classes of faults that may happen, of those the seed draws; all unless given.
    ///
    /// What is left out shifts nothing else, so a failing seed can be cut down class by class.
    package var classes: Set<Swarm.Class>?
    /// Whether faults happen at all.
    package var hasFaults = true
    package init(seed: UInt64, nodes: Int? = nil, duration: Duration? = nil) {
        self.seed = seed
        self.nodes = nodes
        self.duration = duration
    }
}

/// How a run ended.
package struct RunReport: Sendable {
    /// The seed that replays it.
    package var seed: UInt64
    /// How many nodes took part.
    package var nodes: Int
    /// The classes of faults that were on.
    package var classes: [Swarm.Class] = []
    /// The hash over everything that happened.
    package var traceHash: UInt64 = 0
    /// How many events happened.
    package var events: UInt64 = 0
    /// How much time passed in the world.
    package var simulated = Duration.zero
    /// The first invariant that did not hold, if any.
    package var violation: Violation?
    /// What the run was told to do until it ended.
    package var script: RunScript?
    /// The last events before the end, oldest first.
    package var lastEvents: [TraceEvent] = []
    /// What happened, in numbers.
    package var figures = RunFigures()

    package init(seed: UInt64, nodes: Int) {
        self.seed = seed
        self.nodes = nodes
    }
}

/// What happened in a run, in numbers.
package struct RunFigures: Sendable {
    /// Datagrams delivered.
    package var datagrams: UInt64 = 0
    /// Views installed, counted once for each epoch.
    package var views = 0
    /// Writes acknowledged.
    package var writes = 0
    /// Acknowledged writes that a merge reported as discarded.
    package var discarded = 0
    /// Linearizable reads answered.
    package var reads = 0
    /// Operations of clients that were checked for linearizability, how often the log's order did
    /// not prove it and another was searched for, and how often that search gave up.
    package var operations = 0
    package var searches = 0
    package var undecided = 0
    /// Reliable messages delivered.
    package var reliable = 0
    /// Fast messages delivered.
    package var fast = 0
    /// From each crash of a leader to the next accepted write.
    package var failovers: [Duration] = []
    /// From each heal to one view of all.
    package var heals: [Duration] = []

    package init() {}
}

/// Turns 64 bits into 16 hex digits, as hashes are printed.
package func hexadecimal(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
