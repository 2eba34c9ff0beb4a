import MeshWire

/// A paced window on a delay target (`20-transport.md` §5): cut, look, undo.
///
/// Delay, loss and a lower rate each have two causes. The controller answers as if each were its own doing, looks
/// whether the answer helped, and takes it back where it did not. Times are seconds, sizes bytes.
struct Drift: Sendable {
    /// What the controller is about.
    enum Mode: Hashable, Sendable {
        /// The window doubles a round, until a queue or the rate says that the path is full.
        case start
        /// The window follows the delay target.
        case cruise
        /// Somebody else fills the queue: the window follows losses, as CUBIC does.
        case compete
    }

    /// A smaller window for a while, so that the queue is gone and the true base shows.
    struct Drain: Sendable {
        var window: Double
        /// Round ends at which so little was in flight.
        var reached = 0
    }

    /// A cut whose effect is looked at.
    struct LossTest: Sendable {
        var oldWindow: Double
        /// Excess of loss over the allowance, and bytes a second, before the cut.
        var excess: Double
        var rate: Double
        /// Packets after which half of the excess can be told from none.
        var packets: Double
    }

    static let minimumPackets = 2.0
    /// The factor of the target of what yields to everybody (§5.5).
    static let backgroundShare = 0.25
    /// The most loss that is taken for the link's own.
    static let randomLossMaximum = 0.6
    static let initialPackets = 32
    /// More than any link of ours holds; bounds the memory of sent packets.
    static let maximumBytes = 256 << 20

    /// Bytes of a packet, as the path's search leaves it.
    var packet: Double
    /// A factor of the target; a quarter for what yields to everybody.
    let share: Double

    var mode = Mode.start
    var size: Double
    /// Which experiment packets belong to that leave now.
    var tag: UInt32 = 0

    // The path.
    var base = HalvedExtreme.least(from: .zero)
    var recent = HalvedExtreme.least(from: .zero)
    var smoothed = 0.1
    var jitter = 0.0
    var bandwidth = RecentMaximum()
    var longBandwidth = HalvedExtreme.greatest(from: .zero)
    var burst = RecentMaximum()

    // The round.
    var round = Round()
    var fullRounds = 0
    /// How much faster than usual the window grows, for a link that became faster.
    var speed = 1.0
    var emptyRounds = 0

    // Loss.
    var randomLoss = 0.0
    var tally = LossTally()
    /// When the first packets of the tag arrived; what came before says nothing of its rate.
    var tallyBegan: Instant?
    var test: LossTest?
    /// Above this the window grows slowly: a cut from there had helped.
    var ceiling = Double.infinity
    /// The share of packets lost, averaged over about 64.
    var loss = 0.0

    // Start.
    var bestRate = 0.0
    var slowRounds = 0
    var quietTally = LossTally()
    /// What the window grows to as fast as in the start, after an outage.
    var regrowth = 0.0

    // Drain.
    var drain: Drain?
    var drained = Instant.zero
    var sinceDrain = 0
    var lastBase = Double.infinity

    // A slower link.
    var slice = Slice()
    var slices = (first: Double.infinity, second: Double.infinity)

    var rival = Rival()
    var lastFull = Instant.zero
    var now = Instant.zero

    init(packetBytes: Int, share: Double = 1, now: Instant = .zero) {
        packet = Double(packetBytes)
        self.share = share
        size = Double(Self.initialPackets * packetBytes)
        base = .least(from: now)
        recent = .least(from: now)
        longBandwidth = .greatest(from: now)
        drained = now
        lastFull = now
        slice.began = now
    }

    /// Bytes that may be in flight.
    var window: Int {
        var bytes = size
        if let drain { bytes = min(bytes, drain.window) }
        if let look = rival.look { bytes = min(bytes, look.window) }
        return Int(min(max(bytes, Self.minimumPackets * packet), Double(Self.maximumBytes)))
    }

    /// The window in packets.
    var packets: Double { max(size / packet, Self.minimumPackets) }

    /// The least round-trip time of half a minute.
    var baseTime: Double { base.value.isFinite ? base.value : smoothed }

    /// How long packets wait in the queue, as the least of the last round trip shows it.
    var queueDelay: Double { recent.value.isFinite ? max(recent.value - baseTime, 0) : 0 }

    /// The queueing delay that is aimed at (§5.2).
    ///
    /// It falls with the window, so that equal flows are at rest with equal windows only.
    var target: Double { target(ofPackets: packets) }

    /// The same with a window of so many packets.
    func target(ofPackets packets: Double) -> Double {
        let root = packets.squareRoot().squareRoot()
        return (0.3 / root * max(baseTime, 0.008) + 0.8 * jitter + packetTime) * share
    }

    /// How long the link took for a packet at best in the last ten seconds.
    ///
    /// That of now would be long because of a rival, if there is one, who would never be suspected then.
    var packetTime: Double { longBandwidth.value > 0 ? packet / longBandwidth.value : 0 }

    /// Bytes a second to pace at.
    func rate(smoothed: Duration) -> Double {
        let seconds = max(smoothed.inSeconds, 1e-6)
        switch mode {
        case .start: return 2 * Double(window) / seconds
        case .cruise, .compete:
            if regrowth > size { return 2 * Double(window) / seconds }
            let expected = baseTime + queueDelay + jitter + target
            return 1.4 * Double(window) / max(min(seconds, expected), 1e-6)
        }
    }

    // MARK: Inputs

    /// Takes what an acknowledgment told, or a timer that declared packets lost.
    mutating func take(_ sample: AckSample, now: Instant) {
        self.now = now
        let gone = Double(sample.acknowledged + sample.lost)
        note(sample)
        if let roundTrip = sample.roundTrip { note(roundTrip: roundTrip.inSeconds) }
        noteRate(sample)
        if sample.isFull { lastFull = now }
        switch mode {
        case .start:
            if sample.isFull { size += gone }
        case .cruise: cruise(gone, isFull: sample.isFull)
        case .compete: compete(sample, gone)
        }
        if sample.roundEnded { endRound(sample) }
        size = min(max(size, Self.minimumPackets * packet), Double(Self.maximumBytes))
    }

    /// A probe left since nothing was heard; from the fourth in a row it is an outage.
    mutating func probeTimedOut(consecutive: Int, now: Instant) {
        self.now = now
        guard consecutive == 4 else { return }
        regrowth = max(regrowth, 0.9 * size)
        size = max(size / 2, Self.minimumPackets * packet)
        begin(test: nil)
    }

    // MARK: Measuring

    private mutating func note(_ sample: AckSample) {
        if sample.packets.tagged > 0, tallyBegan == nil {
            tallyBegan = now
        } else {
            tally.bytes += Double(sample.acknowledgedOfTag)
        }
        tally.take(sample)
        round.tally.take(sample)
        for _ in 0..<min(sample.packets.all, 256) { loss -= loss / 64 }
        for _ in 0..<min(sample.lostPackets.all, 256) { loss += (1 - loss) / 64 }
        for _ in 0..<min(sample.undonePackets.all, 256) { loss = max(loss - (1 - loss) / 64, 0) }
        round.acknowledged += sample.acknowledged
        if sample.acknowledged > 0 { burst.note(Double(sample.acknowledged)) }
        if sample.isFull { round.isFull = true }
    }

    private mutating func note(roundTrip: Double) {
        smoothed += (roundTrip - smoothed) / (lastBase.isFinite ? 8 : 1)
        base.note(roundTrip, window: mode == .compete ? 60 : 30, now: now)
        recent.note(roundTrip, window: smoothed, now: now)
        round.least = min(round.least, roundTrip)
        round.total += roundTrip
        round.count += 1
        let base = baseTime
        // Somebody else drains: join in, so that all see the empty queue together.
        if lastBase.isFinite, base < lastBase - (lastBase / 64 + 50e-6), mode == .cruise,
            now.seconds(since: drained) >= 1
        {
            beginDrain()
        }
        lastBase = base
    }

    private mutating func noteRate(_ sample: AckSample) {
        slice.bytes += Double(sample.acknowledged)
        guard let rate = sample.rate else { return }
        if !sample.isApplicationLimited || rate > bandwidth.value {
            bandwidth.note(rate)
            longBandwidth.note(rate, window: 10, now: now)
        }
    }

    // MARK: Rounds

    private mutating func endRound(_ sample: AckSample) {
        let mean = round.count > 0 ? round.total / Double(round.count) : 0
        if round.count > 1 {
            let spread = min(mean - round.least, max(0.15 * baseTime, 0.002))
            jitter += (spread - jitter) / 16
        }
        let delay = round.least.isFinite ? round.least - baseTime : 0
        let isQuiet = delay < baseTime / 8
        if isQuiet { quietTally.add(round.tally) }
        fullRounds = round.isFull ? fullRounds + 1 : 0
        switch mode {
        case .start: endStartRound(delay, sample)
        case .cruise: endCruiseRound(sample)
        case .compete: endCompeteRound(sample)
        }
        if !round.isFull, now.seconds(since: lastFull) >= 10 {
            // Nobody knows any more what the path takes.
            lastFull = now
            size = max(size / 2, min(size, Double(Self.initialPackets) * packet))
        }
        bandwidth.endRound()
        burst.endRound()
        round = Round()
    }

    private mutating func endStartRound(_ delay: Double, _ sample: AckSample) {
        guard round.isFull else { return }
        let rate = bandwidth.value
        if rate < bestRate * 1.25 {
            slowRounds += 1
        } else {
            slowRounds = 0
            bestRate = rate
        }
        let hasQueue = delay > max(baseTime / 4, 2 * target, 0.0005)
        let hasLoss = slowRounds >= 1 && round.tally.share > quietTally.share + 0.1
        guard hasQueue || slowRounds >= 3 || hasLoss else { return }
        randomLoss = min(quietTally.share, 0.3)
        if rate > 0 { size = min(size, rate * baseTime / (1 - randomLoss) + burst.value) }
        mode = .cruise
        drained = now
        begin(test: nil)
    }

    /// What is known of the round that runs.
    struct Round: Sendable {
        var least = Double.infinity
        var total = 0.0
        var count = 0
        var acknowledged = 0
        var isFull = false
        var tally = LossTally()
    }

    /// Bytes that arrived in a part of a round trip.
    struct Slice: Sendable {
        var began = Instant.zero
        var bytes = 0.0
    }
}

/// Packets of one experiment, or of one round: how many arrived, how many did not.
struct LossTally: Sendable {
    var arrived = 0
    var lost = 0
    var runs = 0
    /// Bytes that arrived.
    var bytes = 0.0

    var packets: Int { arrived + lost }
    var share: Double { packets > 0 ? Double(lost) / Double(packets) : 0 }
    /// The mean length of a run of losses.
    var runLength: Double { runs > 0 ? max(Double(lost) / Double(runs), 1) : 1 }

    mutating func take(_ sample: AckSample) {
        arrived += sample.packets.tagged + sample.undonePackets.tagged
        lost = max(lost + sample.lostPackets.tagged - sample.undonePackets.tagged, 0)
        runs += min(sample.lossRuns, sample.lostPackets.tagged)
    }

    mutating func add(_ other: LossTally) {
        arrived += other.arrived
        lost += other.lost
        runs += other.runs
    }
}
