package import MeshWire

/// The version of a value: the place in the room's log that wrote it.
///
/// Revisions are compared for equality by compare-and-set; their text form is stable, so scripts can
/// keep one between two commands.
public struct Revision: Hashable, Sendable {
    package let position: Position

    package init(_ position: Position) {
        self.position = position
    }
}

extension Revision: LosslessStringConvertible {
    /// `COUNTER-PROPOSER-INDEX`, the proposer in hexadecimal.
    public var description: String {
        let proposer = String(position.epoch.proposer, radix: 16)
        return "\(position.epoch.counter)-\(proposer)-\(position.index)"
    }

    /// The revision that `description` gave; `nil` for any other text.
    public init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let counter = UInt64(parts[0]),
            let proposer = UInt64(parts[1], radix: 16),
            let index = UInt64(parts[2])
        else { return nil }
        self.init(Position(epoch: Epoch(counter: counter, proposer: proposer), index: index))
    }
}
