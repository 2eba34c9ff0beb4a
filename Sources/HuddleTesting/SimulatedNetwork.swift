public import MeshFaults

/// The network of a simulation, and what can go wrong on it.
///
/// Changes hold for what is sent from then on. Until the first one every datagram arrives, in 50 µs.
public struct SimulatedNetwork: Sendable {
    let core: SimulationCore

    /// Gives every link these conditions; what is left out is as on a perfect link.
    ///
    /// - Parameters:
    ///   - loss: The probability that a datagram is lost, 0 to 1.
    ///   - delay: The one-way time.
    ///   - jitter: How far the one-way time strays from `delay`.
    ///   - duplicate: The probability that a datagram arrives twice.
    ///   - reorder: The probability that later datagrams overtake one.
    public func set(
        loss: Double = 0,
        delay: Duration = .zero,
        jitter: Duration = .zero,
        duplicate: Double = 0,
        reorder: Double = 0
    ) {
        var conditions = LinkConditions()
        if loss > 0 { conditions.loss = .independent(loss) }
        conditions.delay = delay
        conditions.jitter = jitter
        conditions.duplicate = duplicate
        conditions.reorder = reorder
        set(conditions)
    }

    /// Gives every link these conditions.
    public func set(_ conditions: LinkConditions) {
        core.network.faults { $0.setAll(conditions) }
    }

    /// Gives one direction conditions of its own, until every link gets new ones.
    public func set(
        _ conditions: LinkConditions,
        from sender: SimulatedParticipant,
        to receiver: SimulatedParticipant
    ) {
        core.network.faults { $0.set(conditions, from: sender.index, to: receiver.index) }
    }

    /// Splits the network: nothing passes between two of these groups.
    ///
    /// Participants that no group names are one more group together, so `partition([a])` cuts `a` off.
    public func partition(_ groups: [SimulatedParticipant]...) {
        let groups = groups.map { $0.map(\.index) }
        core.network.faults { $0.partition = Partition(groups: groups) }
    }

    /// Ends every partition; loss and delay stay.
    public func heal() {
        core.network.faults { $0.partition = Partition() }
    }

    /// The datagrams that arrived so far, and their bytes.
    public var delivered: (datagrams: Int, bytes: Int) { core.network.delivered }
}
