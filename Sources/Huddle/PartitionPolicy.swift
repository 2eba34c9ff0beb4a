import MeshConsensus

/// What a room does when its members lose sight of each other; chosen when it is made, for ever.
public enum PartitionPolicy: Hashable, Sendable {
    /// Every side goes on, alone if need be. When they meet again, one deterministic merge joins what
    /// they did; what no rule can join is in ``Room/conflicts``.
    case available
    /// Only the side with more than half of the members goes on; there is one history.
    ///
    /// Of two sides of equal size the one with the first member in rank goes on, so a room of two
    /// survives the loss of one of them, and not of the other. Elsewhere writes and fresh reads end with
    /// ``HuddleError/Kind/suspended``. With `survivor`, such a side goes on after so long a time all the
    /// same, and from then on the room keeps no more than what ``available`` promises.
    case majority(survivor: Duration?)

    /// Only the side with more than half of the members goes on.
    public static let majority = Self.majority(survivor: nil)

    init(_ policy: MeshConsensus.PartitionPolicy) {
        switch policy {
        case .available: self = .available
        case .majority(let survivor): self = .majority(survivor: survivor)
        }
    }

    /// One stable word for programs.
    package var word: String {
        switch self {
        case .available: "available"
        case .majority: "majority"
        }
    }

    var inner: MeshConsensus.PartitionPolicy {
        switch self {
        case .available: .available
        case .majority(let survivor): .majority(survivor: survivor)
        }
    }
}
