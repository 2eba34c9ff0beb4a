package import MeshFaults
package import MeshWire

/// Something bad, or its end, that happens to a run at a planned time.
package enum FaultAction: Sendable {
    /// Every link gets these conditions.
    case conditions(LinkConditions)
    /// One direction gets conditions of its own.
    case link(from: Int, to: Int, LinkConditions)
    /// Who cannot hear whom from now on.
    case partition(Partition<Int>)
    /// The partition ends.
    case heal
    /// A node's process dies without a word.
    case crash(Int)
    /// A node that is down starts a new process, which rejoins the room.
    case restart(Int)
    /// A node's process stands still, as if stopped or asleep.
    case pause(Int, for: Duration)
    /// A node leaves the room gracefully; its process lives on.
    case leave(Int)
}

extension FaultAction: CustomStringConvertible {
    /// The words of the laboratory.
    package var description: String {
        switch self {
        case .conditions(let conditions): "conditions \(conditions)"
        case .link(let from, let to, let conditions): "link n\(from)->n\(to) \(conditions)"
        case .partition(let partition):
            "partition \(partition.groups) "
                + partition.cuts.map { "n\($0.from)->n\($0.to)" }.joined(separator: " ")
        case .heal: "heal"
        case .crash(let node): "crash n\(node)"
        case .restart(let node): "restart n\(node)"
        case .pause(let node, let duration): "pause n\(node) for \(duration)"
        case .leave(let node): "leave n\(node)"
        }
    }
}

/// A fault at its time.
package struct PlannedFault: Sendable, CustomStringConvertible {
    package var time: Instant
    package var action: FaultAction

    package init(time: Instant, action: FaultAction) {
        self.time = time
        self.action = action
    }

    package var description: String { "t=\(time) \(action)" }
}
