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
    /// A node's process dies after its next stimulus, before it has sent anything.
    case crashBeforeSending(Int)
    /// All links are out for parts of the time; `nil` ends that.
    case outages(Links.Outages?)
    /// Everything from one node to another is held back for a while, then arrives at once.
    case clog(from: Int, to: Int, for: Duration)
    /// Messages of these codes are lost with this chance; no codes end that.
    case drop(codes: [UInt8], percent: Int)
    /// Nothing leaves a node, though it hears everything; or that ends.
    case mute(Int, Bool)
    /// Nothing reaches a node, though everybody hears it; or that ends.
    case deaf(Int, Bool)
    /// A node takes so long for each datagram and timer; zero ends that.
    case slow(Int, Duration)
    /// A node's clock jumps ahead.
    case jump(Int, Duration)
    /// A node stands still, and its clock with it, as one that does not count sleep.
    case sleep(Int, for: Duration)
    /// So many datagrams come to a node at once, without meaning or sent before.
    case flood(Int, Int, isReplay: Bool)
    /// A node gets another address.
    case move(Int)
    /// A second machine with a node's identity appears, and joins.
    case clone(Int)
    /// The second machine is gone.
    case endClone(Int)
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
        case .crashBeforeSending(let node): "abort n\(node)"
        case .outages(nil): "outages none"
        case .outages(let outages?):
            "outages \(outages.percent)% \(FaultUnits.text(outages.mean))"
        case .clog(let from, let to, let duration):
            "clog n\(from)->n\(to) \(FaultUnits.text(duration))"
        case .drop(let codes, let percent):
            codes.isEmpty
                ? "drop none"
                : "drop \(codes.map(\.description).joined(separator: ",")) \(percent)%"
        case .mute(let node, let isMute): "\(isMute ? "mute" : "unmute") n\(node)"
        case .deaf(let node, let isDeaf): "\(isDeaf ? "deafen" : "undeafen") n\(node)"
        case .slow(let node, let cost): "slow n\(node) \(FaultUnits.text(cost))"
        case .jump(let node, let offset): "jump n\(node) \(FaultUnits.text(offset))"
        case .sleep(let node, let duration): "sleep n\(node) \(FaultUnits.text(duration))"
        case .flood(let node, let count, let isReplay):
            "flood n\(node) \(count) \(isReplay ? "replay" : "garbage")"
        case .move(let node): "move n\(node)"
        case .clone(let node): "clone n\(node)"
        case .endClone(let node): "unclone n\(node)"
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
