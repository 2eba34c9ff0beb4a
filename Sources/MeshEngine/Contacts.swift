import MeshWire

/// Whom to dial and when: what beacons, members and memory said of other nodes' addresses.
///
/// Everything here is a hint; the handshake decides. Bounded in entries and in dials a second.
struct Contacts: Sendable {
    /// One address somebody may answer at.
    struct Contact: Sendable {
        var address: SocketAddress
        /// Who was said to be there, if known.
        var nodeID: NodeID?
        /// When the next dial may start.
        var due: Instant
        /// How many dials failed in a row.
        var failures = 0
        /// How many more dials are worth making; a hint's are few, a member's without number.
        var dialsLeft: Int
    }

    /// The contacts, newest hint last.
    private(set) var entries: [Contact] = []

    /// Addresses remembered at once; the oldest hint gives way.
    static let limit = 256
    /// Dials started in one look.
    static let burst = 16

    /// Notes that `nodeID` may answer at `address`; `isMember` if it was in our room.
    mutating func note(
        _ address: SocketAddress,
        nodeID: NodeID?,
        isMember: Bool,
        delay: Duration = .zero,
        now: Instant
    ) {
        let worth = isMember ? Int.max : 2
        if let index = entries.firstIndex(where: { $0.address == address }) {
            entries[index].nodeID = nodeID ?? entries[index].nodeID
            entries[index].dialsLeft = max(entries[index].dialsLeft, worth)
            // A fresh sign of life ends the back-off, but not the spacing of a second.
            entries[index].due = min(entries[index].due, now + .seconds(1))
            return
        }
        if entries.count >= Self.limit {
            let victim = entries.firstIndex { $0.dialsLeft != .max } ?? 0
            entries.remove(at: victim)
        }
        entries.append(
            Contact(address: address, nodeID: nodeID, due: now + delay, dialsLeft: worth)
        )
    }

    /// The contacts to dial now; each becomes due again later, with a growing distance.
    mutating func takeDue(
        now: Instant,
        isNeeded: (Contact) -> Bool,
        generator: inout SeededGenerator
    ) -> [Contact] {
        var due: [Contact] = []
        for index in entries.indices where entries[index].due <= now && due.count < Self.burst {
            guard isNeeded(entries[index]) else {
                entries[index].due = now + .seconds(1)
                entries[index].failures = 0
                continue
            }
            due.append(entries[index])
            entries[index].failures += 1
            if entries[index].dialsLeft != .max { entries[index].dialsLeft -= 1 }
            let wait = Duration.seconds(min(1 << min(entries[index].failures, 4), 10))
            let jitter = generator.duration(in: .zero ... .milliseconds(250))
            entries[index].due = now + wait + jitter
        }
        entries.removeAll { $0.dialsLeft <= 0 }
        return due
    }

    /// An address answered, so it is worth dialing again at once should the pair be lost.
    mutating func answered(_ address: SocketAddress, nodeID: NodeID, now: Instant) {
        // A node has one address at a time here: what was said of it before is history.
        entries.removeAll { $0.nodeID == nodeID && $0.address != address }
        note(address, nodeID: nodeID, isMember: true, now: now)
        for index in entries.indices where entries[index].address == address {
            entries[index].nodeID = nodeID
            entries[index].failures = 0
            entries[index].due = now + .seconds(1)
        }
    }

    /// Forgets where `nodeID` was.
    mutating func forget(_ nodeID: NodeID) {
        entries.removeAll { $0.nodeID == nodeID }
    }

    /// Forgets everything.
    mutating func removeAll() {
        entries = []
    }

    /// When the next contact is due.
    var deadline: Instant? {
        entries.lazy.map(\.due).min()
    }
}
