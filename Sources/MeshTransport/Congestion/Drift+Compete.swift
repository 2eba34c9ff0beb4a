import MeshWire

/// Beside somebody who fills the queue: yielding does not help, so the window follows losses (RFC 9438).
extension Drift {
    /// What is known of a rival.
    struct Rival: Sendable {
        /// Rounds in which yielding did not help, less twice those in which it did.
        var rounds = 0
        /// The window when the counting began, or before a link was taken for slower.
        var formerWindow = 0.0
        /// When competing ended last.
        var ended = Instant(nanoseconds: .min / 2)
        /// The greatest queueing delay since it began.
        var greatestDelay = 0.0
        var cubic = Cubic()
        /// When the queue was looked at on purpose last.
        var looked = Instant.zero
        var look: Drain?
    }

    /// CUBIC's curve, in packets and seconds.
    struct Cubic: Sendable {
        static let scale = 0.4
        static let beta = 0.7

        var origin = 0.0
        var began = Instant.zero
        var inflection = 0.0
        /// What Reno would have.
        var reno = 0.0
        var lastCut = Instant(nanoseconds: .min / 2)

        mutating func begin(window: Double, maximum: Double, now: Instant) {
            origin = maximum
            began = now
            reno = window
            inflection = Self.cubeRoot(max(maximum - window, 0) / Self.scale)
        }

        func window(at now: Instant, ahead: Double) -> Double {
            let time = now.seconds(since: began) + ahead - inflection
            return origin + Self.scale * time * time * time
        }

        /// By Newton's method, since the standard library has no cube root.
        static func cubeRoot(_ value: Double) -> Double {
            guard value > 0 else { return 0 }
            var root = max(value, 1)
            for _ in 0..<64 {
                let next = (2 * root + value / (root * root)) / 3
                if abs(next - root) <= root * 1e-12 { return next }
                root = next
            }
            return root
        }
    }

    /// Counts rounds in which the queue stays although the window shrank.
    mutating func lookForRival() {
        // What a round saw itself counts too: behind a cut the delay of before lasts longer than rounds of a few packets.
        let delay = min(queueDelay, round.least - baseTime)
        let limit = max(1.5 * target(ofPackets: max(packets, 16)), baseTime / 4 + 4 * packetTime)
        if delay > limit {
            if rival.rounds == 0 { rival.formerWindow = max(rival.formerWindow, size) }
            rival.rounds += 1
        } else if delay < target {
            rival.rounds = max(rival.rounds - 2, 0)
            if rival.rounds == 0 { rival.formerWindow = 0 }
        }
        let needed = now.seconds(since: rival.ended) < 10 ? 4 : 8
        guard rival.rounds >= needed, share == 1 else { return }
        mode = .compete
        drain = nil
        test = nil
        size = max(size, min(rival.formerWindow, bandwidth.value * baseTime))
        rival.greatestDelay = delay
        rival.looked = now
        rival.cubic.begin(window: packets, maximum: packets, now: now)
        begin(test: nil)
    }

    mutating func compete(_ sample: AckSample, _ gone: Double) {
        let delay = queueDelay
        rival.greatestDelay = max(rival.greatestDelay, delay)
        if sample.lostPackets.all > 0, delay > rival.greatestDelay / 2,
            now.seconds(since: rival.cubic.lastCut) >= smoothed
        {
            rival.cubic.lastCut = now
            let maximum = packets
            size *= Cubic.beta
            rival.cubic.begin(window: packets, maximum: maximum, now: now)
            if now.seconds(since: rival.looked) >= 10 { beginLook() }
        }
        guard sample.isFull, rival.look == nil else { return }
        let segments = Double(sample.acknowledged) / packet
        rival.cubic.reno += 3 * (1 - Cubic.beta) / (1 + Cubic.beta) * segments / packets
        let wanted = max(rival.cubic.window(at: now, ahead: smoothed), rival.cubic.reno)
        if wanted > packets {
            size += min((wanted - packets) / packets, 0.5) * Double(sample.acknowledged)
        }
    }

    mutating func endCompeteRound(_ sample: AckSample) {
        if var look = rival.look {
            if Double(sample.inFlight) <= look.window + packet { look.reached += 1 }
            rival.look = look.reached >= 2 ? nil : look
        } else if now.seconds(since: rival.looked) >= 15 {
            beginLook()
        }
        // While it looks, packets of one's own are all that may be in front.
        let own = rival.look == nil ? 0 : 2.5 * packetTime
        guard queueDelay < max(target / 2, own) else { return }
        // The queue is gone, so nobody fills it any more.
        mode = .cruise
        rival.look = nil
        rival.rounds = 0
        rival.formerWindow = 0
        rival.ended = now
        drained = now
        sinceDrain = 0
        begin(test: nil)
    }

    private mutating func beginLook() {
        rival.looked = now
        // So little that a queue of one's own would be gone, however deep it is.
        let share = 0.8 * baseTime / max(baseTime + queueDelay, 1e-9)
        rival.look = Drain(window: size * min(share, 0.35))
    }
}
