/// Nothing grows or runs without bound (`30-consensus.md` §15, 15).
package struct Bounds: Sendable {
    package static let invariant = "queues, timers and traffic stay within their bounds"

    /// How often a process may arm a deadline that has passed, in a row.
    package static let spins = 100
    /// Steps a node may take in one second of the world under the workload of a run, whose honest
    /// peak is near a thousand; far more is two nodes that answer each other for ever.
    package static let stepsPerSecond = 5000
    /// The same in a room of this size: a leader of many hears each of them.
    package static func stepsPerSecond(nodes: Int) -> Int { max(stepsPerSecond, 400 * nodes) }
    /// Pieces of large messages that come on top: a state of a megabyte to each of many.
    package static func piecesPerSecond(nodes: Int) -> Int { max(50_000, 2_000 * nodes) }

    package init() {}

    package func check(_ life: Life, spins: Int) throws(Violation) {
        guard spins > Self.spins else { return }
        throw Violation(Self.invariant, "\(life) armed a passed deadline \(spins) times in a row")
    }

    package func check(
        _ life: Life,
        stepsInSecond steps: Int,
        nodes: Int = 0
    ) throws(Violation) {
        guard steps > Self.stepsPerSecond(nodes: nodes) else { return }
        throw Violation(Self.invariant, "\(life) took \(steps) steps within a second")
    }
}
