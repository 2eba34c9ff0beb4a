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
    /// Whether the view was primary by a person's word; what outweighs it rests on that word too.
    package var isForced: Bool

    /// The membership `tags`, in rank order, of the view `epoch`.
    package init(epoch: Epoch, tags: [UInt64], isCommitted: Bool, isForced: Bool = false) {
        self.epoch = epoch
        self.tags = tags
        self.isCommitted = isCommitted
        self.isForced = isForced
    }

    /// What a resumed room knows of its past, that there was one; nobody outweighs it.
    static let unknown = Self(epoch: .zero, tags: [0], isCommitted: true)

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
///
/// A view is passed about at every message and hardly ever changed, so its lists lie in one shared
/// box: a copy costs one reference, not one for each list.
package struct View: Hashable, Sendable {
    /// The name; its proposer is the leader.
    package var epoch: Epoch
    /// Where its view entry stands.
    package var start: Position
    /// The hash of the entry before ``start``; zero for the first view's genesis.
    package var startHash: Digest
    /// Whether its promisers outweighed every required configuration.
    package var primary: Bool
    /// Whether a person or a time-out overruled the weights.
    package var forced: Bool
    private var lists: Lists

    /// What a view lists; never changed, only replaced.
    private final class Lists: Hashable, Sendable {
        let members: [Member]
        let tags: [UInt64]
        let departed: [ProcessID]
        let parents: [Epoch]
        let required: [PrimaryConfiguration]

        init(
            members: [Member],
            departed: [ProcessID],
            parents: [Epoch],
            required: [PrimaryConfiguration]
        ) {
            self.members = members
            tags = members.map(\.process.tag)
            self.departed = departed
            self.parents = parents
            self.required = required
        }

        static func == (left: Lists, right: Lists) -> Bool {
            left === right
                || left.members == right.members && left.departed == right.departed
                    && left.parents == right.parents && left.required == right.required
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(members)
            hasher.combine(departed)
            hasher.combine(parents)
            hasher.combine(required)
        }
    }

    /// The members in rank order.
    package var members: [Member] { lists.members }
    /// Processes of the parent views that left for good, by LEAVE or kick.
    package var departed: [ProcessID] { lists.departed }
    /// The views it follows: one, or two and more where branches met.
    package var parents: [Epoch] { lists.parents }
    /// The configurations that a primary view must outweigh.
    package var required: [PrimaryConfiguration] { lists.required }
    /// The members' tags in rank order.
    package var tags: [UInt64] { lists.tags }

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
        lists = Lists(members: members, departed: departed, parents: parents, required: required)
        self.start = start
        self.startHash = startHash
        self.primary = primary
        self.forced = forced
    }

    /// The leader: the member whose tag the epoch carries.
    package var leader: ProcessID? { member(tag: epoch.proposer)?.process }

    /// The member with this tag.
    package func member(tag: UInt64) -> Member? {
        tags.firstIndex(of: tag).map { members[$0] }
    }

    /// The place of this tag in rank order.
    package func rank(of tag: UInt64) -> Int? {
        tags.firstIndex(of: tag)
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
