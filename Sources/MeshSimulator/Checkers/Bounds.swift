/// Nothing grows or runs without bound (`30-consensus.md` §15, 15).
package struct Bounds: Sendable {
    package static let invariant = "queues, timers and traffic stay within their bounds"

    /// How often a process may arm a deadline that has passed, in a row.
    package static let spins = 100
    /// Datagrams a node may send in one second of the world, whatever the load.
    package static let datagramsPerSecond = 20_000
    /// Bytes one poll may want to send.
    package static let batchBytes = 64 << 20

    package init() {}

    package func check(_ life: Life, spins: Int) throws(Violation) {
        guard spins > Self.spins else { return }
        throw Violation(Self.invariant, "\(life) armed a passed deadline \(spins) times in a row")
    }

    package func check(_ life: Life, datagrams: Int, within seconds: Double) throws(Violation) {
        guard Double(datagrams) > Double(Self.datagramsPerSecond) * max(1, seconds) else { return }
        throw Violation(Self.invariant, "\(life) sent \(datagrams) datagrams in \(seconds) s")
    }
}
