/// How a scenario ended.
package struct ScenarioReport: Sendable {
    /// The scenario's name.
    package var name: String
    /// What did not hold, if anything.
    package var failure: ScenarioFailure?
    /// What happened, a line each.
    package var transcript: [String]
    /// The hash over everything that happened, down to the bytes of every datagram.
    package var traceHash: UInt64
    /// How much time passed in the world.
    package var simulated: Duration
}

/// What a scenario says and what is not so.
package struct ScenarioFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line of the statement.
    package var line: Int
    /// The statement as it was written.
    package var statement: String
    /// What was seen instead.
    package var reason: String

    /// The three in one text.
    package var description: String { "line \(line): `\(statement)`: \(reason)" }
}

extension Scenario {
    /// Tells the scenario to the end or to the first thing that is not so.
    ///
    /// `observer` sees every event of the world.
    package func run(observer: ((TraceEvent) -> Void)? = nil) -> ScenarioReport {
        switch layer {
        case .consensus: ConsensusScenario(self, observer: observer).run()
        case .engine, .transport: EngineScenario(self, observer: observer).run()
        }
    }
}
