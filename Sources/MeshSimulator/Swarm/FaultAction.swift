package import MeshFaults
package import MeshWire

/// Something bad, or its end, that happens to a run at a planned time.
package enum FaultAction: Hashable, Sendable {
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
    /// The words of a script, which ``RunScript`` reads back.
    package var description: String {
        switch self {
        case .conditions(let conditions): Self.text("conditions", [conditions.description])
        case .link(let from, let to, let conditions):
            Self.text("link n\(from)->n\(to)", [conditions.description])
        case .partition(let partition):
            Self.text(
                "partition",
                [
                    partition.groups.map { $0.map { "n\($0)" }.joined(separator: ",") }
                        .joined(separator: "|")
                ] + partition.cuts.map { "n\($0.from)->n\($0.to)" }
            )
        case .heal: "heal"
        case .crash(let node): "crash n\(node)"
        case .restart(let node): "restart n\(node)"
        case .pause(let node, let duration): "pause n\(node) \(FaultUnits.text(duration))"
        case .leave(let node): "leave n\(node)"
        }
    }

    private static func text(_ word: String, _ others: [String]) -> String {
        ([word] + others).filter { !$0.isEmpty }.joined(separator: " ")
    }
}

/// A fault at its time.
package struct PlannedFault: Hashable, Sendable, CustomStringConvertible {
    package var time: Instant
    package var action: FaultAction

    package init(time: Instant, action: FaultAction) {
        self.time = time
        self.action = action
    }

    package var description: String { "t=\(time) \(action)" }
}
