import MeshWire

/// Loss detection and what follows from it (RFC 9002).
extension Connection {
    /// The least time after which an older packet counts as lost (RFC 9002 §6.1.2).
    static let granularity: Duration = .milliseconds(1)

    mutating func receive(
        _ frame: AcknowledgmentFrame,
        _ space: Int,
        now: Instant
    ) throws(ProtocolViolation) {
        let largest = frame.ranges[0].upperBound
        guard let largestSent = spaces[space].largestSent, largest <= largestSent else {
            throw .unsentAcknowledged(largest)
        }
        let isLargestNew = spaces[space].largestAcknowledged.map { largest > $0 } ?? true
        spaces[space].largestAcknowledged = max(
            spaces[space].largestAcknowledged ?? largest,
            largest
        )
        var sample = CongestionController.Sample(base: roundTrip.minimum)
        var packets = 0
        var largestTime: Instant?
        for range in frame.ranges {
            for news in spaces[space].acknowledged.insert(range) {
                var place = spaces[space].sent.partition { $0.number >= news.lowerBound }
                while let packet = spaces[space].sent[place], packet.number <= news.upperBound {
                    defer { place += 1 }
                    guard packet.state != .acknowledged else { continue }
                    if packet.number == largest { largestTime = packet.time }
                    packets += 1
                    if packet.delivered >= roundEnds { sample.roundEnded = true }
                    sample.acknowledgedBytes += acknowledge(place, space, now: now)
                }
            }
        }
        spaces[space].acknowledged.trim(to: 4 * Frame.acknowledgmentRanges)
        if isLargestNew, let largestTime {
            let delay = min(Duration.microseconds(Int64(min(frame.delay, 1 << 40))), peerDelay)
            roundTrip.update(now - largestTime, delay: delay, now: now)
            sample.roundTrip = roundTrip.latest
            sample.base = roundTrip.minimum
        }
        if packets > 0 { delivered(&sample, packets: packets, now: now) }
        detectLost(space, now: now)
        spaces[space].prune(before: now - roundTrip.smoothed * 2 - .milliseconds(20))
    }

    /// Notes one packet's arrival and answers with the bytes that left the flight.
    private mutating func acknowledge(_ place: Int, _ space: Int, now: Instant) -> Int {
        guard let packet = spaces[space].sent[place] else { return 0 }
        if packet.state == .lost {
            lossWasSpurious(packet.number, space)
        } else {
            inFlightBytes -= packet.byteCount
            spaces[space].inFlightCount -= 1
        }
        spaces[space].sent[place]?.frames = []
        spaces[space].sent[place]?.state = .acknowledged
        for frame in packet.frames { acknowledged(frame, space) }
        return packet.byteCount
    }

    /// A packet declared lost came after all: wait longer next time (RFC 8985 §6.2).
    private mutating func lossWasSpurious(_ number: UInt64, _ space: Int) {
        counters.packetsLostSpuriously += 1
        let distance = spaces[space].largestAcknowledged.map { $0 - number }
        packetThreshold = min(max(packetThreshold, (distance ?? 0) * 5 / 4 + 1), 4096)
        // One step a round, up to one round trip more.
        if spuriousRound != roundEnds || reorderEighths == 1 {
            spuriousRound = roundEnds
            reorderEighths = min(reorderEighths + 1, 8)
        }
        congestion.undo()
    }

    private mutating func delivered(
        _ sample: inout CongestionController.Sample,
        packets: Int,
        now: Instant
    ) {
        deliveredBytes += UInt64(sample.acknowledgedBytes)
        sample.isFull = isFull || wasFull
        congestion.acknowledged(sample, packets: packets, now: now)
        guard sample.roundEnded else { return }
        roundEnds = deliveredBytes
        wasFull = isFull
        isFull = false
        let elapsed = Double((now - roundStarted).wholeNanoseconds) / 1e9
        if elapsed > 0.001 {
            let rate = Double(deliveredBytes - roundDelivered) / elapsed
            counters.deliveryRate += (rate - counters.deliveryRate) / 4
            roundStarted = now
            roundDelivered = deliveredBytes
        }
    }

    private mutating func acknowledged(_ frame: SentFrame, _ space: Int) {
        switch frame {
        case .message(let channel, let sequence, let range):
            guard let index = outgoing.index(of: channel) else { return }
            acknowledged(range, of: sequence, index)
        case .fast(let token):
            guard let awaited = fastAwaited[token] else { return }
            fastAwaited[token]?.left -= 1
            if awaited.left == 1 { reportFast(token, .delivered) }
        case .acknowledgment(let largest):
            spaces[space].received.forget(through: largest)
        case .urgent(let frame):
            acknowledged(frame)
        }
    }

    private mutating func acknowledged(_ frame: UrgentFrame) {
        switch frame {
        case .endpoint(let number): endpointFrames[number] = nil
        case .latest(let channel, let key, let sequence, let fragment):
            acknowledgedLatest(channel, key: key, sequence: sequence, fragment: fragment)
        case .channelClose(let channel):
            guard let index = outgoing.index(of: channel) else { return }
            outgoing[index].isCloseAcknowledged = true
            finishClosing(index)
        case .cancel(let channel, let sequence):
            guard let index = outgoing.index(of: channel),
                let place = outgoing[index].place(of: sequence)
            else { return }
            outgoing[index].sent[place]?.state = .skipped
            prune(index)
        case .settings: areSettingsAcknowledged = true
        case .channelOpen(let channel):
            guard let index = outgoing.index(of: channel) else { return }
            outgoing[index].isOpenAcknowledged = true
            markReady(index)
        case .resume, .window, .windowAll: return
        }
    }

    /// Puts a small frame into the next packet, unless it waits for it already.
    mutating func enqueue(_ frame: UrgentFrame) {
        if urgentWaiting.insert(frame).inserted { urgent.append(frame) }
    }

    private mutating func acknowledged(_ range: Range<Int>, of sequence: UInt64, _ index: Int) {
        guard let place = outgoing[index].place(of: sequence),
            outgoing[index].sent[place]?.state == .live,
            let byteCount = outgoing[index].sent[place]?.byteCount
        else { return }
        if range != 0..<byteCount {
            outgoing[index].sent[place]?.acknowledged.insert(range)
            outgoing[index].sent[place]?.lost.remove(range)
            guard outgoing[index].sent[place]?.acknowledged.covers(0..<byteCount) == true
            else { return }
        }
        finish(index, place, .delivered, .delivered)
        prune(index)
    }

    /// Forgets what is done at a channel's front, which may let it go on.
    mutating func prune(_ index: Int) {
        let count = outgoing[index].sent.count
        outgoing[index].prune()
        let wasFull = outstanding >= Self.outstandingMaximum
        outstanding -= count - outgoing[index].sent.count
        if wasFull { markAllReady() } else { markReady(index) }
        finishClosing(index)
    }

    // MARK: Loss

    /// Declares lost what is too old by number or by time (RFC 9002 §6.1).
    mutating func detectLost(_ space: Int, now: Instant) {
        spaces[space].lossTime = nil
        guard let largest = spaces[space].largestAcknowledged, spaces[space].inFlightCount > 0
        else { return }
        let basis = max(roundTrip.smoothed, roundTrip.latest)
        let delay = max(
            basis + max(basis, .milliseconds(8)) * (reorderEighths - 1) / 8 + basis / 8,
            Self.granularity
        )
        var lostPackets = 0
        var lastSent = Instant.zero
        let lowest = spaces[space].lowestInFlight
        let start = spaces[space].sent.partition { $0.number >= lowest }
        spaces[space].lowestInFlight = largest + 1
        for place in start..<spaces[space].sent.count {
            guard let packet = spaces[space].sent[place], packet.number <= largest else { break }
            guard packet.state == .inFlight else { continue }
            let due = packet.time + delay
            if packet.number + packetThreshold <= largest || due <= now {
                lastSent = max(lastSent, packet.time)
                lostPackets += 1
                declareLost(place, space, now: now)
            } else {
                spaces[space].lowestInFlight = min(spaces[space].lowestInFlight, packet.number)
                spaces[space].lossTime = min(spaces[space].lossTime ?? due, due)
            }
        }
        guard lostPackets > 0 else { return }
        congestion.lost(
            packets: lostPackets,
            sentAt: lastSent,
            base: roundTrip.minimum,
            now: now
        )
    }

    private mutating func declareLost(_ place: Int, _ space: Int, now: Instant) {
        guard let packet = spaces[space].sent[place] else { return }
        counters.packetsLost += 1
        spaces[space].sent[place]?.state = .lost
        spaces[space].sent[place]?.lostAt = now
        spaces[space].inFlightCount -= 1
        inFlightBytes -= packet.byteCount
        // The frames stay with the packet, in case it comes after all.
        for frame in packet.frames { requeue(frame) }
    }

    /// Sends a frame's content again, if anybody still waits for it.
    mutating func requeue(_ frame: SentFrame) {
        switch frame {
        case .message(let channel, let sequence, let range):
            guard let index = outgoing.index(of: channel),
                let place = outgoing[index].place(of: sequence),
                outgoing[index].sent[place]?.state == .live
            else { return }
            if range.isEmpty {
                outgoing[index].sent[place]?.isEmptyLost = true
            } else {
                outgoing[index].sent[place]?.lost.insert(range)
                if let known = outgoing[index].sent[place]?.acknowledged, !known.isEmpty {
                    outgoing[index].sent[place]?.lost.subtract(known)
                }
            }
            guard outgoing[index].sent[place]?.hasLoss == true,
                outgoing[index].sent[place]?.isListed == false
            else { return }
            outgoing[index].sent[place]?.isListed = true
            outgoing[index].resend.append(sequence)
            markReady(index)
        case .fast(let token):
            reportFast(token, .expired)
        case .acknowledgment: return
        case .urgent(let frame):
            requeue(frame)
        }
    }

    private mutating func requeue(_ frame: UrgentFrame) {
        switch frame {
        case .latest(let channel, let key, let sequence, let fragment):
            guard let index = outgoing.index(of: channel),
                let value = outgoing[index].latest[key], value.sequence == sequence,
                value.isSettled, value.acknowledged >> UInt32(fragment) & 1 == 0
            else { return }
            enqueue(frame)
        case .window(let number):
            guard let index = incoming.index(of: number), !incoming[index].window.isUpdateQueued
            else { return }
            incoming[index].window.isUpdateQueued = true
            enqueue(frame)
        case .windowAll:
            guard !receiveWindow.isUpdateQueued else { return }
            receiveWindow.isUpdateQueued = true
            enqueue(frame)
        case .endpoint(let number):
            if endpointFrames[number] != nil { enqueue(frame) }
        case .channelOpen(let channel):
            guard let index = outgoing.index(of: channel), !outgoing[index].isOpenAcknowledged
            else { return }
            enqueue(frame)
        case .channelClose(let channel):
            guard let index = outgoing.index(of: channel), !outgoing[index].isCloseAcknowledged
            else { return }
            enqueue(frame)
        case .cancel(let channel, let sequence):
            guard let index = outgoing.index(of: channel),
                let place = outgoing[index].place(of: sequence),
                outgoing[index].sent[place]?.state == .cancelled
            else { return }
            enqueue(frame)
        case .settings:
            if !areSettingsAcknowledged { enqueue(frame) }
        case .resume:
            enqueue(frame)
        }
    }

    // MARK: Probes

    /// How long to wait for an acknowledgment before a probe leaves.
    ///
    /// Three time-outs do not back off, then each doubles, and never beyond 250 ms unless the round
    /// trip itself asks for more (`20-transport.md` §3, §5).
    var probeTimeout: Duration {
        let base = roundTrip.probeTimeout(peerDelay: peerDelay)
        guard probeCount >= 3 else { return base }
        let backed = base * (1 << min(probeCount - 2, 16))
        return max(base, min(backed, .milliseconds(250)))
    }

    /// When the next probe leaves: after the last packet that asked for an answer.
    var probeDeadline: Instant? {
        var latest: Instant?
        for space in spaces where space.inFlightCount > 0 {
            if let sent = space.lastElicitingSent { latest = max(latest ?? sent, sent) }
        }
        return latest.map { $0 + probeTimeout }
    }

    /// The oldest unacknowledged content rides again, beyond window and pacer (RFC 9002 §6.2.4).
    mutating func probeTimedOut(now: Instant) {
        probeCount += 1
        counters.probeTimeouts += 1
        congestion.probeTimedOut(consecutive: probeCount, now: now)
        abandonFormerSpaces(now: now)
        probesAllowed = probeCount > 3 ? 1 : 2
        isPingOwed = true
        if probe(probesAllowed) { return }
        // All of it was carried by a probe already: begin again with the oldest.
        for space in spaces.indices {
            for place in 0..<spaces[space].sent.count {
                spaces[space].sent[place]?.wasProbed = false
            }
        }
        _ = probe(probesAllowed)
    }

    /// Takes what former keys carried for lost, once a probe is due.
    ///
    /// The peer may have dropped those keys and never acknowledge under them; waiting for it would
    /// keep the deadline in the past and answer every packet with a probe.
    private mutating func abandonFormerSpaces(now: Instant) {
        for space in spaces.indices
        where spaces[space].identifier != currentSpace && spaces[space].inFlightCount > 0 {
            for place in 0..<spaces[space].sent.count
            where spaces[space].sent[place]?.state == .inFlight {
                declareLost(place, space, now: now)
            }
            spaces[space].lossTime = nil
        }
    }

    private mutating func probe(_ count: Int) -> Bool {
        var left = count
        for space in spaces.indices {
            for place in 0..<spaces[space].sent.count where left > 0 {
                guard let packet = spaces[space].sent[place], packet.state == .inFlight,
                    !packet.wasProbed
                else { continue }
                spaces[space].sent[place]?.wasProbed = true
                guard !packet.frames.isEmpty else { continue }
                left -= 1
                for frame in packet.frames {
                    if case .fast = frame { continue }
                    requeue(frame)
                }
            }
        }
        return left < count
    }

    private mutating func reportFast(_ token: UInt64, _ outcome: SendOutcome) {
        guard let awaited = fastAwaited.removeValue(forKey: token) else { return }
        events.append(.outcome(SendToken(channel: awaited.channel, number: token), outcome))
    }
}
