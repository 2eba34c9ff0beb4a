package import MeshWire

/// The room's replicated state: members, sessions, participants, values.
///
/// A deterministic machine behind the log (`30-consensus.md` D5, §12). Every replica applies the
/// same entries in the same order and so has the same state, gives the same results and the same
/// snapshot bytes. It has three inlets, ``apply(_:at:)``, ``install(members:leader:departed:at:)``
/// and ``restore(from:)``, and shows what changed as ``RoomEvent``s, which its owner takes after
/// each.
///
/// An entry of a type that this version does not know stops the machine (``upgradeNeeded``): what
/// comes after it could mean anything.
package struct RoomState: Sendable {
    /// The processes of the room, sorted; those that are away are listed until they leave.
    package internal(set) var members: [RoomMember] = []
    /// The sessions, sorted by their names.
    package internal(set) var sessions: [RoomSession] = []
    /// The tag of the process that leads the view.
    package internal(set) var leader: UInt64 = 0
    /// The type that this version does not know, if the log held one; nothing is applied any more.
    package internal(set) var upgradeNeeded: UInt16?

    var events = EventQueue()
    let digest: @Sendable ([UInt8]) -> Digest

    /// The state of a room that was just made; `digest` is the room's hash of 32 bytes.
    package init(digest: @escaping @Sendable ([UInt8]) -> Digest) {
        self.digest = digest
    }

    /// Takes what changed since the last call.
    package mutating func takeEvents() -> [RoomEvent] {
        events.take()
    }

    /// Whether ``takeEvents()`` has something to give.
    package var hasEvents: Bool { !events.isEmpty }

    /// The session of this name.
    package func session(_ id: SessionID) -> RoomSession? {
        sessionIndex(id).map { sessions[$0] }
    }

    /// The member that is this process.
    package func member(_ process: ProcessID) -> RoomMember? {
        memberIndex(process).map { members[$0] }
    }

    /// The participants of every session whose process is away: the leader expires them after the
    /// grace.
    package var away: [(session: SessionID, participant: Participant)] {
        sessions.flatMap { session in
            session.participants.lazy.filter { !$0.isPresent }.map { (session.id, $0) }
        }
    }

    /// The identifier of the participant that a join command of `process` will make.
    package func participantID(
        session: SessionID,
        process: ProcessID,
        sequence: UInt64
    ) -> ParticipantID {
        Participant.id(session: session, process: process, sequence: sequence, digest: digest)
    }

    /// Applies one command and says what became of it.
    ///
    /// A refused command changes nothing. Bytes that are no command are refused as well, alike on
    /// every replica; nothing traps.
    package mutating func apply(_ record: CommandRecord, at position: Position) -> CommandResult {
        if let type = upgradeNeeded { return .refused(.upgradeNeeded(type: type)) }
        let command: RoomCommand
        do {
            command = try RoomCommand(type: record.type, payload: record.payload)
        } catch {
            switch error {
            case .malformed:
                return .refused(.malformed)
            case .unknownType(let type):
                stop(at: type)
                return .refused(.upgradeNeeded(type: type))
            }
        }
        do {
            try command.validate()
            return try perform(command, from: record, at: position)
        } catch {
            return .refused(error)
        }
    }

    /// Ends every session here: the log speaks of what this version cannot do.
    private mutating func stop(at type: UInt16) {
        upgradeNeeded = type
        for session in sessions { events.append(.sessionEnded(session.id, .upgradeNeeded)) }
        sessions = []
        events.append(.upgradeNeeded(type: type))
    }

    /// The bytes of all sessions.
    var byteCount: Int { sessions.reduce(0) { $0 + $1.byteCount } }

    func sessionIndex(_ id: SessionID) -> Int? {
        sessions.firstIndex { $0.id == id }
    }

    func memberIndex(_ process: ProcessID) -> Int? {
        members.firstIndex { $0.process == process }
    }
}

/// A command as the log holds it, without its signature: who asks what.
package struct CommandRecord: Hashable, Sendable {
    /// The number of the command.
    package var type: UInt16
    /// The session it speaks of; ``SessionID/zero`` for the room.
    package var session: SessionID
    /// What ``RoomCommand`` decodes.
    package var payload: [UInt8]
    /// The process that signed it.
    package var origin: ProcessID
    /// The origin's count of its commands.
    package var sequence: UInt64

    /// The record of `command`.
    package init(
        _ command: RoomCommand,
        session: SessionID = .zero,
        origin: ProcessID,
        sequence: UInt64
    ) {
        self.init(
            type: command.type.rawValue,
            session: session,
            payload: command.payload,
            origin: origin,
            sequence: sequence
        )
    }

    package init(
        type: UInt16,
        session: SessionID,
        payload: [UInt8],
        origin: ProcessID,
        sequence: UInt64
    ) {
        self.type = type
        self.session = session
        self.payload = payload
        self.origin = origin
        self.sequence = sequence
    }
}
