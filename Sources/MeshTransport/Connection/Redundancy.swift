import MeshWire

/// Copies of the messages of thin streams, so that one loss costs milliseconds and no round trip
/// (`20-transport.md` §3).
///
/// A lost message of a thin stream has nothing behind it that would show the gap. While packets are lost, each
/// message rides again a few milliseconds later, and where all copies may be lost, twice more after 9/8 of a round
/// trip. Bounded in messages, in copies, and in bytes beside what the path carries.
struct Redundancy: Sendable {
    /// A message that is sent again without having been called lost.
    struct Copy: Sendable {
        let channel: ChannelNumber
        let sequence: UInt64
        let byteCount: Int
        let first: Instant
        var due: Instant
        /// Copies that leave before the next repair.
        var left: Int
        /// Repairs so far.
        var repairs = 0
    }

    /// The shares of losses above which messages begin to ride again, and below which they end.
    static let lossBegins = 0.005
    static let lossEnds = 0.002
    /// The share of messages of which every copy may be lost.
    static let lossGoal = 0.008
    /// The most copies of a message, the first one counted.
    static let copiesMaximum = 4
    /// Messages that wait to ride again.
    static let pendingMaximum = 64
    /// Packets of a channel in flight up to which it is thin.
    static let thinMessages = 8
    /// After so many repairs the probe timeout takes over.
    static let repairsMaximum = 3
    /// The share of the path's rate that copies may take, and for how long it may be saved up.
    static let rateShare = 0.25
    static let saved: Duration = .milliseconds(100)

    /// In the order of their first sending.
    private(set) var pending: [Copy] = []
    /// The share of packets lost, averaged over about 256.
    private(set) var loss = 0.0
    /// The mean length in time of gaps in which all was lost.
    private(set) var gap: Duration = .zero
    private var tokens = 0.0
    private var filled = Instant.zero

    // MARK: What is lost

    mutating func note(arrived: Int, lost: Int, cameAfterAll: Int) {
        for _ in 0..<min(arrived, 1024) { loss -= loss / 256 }
        for _ in 0..<min(lost, 1024) { loss += (1 - loss) / 256 }
        for _ in 0..<min(cameAfterAll, 1024) { loss = max(loss - (1 - loss) / 256, 0) }
        isActive = loss >= (isActive ? Self.lossEnds : Self.lossBegins)
    }

    /// Packets that left in this time were lost, all of them.
    mutating func note(gap length: Duration) { gap += (length - gap) / 8 }

    /// Whether messages ride again.
    private(set) var isActive = false

    /// How often each message is sent, the first time counted.
    var copies: Int {
        guard isActive else { return 1 }
        var (count, remaining) = (2, loss * loss)
        while remaining > Self.lossGoal, count < Self.copiesMaximum {
            remaining *= loss
            count += 1
        }
        return count
    }

    /// The time between two copies; longer where losses come in gaps.
    func spacing(roundTrip: Duration) -> Duration {
        let usual = min(max(roundTrip / 10, .milliseconds(1)), .milliseconds(4))
        return gap >= usual ? min(gap, .milliseconds(8)) : usual
    }

    // MARK: What rides again

    /// A message of a thin stream left for the first time.
    mutating func sent(
        _ channel: ChannelNumber,
        _ sequence: UInt64,
        byteCount: Int,
        roundTrip: Duration,
        now: Instant
    ) {
        let copies = copies
        guard copies > 1, pending.count < Self.pendingMaximum else { return }
        pending.append(
            Copy(
                channel: channel,
                sequence: sequence,
                byteCount: byteCount,
                first: now,
                due: now + spacing(roundTrip: roundTrip),
                left: copies - 1
            )
        )
    }

    /// When the next copy leaves.
    var deadline: Instant? { pending.lazy.map(\.due).min() }

    /// The oldest message that is due, or almost if a packet leaves anyway.
    func next(by instant: Instant) -> Int? { pending.firstIndex { $0.due <= instant } }

    mutating func remove(at place: Int) { pending.remove(at: place) }

    /// A copy left: the next one, or the repair, comes later.
    mutating func rode(at place: Int, roundTrip: Duration, now: Instant) {
        pending[place].left -= 1
        if pending[place].left > 0 {
            pending[place].due = now + spacing(roundTrip: roundTrip)
        } else if pending[place].repairs < Self.repairsMaximum {
            pending[place].repairs += 1
            let wait = roundTrip * 9 / 8 + .milliseconds(1)
            let due = pending[place].first + wait * pending[place].repairs
            pending[place].due = max(due, now + spacing(roundTrip: roundTrip))
            pending[place].left = 2
        } else {
            pending.remove(at: place)
        }
    }

    /// Lets time pass for the bytes that copies may take.
    mutating func refill(rate: Double, now: Instant) {
        let most = rate * Self.rateShare * Double(Self.saved.wholeNanoseconds) / 1e9
        let elapsed = Double((now - filled).wholeNanoseconds) / 1e9
        tokens = min(tokens + max(elapsed, 0) * rate * Self.rateShare, max(most, 4096))
        filled = now
    }

    var mayRide: Bool { tokens > 0 }

    mutating func spend(_ bytes: Int) { tokens -= Double(bytes) }
}
