import MeshConsensus
import MeshFaults
import MeshWire

/// Measuring: how long nobody takes writes after the leader was killed, and how long a heal takes.
extension SimulationRun {
    /// Kills the leader again and again, then cuts the room in two and heals it.
    func failoverPhase(_ failover: RunOptions.Failover) throws(Violation) {
        world.faults.setAll(failover.conditions)
        for _ in 0..<failover.kills {
            try keepWriting(for: draw.duration(in: .milliseconds(300)...(.milliseconds(800))))
            guard let leader = world.nodes.first(where: { $0.process?.role == .leader }) else {
                throw Violation(Convergence.invariant, "nobody leads before the kill")
            }
            crash(leader.index)
            let killed = world.time
            while leaderCrash != nil {
                guard world.time < killed + .seconds(5) else {
                    throw Violation("a write is accepted within 5 s of a kill", "none was")
                }
                try keepWriting(for: .milliseconds(10))
            }
            try restart(leader.index)
            try converge(within: Self.healLimit, Convergence.invariant)
        }
        // What `converge` noted so far were restarts, not heals.
        report.figures.heals = []
        guard swarm.nodes > 1 else { return }
        let half = Array(0..<swarm.nodes / 2)
        world.faults.partition = Partition(groups: [half])
        try keepWriting(for: .seconds(2))
        world.faults.partition = Partition()
        try converge(within: Self.healLimit, Convergence.invariant)
    }

    private func keepWriting(for duration: Duration) throws(Violation) {
        let end = world.time + duration
        while world.time < end {
            for node in world.nodes where node.process != nil { try writeOnce(node.index) }
            try advance(to: min(end, world.time + .milliseconds(10)))
        }
    }
}
