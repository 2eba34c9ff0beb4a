import MeshConsensus
import MeshCrypto
import MeshSession
import MeshTransport
import MeshWire

/// What a node does unasked: expiring who stays away, telling addresses, dialing who is missing.
struct Upkeep: Sendable {
    /// Something absent whose time runs.
    struct Absence: Sendable {
        var session: SessionID
        /// The participant that is away; `nil` for a session that nobody has joined.
        var participant: ParticipantID?
        var until: Instant
    }

    /// Who is away and since when, as this node saw it; bounded by the room's state.
    private(set) var absences: [Absence] = []
    /// When the others should hear whom we see.
    private(set) var directoryDue: Instant?
    /// Nodes that consensus wants a pair with.
    private(set) var wantedNodes: [NodeID] = []

    /// Addresses are told at most this often.
    static let directorySpacing: Duration = .milliseconds(100)

    var deadline: Instant? {
        absences.lazy.map(\.until).reduce(directoryDue, earliest)
    }

    mutating func wanted(_ nodeID: NodeID) {
        guard !wantedNodes.contains(nodeID), wantedNodes.count < Limits.members else { return }
        wantedNodes.append(nodeID)
    }

    mutating func takeWanted() -> [NodeID] {
        defer { wantedNodes = [] }
        return wantedNodes
    }

    mutating func linksChanged(now: Instant) {
        directoryDue = earliest(directoryDue, now + Self.directorySpacing)
    }

    mutating func directoryTold() { directoryDue = nil }

    /// Keeps the list of absences true after a change of the room.
    mutating func note(
        _ change: RoomEvent,
        grace: Duration,
        unjoined: Duration,
        now: Instant
    ) {
        switch change {
        case .participantAway(let session, let participant):
            start(session, participant.id, until: now + grace)
        case .participantBack(let session, let participant),
            .participantLeft(let session, let participant, _):
            absences.removeAll { $0.session == session && $0.participant == participant.id }
        case .sessionStarted(let session):
            start(session.id, nil, until: now + unjoined)
        case .participantReturned(let session, let participant) where !participant.isPresent:
            start(session, participant.id, until: now + grace)
        case .participantJoined(let session, _), .participantReturned(let session, _):
            absences.removeAll { $0.session == session && $0.participant == nil }
        case .sessionEnded(let session, _):
            absences.removeAll { $0.session == session }
        default:
            break
        }
    }

    private mutating func start(
        _ session: SessionID,
        _ participant: ParticipantID?,
        until: Instant
    ) {
        absences.removeAll { $0.session == session && $0.participant == participant }
        absences.append(Absence(session: session, participant: participant, until: until))
    }

    /// The absences whose time is over; each is looked at again after `spacing`, until the log ends it.
    mutating func takeExpired(now: Instant, spacing: Duration) -> [Absence] {
        var expired: [Absence] = []
        for index in absences.indices where absences[index].until <= now {
            expired.append(absences[index])
            absences[index].until = now + spacing
        }
        return expired
    }
}

extension Engine {
    mutating func advanceUpkeep(to now: Instant) {
        if let due = upkeep.directoryDue, due <= now {
            upkeep.directoryTold()
            tellDirectory(now: now)
            if case .member(var record) = membership {
                // Who is gone may come back: its address is worth keeping behind those of today.
                let present = links.map(\.address)
                let former = record.addresses.filter { !present.contains($0) }
                record.addresses = Array((present + former).prefix(Limits.members))
                membership = .member(record)
                events.append(.roomRecord(record))
            }
        }
        let expired = upkeep.takeExpired(now: now, spacing: .seconds(2))
        // Only the leader's word removes somebody; the others keep count in case they must lead.
        guard consensus?.role == .leader else { return }
        for absence in expired {
            let command: RoomCommand =
                if let participant = absence.participant {
                    .expire(participant)
                } else {
                    .endSession(isExpiry: true)
                }
            sequence(command, session: absence.session, for: nil, now: now)
        }
    }

    /// Tells every pair where the others are.
    private mutating func tellDirectory(now: Instant) {
        guard membership.record != nil else { return }
        let entries = links.map {
            DirectoryMessage.Entry(nodeID: $0.process.nodeID, address: $0.address)
        }
        for link in links {
            let others = entries.filter { $0.nodeID != link.process.nodeID }
            for start in stride(from: 0, to: others.count, by: DirectoryMessage.entryLimit) {
                let end = min(start + DirectoryMessage.entryLimit, others.count)
                let message = DirectoryMessage(entries: Array(others[start..<end]))
                endpoint.sendControl(
                    machine: DirectoryMessage.machine,
                    message.encoded,
                    to: link.process.nodeID
                )
            }
        }
    }

    /// Dials whom hints name and no pair reaches.
    mutating func dialContacts(now: Instant) {
        for nodeID in upkeep.takeWanted() where link(nodeID) == nil {
            if let contact = contacts.entries.first(where: { $0.nodeID == nodeID }) {
                contacts.note(contact.address, nodeID: nodeID, isMember: true, now: now)
            }
        }
        guard membership.record != nil, let due = contacts.deadline, due <= now else { return }
        let connected = links
        let dueContacts = contacts.takeDue(
            now: now,
            isNeeded: { contact in
                if let nodeID = contact.nodeID {
                    return !connected.contains { $0.process.nodeID == nodeID }
                }
                return !connected.contains { $0.address == contact.address }
            },
            generator: &generator
        )
        for contact in dueContacts {
            _ = endpoint.dial(
                .member(address: contact.address, expected: contact.nodeID),
                now: now
            )
        }
    }

    /// How long to leave the first dial to the other side: the smaller identity begins.
    func patience(towards nodeID: NodeID) -> Duration {
        process.nodeID < nodeID ? .zero : .milliseconds(300)
    }

    /// The nodes this one has heard of, for the references in beacons.
    var knownNodes: [NodeID] {
        let members = room?.members.map(\.process.nodeID) ?? []
        return members + links.map(\.process.nodeID) + contacts.entries.compactMap(\.nodeID)
    }

    /// What discovery should say on this node's behalf.
    var announcement: Announcement {
        var searching = false
        if case .searching = membership { searching = true }
        let isEstranged = inspectConsensus { !$0.estranged.isEmpty } ?? false
        return Announcement(
            invites: endpoint.openInvites,
            isSearching: searching,
            isEstranged: isEstranged
        )
    }
}
