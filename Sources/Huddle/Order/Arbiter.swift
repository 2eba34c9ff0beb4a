import MeshSession
import MeshWire

/// The lead of a session decides what the others propose, one move after the other.
///
/// A participant proposes a move; the program of the lead accepts it with a result, which stands in the
/// session's ``SessionLog`` for all, or refuses it. Every program that may get the lead registers how it
/// decides. While the lead is away the present participant that joined first decides.
///
/// A move that the lead did not answer is handed to whoever has the lead then, under the same name, and an
/// answer counts only if there is none yet: of each move there is one answer at most, also when the
/// lead crashes or comes back.
public struct Arbiter: Sendable {
    let session: SessionID
    let node: Node

    /// The most bytes of a move and of a result, 16 KiB.
    public static let moveLimit = SessionLog.entryLimit
    /// The most bytes of the reason for a refusal, UTF-8; a longer one is cut.
    public static let reasonLimit = SessionLimits.noteBytes
    /// The most moves of this node that may wait for their answers.
    static let waitingLimit = 64

    /// Who decides now; `nil` in a session without a lead, or if this node knows no such session.
    public var participant: Participant? {
        get async { await node.arbiter(of: session) }
    }

    /// Registers how this program decides moves while it is the one to decide.
    ///
    /// `body` is called for one move at a time, once for each, and only after this program's readers of
    /// ``SessionLog/changes()`` have taken every entry so far. So a program that applies entries as they
    /// come decides on what all the accepted moves made.
    ///
    /// - Parameter body: Answers a move; it replaces the one before, and `nil` ends that. Without one moves
    ///   wait for it.
    public func decide(_ body: (@Sendable (Move) async -> MoveDecision)?) async {
        await node.decideMoves(in: session, with: body)
    }

    /// Proposes a move, and returns the entry that accepts it.
    ///
    /// The moves of a participant are decided in the order of the calls, one after the other.
    ///
    /// - Parameters:
    ///   - move: The application's bytes, at most ``moveLimit``.
    ///   - timeout: How long to wait for the answer.
    /// - Returns: The entry with the result; who reads the sequence sees it too.
    /// - Throws: ``ArbiterError``. After `timedOut` and `cancelled` the move may still be accepted, until a
    ///   later one of this participant is answered.
    @discardableResult
    public func propose(
        _ move: [UInt8],
        within timeout: Duration = .seconds(20)
    ) async throws(ArbiterError) -> LogEntry {
        try await node.propose(move, in: session, within: timeout)
    }
}

/// A move that waits for an answer.
public struct Move: Hashable, Sendable {
    /// Who proposes it.
    public let from: Participant
    /// The application's bytes.
    public let payload: [UInt8]
}

/// What becomes of a move.
public enum MoveDecision: Hashable, Sendable {
    /// It stands, with these bytes for all to see; at most ``Arbiter/moveLimit``.
    case accept([UInt8])
    /// It does not, for a reason that who proposed it is told.
    case refuse(String)
}

/// Why a move was not accepted.
public enum ArbiterError: Error, Hashable, Sendable {
    /// The arbiter refused it for this reason; empty if it did while this node was away.
    case refused(String)
    /// The session has no lead who could decide.
    case noArbiter
    /// The move has more bytes than its limit.
    case tooLarge(size: Int, limit: Int)
    /// Nobody answered in time.
    case timedOut
    /// The wait was cancelled.
    case cancelled
    /// Anything that is not about moves.
    case failed(HuddleError)
}

extension ArbiterError: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .refused(""): "the move was refused while this node was away"
        case .refused(let reason): "the move was refused: \(reason)"
        case .noArbiter: "the session has no lead, so nobody decides"
        case .tooLarge(let size, let limit):
            "the move has \(size) bytes, and the limit is \(limit)"
        case .timedOut:
            "nobody decided the move in time: is the program of the lead running, and does it decide?"
        case .cancelled: "the wait was cancelled; the move may still be accepted"
        case .failed(let error): error.description
        }
    }
}

extension Session {
    /// The lead of the session, who decides moves.
    public var arbiter: Arbiter { Arbiter(session: id, node: node) }
}
