/// How much of a node a run simulates.
package enum SimulatedLayer: String, CaseIterable, Sendable {
    /// Views, log and registers on a least transport: fast, many faults a second.
    case consensus
    /// Pairs of endpoints: handshakes, both lanes, reconnection.
    case transport
    /// Whole engines: handshakes, lanes, consensus, sessions.
    case engine

    /// Runs `options` to the end or to the first violation; `observer` sees every event.
    package func run(_ options: RunOptions, observer: ((TraceEvent) -> Void)? = nil) -> RunReport {
        switch self {
        case .consensus: ConsensusRun(options, observer: observer).run()
        case .transport: EndpointRun(options, observer: observer).run()
        case .engine: EngineRun(options, observer: observer).run()
        }
    }
}
