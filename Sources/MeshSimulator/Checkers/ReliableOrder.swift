/// Reliable messages arrive exactly once and in order per channel (overview, guarantees).
///
/// A stream is what one participation sends on one channel to another participation. The workload
/// numbers its messages; the checker keeps what each receiver must get and in which order. A
/// message may be skipped only when the sender was told that this receiver did not get it.
package struct ReliableOrder: Sendable {
    package static let invariant =
        "a reliable message arrives exactly once, in order of its channel, at all who stay"

    /// The messages of one channel from one sender to one receiver.
    package struct Stream: Hashable, Comparable, Sendable, CustomStringConvertible {
        package var sender: Life
        package var channel: Int
        package var receiver: Life

        package init(sender: Life, channel: Int, receiver: Life) {
            self.sender = sender
            self.channel = channel
            self.receiver = receiver
        }

        package var description: String { "\(sender) -> \(receiver) channel \(channel)" }

        package static func < (left: Stream, right: Stream) -> Bool {
            (left.sender, left.channel, left.receiver)
                < (right.sender, right.channel, right.receiver)
        }
    }

    private struct State: Sendable {
        /// Sent, not received, oldest first.
        var missing: [UInt64] = []
        /// Sent before one that was received: never to come, and the sender's word is owed.
        var skipped: Set<UInt64> = []
        /// The sender was told that they did not arrive.
        var failed: Set<UInt64> = []
        /// Received; only for telling a repeat from a stranger.
        var received: Set<UInt64> = []
        var isOver = false
    }

    private var streams: [Stream: State] = [:]

    package init() {}

    /// How many messages arrived.
    package private(set) var deliveredCount = 0

    /// The sender handed in message `number` for this receiver.
    package mutating func send(_ number: UInt64, on stream: Stream) {
        streams[stream, default: State()].missing.append(number)
    }

    /// The sender was told that this receiver did not get message `number`.
    package mutating func fail(_ number: UInt64, on stream: Stream) {
        streams[stream, default: State()].failed.insert(number)
    }

    /// The receiver got message `number`.
    package mutating func receive(_ number: UInt64, on stream: Stream) throws(Violation) {
        var state = streams.removeValue(forKey: stream) ?? State()
        defer { streams[stream] = state }
        deliveredCount += 1
        guard state.received.insert(number).inserted else {
            throw Violation(Self.invariant, "\(number) arrived twice: \(stream)")
        }
        guard !state.skipped.contains(number) else {
            throw Violation(Self.invariant, "\(number) arrived after a later one: \(stream)")
        }
        guard let place = state.missing.firstIndex(of: number) else {
            throw Violation(Self.invariant, "\(number) was never sent: \(stream)")
        }
        // What stands before it has been skipped for good. The sender's word of that comes when all
        // receivers of the message are known, which may be later; it is owed until the end.
        state.skipped.formUnion(state.missing[..<place])
        state.missing.removeFirst(place + 1)
    }

    /// A participation ended: what was sent before may arrive or not.
    package mutating func forgive(where isOver: (Stream) -> Bool) {
        for stream in streams.keys.sorted() where isOver(stream) {
            guard var state = streams[stream] else { continue }
            state.failed.formUnion(state.missing)
            state.failed.formUnion(state.skipped)
            streams[stream] = state
        }
    }

    /// Sender or receiver is gone: nothing more is owed.
    package mutating func end(where isOver: (Stream) -> Bool) {
        for stream in streams.keys.sorted() where isOver(stream) {
            streams[stream]?.isOver = true
        }
    }

    /// A message that neither arrived nor was reported as failed; `nil` if there is none.
    package var obstacle: String? {
        for (stream, state) in streams.sorted(by: { $0.key < $1.key }) where !state.isOver {
            if let lost = (state.skipped.sorted() + state.missing)
                .first(where: { !state.failed.contains($0) })
            {
                return "\(lost) never arrived: \(stream)"
            }
        }
        return nil
    }

    /// Checks that everything arrived or was reported as failed.
    package func finish() throws(Violation) {
        if let obstacle { throw Violation(Self.invariant, obstacle) }
    }
}
