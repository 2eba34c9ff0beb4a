package import MeshWire

/// One activity running in the room.
package struct RoomSession: Hashable, Sendable {
    /// The session's name, drawn by its initiator.
    package let id: SessionID
    /// The process that started it.
    package let initiator: ProcessID
    /// The entry of the log that started it.
    package let startedAt: Position
    /// How long it lives.
    package let lifetime: SessionLifetime
    /// The place of which the room has one; empty for none.
    package let slot: String
    /// What the participants do together.
    package internal(set) var activity: Activity
    /// Capacity, lock and control.
    package internal(set) var options: SessionOptions
    /// Who may move the lead.
    package internal(set) var leadMode: LeadMode
    /// The participant that leads, if any.
    package internal(set) var lead: ParticipantID?
    /// Whether the lead is the initiator's as soon as it joins: it has not yet, and nobody gave or took it.
    package internal(set) var isLeadReserved = true
    /// The participants in the order of their joins, which is that of their numbers.
    package internal(set) var participants: [Participant] = []
    /// The nodes that may not join, sorted.
    package internal(set) var bans: [NodeID] = []
    /// The participants that were removed last, oldest first, so that no merge brings one back.
    package internal(set) var kicked: [ParticipantID] = []
    /// The number that the next participant gets; numbers are never used again.
    package internal(set) var nextNumber: UInt32 = 1
    /// The values, sorted by the bytes of their keys.
    package internal(set) var values = ValueTable()
    /// The attachments, in the order in which the log has them.
    package internal(set) var journal: [JournalRecord] = []

    /// The sequence of entries that all participants share.
    package internal(set) var log = OrderedLog()

    init(id: SessionID, initiator: ProcessID, startedAt: Position, blueprint: SessionBlueprint) {
        self.id = id
        self.initiator = initiator
        self.startedAt = startedAt
        lifetime = blueprint.lifetime
        slot = blueprint.slot
        activity = blueprint.activity
        options = blueprint.options
        leadMode = blueprint.leadMode
    }

    /// The participant with this identifier.
    package func participant(_ id: ParticipantID) -> Participant? {
        participants.first { $0.id == id }
    }

    /// The participant of this process.
    package func participant(of process: ProcessID) -> Participant? {
        participants.first { $0.process == process }
    }

    /// The participant with this number, the short form of the lanes.
    package func participant(number: UInt32) -> Participant? {
        participants.first { $0.number == number }
    }

    /// The attachment with this identifier.
    package func attachment(_ id: AttachmentID) -> JournalRecord? {
        journal.first { $0.entry.id == id }
    }

    /// Whether anybody ever joined.
    package var wasJoined: Bool { nextNumber > 1 }

    /// The participant that answers for the session: the lead, else the initiator's, else the
    /// present one that joined first.
    package var steward: ParticipantID? {
        lead ?? participant(of: initiator)?.id ?? successor
    }

    /// The present participant with the lowest join position and identifier (`30-consensus.md`
    /// §12).
    var successor: ParticipantID? {
        // Numbers grow with join positions, so the first present one is the lowest.
        participants.first { $0.isPresent }?.id
    }

    /// The bytes of activity, values, journal and log, what ``SessionLimits/stateBytes`` counts.
    var byteCount: Int {
        journal.reduce(activity.byteCount + values.byteCount + log.byteCount) {
            $0 + $1.entry.byteCount
        }
    }
}

/// One node's membership in one session.
package struct Participant: Hashable, Sendable {
    /// Derived from session, process and the joiner's nonce; new at each join.
    package let id: ParticipantID
    /// The ordinal of the join in the session, from 1.
    package let number: UInt32
    /// The process behind it.
    package let process: ProcessID
    /// The entry of the log that joined it.
    package let joinedAt: Position
    /// Whether its process is in the view; if not, it is away and has the grace to come back.
    package internal(set) var isPresent: Bool
    /// The number of its last move that was answered; zero for none.
    package internal(set) var decidedMove: UInt64 = 0

    /// The identifier of the participant that a join command makes (`30-consensus.md` §12).
    ///
    /// The first 16 bytes of H(session 16 ‖ node 32 ‖ incarnation u64 ‖ nonce u64), so the
    /// origin knows it before the join is in the log.
    package static func id(
        session: SessionID,
        process: ProcessID,
        nonce: UInt64,
        digest: ([UInt8]) -> Digest
    ) -> ParticipantID {
        var writer = ByteWriter()
        writer.write(session)
        writer.write(process.nodeID)
        writer.write(process.incarnation)
        writer.write(nonce)
        return ParticipantID(digest(writer.bytes).bytes.prefix(16)) ?? .zero
    }
}

/// A process of the room, present or away.
package struct RoomMember: Hashable, Sendable {
    /// The process.
    package let process: ProcessID
    /// What it shows; empty until it says, and whether the signature holds is for the reader to ask.
    package internal(set) var profile: MemberProfile
    /// Whether it is in the view.
    package internal(set) var isPresent: Bool
    /// The entry of the log that brought it in, or made it absent or present last.
    package internal(set) var changedAt: Position
}

extension Activity {
    var byteCount: Int { identifier.utf8.count + payload.count + metadata.count }
}
