import MeshWire

/// One view of a history, as merges compare them.
///
/// A history is the views that a branch went through and those of the branches that it took in.
struct LineageView: Hashable, Sendable {
    var epoch: Epoch
    /// The view entry's index and its hash.
    var index: UInt64
    var hash: Digest
    /// The last entry of the view that this history contains; `.max` while the view goes on.
    var until: UInt64
    var parents: [Epoch]
    var tags: [UInt64]

    func encode(into writer: inout ByteWriter) {
        writer.write(epoch)
        writer.write(index)
        writer.write(hash)
        writer.write(until)
        writer.writeCount(parents.count)
        for parent in parents { writer.write(parent) }
        writer.writeCount(tags.count)
        for tag in tags { writer.write(tag) }
    }
}

extension LineageView {
    init(reading reader: inout ByteReader) throws(WireError) {
        self.init(
            epoch: try reader.readEpoch(),
            index: try reader.read(),
            hash: try reader.read(),
            until: try reader.read(),
            parents: try reader.readEpochs(limit: ConsensusLimits.parents),
            tags: try reader.readTags()
        )
    }
}

/// Where two histories part.
enum Fork: Hashable, Sendable {
    /// Behind this entry; `view` is the newest that both went through.
    case at(Position, view: LineageView)
    /// Before their first entries: they share the genesis alone.
    case genesis
    /// Where no single state is known that both contain once: too long ago, or after two branches were
    /// taken in crosswise.
    case unknown

    var position: Position {
        if case .at(let position, _) = self { position } else { .zero }
    }

    var view: LineageView? {
        if case .at(_, let view) = self { view } else { nil }
    }

    /// The fork of two histories.
    init(_ left: Lineage, _ right: Lineage) {
        let common = left.common(with: right)
        guard let newest = common.max(by: { $0.epoch < $1.epoch }) else {
            self = left.isComplete && right.isComplete ? .genesis : .unknown
            return
        }
        // All that is common must lie on the newest one's own past, or else what both took in by
        // different ways would count twice.
        let past = left.past(of: newest.epoch)
        guard common.allSatisfy({ past.contains($0.epoch) }) else {
            self = .unknown
            return
        }
        let index = min(left.until(newest.epoch) ?? 0, right.until(newest.epoch) ?? 0)
        self = .at(Position(epoch: newest.epoch, index: index), view: newest)
    }
}

/// The views of a history, oldest first, and where its log ends.
struct Lineage: Hashable, Sendable {
    var views: [LineageView]
    var head: UInt64

    /// Whether the first view of all is among them.
    var isComplete: Bool { views.contains { $0.index == 1 } || views.isEmpty }

    /// The views that both histories contain.
    func common(with other: Lineage) -> [LineageView] {
        views.filter { view in
            other.views.contains {
                $0.epoch == view.epoch && $0.index == view.index && $0.hash == view.hash
            }
        }
    }

    /// The newest view that both contain; the same for both, whichever asks.
    func newestCommon(with other: Lineage) -> LineageView? {
        common(with: other).max { $0.epoch < $1.epoch }
    }

    /// The last entry of a view that the history contains.
    func until(_ epoch: Epoch) -> UInt64? {
        views.last { $0.epoch == epoch }.map { min($0.until, head) }
    }

    /// Whether the history contains an entry.
    func covers(_ position: Position) -> Bool {
        until(position.epoch).map { position.index <= $0 } ?? false
    }

    /// The view and all it descends from, as far as they are on record.
    func past(of epoch: Epoch) -> Set<Epoch> {
        var past: Set<Epoch> = [epoch]
        var open = [epoch]
        while let next = open.popLast() {
            for parent in views.last(where: { $0.epoch == next })?.parents ?? []
            where past.insert(parent).inserted {
                open.append(parent)
            }
        }
        return past
    }
}
