package import MeshConsensus
package import MeshFaults
package import MeshWire

/// Everything that a run was told to do, written out: its nodes, its faults, its clients' calls.
///
/// Played again it gives the same run, event by event. Taken from a failing run it can be cut down
/// (``Shrinker``), read, and kept; as text it has one line for each item (``text``).
package struct RunScript: Hashable, Sendable {
    /// One thing at its time.
    package enum Line: Hashable, Sendable {
        case fault(PlannedFault)
        /// A node's client does something: what, is drawn from the seed and the ordinal.
        case work(time: Instant, node: Int, ordinal: UInt64, remark: String)

        /// When it happens.
        package var time: Instant {
            switch self {
            case .fault(let fault): fault.time
            case .work(let time, _, _, _): time
            }
        }
    }

    /// What is simulated.
    package var layer: SimulatedLayer
    /// The rule that the room follows.
    package var policy = PartitionPolicy.available
    /// The seed that the networks' and the workload's chance is drawn from.
    package var seed: UInt64
    /// The nodes' clocks, one for each node.
    package var clocks: [VirtualClock]
    /// When the faults begin, and when everything is healed.
    package var safety: ClosedRange<Instant>
    /// What all links do once everything is healed.
    package var healed: LinkConditions
    /// Whether nodes that are down come back then.
    package var returns: Bool
    /// A bug put there on purpose.
    package var planted: PlantedBug?
    /// What happens, in order.
    package var lines: [Line]

    package init(
        layer: SimulatedLayer,
        seed: UInt64,
        clocks: [VirtualClock],
        safety: ClosedRange<Instant>,
        healed: LinkConditions,
        returns: Bool,
        planted: PlantedBug? = nil,
        lines: [Line]
    ) {
        self.layer = layer
        self.seed = seed
        self.clocks = clocks
        self.safety = safety
        self.healed = healed
        self.returns = returns
        self.planted = planted
        self.lines = lines
    }

    /// The options of the run that plays this script.
    package var options: RunOptions {
        var options = RunOptions(seed: seed)
        options.planted = planted
        options.policy = policy
        options.script = self
        return options
    }

    /// Plays the script; `observer` sees every event.
    package func run(observer: ((TraceEvent) -> Void)? = nil) -> RunReport {
        layer.run(options, observer: observer)
    }
}

extension RunScript {
    /// The script without a node; those behind it move up.
    ///
    /// `nil` if that leaves nobody.
    package func without(node gone: Int) -> RunScript? {
        guard clocks.count > 1, clocks.indices.contains(gone) else { return nil }
        func renamed(_ node: Int) -> Int? {
            node == gone ? nil : node > gone ? node - 1 : node
        }
        var script = self
        script.clocks.remove(at: gone)
        script.lines = lines.compactMap { line in
            switch line {
            case .work(let time, let node, let ordinal, let remark):
                return renamed(node).map {
                    .work(time: time, node: $0, ordinal: ordinal, remark: remark)
                }
            case .fault(let fault):
                return fault.action.renamed(renamed).map {
                    .fault(PlannedFault(time: fault.time, action: $0))
                }
            }
        }
        return script
    }
}

extension FaultAction {
    /// The same with other names for the nodes; `nil` if it is about one that has none.
    func renamed(_ name: (Int) -> Int?) -> FaultAction? {
        switch self {
        case .conditions, .heal, .outages, .drop: return self
        case .clog(let from, let to, let length):
            guard let from = name(from), let to = name(to) else { return nil }
            return .clog(from: from, to: to, for: length)
        case .crashBeforeSending(let node): return name(node).map { .crashBeforeSending($0) }
        case .mute(let node, let isMute): return name(node).map { .mute($0, isMute) }
        case .deaf(let node, let isDeaf): return name(node).map { .deaf($0, isDeaf) }
        case .slow(let node, let cost): return name(node).map { .slow($0, cost) }
        case .jump(let node, let offset): return name(node).map { .jump($0, offset) }
        case .sleep(let node, let length): return name(node).map { .sleep($0, for: length) }
        case .flood(let node, let count, let isReplay):
            return name(node).map { .flood($0, count, isReplay: isReplay) }
        case .move(let node): return name(node).map { .move($0) }
        case .clone(let node): return name(node).map { .clone($0) }
        case .endClone(let node): return name(node).map { .endClone($0) }
        case .crash(let node): return name(node).map { .crash($0) }
        case .restart(let node): return name(node).map { .restart($0) }
        case .pause(let node, let length): return name(node).map { .pause($0, for: length) }
        case .leave(let node): return name(node).map { .leave($0) }
        case .link(let from, let to, let conditions):
            guard let from = name(from), let to = name(to) else { return nil }
            return .link(from: from, to: to, conditions)
        case .partition(let partition):
            let renamed = Partition(
                groups: partition.groups.map { $0.compactMap(name) }.filter { !$0.isEmpty },
                cuts: partition.cuts.compactMap { cut in
                    guard let from = name(cut.from), let to = name(cut.to) else { return nil }
                    return Partition<Int>.Cut(from: from, to: to)
                }
            )
            return renamed.isEmpty ? nil : .partition(renamed)
        }
    }
}
