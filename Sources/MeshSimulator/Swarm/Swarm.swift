package import MeshFaults
package import MeshWire

/// The faults of one run, drawn from its seed.
///
/// A random subset of the classes, each with a random strength (swarm testing, Groce and others
/// 2012; `30-consensus.md` §13). Leaving classes out matters as much as having them: a bug that needs calm links and many crashes
/// is never found where loss is always on.
package struct Swarm: Sendable {
    /// The classes of faults, each on or off in a run.
    package enum Class: String, CaseIterable, Sendable {
        case loss, bursts, delay, duplicate, reorder, corrupt, rate
        case partition, oneWay, flapping, crash, pause, clock, asymmetry
        // Those below are drawn for a ``Shape/wide`` run alone.
        case outages, clog, drops, mute, deaf, slow, jump, sleep, floods, churn, clone, move
        case crashBeforeSend, longPause, capacity, largeLoss, islands
    }

    /// How large a run is, and which classes of faults it may have.
    package enum Shape: Sendable {
        /// Two to five nodes and the first classes: for whole engines.
        case small
        /// Up to 64 nodes by the mix of `30-consensus.md` §16, and every class: for consensus alone.
        case wide

        /// The number of nodes for a percentage.
        func nodes(_ percent: UInt64) -> Int {
            switch percent {
            case 0..<2: 1
            case 2..<25: 2
            case 25..<50: 3
            case 50..<80: 5
            case 80..<92: 8
            case 92..<99: 16
            default: 64
            }
        }
    }

    /// The classes that came last; they are drawn after the others, so that they shift nobody.
    static let wideClasses: [Class] = [
        .outages, .clog, .drops, .mute, .deaf, .slow, .jump, .sleep, .floods, .churn, .clone, .move,
        .crashBeforeSend, .longPause, .capacity, .largeLoss, .islands,
    ]

    /// How many nodes take part.
    package var nodes: Int
    /// The classes that are on.
    package var classes: [Class]
    /// What all links do while the faults are on.
    package var conditions: LinkConditions
    /// What all links do once everything is healed: at most 10 % loss, 10 ms there and back.
    package var healed: LinkConditions
    /// When the faults begin, and when all are healed.
    package var safety: ClosedRange<Instant>
    /// What happens in between, in order.
    package var script: [PlannedFault]
    /// Each node's clock.
    package var clocks: [VirtualClock]
    /// The node that never crashes, so that the room outlives the run.
    package var anchor: Int

    /// Draws the faults of `seed`; `nodes` and `duration` are drawn too unless they are given.
    ///
    /// `start` is when the room stands; `duration` the length of the phase with faults.
    package init(
        seed: UInt64,
        nodes: Int?,
        start: Instant,
        duration: Duration?,
        shape: Shape = .small,
        only allowed: Set<Class>? = nil
    ) {
        let generator = SeededGenerator(seed: seed)
        let isWide = shape == .wide
        let mixed = shape.nodes(generator.mixed("swarm.mix"))
        var shape = generator.stream("swarm.shape")
        let small = [2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 5][Int(shape.next() % 12)]
        let drawn = isWide ? mixed : small
        let count = max(1, nodes ?? drawn)
        let length = duration ?? shape.duration(in: .seconds(10)...(.seconds(20)))
        self.nodes = count
        anchor = Int(shape.next() % UInt64(count))
        classes = Class.allCases.filter { !Self.wideClasses.contains($0) && shape.happens(0.4) }
        if isWide { classes += Self.wideClasses.filter { _ in shape.happens(0.3) } }
        if let allowed { classes = classes.filter { allowed.contains($0) } }
        safety = start...(start + length)
        let classes = classes
        var links = generator.stream("swarm.links")
        conditions = Self.conditions(classes, &links)
        healed = LinkConditions()
        if links.happens(0.5) {
            healed.delay = links.duration(in: .zero...(.milliseconds(4)))
            healed.loss = .independent(links.unit() * 0.05)
        }
        var clocks = generator.stream("swarm.clocks")
        self.clocks = (0..<count).map { _ in Self.clock(classes, &clocks) }
        script = []
        var script = [PlannedFault(time: start, action: .conditions(conditions))]
        for part in [
            Self.asymmetries, Self.partitions, Self.flaps, Self.crashes, Self.pauses, Self.storms,
            Self.ailments, Self.clocks, Self.identities,
        ] {
            script += part(self, generator)
        }
        self.script = script.filter { safety.contains($0.time) }.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }.map(\.element)
    }

    func has(_ wanted: Class) -> Bool { classes.contains(wanted) }

    private static func conditions(
        _ classes: [Class],
        _ draw: inout SeededGenerator
    ) -> LinkConditions {
        var conditions = LinkConditions()
        for kind in classes {
            switch kind {
            case .loss: conditions.loss = .independent(draw.unit() * 0.3)
            case .bursts:
                let mean = draw.unit() * 0.2
                conditions.loss =
                    LossModel.bursts(mean: mean, burst: 2 + draw.unit() * 8) ?? conditions.loss
            case .delay:
                conditions.delay = draw.duration(in: .zero...(.milliseconds(30)))
                conditions.jitter = draw.duration(in: .zero...(.milliseconds(20)))
                conditions.distribution =
                    DelayDistribution.allCases[Int(draw.next() % 3)]
            case .duplicate: conditions.duplicate = draw.unit() * 0.3
            case .reorder:
                conditions.reorder = draw.unit() * 0.3
                conditions.reorderBy = draw.duration(in: .milliseconds(1)...(.milliseconds(50)))
            case .corrupt: conditions.corrupt = draw.unit() * 0.05
            case .rate:
                conditions.rateBitsPerSecond = 2_000_000 + Int64(draw.next() % 48_000_000)
            case .capacity:
                conditions.rateBitsPerSecond = 500_000 + Int64(draw.next() % 8_000_000)
                conditions.queue = .packets(2 + Int(draw.next() % 19))
            case .largeLoss: conditions.mtuBytes = 250 + Int(draw.next() % 600)
            case .partition, .oneWay, .flapping, .crash, .pause, .clock, .asymmetry: break
            case .outages, .clog, .drops, .mute, .deaf, .slow, .jump, .sleep, .floods: break
            case .churn, .clone, .move, .crashBeforeSend, .longPause, .islands: break
            }
        }
        return conditions
    }

    private static func clock(_ classes: [Class], _ draw: inout SeededGenerator) -> VirtualClock {
        guard classes.contains(.clock) else { return VirtualClock(offset: .seconds(1)) }
        return VirtualClock(
            offset: draw.duration(in: .seconds(1)...(.seconds(1_000_000))),
            driftPartsPerMillion: Int64(draw.next() % 1001) - 500
        )
    }

    /// Times spread over the phase, `mean` apart on average.
    func times(_ mean: Duration, _ draw: inout SeededGenerator) -> [Instant] {
        var times: [Instant] = []
        var time = safety.lowerBound
        while true {
            time += draw.duration(in: .zero...(mean * 2))
            guard time < safety.upperBound else { return times }
            times.append(time)
        }
    }

    private static func asymmetries(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        guard swarm.has(.asymmetry), swarm.nodes > 1 else { return [] }
        var draw = seed.stream("swarm.asymmetry")
        return (0..<1 + Int(draw.next() % 3)).map { _ in
            let from = Int(draw.next() % UInt64(swarm.nodes))
            let to = (from + 1 + Int(draw.next() % UInt64(swarm.nodes - 1))) % swarm.nodes
            var conditions = swarm.conditions
            conditions.loss = .independent(draw.unit() * 0.8)
            conditions.delay += draw.duration(in: .zero...(.milliseconds(50)))
            return PlannedFault(
                time: swarm.safety.lowerBound,
                action: .link(from: from, to: to, conditions)
            )
        }
    }

    private static func partitions(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        guard swarm.has(.partition) || swarm.has(.oneWay), swarm.nodes > 1 else { return [] }
        var draw = seed.stream("swarm.partition")
        return swarm.times(.seconds(3), &draw).flatMap { time in
            let length = draw.duration(in: .milliseconds(50)...(.seconds(4)))
            let partition = swarm.partition(&draw)
            return [
                PlannedFault(time: time, action: .partition(partition)),
                PlannedFault(time: time + length, action: .heal),
            ]
        }
    }

    private func partition(_ draw: inout SeededGenerator) -> Partition<Int> {
        let order = (0..<nodes).shuffled(using: &draw)
        let cut = 1 + Int(draw.next() % UInt64(nodes - 1))
        if has(.oneWay), !has(.partition) || draw.happens(0.5) {
            return Partition(cuts: [.init(from: order[0], to: order[1])])
        }
        if has(.islands), nodes > 2, draw.happens(0.5) {
            // Any number of islands of any size.
            let count = 2 + Int(draw.next() % UInt64(nodes - 1))
            var islands = Array(repeating: [Int](), count: count)
            for node in 0..<nodes { islands[Int(draw.next() % UInt64(count))].append(node) }
            return Partition(groups: islands.filter { !$0.isEmpty })
        }
        switch draw.next() % 5 {
        case 0: return .isolating(order[0])
        case 1 where nodes > 2:
            let middle = 2 + Int(draw.next() % UInt64(nodes - 2))
            let halves = (Array(order[1..<middle]), Array(order[middle...]))
            return .bridge(order[0], between: halves)
        case 2 where nodes > 2: return .chain(order)
        case 3 where nodes > 3: return .chain(order, isClosed: true)
        default: return Partition(groups: [Array(order[..<cut]), Array(order[cut...])])
        }
    }

    private static func flaps(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        guard swarm.has(.flapping), swarm.nodes > 1 else { return [] }
        var draw = seed.stream("swarm.flap")
        let partition = swarm.partition(&draw)
        let period = draw.duration(in: .milliseconds(20)...(.milliseconds(800)))
        let begin = swarm.safety.lowerBound + draw.duration(in: .zero...(.seconds(5)))
        return (0..<10).flatMap { round in
            [
                PlannedFault(time: begin + period * (2 * round), action: .partition(partition)),
                PlannedFault(time: begin + period * (2 * round + 1), action: .heal),
            ]
        }
    }

    private static func crashes(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        guard swarm.has(.crash), swarm.nodes > 1 else { return [] }
        var draw = seed.stream("swarm.crash")
        return swarm.times(.seconds(4), &draw).flatMap { time -> [PlannedFault] in
            let node = Int(draw.next() % UInt64(swarm.nodes))
            let back = draw.duration(in: .milliseconds(20)...(.seconds(3)))
            guard node != swarm.anchor else { return [] }
            return [
                PlannedFault(time: time, action: .crash(node)),
                PlannedFault(time: time + back, action: .restart(node)),
            ]
        }
    }

    private static func pauses(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        guard swarm.has(.pause) else { return [] }
        var draw = seed.stream("swarm.pause")
        return swarm.times(.seconds(5), &draw).map { time in
            let node = Int(draw.next() % UInt64(swarm.nodes))
            let length = draw.duration(in: .milliseconds(10)...(.seconds(3)))
            return PlannedFault(time: time, action: .pause(node, for: length))
        }
    }
}
