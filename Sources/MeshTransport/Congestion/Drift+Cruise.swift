import MeshWire

/// Around the target: growth, drains, slower links, and whether losses are ours (§5.3).
extension Drift {
    mutating func cruise(_ gone: Double, isFull: Bool) {
        let (target, delay) = (target, queueDelay)
        let gain = min(max(0.4 * target / max(baseTime, 1e-6), 0.03), 0.25)
        let distance = min(max((target - delay) / target, -2), 1)
        let root = packets.squareRoot().squareRoot()
        if regrowth > size, delay < target {
            size = min(size + gone, regrowth)
        } else if distance < 0 {
            size += gain * distance * gone
            regrowth = 0
        } else if isFull, test == nil, drain == nil, sinceDrain >= 2 {
            var growth = min(0.5, gain * speed * min(2, 3 / root))
            if delay < target / 4, size < longBandwidth.value * baseTime { growth = 0.5 }
            if size > ceiling { growth /= 16 }
            size += growth * distance * gone
        }
        cap()
        lookForSlowerLink()
        lookAtLoss()
    }

    /// Bounds the loss at a policer near a fifth.
    private mutating func cap() {
        guard bandwidth.value > 0 else { return }
        let time = max(smoothed, baseTime + target)
        let limit =
            1.25 * bandwidth.value / (1 - randomLoss) * time + 2 * burst.value + 4 * packet
        size = min(size, limit)
    }

    mutating func endCruiseRound(_ sample: AckSample) {
        let (target, delay) = (target, queueDelay)
        if delay > target / 2 {
            speed = 1
            emptyRounds = 0
        } else if delay < target / 4, round.isFull {
            emptyRounds += 1
            if emptyRounds >= 2 { speed = min(speed * 1.5, 20) }
        }
        sinceDrain += 1
        advanceDrain(sample)
        if drain == nil, now.seconds(since: drained) >= 5 + 20 * baseTime, round.isFull {
            beginDrain()
        }
        lookForRival()
    }

    // MARK: Drain

    mutating func beginDrain() {
        guard drain == nil, test == nil, mode == .cruise else { return }
        let delay = queueDelay
        let factor = min(0.75, 1 - 2 * delay / max(baseTime + delay, 1e-9))
        drain = Drain(window: size * max(factor, 0.3))
        drained = now
    }

    private mutating func advanceDrain(_ sample: AckSample) {
        guard var drain else { return }
        if Double(sample.inFlight) <= drain.window + packet { drain.reached += 1 }
        self.drain = drain.reached >= 2 ? nil : drain
        if self.drain == nil {
            drained = now
            sinceDrain = 0
        }
    }

    // MARK: A slower link

    /// Two slices of a round trip with less than half of the rate, beside a queue.
    private mutating func lookForSlowerLink() {
        let length = now.seconds(since: slice.began)
        guard length >= max(baseTime, 0.001) else { return }
        slices = (slices.second, slice.bytes / length)
        slice = Slice(began: now)
        let greater = max(slices.first, slices.second)
        guard greater < bandwidth.value / 2, queueDelay > max(2 * target, baseTime / 2),
            drain == nil
        else { return }
        bandwidth.reset(to: greater)
        rival.formerWindow = max(rival.formerWindow, size)
        size = min(size, greater * (baseTime + target) / (1 - randomLoss) + burst.value)
        slices = (.infinity, .infinity)
    }

    // MARK: Loss

    /// Packets of this tag are counted anew; `test` is what a cut is compared with.
    mutating func begin(test: LossTest?) {
        tag &+= 1
        tally = LossTally()
        tallyBegan = nil
        self.test = test
    }

    private var tallyRate: Double {
        let length = tallyBegan.map { now.seconds(since: $0) } ?? 0
        return length > 0 ? tally.bytes / length : 0
    }

    /// Congestion's loss falls with a cut, random loss does not, and takes the rate down with it.
    private mutating func lookAtLoss() {
        let share = tally.share
        if let test {
            guard Double(tally.packets) >= max(64, packets, test.packets) else { return }
            let isCured = share - randomLoss <= test.excess / 2
            if isCured, tallyRate > 0.9 * test.rate {
                ceiling = 0.95 * test.oldWindow
                // What is lost without a queue of ours is the link's.
                randomLoss = min(randomLoss, share)
            } else {
                size = test.oldWindow
                randomLoss = min(randomLoss + test.excess / 2, Self.randomLossMaximum)
                ceiling = .infinity
            }
            return begin(test: nil)
        }
        guard Double(tally.packets) >= max(256, 2 * packets), drain == nil else { return }
        let count = Double(tally.packets)
        let spread = (max(randomLoss, 0.01, share / 2) * 1.3 * tally.runLength / count).squareRoot()
        guard share > randomLoss + max(0.02, 3 * spread) else {
            if share < randomLoss || queueDelay < baseTime / 8 {
                let next = randomLoss + (share - randomLoss) / 4
                randomLoss = min(next, Self.randomLossMaximum)
            } else {
                // Beside a queue losses may be ours: a link that overflows slowly must not teach them, and
                // what was believed once is looked at again.
                randomLoss -= randomLoss / 16
            }
            return begin(test: nil)
        }
        // So many that half of the excess stands out of the noise.
        let excess = share - randomLoss
        let test = LossTest(
            oldWindow: size,
            excess: excess,
            rate: tallyRate,
            packets: min(
                36 * share * (1 - share) * tally.runLength / (excess * excess),
                8 * self.packets
            )
        )
        // So far that nothing overflows any more if it was all ours; what yields goes down to half at least.
        size *= min(self.share < 1 ? 0.5 : 0.8, max(0.95 * (1 - share), 0.2))
        begin(test: test)
    }
}
