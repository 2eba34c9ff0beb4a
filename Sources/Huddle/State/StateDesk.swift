import MeshEngine
import MeshSession
import MeshWire

/// What a session's hub keeps for handing states to newcomers.
///
/// Belongs to the node's thread.
final class StateDesk {
    /// The program's closure that makes the state.
    var provider: (@Sendable () async -> [UInt8])?
    var exchange = StateExchange()
    var sending = StateSending()
    /// The request of this node, if one is under way.
    var asking: StateAsking?
    /// States on their way to those who asked; they are told that it lives.
    var underWay: [Position: ParticipantID] = [:]
    /// Whether those who wait are told now and then.
    var isTelling = false

    /// The participation is over, and with it the wait.
    func end() {
        provider = nil
        exchange = StateExchange()
        sending = StateSending()
        underWay = [:]
        asking?.fulfil(.over)
    }
}

/// A request of this node's program, and who waits for its answer.
final class StateAsking {
    /// Tells it from others of the node.
    let number: RequestID
    /// Those who were there, as they were.
    var participants: [ParticipantID: Participant] = [:]
    var provider: ParticipantID?
    /// When the lead was last heard on it.
    var heard: Instant
    private var answer: StateExchange.Answer?
    private var waiter: CheckedContinuation<StateExchange.Answer, Never>?

    init(number: RequestID, now: Instant) {
        self.number = number
        heard = now
    }

    /// Forgets the silence that ended the attempt before.
    func beginAttempt(now: Instant) {
        heard = now
        if answer == .silence { answer = nil }
    }

    /// Whether there is an answer, so that nothing more is waited for.
    var isAnswered: Bool { answer != nil }

    /// Gives the answer; the first counts.
    func fulfil(_ answer: StateExchange.Answer) {
        guard self.answer == nil else { return }
        self.answer = answer
        waiter?.resume(returning: answer)
        waiter = nil
    }

    func wait(_ continuation: CheckedContinuation<StateExchange.Answer, Never>) {
        if let answer { continuation.resume(returning: answer) } else { waiter = continuation }
    }
}
