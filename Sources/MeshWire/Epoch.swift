/// The name of a view: a counter and the process that proposed it, totally ordered.
///
/// At most one leader an epoch, since an epoch names its proposer (`30-consensus.md` §2).
public struct Epoch: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// Grows with every attempt to form a view.
    public var counter: UInt64
    /// The tag of the process that proposed the view.
    public var proposer: UInt64

    /// The epoch `counter` of `proposer`.
    public init(counter: UInt64, proposer: UInt64) {
        self.counter = counter
        self.proposer = proposer
    }

    /// Below every epoch that a process can propose.
    public static let zero = Epoch(counter: 0, proposer: 0)

    /// Orders by counter, then by proposer.
    public static func < (left: Epoch, right: Epoch) -> Bool {
        (left.counter, left.proposer) < (right.counter, right.proposer)
    }
}

extension Epoch: CustomStringConvertible {
    /// `counter@proposer`, the proposer as the first four hex digits of its tag.
    public var description: String {
        "\(counter)@\(String(proposer >> 48 | 1 << 16, radix: 16).dropFirst())"
    }
}

/// A place in the room's history; it grows along every path of the lineage.
public struct Position: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The view whose leader wrote the entry.
    public var epoch: Epoch
    /// The entry's index in the log, from 1.
    public var index: UInt64

    /// The entry `index` of the view `epoch`.
    public init(epoch: Epoch, index: UInt64) {
        self.epoch = epoch
        self.index = index
    }

    /// Before every entry.
    public static let zero = Position(epoch: .zero, index: 0)

    /// Orders by epoch, then by index.
    public static func < (left: Position, right: Position) -> Bool {
        (left.epoch, left.index) < (right.epoch, right.index)
    }
}

extension Position: CustomStringConvertible {
    /// `counter@proposer:index`.
    public var description: String { "\(epoch):\(index)" }
}
