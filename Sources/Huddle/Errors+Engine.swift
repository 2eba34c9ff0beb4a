import MeshConsensus
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

// What the engine and the room say, in the words of the public errors.

extension HuddleError {
    init(_ failure: AdmissionFailure) {
        let error = JoinError(failure)
        self.init(error == .busy ? .alreadyInRoom : .system, error.description, hint: error.hint)
    }

    init(_ failure: InviteError) {
        switch failure {
        case .tooMany:
            self.init(
                .tooManyInvites,
                "four invitations are open already",
                hint: "'huddle invite --close' closes them"
            )
        case .noRoom: self = .noRoom
        }
    }

    init(_ failure: SubmitFailure) {
        switch failure {
        case .notJoined: self = .noRoom
        case .refused(.suspended(let have, let need)):
            self.init(
                .suspended,
                "too few of the room's members are in reach: \(have), and it takes \(need)",
                hint: "bring them back, or go on without them for good: 'huddle adopt'"
            )
        case .refused(.notPrimary):
            self.init(
                .notPrimary,
                "only the room's primary side may do this, and this is another side of a split",
                hint: "wait until both sides meet, or 'huddle adopt' if the others are gone"
            )
        case .refused(let error):
            self.init(.suspended, "the room does not take this now: \(error)")
        }
    }

    init(_ refusal: CommandRefusal) {
        let words = Self.words(refusal)
        self.init(words.kind, words.text)
        self.refusal = refusal
    }

    private static func words(_ refusal: CommandRefusal) -> (kind: Kind, text: String) {
        switch refusal {
        case .malformed: (.refused, "the room does not understand this")
        case .invalid: (.refused, "a field is empty or out of its range")
        case .upgradeNeeded: (.refused, "this version is too old for the room")
        case .tooLarge(let limit): (.tooLarge, "too long: the limit is \(limit) bytes")
        case .full(let resource, let limit):
            (.refused, "the room has no place for more \(resource): the limit is \(limit)")
        case .notMember: (.noRoom, "this node is no member of the room")
        case .noSuchSession: (.noSession, "there is no such session")
        case .sessionExists: (.refused, "the session is there already")
        case .notJoined: (.notJoined, "this node is no participant of the session")
        case .alreadyJoined: (.refused, "this node is a participant already")
        case .locked: (.refused, "the session is locked")
        case .banned: (.refused, "this node was banned from the session")
        case .noSuchParticipant: (.refused, "there is no such participant")
        case .participantAway: (.refused, "that participant is away")
        case .notExpired: (.refused, "that participant is present")
        case .notLead: (.refused, "only the lead of the session may do this")
        case .notInitiator: (.refused, "only the node that started the session may do this")
        case .notLeader: (.refused, "only the room's leader may do this")
        case .noLead: (.refused, "the session has no lead")
        case .versionMismatch: (.refused, "the value was changed meanwhile")
        case .wrongKind: (.refused, "the key holds a value of another kind")
        case .outOfRange: (.refused, "the number is out of range")
        case .moveDecided: (.refused, "the move was answered already")
        case .noSuchAttachment: (.refused, "there is no such attachment")
        case .noSuchConflict: (.noConflict, "there is no such conflict, or it is settled already")
        }
    }
}

extension JoinError {
    init(_ failure: AdmissionFailure) {
        switch failure {
        case .notFound: self = .notFound
        case .unconfirmed: self = .unconfirmed
        case .incompatible(let theirs): self = .incompatible(theirs: Int(theirs))
        case .roomFull: self = .roomFull
        case .unreachable(let address): self = .unreachable(address: address)
        case .busy: self = .busy
        case .ownInvite: self = .ownInvite
        case .notAdmitted: self = .notAdmitted
        }
    }
}

extension ValueError {
    init(_ error: HuddleError) {
        switch error.refusal {
        case .versionMismatch(let current): self = .conflict(current: current.map(Revision.init))
        case .tooLarge(let limit): self = .tooLarge(limit: limit)
        case .full(_, let limit): self = .full(limit: limit)
        case .wrongKind: self = .wrongKind
        default: self = .failed(error)
        }
    }
}

extension SendReport {
    /// Throws if the message is too large for its lane.
    func checkSize() throws(MessengerError) {
        for reason in [refusal] + failures.map(\.reason) {
            if case .tooLarge(let size, let limit)? = reason {
                throw .tooLarge(size: size, limit: limit)
            }
        }
    }

    /// Throws unless everybody got the message.
    func check(deadline: Duration?) throws(MessengerError) {
        try checkSize()
        switch refusal {
        case .cancelled?: throw .cancelled
        case .some: throw .sessionInvalidated
        case nil: break
        }
        guard !failures.isEmpty else { return }
        if deadline != nil, failures.allSatisfy({ $0.reason == .expired }) {
            throw .deadlineExceeded(undelivered: Set(failures.map(\.participant)))
        }
        let pairs = failures.map { ($0.participant, DeliveryFailure($0.reason)) }
        throw .notDelivered(Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
    }
}

extension DeliveryFailure {
    init(_ failure: SendFailure) {
        switch failure {
        case .notActive: self = .notActive
        case .left: self = .left
        case .peerLost: self = .unreachable
        case .expired, .cancelled: self = .expired
        case .tooManyChannels(let limit): self = .tooManyChannels(limit: limit)
        case .backlogFull, .tooLarge: self = .fellBehind
        }
    }
}

extension RoomView {
    init(_ summary: ViewSummary) {
        self.init(
            epoch: summary.epoch,
            members: summary.members.map(\.nodeID),
            leader: summary.leader?.nodeID,
            isPrimary: summary.isPrimary,
            isUsable: summary.isUsable,
            suspension: summary.suspension.map { .init(have: $0.have, need: $0.need) }
        )
    }
}

extension Value {
    /// `nil` for counters and sets, which have no bytes of their own.
    init?(_ stored: StoredValue) {
        guard case .bytes(let bytes) = stored.content else { return nil }
        self.init(bytes: bytes, revision: Revision(stored.version))
    }
}
