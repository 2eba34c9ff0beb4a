import MeshEngine
import MeshSession
import MeshWire

/// The streams that a participation of this node has sent on, and the requests that each new one tells.
struct StateSending {
    /// One channel and priority of the reliable lane.
    struct Stream: Hashable {
        var channel: String
        var priority: Priority
    }

    /// A mark to be sent.
    struct Mark: Equatable {
        var stream: Stream
        var mark: StateMark
        var targets: [ParticipantID]
    }

    private struct Standing {
        var position: Position
        var targets: [ParticipantID]
        var until: Instant
    }

    private var participation: ParticipantID?
    /// In the order of their first use, which numbers them.
    private(set) var streams: [Stream] = []
    private var known: Set<Stream> = []
    private var standing: [Standing] = []

    /// How long a request is told to each new stream; the newcomer waits no longer for marks.
    static let told: Duration = Limits.grace
    private static let requests = 16

    /// Notes that this participation sends on a stream; the marks that must go before its first message.
    mutating func send(
        on stream: Stream,
        as own: ParticipantID,
        now: Instant
    ) -> [Mark] {
        begin(own)
        guard !known.contains(stream), streams.count < StateNote.streams else { return [] }
        known.insert(stream)
        streams.append(stream)
        standing.removeAll { $0.until <= now }
        let ordinal = UInt64(streams.count - 1)
        return standing.map { request in
            Mark(
                stream: stream,
                mark: StateMark(position: request.position, stream: ordinal),
                targets: request.targets
            )
        }
    }

    /// The marks of a request that is applied here, one for each stream so far.
    mutating func mark(
        _ position: Position,
        for targets: [ParticipantID],
        as own: ParticipantID,
        now: Instant
    ) -> [Mark] {
        begin(own)
        standing.append(
            Standing(position: position, targets: targets, until: now + Self.told)
        )
        if standing.count > Self.requests { standing.removeFirst() }
        return streams.enumerated().map { ordinal, stream in
            Mark(
                stream: stream,
                mark: StateMark(position: position, stream: UInt64(ordinal)),
                targets: targets
            )
        }
    }

    private mutating func begin(_ own: ParticipantID) {
        guard participation != own else { return }
        self = StateSending()
        participation = own
    }
}
