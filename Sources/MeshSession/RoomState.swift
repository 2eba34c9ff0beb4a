package import MeshConsensus
package import MeshWire

/// The room's replicated state: members, sessions, participants, values.
///
/// A deterministic machine behind the log (`30-consensus.md` D5, §12). Every replica applies the
/// same entries in the same order and so has the same state, gives the same results and the same
/// snapshot bytes. It has three inlets, ``apply(_:at:)``, ``install(_:departed:at:)`` and
/// ``restore(from:)``. A ``RoomObserver`` tells what changed.
///
/// An entry of a type that this version does not know stops the machine (``upgradeNeeded``): what
/// comes after it could mean anything.
package struct RoomState: Sendable {
    /// The processes of the room, sorted; those that are away are listed until they leave.
    package internal(set) var members: [RoomMember] = []
    /// The sessions, sorted by their names.
    package internal(set) var sessions: [RoomSession] = []
    /// What merges could not join and nobody has acknowledged.
    package internal(set) var conflicts = ConflictList()
    /// The tag of the process that leads the view.
    package internal(set) var leader: UInt64 = 0
    /// The type that this version does not know, if the log held one; nothing is applied any more.
    package internal(set) var upgradeNeeded: UInt16?

    /// The last entry that was applied; `nil` from a restore to the next one.
    package internal(set) var position: Position? = .zero

    var events = RecentEvents()
    let digest: @Sendable ([UInt8]) -> Digest

    /// The state of a room that was just made; `digest` is the room's hash of 32 bytes.
    package init(digest: @escaping @Sendable ([UInt8]) -> Digest) {
        self.digest = digest
    }

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

    /// The session that has this slot.
    package func session(inSlot slot: String) -> RoomSession? {
        slotIndex(slot).map { sessions[$0] }
    }

    /// The identifier of the participant that a join command of `process` with `nonce` will make.
    package func participantID(
        session: SessionID,
        process: ProcessID,
        nonce: UInt64
    ) -> ParticipantID {
        Participant.id(session: session, process: process, nonce: nonce, digest: digest)
    }

    /// Applies one command and says what became of it.
    ///
    /// A refused command changes nothing. Bytes that are no command are refused as well, alike on
    /// every replica; nothing traps.
    package mutating func result(of record: Command, at position: Position) -> CommandResult {
        begin(at: position)
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

    mutating func begin(at position: Position) {
        self.position = position
        events.begin(at: position)
    }

    /// The bytes of all sessions.
    var byteCount: Int { sessions.reduce(0) { $0 + $1.byteCount } }

    func sessionIndex(_ id: SessionID) -> Int? {
        sessions.firstIndex { $0.id == id }
    }

    func slotIndex(_ slot: String) -> Int? {
        guard !slot.isEmpty else { return nil }
        return sessions.firstIndex { $0.slot.utf8.elementsEqual(slot.utf8) }
    }

    func memberIndex(_ process: ProcessID) -> Int? {
        members.firstIndex { $0.process == process }
    }

    func memberIndex(_ origin: Origin) -> Int? {
        members.firstIndex { Origin($0.process) == origin }
    }
}

extension RoomState: StateMachine {
    /// Applies one command and answers with the bytes of its ``CommandResult``.
    package mutating func apply(_ command: Command, at position: Position) -> [UInt8] {
        result(of: command, at: position).encoded
    }

    /// Whether what the origin was told of the first result still holds with the second.
    ///
    /// Versions and numbers differ from branch to branch; what counts is that nothing was promised
    /// that was then refused. Bytes that are no result are compared as they are.
    package func isSameOutcome(of command: Command, _ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
        guard let left, let right else {
            // Only what expects something can have been done here and refused there.
            return command.type != CommandType.compareAndSet.rawValue
                && command.type != CommandType.delete.rawValue
        }
        guard let former = try? CommandResult(decoding: left),
            let latter = try? CommandResult(decoding: right)
        else { return left == right }
        switch (former, latter) {
        case (.refused, _): return true
        case (_, .refused): return false
        case (.merged(let session), .merged(let other)): return session == other
        case (.merged, _), (_, .merged): return false
        case (.appended(let index, _), .appended(let other, _)): return index == other
        case (.done, _), (.joined, _), (.stored, _), (.counted, _), (.appended, _): return true
        }
    }

    /// Takes a committed view over: who is in it, who leads it, who left for good.
    ///
    /// Members out of the view are away and so are their participants; those in it are back. A
    /// process that left, or whose node is in the view with a new incarnation, is gone at once
    /// with its participants: nothing of a former life is inherited (`30-consensus.md` D9).
    package mutating func install(_ view: View, departed: [ProcessID], at position: Position) {
        install(
            members: view.members.map(\.process),
            leader: view.epoch.proposer,
            departed: departed,
            at: position
        )
    }
}

extension Command {
    /// The record of a command of the room's state; whoever signs it sets the signature.
    ///
    /// `session` is all zero for ``RoomCommand/setProfile(_:)``.
    package init(
        _ command: RoomCommand,
        session: SessionID = .zero,
        level: WriteLevel = .majority,
        requiresPrimary: Bool = false,
        origin: Origin,
        sequence: UInt64,
        acknowledgedUpTo: UInt64 = 0
    ) {
        self.init(
            type: command.type.rawValue,
            level: level,
            requiresPrimary: requiresPrimary,
            origin: origin,
            sequence: sequence,
            acknowledgedUpTo: acknowledgedUpTo,
            session: session,
            payload: command.payload
        )
    }
}
