package import MeshConsensus
package import MeshWire

/// A simulated process of which scenarios can say what it sees.
package protocol ScenarioProcess: MeshProcess {
    /// Which process of the room it is.
    var process: ProcessID { get }
    /// Its newest view; `nil` outside every room.
    var view: View? { get }
    /// Whether it holds its view for primary.
    var isPrimary: Bool { get }
    /// Whether its view takes writes, as far as it knows.
    var isUsable: Bool { get }
    /// The member that carries what it sends to another.
    func relay(to process: ProcessID) -> ProcessID?
    /// The counters of consensus.
    var statistics: ConsensusStatistics { get }
    /// The canonical bytes of the replicated state.
    var stateBytes: [UInt8] { get }
    /// The hash of the log up to what is applied.
    var appliedHash: Digest { get }
}

extension ConsensusProcess: ScenarioProcess {
    package var view: View? { consensus.view }
    package var isPrimary: Bool { consensus.isPrimary }
    package var isUsable: Bool { consensus.isUsable }
    package func relay(to process: ProcessID) -> ProcessID? { consensus.relay(to: process) }
    package var statistics: ConsensusStatistics { consensus.statistics }
    package var stateBytes: [UInt8] { consensus.snapshot }
    package var appliedHash: Digest { consensus.appliedHash }
}

extension EngineProcess: ScenarioProcess {
    package var view: View? { inspect { $0.view } ?? nil }
    package var isPrimary: Bool { inspect { $0.isPrimary } ?? false }
    package var isUsable: Bool { inspect { $0.isUsable } ?? false }
    package func relay(to process: ProcessID) -> ProcessID? {
        inspect { $0.relay(to: process) } ?? nil
    }
    package var statistics: ConsensusStatistics {
        inspect { $0.statistics } ?? ConsensusStatistics()
    }
    package var stateBytes: [UInt8] { inspect { $0.snapshot } ?? [] }
    package var appliedHash: Digest { inspect { $0.appliedHash } ?? .zero }
}

/// The counters that a scenario can ask for, by name.
enum ScenarioCounters {
    static let names = [
        "received", "sent", "malformed", "misdirected", "views", "attempts", "falseSuspicions",
        "branchesLost", "snapshotsServed", "snapshotsTaken", "applied", "badSignatures", "pauses",
        "relaysBegun", "relaysCarried", "relaysReceived", "relaysRefused", "relaysOverBound",
        discarded,
    ]

    /// Entries that a process gave up because its branch lost; counted by the run.
    static let discarded = "discarded"

    static func value(_ name: String, of statistics: ConsensusStatistics) -> UInt64 {
        let value: Int
        switch name {
        case "received": value = statistics.received
        case "sent": value = statistics.sent
        case "malformed": value = statistics.malformed
        case "misdirected": value = statistics.misdirected
        case "views": value = statistics.views
        case "attempts": value = statistics.attempts
        case "falseSuspicions": value = statistics.falseSuspicions
        case "branchesLost": value = statistics.branchesLost
        case "snapshotsServed": value = statistics.snapshotsServed
        case "snapshotsTaken": value = statistics.snapshotsTaken
        case "applied": value = statistics.applied
        case "badSignatures": value = statistics.badSignatures
        case "pauses": value = statistics.pauses
        case "relaysBegun": value = statistics.relaysBegun
        case "relaysCarried": value = statistics.relaysCarried
        case "relaysReceived": value = statistics.relaysReceived
        case "relaysRefused": value = statistics.relaysRefused
        case "relaysOverBound": value = statistics.relaysOverBound
        default: preconditionFailure("the parser knows its counters: \(name)")
        }
        return UInt64(max(0, value))
    }
}
