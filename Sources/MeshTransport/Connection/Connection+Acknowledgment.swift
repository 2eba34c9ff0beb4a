import MeshWire

/// What the peer acknowledged, and what follows from it (RFC 9002 §5).
extension Connection {
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
        var samples = AckSamples()
        var newest: SentPacket?
        var largestTime: Instant?
        for range in frame.ranges {
            for news in spaces[space].acknowledged.insert(range) {
                var place = spaces[space].sent.partition { $0.number >= news.lowerBound }
                while let packet = spaces[space].sent[place], packet.number <= news.upperBound {
                    defer { place += 1 }
                    guard packet.state != .acknowledged else { continue }
                    if packet.number == largest { largestTime = packet.time }
                    if packet.delivered >= roundEnds { samples.all.roundEnded = true }
                    if newest.map({ $0.time < packet.time }) ?? true { newest = packet }
                    acknowledge(place, space, &samples)
                }
            }
        }
        spaces[space].acknowledged.trim(to: 4 * Frame.acknowledgmentRanges)
        if isLargestNew, let largestTime {
            let delay = min(Duration.microseconds(Int64(min(frame.delay, 1 << 40))), peerDelay)
            roundTrip.update(now - largestTime, delay: delay, now: now)
            samples.all.roundTrip = roundTrip.latest
        }
        detectLost(space, &samples, now: now)
        note(samples.all)
        if let newest { delivered(&samples, newest, now: now) }
        spaces[space].prune(before: now - roundTrip.smoothed * 2 - .milliseconds(20))
    }

    /// What copies are made by: losses are counted here, whatever the controller makes of them.
    mutating func note(_ sample: AckSample) {
        redundancy.note(
            arrived: sample.packets.all,
            lost: sample.lostPackets.all,
            cameAfterAll: sample.undonePackets.all
        )
    }

    /// Notes one packet's arrival.
    private mutating func acknowledge(_ place: Int, _ space: Int, _ samples: inout AckSamples) {
        guard let packet = spaces[space].sent[place] else { return }
        let wasLost = packet.state == .lost
        samples.all.arrived(
            packet.byteCount,
            isTagged: packet.tag == congestion.tag,
            wasLost: wasLost
        )
        if let tag = packet.backgroundTag {
            samples.background.arrived(
                packet.byteCount,
                isTagged: tag == background.tag,
                wasLost: wasLost
            )
        }
        if wasLost {
            lossWasSpurious(packet.number, space)
        } else {
            landed(packet)
            spaces[space].inFlightCount -= 1
        }
        path.arrived(packet.byteCount, sent: packet.time)
        spaces[space].sent[place]?.frames = []
        spaces[space].sent[place]?.state = .acknowledged
        for frame in packet.frames { acknowledged(frame, space) }
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
    }

    /// Tells the controller, with the rate between sending and arrival of the newest packet
    /// (draft-cheng-iccrg-delivery-rate-estimation).
    private mutating func delivered(
        _ samples: inout AckSamples,
        _ newest: SentPacket,
        now: Instant
    ) {
        deliveredBytes += UInt64(samples.all.acknowledged + samples.all.undone)
        deliveredAt = now
        deliveredSentAt = newest.time
        let interval = max(now - newest.deliveredAt, newest.time - newest.deliveredSentAt)
        // One batch of the receiver is no rate.
        if interval > max(roundTrip.minimum / 2, .microseconds(10)) {
            samples.all.rate = Double(deliveredBytes - newest.delivered) / interval.inSeconds
            samples.all.isApplicationLimited = newest.isApplicationLimited
        }
        samples.all.isFull = isFull || wasFull
        control(samples, now: now)
        guard samples.all.roundEnded else { return }
        roundEnds = deliveredBytes
        fitPackets()
        wasFull = isFull
        isFull = false
        isBackgroundFull = false
        let elapsed = Double((now - roundStarted).wholeNanoseconds) / 1e9
        if elapsed > 0.001 {
            let rate = Double(deliveredBytes - roundDelivered) / elapsed
            counters.deliveryRate += (rate - counters.deliveryRate) / 4
            roundStarted = now
            roundDelivered = deliveredBytes
        }
    }

    /// Tells the controllers, the background's only while it has anything on its way.
    mutating func control(_ samples: AckSamples, now: Instant) {
        var sample = samples.all
        sample.inFlight = inFlightBytes
        congestion.take(sample, now: now)
        guard backgroundInFlight > 0 || samples.background.packets.all > 0 else { return }
        background.take(
            samples.yielding(isFull: isBackgroundFull, inFlight: backgroundInFlight),
            now: now
        )
    }

    /// A packet is not in flight any more.
    mutating func landed(_ packet: SentPacket) {
        inFlightBytes -= packet.byteCount
        if packet.backgroundTag != nil { backgroundInFlight -= packet.byteCount }
    }

    private mutating func acknowledged(_ frame: SentFrame, _ space: Int) {
        switch frame {
        case .message(let channel, let sequence, let range),
            .copy(let channel, let sequence, let range):
            guard let index = outgoing.index(of: channel) else { return }
            acknowledged(range, of: sequence, index)
        case .fast(let token):
            guard let awaited = fastAwaited[token] else { return }
            fastAwaited[token]?.left -= 1
            if awaited.left == 1 { reportFast(token, .delivered) }
        case .pathProbe(let bytes):
            path.probeArrived(bytes)
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

    mutating func reportFast(_ token: UInt64, _ outcome: SendOutcome) {
        guard let awaited = fastAwaited.removeValue(forKey: token) else { return }
        events.append(.outcome(SendToken(channel: awaited.channel, number: token), outcome))
    }
}
