internal import MeshCrypto
internal import MeshWire

/// The indices by which datagrams name what they belong to.
///
/// Random, so that a stranger cannot guess one; locally unique; a released one names nothing for
/// 30 s, so that a late datagram meets silence (`10-security.md` §6).
struct IndexTable {
    /// What an index names.
    enum Owner {
        /// A dial that waits for HS2.
        case dial(Dial)
        /// A handshake we answered.
        case halfOpen(HalfOpen)
        /// A pair of keys.
        case keys(PairKeys)
    }

    private var owners: [UInt32: Owner] = [:]
    private var resting: [(index: UInt32, until: Instant)] = []
    private let rest: Duration

    init(rest: Duration) {
        self.rest = rest
    }

    /// The number of indices in use.
    var count: Int { owners.count }

    /// What `index` names, if anything.
    subscript(index: UInt32) -> Owner? { owners[index] }

    /// A new random index; it names nothing until ``assign(_:to:)``.
    func unused(from secrets: inout any SecretSource) -> UInt32 {
        while true {
            let index = secrets.index()
            if owners[index] == nil, !resting.contains(where: { $0.index == index }) {
                return index
            }
        }
    }

    /// Makes `index` name `owner`, instead of what it named before.
    mutating func assign(_ index: UInt32, to owner: Owner) {
        owners[index] = owner
    }

    /// Makes `index` name nothing, and keeps it from use for a while.
    mutating func release(_ index: UInt32, now: Instant) {
        guard owners.removeValue(forKey: index) != nil else { return }
        // Bounded: beyond this many the oldest rests a little shorter.
        if resting.count >= 4096 { resting.removeFirst(1024) }
        resting.append((index, now + rest))
    }

    /// Ends the rest of indices whose time is over.
    mutating func expire(now: Instant) {
        guard let first = resting.first, first.until <= now else { return }
        resting.removeAll { $0.until <= now }
    }
}
