import MeshConsensus
import MeshWire

/// Every way a small room can go, to a bounded depth (`30-consensus.md` §13, exhaustive).
///
/// From a room of two or three members that has formed, the explorer tries each choice at each step:
/// deliver one of the four oldest messages in flight, drop the oldest, let a node's timers fire, let
/// a client write, crash a node. Nodes are values, so a branch is a copy. There is no common time: a
/// node's clock moves only when its timers fire, as safety must not depend on clocks.
///
/// A node's state follows from what it was given, so a state of the whole is named by a hash of each
/// node's inputs and of what is in flight. Choices that concern different receivers give the same
/// state in either order, and it is visited once.
package struct Explorer {
    /// What to explore, and how far.
    package struct Options: Sendable {
        /// Members of the room: 2 or 3.
        package var nodes = 2
        /// Choices in a row.
        package var depth = 12
        /// Distinct states to visit at most; the deepest round is then incomplete.
        package var states = 1_000_000
        /// Crashes in one way.
        package var crashes = 1
        /// Client operations in one way.
        package var commands = 2
        /// A bug put there on purpose.
        package var planted: PlantedBug?

        package init() {}
    }

    /// What was seen.
    package struct Report: Sendable {
        /// Distinct states, over all depths.
        package var states = 0
        /// Choices tried.
        package var steps = 0
        /// Every way of this many choices was tried.
        package var depth = 0
        /// Views that formed in any of them.
        package var views = 0
        /// The first invariant that did not hold, and the choices that led there.
        package var violation: Violation?
        package var way: [String] = []
    }

    /// How far a node's clock moves when its timers fire: beyond the detection time, and not so far
    /// that the process takes itself for paused.
    private static let quantum = Duration.milliseconds(500)

    private let options: Options
    private var report = Report()
    /// How many choices were still to be made when a state was visited.
    private var visited: [UInt64: Int] = [:]
    private var epochs: Set<Epoch> = []
    private var way: [ExploredState.Choice] = []
    private let isOver: () -> Bool

    /// Explores as `options` say, until `isOver` says that its time is up.
    package init(_ options: Options, isOver: @escaping () -> Bool = { false }) {
        self.options = options
        self.isOver = isOver
    }

    /// Explores one choice deeper in each round, so that what comes first is complete; `progress`
    /// sees the report after each round.
    package mutating func run(progress: (Report) -> Void = { _ in }) -> Report {
        guard let start = ExploredState(options) else {
            report.violation = Violation("a room forms on a perfect network", "it did not")
            return report
        }
        for depth in 1...max(1, options.depth) {
            visited.removeAll(keepingCapacity: true)
            let before = report.states
            do {
                try visit(start, depth)
            } catch let violation as Violation {
                report.violation = violation
                report.way = way.map(\.description)
                return report
            } catch {
                // The limit: this round is incomplete.
                return report
            }
            report.depth = depth
            report.views = epochs.count
            progress(report)
            if report.states == before { break }
        }
        return report
    }

    private struct LimitReached: Error {}

    private mutating func visit(_ state: ExploredState, _ depth: Int) throws {
        guard depth > 0, visited[state.name] ?? 0 < depth else { return }
        if visited[state.name] == nil { report.states += 1 }
        visited[state.name] = depth
        guard report.states < options.states, report.states & 255 != 0 || !isOver() else {
            throw LimitReached()
        }
        for choice in state.choices(options) {
            var next = state
            way.append(choice)
            report.steps += 1
            for seen in try next.take(choice) {
                if let view = seen.view { epochs.insert(view.epoch) }
            }
            try visit(next, depth - 1)
            way.removeLast()
        }
    }

    static var step: Duration { quantum }
}
