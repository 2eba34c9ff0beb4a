package import MeshWire

/// One arrival of a datagram that a link let through.
package struct Delivery: Hashable, Sendable {
    /// How long after it was submitted the datagram arrives.
    package var delay: Duration
    /// The bits that arrive flipped, counted from bit 0 of byte 0; mostly none.
    package var flippedBits: [Int]

    /// An arrival `delay` after submission, with these bits flipped.
    package init(delay: Duration, flippedBits: [Int] = []) {
        self.delay = delay
        self.flippedBits = flippedBits
    }

    /// Flips the bits in `bytes` as the link did.
    package func corrupt(_ bytes: inout [UInt8]) {
        for bit in flippedBits where bit >> 3 < bytes.count {
            bytes[bit >> 3] ^= 1 << UInt8(bit & 7)
        }
    }
}

/// What a link did so far, by stage; counts of datagrams.
package struct LinkCounters: Hashable, Sendable {
    package var submitted: UInt64 = 0
    package var cut: UInt64 = 0
    package var lost: UInt64 = 0
    package var duplicated: UInt64 = 0
    package var corrupted: UInt64 = 0
    package var overflowed: UInt64 = 0
    package var reordered: UInt64 = 0
    package var delivered: UInt64 = 0
}

/// The faults of one directed link: a datagram and `now` go in, timed deliveries come out.
///
/// The stages stand in a fixed order: cut, loss, duplicate, corrupt, rate and queue, delay and
/// jitter, reorder (`60-lab.md` §2.2). The verdicts are a pure function of the seed, the link's
/// name, the datagrams so far and the conditions in force; no other link can change them.
package struct LinkFaults: Sendable {
    /// What the link does; may change at any time.
    package var conditions: LinkConditions {
        didSet { if conditions.loss != oldValue.loss { isInBadState = nil } }
    }
    /// What the link did so far.
    package private(set) var counters = LinkCounters()

    private let streams: Streams
    private var ordinal: UInt64 = 0
    /// The state of the loss chain; `nil` until its first datagram draws it.
    private var isInBadState: Bool?
    private var queue = RateQueue()
    private var lastDeparture = Instant(nanoseconds: .min)

    /// The link from `from` to `to`; `incarnation` counts the restarts of the receiver.
    package init(
        _ conditions: LinkConditions,
        seed: UInt64,
        from: String,
        to: String,
        incarnation: UInt32 = 0
    ) {
        self.conditions = conditions
        streams = Streams(seed: seed, from: from, to: to, incarnation: incarnation)
    }

    /// Submits a datagram of `byteCount` bytes and answers when its copies arrive; none if lost.
    package mutating func submit(byteCount: Int, now: Instant) -> [Delivery] {
        var deliveries: [Delivery] = []
        submit(byteCount: byteCount, now: now, into: &deliveries)
        return deliveries
    }

    /// Submits a datagram of `byteCount` bytes and appends when its copies arrive; none if lost.
    package mutating func submit(
        byteCount: Int,
        now: Instant,
        into deliveries: inout [Delivery]
    ) {
        let ordinal = self.ordinal
        self.ordinal &+= 1
        counters.submitted &+= 1
        if conditions.isDown || conditions.mtuBytes.map({ byteCount > $0 }) ?? false {
            counters.cut &+= 1
            return
        }
        if isLost(ordinal) {
            counters.lost &+= 1
            return
        }
        var copies = 1
        if streams.duplicate.happens(conditions.duplicate, ordinal) {
            copies += max(1, min(8, conditions.copies))
            counters.duplicated &+= 1
        }
        for copy in 0..<copies {
            if let delivery = pass(ordinal, copy: UInt64(copy), byteCount, now) {
                deliveries.append(delivery)
                counters.delivered &+= 1
            }
        }
    }

    private mutating func isLost(_ ordinal: UInt64) -> Bool {
        switch conditions.loss {
        case .none: return false
        case .independent(let probability):
            return streams.loss.happens(probability, ordinal)
        case .gilbertElliott(let chain):
            let state: Bool
            switch isInBadState {
            // The first datagram finds the chain at rest, so short runs are unbiased too.
            case nil: state = streams.lossStart.happens(chain.badShare, ordinal)
            case true: state = !streams.loss.happens(chain.leaveBad, ordinal)
            case false: state = streams.loss.happens(chain.enterBad, ordinal)
            }
            isInBadState = state
            let probability = state ? chain.lossInBad : chain.lossInGood
            return streams.lossInState.happens(probability, ordinal)
        }
    }

    /// Carries one copy through the stages behind duplication; `nil` if the queue is full.
    private mutating func pass(
        _ ordinal: UInt64,
        copy: UInt64,
        _ byteCount: Int,
        _ now: Instant
    ) -> Delivery? {
        // Each copy has draws of its own: the stream is shifted by a key of the copy.
        let streams = copy == 0 ? self.streams : self.streams.copy(copy)
        var delivery = Delivery(delay: .zero)
        if byteCount > 0, streams.corrupt.happens(conditions.corrupt, ordinal) {
            delivery.flippedBits = flippedBits(streams, ordinal, byteCount)
            counters.corrupted &+= 1
        }
        guard let sent = queue.pass(byteCount, now: now, conditions) else {
            counters.overflowed &+= 1
            return nil
        }
        var departure = sent + conditions.oneWayDelay(streams.jitter, ordinal)
        if conditions.keepsOrder { departure = max(departure, lastDeparture) }
        lastDeparture = max(lastDeparture, departure)
        if streams.reorder.happens(conditions.reorder, ordinal) {
            departure += min(conditions.reorderBy, .seconds(1))
            counters.reordered &+= 1
        }
        delivery.delay = departure - now
        return delivery
    }

    private func flippedBits(_ streams: Streams, _ ordinal: UInt64, _ byteCount: Int) -> [Int] {
        let room = UInt64(byteCount) * 8
        let wanted = UInt64(max(1, min(64, conditions.corruptedBits)))
        var bits: [Int] = []
        // Distinct by construction: the draw is a place, taken places are stepped over.
        for index in 0..<min(wanted, room) {
            var bit = Int(streams.corruptWhere.draw(ordinal &* 64 &+ index) % room)
            while bits.contains(bit) { bit = (bit + 1) % Int(room) }
            bits.append(bit)
        }
        return bits
    }

    /// The draw streams of one link, one a stage.
    private struct Streams: Sendable {
        var loss, lossStart, lossInState, duplicate, corrupt, corruptWhere, jitter,
            reorder: DrawStream

        init(seed: UInt64, from: String, to: String, incarnation: UInt32) {
            func stream(_ name: String) -> DrawStream {
                DrawStream(seed: seed, from: from, to: to, incarnation: incarnation, name: name)
            }
            loss = stream("loss")
            lossStart = stream("loss.start")
            lossInState = stream("loss.state")
            duplicate = stream("duplicate")
            corrupt = stream("corrupt")
            corruptWhere = stream("corrupt.where")
            jitter = stream("jitter")
            reorder = stream("reorder")
        }

        func copy(_ number: UInt64) -> Streams {
            var copy = self
            func shifted(_ stream: DrawStream) -> DrawStream {
                DrawStream(key: stream.draw(~number))
            }
            copy.corrupt = shifted(corrupt)
            copy.corruptWhere = shifted(corruptWhere)
            copy.jitter = shifted(jitter)
            copy.reorder = shifted(reorder)
            return copy
        }
    }
}
