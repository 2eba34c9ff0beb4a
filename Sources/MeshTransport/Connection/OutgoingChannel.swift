import MeshWire

/// A reliable message on its way out.
struct OutgoingMessage: Sendable {
    enum State: UInt8, Sendable {
        /// Sent or to be sent.
        case live
        /// The peer has all of it.
        case delivered
        /// Given up; the peer does not know yet.
        case cancelled
        /// Given up, and the peer knows.
        case skipped
    }

    let token: UInt64
    var bytes: [UInt8]
    let isOrdered: Bool
    let acknowledgesAtOnce: Bool
    let reportsOutcome: Bool
    let expires: Instant?
    var state = State.live
    /// The bytes before this offset left at least once.
    var sentOffset = 0
    var acknowledged = ByteRanges()
    var lost = ByteRanges()
    /// A message without bytes has no range that could be lost.
    var isEmptyLost = false
    var isListed = false
    /// Bytes at the time of sending, kept when `bytes` are freed.
    let byteCount: Int

    /// What the queue's bound counts for a message: its bytes and what it costs to keep it.
    static let overhead = 64
    var cost: Int { byteCount + Self.overhead }
    var isWhollySent: Bool { sentOffset == byteCount }
    var hasLoss: Bool { isEmptyLost || !lost.isEmpty }

    init(token: UInt64, bytes: [UInt8], options: SendOptions) {
        self.token = token
        self.bytes = bytes
        byteCount = bytes.count
        isOrdered = options.isOrdered
        acknowledgesAtOnce = options.acknowledgesAtOnce
        reportsOutcome = options.reportsOutcome
        expires = options.expires
    }
}

/// A value of which the last one must arrive (`20-transport.md` §4).
struct LatestValue: Sendable {
    var token: UInt64
    var sequence: UInt64
    var bytes: [UInt8]
    var changed: Instant
    var fragmentCount: Int
    var fragmentBytes: Int
    /// A bit for each fragment the peer has.
    var acknowledged: UInt32 = 0
    /// Whether it stood still long enough, so that losses are repaired.
    var isSettled = false
    var reportsOutcome: Bool
    var isTimed = false

    var isWhole: Bool { acknowledged == UInt32(1) << UInt32(fragmentCount) - 1 }

    func bytes(of fragment: Int) -> ArraySlice<UInt8> {
        bytes[fragment * fragmentBytes..<min((fragment + 1) * fragmentBytes, bytes.count)]
    }
}

/// A channel of ours.
struct OutgoingChannel: NumberedChannel {
    let number: ChannelNumber
    let name: [UInt8]
    let trafficClass: TrafficClass
    /// Messages without a sequence yet, in order.
    var unsent = Queue<OutgoingMessage>()
    /// Messages with a sequence, from `base` on.
    var sent = Queue<OutgoingMessage>()
    var base: UInt64 = 0
    /// Sequences with something lost, to be sent before anything new.
    var resend = Queue<UInt64>()
    /// Bytes sent at least once, which the peer's limit counts.
    var sentBytes: UInt64 = 0
    var limit: UInt64
    /// What the queue's bound counts.
    var queuedCost = 0
    var hasRefused = false
    var isReady = false
    var isClosing = false
    var isOpenAcknowledged = false
    var isCloseQueued = false
    var isCloseAcknowledged = false
    var fastSequences: [UInt64: UInt64] = [:]
    var latest: [UInt64: LatestValue] = [:]

    init(number: ChannelNumber, name: [UInt8], trafficClass: TrafficClass, limit: UInt64) {
        self.number = number
        self.name = name
        self.trafficClass = trafficClass
        self.limit = limit
    }

    var nextSequence: UInt64 { base + UInt64(sent.count) }

    /// The place of `sequence` in ``sent``, if it is still there.
    func place(of sequence: UInt64) -> Int? {
        guard sequence >= base, sequence - base < UInt64(sent.count) else { return nil }
        return Int(sequence - base)
    }

    /// Whether the last message with a sequence has bytes that never left.
    var hasPartial: Bool {
        guard let last = sent.last else { return false }
        return last.state == .live && !last.isWhollySent
    }

    /// Forgets messages at the front that are done.
    mutating func prune() {
        while let first = sent.first, first.state == .delivered || first.state == .skipped {
            sent.popFirst()
            base += 1
        }
    }
}

/// A channel in a table sorted by number.
protocol NumberedChannel: Sendable {
    var number: ChannelNumber { get }
}

/// Channels by number, in the order of their numbers.
struct ChannelTable<Channel: NumberedChannel>: Sendable {
    private(set) var channels: [Channel] = []

    var count: Int { channels.count }
    var indices: Range<Int> { channels.indices }

    subscript(index: Int) -> Channel {
        // By the span: an array's element would be copied out for each property that is read of it.
        _read {
            let span = channels.span
            yield span[index]
        }
        _modify { yield &channels[index] }
    }

    func index(of number: ChannelNumber) -> Int? {
        let index = partition(number)
        return index < channels.count && channels[index].number == number ? index : nil
    }

    /// The first place whose number is at or above `number`.
    func partition(_ number: ChannelNumber) -> Int {
        // Numbers are dense in practice: the number is the place, or not far from it.
        var low = 0
        var high = channels.count
        while low < high {
            let middle = (low + high) / 2
            if channels[middle].number >= number { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Adds a channel whose number is not in the table and returns its place.
    @discardableResult
    mutating func insert(_ channel: Channel) -> Int {
        let index = partition(channel.number)
        channels.insert(channel, at: index)
        return index
    }

    mutating func remove(at index: Int) {
        channels.remove(at: index)
    }

    mutating func removeAll() {
        channels.removeAll()
    }
}
