import MeshConsensus
import MeshFaults
import MeshWire

/// Some trials of one kind with rooms of one size on one network, from one seed.
///
/// Batches depend on nothing but their fields, so they may run on as many threads as there are.
package struct FigureBatch: Sendable {
    package var trial: FigureTrial
    package var nodes: Int
    package var network: FigureNetwork
    package var seed: UInt64
    /// How many trials.
    package var count: Int

    /// What a batch gave.
    package struct Result: Sendable {
        package var samples: [Figure: FigureSamples] = [:]
        /// Trials that came to no end.
        package var stuck = 0

        package init() {}

        /// Takes in what another batch gave.
        package mutating func add(_ other: Result) {
            for figure in Figure.allCases {
                if let more = other.samples[figure] { samples[figure, default: .init()].add(more) }
            }
            stuck += other.stuck
        }

        mutating func note(_ figure: Figure, _ value: Double) {
            samples[figure, default: .init()].values.append(value)
        }

        mutating func note(_ figure: Figure, _ time: Duration) { note(figure, time.milliseconds) }
    }

    /// How long a room is watched for one trial of a quiet one, by its size: what is simulated in a
    /// second costs as much as the room is large.
    package static func quietTime(nodes: Int) -> Duration {
        nodes <= 5 ? .seconds(60) : nodes <= 16 ? .seconds(20) : .seconds(4)
    }

    /// How many trials a batch has.
    private static let trialsInBatch = 25
    /// A megabyte of state, at 16 bytes a register.
    private static let megabyte = 1_000_000 / 16

    /// The batches of `trials` trials.
    package static func batches(
        _ trial: FigureTrial,
        nodes: Int,
        _ network: FigureNetwork,
        trials: Int
    ) -> [FigureBatch] {
        stride(from: 0, to: trials, by: trialsInBatch).map { first in
            FigureBatch(
                trial: trial,
                nodes: nodes,
                network: network,
                seed: UInt64(first + 1),
                count: min(trialsInBatch, trials - first)
            )
        }
    }

    /// Runs all trials; a room in which one comes to no end is given up, and a new one takes its place.
    package func run() -> Result {
        var result = Result()
        var done = 0
        var seed = seed
        var following = SeededGenerator(seed: seed).stream("figures.rooms")
        while done < count {
            // What was lost once is suspect later for the next five minutes, so each trial has a room
            // of its own where somebody is lost.
            let limit = trial == .turnover || trial == .heal ? 1 : count - done
            do {
                try run(limit, seed: seed, &done, &result)
            } catch {
                result.stuck += 1
                done += 1
            }
            seed = following.next()
        }
        return result
    }

    private func run(
        _ limit: Int,
        seed: UInt64,
        _ done: inout Int,
        _ result: inout Result
    ) throws(FigureRoom.Stuck) {
        let isJoin = trial == .join
        let room = try FigureRoom(
            // The one that joins has a place, too.
            nodes: isJoin ? min(nodes, Limits.members - 1) : nodes,
            seed: seed,
            registers: isJoin ? Self.megabyte : 0
        )
        let delay = trial == .commit ? FigureRoom.roundTrip / 2 : FigureNetwork.delay.mean
        let jitter = trial == .commit ? .zero : FigureNetwork.delay.jitter
        room.setNetwork(network, delay: delay, jitter: jitter)
        if isJoin { _ = room.addNode() }
        for _ in 0..<limit {
            switch trial {
            case .turnover: try room.turnover(&result)
            case .heal: try room.heal(&result)
            case .join: try room.join(&result)
            case .commit: try room.commit(&result)
            case .quiet: try room.quiet(Self.quietTime(nodes: nodes), &result)
            }
            room.forgetAnswers()
            done += 1
        }
    }
}

// The trials.
extension FigureRoom {
    /// Waits until all of a room are in one view, and a moment of chance longer; answers who leads.
    private func rest(_ nodes: [Int]) throws(Stuck) -> Int {
        while true {
            try wait { isSettled(nodes) }
            advance(by: draw.duration(in: .milliseconds(300)...(.milliseconds(800))))
            if isSettled(nodes), let leader { return leader }
        }
    }

    /// How many members ask for a write at once.
    private static let writers = 15

    /// Lets `end` happen to the leader while the others ask for a write; answers how long the first
    /// write took, and that of one of them.
    private func loseLeader(
        _ leader: Int,
        _ end: (Int) -> Void
    ) throws(Stuck) -> (first: Duration, one: Duration) {
        // In large rooms some of them, as writes of all would be a burst of their own.
        let survivors = world.nodes.indices.filter { $0 != leader }
            .shuffled(using: &draw).prefix(Self.writers)
        let begin = world.time
        end(leader)
        let requests = survivors.map { write(on: $0) }
        let chosen = requests[Int(draw.next() % UInt64(requests.count))]
        var first: Instant?
        try wait {
            if first == nil { first = requests.lazy.compactMap { self.answer($0) }.first }
            return answer(chosen) != nil
        }
        return ((first ?? begin) - begin, (answer(chosen) ?? begin) - begin)
    }

    func turnover(_ result: inout FigureBatch.Result) throws(Stuck) {
        let all = Array(world.nodes.indices)
        var leader = try rest(all)
        let killed = try loseLeader(leader) { world.crash($0) }
        result.note(.failover, killed.first)
        result.note(.outage, killed.one)
        start(leader)
        perform(.join, on: leader)

        leader = try rest(all)
        let left = try loseLeader(leader) { perform(.leave, on: $0) }
        result.note(.leave, left.first)
        try wait { world.nodes[leader].process?.role == .left }
        start(leader)
        perform(.join, on: leader)
    }

    func heal(_ result: inout FigureBatch.Result) throws(Stuck) {
        let all = Array(world.nodes.indices)
        _ = try rest(all)
        var sides = all.shuffled(using: &draw)
        sides.removeLast(all.count - max(1, Int(draw.next() % UInt64(all.count))))
        world.faults.partition = .init(groups: [sides])
        advance(by: draw.duration(in: .seconds(2)...(.seconds(4))))
        for index in all { _ = write(on: index) }
        advance(by: .seconds(1))
        world.faults.partition = .init()
        let begin = world.time
        try wait { isSettled(all) }
        result.note(.heal, world.time - begin)
    }

    func join(_ result: inout FigureBatch.Result) throws(Stuck) {
        let all = Array(world.nodes.indices)
        let guest = all.count - 1
        _ = try rest(all.dropLast())
        start(guest)
        perform(.join, on: guest)
        let begin = world.time
        try wait { world.nodes[guest].process?.consensus.isUsable == true }
        result.note(.join, world.time - begin)
        perform(.leave, on: guest)
        try wait { world.nodes[guest].process?.role == .left }
        world.crash(guest)
    }

    func commit(_ result: inout FigureBatch.Result) throws(Stuck) {
        let all = Array(world.nodes.indices)
        try wait { isSettled(all) }
        advance(by: draw.duration(in: .milliseconds(20)...(.milliseconds(60))))
        guard let leader else { return }
        let others = all.filter { $0 != leader }
        let other = others[Int(draw.next() % UInt64(others.count))]
        for (figure, index) in [(Figure.commit, leader), (.write, other)] {
            let begin = world.time
            let request = write(on: index)
            try wait { answer(request) != nil }
            result.note(figure, (answer(request) ?? begin) - begin)
        }
    }

    func quiet(_ time: Duration, _ result: inout FigureBatch.Result) throws(Stuck) {
        let all = Array(world.nodes.indices)
        try wait { isSettled(all) }
        forgetViews()
        let before = all.map { world.nodes[$0].process?.consensus.statistics ?? .init() }
        let end = world.time + time
        var changes = 0
        while world.time < end {
            // In steps: a view that somebody installs begins one disturbance, until all are one again.
            advance(by: min(end - world.time, .milliseconds(100)))
            guard !epochs.isEmpty else { continue }
            changes += 1
            try wait { isSettled(all) }
            forgetViews()
        }
        result.samples[.falseViews, default: .init()].count += changes
        result.samples[.falseViews, default: .init()].hours += time.milliseconds / 3_600_000
        guard changes == 0, let leader else { return }
        for index in all {
            guard let now = world.nodes[index].process?.consensus.statistics else { continue }
            let seconds = time.milliseconds / 1000
            let figure = index == leader ? Figure.leaderPackets : .memberPackets
            result.note(figure, Double(now.sent - before[index].sent) / seconds)
            result.note(figure, Double(now.received - before[index].received) / seconds)
        }
    }
}
