import MeshSession
import MeshWire

/// What a session's hub keeps for moves: this node's, and those it is to decide.
///
/// Belongs to the node's thread.
final class ArbiterDesk {
    /// A move of another participant, or of this node's, that is not decided.
    struct Proposal {
        var move: MoveID
        var payload: [UInt8]
    }

    /// How the program decides.
    var decider: (@Sendable (Move) async -> MoveDecision)?
    /// This node's moves, in the order of the calls; the first is under way.
    var asking: [MoveAsking] = []
    /// What waits for this node's decision, in the order in which it came, one of each participant.
    private(set) var proposals: [Proposal] = []
    /// Whether one of them is being decided.
    var isDeciding = false

    /// Takes a move in; a later one of the same participant takes its place.
    func take(_ proposal: Proposal) {
        let former = proposals.firstIndex { $0.move.participant == proposal.move.participant }
        guard let former else { return proposals.append(proposal) }
        guard proposals[former].move.number < proposal.move.number else { return }
        proposals.remove(at: former)
        proposals.append(proposal)
    }

    /// The move to decide next, once what is decided or has lost its participant is out.
    func next(in session: RoomSession) -> Proposal? {
        proposals.removeAll {
            session.participant($0.move.participant) == nil || session.isDecided($0.move)
        }
        return proposals.isEmpty ? nil : proposals.removeFirst()
    }

    /// The participation is over, and with it every wait.
    func end() {
        decider = nil
        proposals = []
        for asking in asking {
            asking.fulfil(
                .failure(.failed(HuddleError(.noSession, "the participation ended meanwhile")))
            )
        }
        asking = []
    }
}

/// A move of this node's program, and who waits for its answer.
final class MoveAsking {
    typealias Answer = Result<LogEntry, ArbiterError>

    let number: UInt64
    let payload: [UInt8]
    /// Who has it to decide, as far as this node sent it.
    var sentTo: ParticipantID?
    private var answer: Answer?
    private var waiter: CheckedContinuation<Answer, Never>?

    init(number: UInt64, payload: [UInt8]) {
        self.number = number
        self.payload = payload
    }

    /// Gives the answer; the first counts.
    func fulfil(_ answer: Answer) {
        guard self.answer == nil else { return }
        self.answer = answer
        waiter?.resume(returning: answer)
        waiter = nil
    }

    func wait(_ continuation: CheckedContinuation<Answer, Never>) {
        if let answer { continuation.resume(returning: answer) } else { waiter = continuation }
    }
}
