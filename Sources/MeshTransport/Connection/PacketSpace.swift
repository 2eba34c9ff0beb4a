import MeshWire

/// A frame whose loss or arrival somebody waits for.
enum SentFrame: Hashable, Sendable {
    case message(ChannelNumber, sequence: UInt64, Range<Int>)
    /// A message again, before it was known whether it arrived; the loss of this one is nothing.
    case copy(ChannelNumber, sequence: UInt64, Range<Int>)
    case fast(token: UInt64)
    case urgent(UrgentFrame)
    /// A probe of the path's size, alone in its packet.
    case pathProbe(bytes: Int)
    /// Our own acknowledgment, up to this packet of the same key.
    case acknowledgment(largest: UInt64)
}

/// A small frame that goes into the next packet, and again until it is acknowledged.
enum UrgentFrame: Hashable, Sendable {
    case settings
    case resume(from: ChannelNumber)
    case channelOpen(ChannelNumber)
    case channelClose(ChannelNumber)
    case cancel(ChannelNumber, sequence: UInt64)
    case window(ChannelNumber)
    case windowAll
    case latest(ChannelNumber, key: UInt64, sequence: UInt64, fragment: UInt8)
    case endpoint(UInt64)
}

/// A packet that asked for an acknowledgment.
struct SentPacket: Sendable {
    enum State: UInt8, Sendable { case inFlight, acknowledged, lost }

    let number: UInt64
    let time: Instant
    let byteCount: Int
    /// Bytes the peer had acknowledged when the packet left, since when, and when the packet of that had left.
    let delivered: UInt64
    let deliveredAt: Instant
    let deliveredSentAt: Instant
    /// Whether the application had nothing more to send.
    let isApplicationLimited: Bool
    /// The experiment of the controller that it belongs to.
    let tag: UInt32
    /// The same of the background's controller; `nil` if nothing of that class is in it.
    let backgroundTag: UInt32?
    var frames: [SentFrame]
    var state = State.inFlight
    /// Whether a probe already carried its frames again.
    var wasProbed = false
    /// When it was declared lost.
    var lostAt = Instant.zero

    /// Whether it tries a size of the path: its loss says nothing of congestion.
    var isPathProbe: Bool {
        guard case .pathProbe? = frames.first else { return false }
        return true
    }
}

/// The packet numbers of one handshake, both directions.
struct PacketSpace: Sendable {
    let identifier: UInt32

    var received = NumberRanges()
    var largestReceivedAt = Instant.zero
    /// Packets that wait for an acknowledgment of ours.
    var owedCount = 0
    /// When the acknowledgment leaves at the latest; `nil` if none is owed.
    var acknowledgmentDue: Instant?

    var sent = Queue<SentPacket>()
    var largestSent: UInt64?
    var largestAcknowledged: UInt64?
    /// What the peer acknowledged, so that only news are looked at.
    var acknowledged = NumberRanges()
    /// No packet below this number is in flight.
    var lowestInFlight: UInt64 = 0
    /// When the next packet counts as lost by time.
    var lossTime: Instant?
    var lastElicitingSent: Instant?
    var inFlightCount = 0

    init(identifier: UInt32) { self.identifier = identifier }

    /// Notes a packet; `false` if it came before.
    mutating func note(
        _ number: UInt64,
        elicits: Bool,
        atOnce: Bool,
        delay: Duration,
        now: Instant
    ) {
        let previous = received.largest
        let insertion = received.insert(number)
        received.trim(to: Frame.acknowledgmentRanges + 1)
        if previous.map({ number > $0 }) ?? true { largestReceivedAt = now }
        guard elicits else { return }
        owedCount += 1
        // RFC 9000 §13.2.1: at once when out of order and when a gap opens or closes.
        let isInOrder: Bool =
            switch insertion {
            case .extended: true
            case .apart: previous == nil
            case .duplicate, .closedGap: false
            }
        if atOnce || owedCount >= 2 || !isInOrder {
            acknowledgmentDue = now
        } else if acknowledgmentDue == nil {
            acknowledgmentDue = now + delay
        }
    }

    mutating func acknowledgmentSent() {
        owedCount = 0
        acknowledgmentDue = nil
    }

    /// Forgets packets at the front that nothing is awaited of.
    mutating func prune(before instant: Instant) {
        while let first = sent.first {
            switch first.state {
            case .inFlight: return
            case .lost where first.lostAt >= instant: return
            case .lost, .acknowledged: sent.popFirst()
            }
        }
    }
}
