import MeshConsensus
package import MeshWire

/// The tree of views that a run went through: which view continues which, and from where.
package struct Branches: Sendable {
    /// A view that continues another one.
    package struct Child: Hashable, Sendable {
        /// The last entry of the parent that it keeps.
        package var after: UInt64
        package var epoch: Epoch
    }

    private var parents: [Epoch: Position] = [:]
    private var kept: [Epoch: [Child]] = [:]

    package init() {}

    /// Whether this view has its place in the tree.
    package func knows(_ epoch: Epoch) -> Bool { parents[epoch] != nil }

    /// A view whose own entry stands right behind `position`; zero for the first view of a room.
    package mutating func note(_ epoch: Epoch, after position: Position) {
        guard parents[epoch] == nil else { return }
        parents[epoch] = position
        kept[position.epoch, default: []].append(Child(after: position.index, epoch: epoch))
    }

    /// The views that continue this one, by what they keep of it; those of zero found rooms.
    package func children(of epoch: Epoch) -> [Child] {
        (kept[epoch] ?? []).sorted { ($0.after, $0.epoch) < ($1.after, $1.epoch) }
    }

    /// The first view of the room that a view belongs to.
    package func root(of epoch: Epoch) -> Epoch {
        var place = epoch
        while let parent = parents[place]?.epoch, parent != .zero, parent < place { place = parent }
        return place
    }

    /// The way from the root to the end of a view: each view with the last index that counts.
    package func path(to epoch: Epoch) -> [Epoch: UInt64] {
        var path: [Epoch: UInt64] = [epoch: .max]
        var place = epoch
        while let parent = parents[place], parent.epoch != .zero, path[parent.epoch] == nil {
            path[parent.epoch] = parent.index
            place = parent.epoch
        }
        return path
    }
}
