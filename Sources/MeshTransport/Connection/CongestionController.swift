import MeshWire

/// A paced window that answers to delay first and to loss where delay says it is our own doing.
///
/// Slow start, then growth of 1/32 a round; a queue of ours stops the growth and then shrinks the
/// window to what would leave a small one; loss beside a queue, or of more than a third, cuts it by 0.7 once a round. Loss without a
/// queue is taken for the link's. It is the seam for the controller of `20-transport.md` §5.
struct CongestionController: Hashable, Sendable {
    /// What one acknowledgment told.
    struct Sample {
        var acknowledgedBytes = 0
        /// The round-trip time, if the frame gave one.
        var roundTrip: Duration?
        /// The least round-trip time known.
        var base: Duration
        /// Whether a packet sent since the last such sample was acknowledged: a round ended.
        var roundEnded = false
        /// Whether the window or the pacer held data back during the round.
        var isFull = false
    }

    static let minimumPackets = 2
    static let initialPackets = 10
    /// More than any link of ours holds; bounds the memory of sent packets.
    static let maximumBytes = 256 << 20

    let packetBytes: Int
    private(set) var window: Int
    private(set) var threshold = maximumBytes
    /// The share of packets lost, averaged over about 64.
    private(set) var loss = 0.0
    private var roundMinimum: Duration = .seconds(3600)
    private(set) var queueDelay: Duration = .zero
    private var lastCut: Instant?
    private var isResting = false
    private var undoable: (window: Int, threshold: Int)?

    init(packetBytes: Int) {
        self.packetBytes = packetBytes
        window = Self.initialPackets * packetBytes
    }

    var isStarting: Bool { window < threshold }

    /// Bytes a second to pace at.
    func rate(smoothed: Duration) -> Double {
        let seconds = max(Double(smoothed.wholeNanoseconds), 1000) / 1e9
        return Double(window) / seconds * (isStarting ? 2 : 1.25)
    }

    mutating func sent(bytes: Int, inFlight: Int, now: Instant) {}

    mutating func acknowledged(_ sample: Sample, packets: Int, now: Instant) {
        for _ in 0..<min(packets, 256) { loss -= loss / 64 }
        if let roundTrip = sample.roundTrip {
            roundMinimum = min(roundMinimum, roundTrip)
            // Within a round only a smaller sample moves the delay; its end takes the round's.
            queueDelay = min(queueDelay, roundMinimum - sample.base)
        }
        if sample.roundEnded, roundMinimum < .seconds(3600) {
            queueDelay = max(roundMinimum - sample.base, .zero)
            roundMinimum = .seconds(3600)
            roundEnded(sample, now: now)
        }
        guard sample.isFull else { return }
        if isStarting {
            window += sample.acknowledgedBytes
        } else if queueDelay < max(sample.base / 2, .milliseconds(10)) {
            // One packet a round, or 1/32 of the window where that is more.
            let step = max(packetBytes, window / 32)
            window += max(1, sample.acknowledgedBytes * step / window)
        }
        window = min(window, Self.maximumBytes)
    }

    private mutating func roundEnded(_ sample: Sample, now: Instant) {
        // What a shrinking does shows a round later.
        guard !isResting else {
            isResting = false
            return
        }
        let limit =
            isStarting
            ? max(sample.base / 4, .milliseconds(4)) : max(sample.base, .milliseconds(25))
        guard queueDelay > limit else { return }
        // The window that would leave half of the limit in the queue.
        let base = Double(sample.base.wholeNanoseconds)
        let wanted = base + Double(limit.wholeNanoseconds) / 2
        shrink(by: max(0.5, wanted / (base + Double(queueDelay.wholeNanoseconds))))
        isResting = true
    }

    /// Packets were declared lost; `sentAt` is when the latest of them left.
    mutating func lost(packets: Int, sentAt: Instant, base: Duration, now: Instant) {
        for _ in 0..<min(packets, 256) { loss += (1 - loss) / 64 }
        if let lastCut, sentAt <= lastCut { return }
        let isOurs = queueDelay > max(base / 8, .milliseconds(2))
        guard isOurs || loss > 0.35 else { return }
        undoable = (window, threshold)
        shrink(by: 0.7)
        lastCut = now
    }

    /// Every packet the last cut answered to came after all.
    mutating func undo() {
        guard let undoable else { return }
        window = max(window, undoable.window)
        threshold = max(threshold, undoable.threshold)
        self.undoable = nil
    }

    /// From the fourth timeout in a row the window is halved once and grows back fast.
    mutating func probeTimedOut(consecutive: Int, now: Instant) {
        guard consecutive == 4 else { return }
        threshold = max(window / 10 * 9, Self.minimumPackets * packetBytes)
        window = max(window / 2, Self.minimumPackets * packetBytes)
    }

    private mutating func shrink(by factor: Double) {
        window = max(Int(Double(window) * factor), Self.minimumPackets * packetBytes)
        threshold = window
    }

    static func == (left: Self, right: Self) -> Bool {
        left.window == right.window && left.threshold == right.threshold
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(window)
    }
}

/// A token bucket in bytes; it may go into debt by one packet.
struct Pacer: Hashable, Sendable {
    /// The shortest time between two timers (quic-go#2601).
    static let tick: Duration = .milliseconds(1)

    private var tokens: Double
    private var filled: Instant

    init(packetBytes: Int, now: Instant) {
        tokens = Double(packetBytes * CongestionController.initialPackets)
        filled = now
    }

    /// Lets time pass at `rate` bytes a second; the bucket holds 1 ms of it, 2 packets at least.
    mutating func refill(rate: Double, packetBytes: Int, base: Duration, now: Instant) {
        let elapsed = Double((now - filled).wholeNanoseconds) / 1e9
        guard elapsed > 0 else { return }
        let packets = base < .milliseconds(1) ? 16 : 2
        let depth = max(rate / 1000, Double(packets * packetBytes))
        tokens = min(tokens + elapsed * rate, max(depth, tokens))
        filled = now
    }

    /// Whether a packet may leave; `debt` bytes may be borrowed.
    func isOpen(debt: Int = 0) -> Bool { tokens + Double(debt) > 0 }

    mutating func spend(_ bytes: Int) { tokens -= Double(bytes) }

    /// When a packet may leave again, a tick from now at the earliest.
    func opens(rate: Double, packetBytes: Int, now: Instant) -> Instant {
        let seconds = (Double(packetBytes) - tokens) / max(rate, 1)
        return now + max(Self.tick, .nanoseconds(Int64(min(seconds, 3600) * 1e9)))
    }
}
