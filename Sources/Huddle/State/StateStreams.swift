import MeshEngine
import MeshTransport
import MeshWire

/// The streams by which participants' messages come, and what is held back of them.
///
/// A stream is one channel and priority of one participant, and keeps its order. Behind the mark of a
/// request that is not finished a stream is blocked: what comes is kept, further marks too, until the
/// request is finished. Bounded by the windows: the senders of a channel wait once ``heldBytes`` of it
/// stand here.
struct StateStreams {
    /// One channel and priority of one participant, by the number that its node gave it.
    struct Key: Hashable, Comparable {
        var from: ParticipantID
        var number: ChannelNumber

        static func < (left: Key, right: Key) -> Bool {
            left.from == right.from ? left.number < right.number : left.from < right.from
        }
    }

    private struct Blocked {
        var by: Position
        var messages: [InboundMessage] = []
    }

    /// Looked up, walked in sorted order.
    private var blocked: [Key: Blocked] = [:]
    /// What stands here of each channel, with a little for each message.
    private var held: [String: Int] = [:]
    /// Channels whose senders were told to wait because of what stands here.
    private(set) var full: Set<String> = []

    /// Bytes of one channel that are held before its senders wait, as of a slow reader.
    static let heldBytes = 4 << 20
    static let messageOverhead = 128

    /// Whether anything is blocked.
    var isEmpty: Bool { blocked.isEmpty }

    /// Holds what comes on a stream from now on.
    mutating func block(_ key: Key, by position: Position) {
        blocked[key] = Blocked(by: position)
    }

    /// Keeps a message of a blocked stream; `nil` if it is not blocked.
    ///
    /// Otherwise whether the senders of its channel must wait from now on.
    mutating func hold(_ message: InboundMessage) -> Bool? {
        guard !blocked.isEmpty else { return nil }
        let key = Key(from: message.from, number: message.stream)
        guard blocked[key] != nil else { return nil }
        blocked[key]?.messages.append(message)
        held[message.channel, default: 0] += message.payload.count + Self.messageOverhead
        guard held[message.channel] ?? 0 >= Self.heldBytes else { return false }
        return full.insert(message.channel).inserted
    }

    /// Ends the blocks of a request, and answers with what was held, stream by stream.
    mutating func release(_ position: Position) -> [InboundMessage] {
        let keys = blocked.filter { $0.value.by == position }.keys.sorted()
        var messages: [InboundMessage] = []
        for key in keys { messages += blocked.removeValue(forKey: key)?.messages ?? [] }
        for message in messages {
            let rest = (held[message.channel] ?? 0) - message.payload.count - Self.messageOverhead
            held[message.channel] = rest > 0 ? rest : nil
        }
        return messages
    }

    /// The channels whose senders need not wait any more because of what stands here, sorted.
    mutating func takeOpened() -> [String] {
        let opened = full.filter { held[$0] ?? 0 < Self.heldBytes }.sorted()
        full.subtract(opened)
        return opened
    }
}

/// Which streams of a participant have had the mark of a request.
struct StateMuster {
    /// How many streams there are to be marked, once the participant has said so.
    private(set) var count: Int?
    private var marks: Set<UInt64> = []

    /// Whether all streams that there were are marked.
    var isComplete: Bool {
        guard let count else { return false }
        return marks.count { $0 < UInt64(count) } == count
    }

    /// Takes the participant's word; only the first counts.
    mutating func expect(_ count: Int) { self.count = self.count ?? count }

    mutating func mark(_ stream: UInt64) { marks.insert(stream) }
}
