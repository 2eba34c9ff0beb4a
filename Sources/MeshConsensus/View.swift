package import MeshWire

/// A process as a view lists it.
package struct Member: Hashable, Sendable {
    /// The process.
    package var process: ProcessID
    /// Declared at the join: mains, wired, memory; higher leads first.
    package var ability: UInt8
    /// Where the view entry stands that first listed it.
    package var joined: Position

    /// A member that joined at `joined`.
    package init(process: ProcessID, ability: UInt8, joined: Position) {
        self.process = process
        self.ability = ability
        self.joined = joined
    }

    /// Whether `left` stands before `right` in rank order: ability descending, join, tag.
    package static func outranks(_ left: Member, _ right: Member) -> Bool {
        if left.ability != right.ability { return left.ability > right.ability }
        return (left.joined, left.process.tag) < (right.joined, right.process.tag)
    }
}

/// A membership that was or may have been primary; forming quorums are weighed against it.
///
/// Weights: member 2, the distinguished member, first in rank order, 3 (`30-consensus.md` §3).
package struct PrimaryConfiguration: Hashable, Sendable {
    /// The view it was the membership of.
    package var epoch: Epoch
    /// The members' tags in rank order.
    package var tags: [UInt64]
    /// Whether the view is known to have committed.
    package var isCommitted: Bool

    /// Whether `tags` weigh more than half of the configuration.
    package func isOutweighed(by tags: [UInt64]) -> Bool {
        var whole = 0
        var part = 0
        for (rank, tag) in self.tags.enumerated() {
            let weight = rank == 0 ? 3 : 2
            whole += weight
            if tags.contains(tag) { part += weight }
        }
        return part * 2 > whole
    }
}

/// One installed membership of the room with one leader, named by its epoch.
package struct View: Hashable, Sendable {
    /// The name; its proposer is the leader.
    package var epoch: Epoch
    /// The members in rank order.
    package var members: [Member]
    /// Processes of the parent views that left for good, by LEAVE or kick.
    package var departed: [ProcessID]
    /// The views it follows: one, or two and more where branches met.
    package var parents: [Epoch]
    /// The configurations that a primary view must outweigh.
    package var required: [PrimaryConfiguration]
    /// Where its view entry stands.
    package var start: Position
    /// The hash of the entry before ``start``; zero for the first view's genesis.
    package var startHash: Digest
    /// Whether its promisers outweighed every required configuration.
    package var primary: Bool
    /// Whether a person or a time-out overruled the weights; always false with `.available`.
    package var forced: Bool

    /// A view.
    package init(
        epoch: Epoch,
        members: [Member],
        departed: [ProcessID] = [],
        parents: [Epoch] = [],
        required: [PrimaryConfiguration] = [],
        start: Position,
        startHash: Digest,
        primary: Bool,
        forced: Bool = false
    ) {
        self.epoch = epoch
        self.members = members
        self.departed = departed
        self.parents = parents
        self.required = required
        self.start = start
        self.startHash = startHash
        self.primary = primary
        self.forced = forced
    }

    /// The leader: the member whose tag the epoch carries.
    package var leader: ProcessID? { member(tag: epoch.proposer)?.process }

    /// The members' tags in rank order.
    package var tags: [UInt64] { members.map(\.process.tag) }

    /// The member with this tag.
    package func member(tag: UInt64) -> Member? {
        members.first { $0.process.tag == tag }
    }

    /// The place of this tag in rank order.
    package func rank(of tag: UInt64) -> Int? {
        members.firstIndex { $0.process.tag == tag }
    }

    /// Whether the process is listed.
    package func contains(_ process: ProcessID) -> Bool {
        members.contains { $0.process == process }
    }

    /// The member that signs commands as `origin`.
    package func member(origin: Origin) -> Member? {
        members.first {
            $0.process.incarnation == origin.incarnation && $0.process.nodeID == origin.nodeID
        }
    }
}
