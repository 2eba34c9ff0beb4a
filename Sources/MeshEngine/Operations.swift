import MeshConsensus
import MeshWire

/// The commands and reads of this process that consensus has not answered yet.
struct Operations: Sendable {
    /// What a ticket stands for.
    enum Operation: Sendable {
        case command(RequestID, sequence: UInt64)
        case read(RequestID)
        /// A command of the engine's own, of which nobody waits for the answer.
        case upkeep(sequence: UInt64)
    }

    /// The sequence of the next command; counts from 1 in each incarnation.
    private(set) var nextSequence: UInt64 = 1
    /// Sequences without an answer, ascending.
    private var unanswered: [UInt64] = []
    /// Looked up, never walked.
    private var operations: [Ticket: Operation] = [:]
    /// The requests that wait, in the order they came.
    private(set) var waiting: [RequestID] = []

    /// Every command up to this one has its answer.
    var acknowledgedUpTo: UInt64 { (unanswered.first ?? nextSequence) - 1 }

    /// Notes that the command `sequence` was taken under `ticket`.
    mutating func submitted(_ ticket: Ticket, request: RequestID?) {
        let sequence = nextSequence
        nextSequence += 1
        unanswered.append(sequence)
        if let request {
            operations[ticket] = .command(request, sequence: sequence)
            waiting.append(request)
        } else {
            operations[ticket] = .upkeep(sequence: sequence)
        }
    }

    /// Notes that a read was taken under `ticket`.
    mutating func reading(_ ticket: Ticket, request: RequestID) {
        operations[ticket] = .read(request)
        waiting.append(request)
    }

    /// Takes out what `ticket` stood for; the request that waited for it, if anybody did.
    mutating func answered(_ ticket: Ticket) -> RequestID? {
        switch operations.removeValue(forKey: ticket) {
        case .command(let request, let sequence):
            unanswered.removeAll { $0 == sequence }
            waiting.removeAll { $0 == request }
            return request
        case .read(let request):
            waiting.removeAll { $0 == request }
            return request
        case .upkeep(let sequence):
            unanswered.removeAll { $0 == sequence }
            return nil
        case nil:
            return nil
        }
    }

    /// Gives up everything, when the room is left; the requests that waited and what for.
    mutating func abandon() -> [(request: RequestID, isRead: Bool)] {
        let reads = Set(
            // order: only looked up, below in the order of the requests
            operations.values.compactMap { operation in
                if case .read(let request) = operation { request } else { nil }
            }
        )
        defer {
            operations = [:]
            unanswered = []
            waiting = []
        }
        return waiting.map { ($0, reads.contains($0)) }
    }
}
