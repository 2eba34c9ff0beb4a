import MeshWire

/// Loss detection, and what is sent again (RFC 9002 §6).
extension Connection {
    /// The least time after which an older packet counts as lost (RFC 9002 §6.1.2).
    static let granularity: Duration = .milliseconds(1)

    /// Declares lost what is too old by number or by time (RFC 9002 §6.1).
    mutating func detectLost(_ space: Int, _ samples: inout AckSamples, now: Instant) {
        spaces[space].lossTime = nil
        guard let largest = spaces[space].largestAcknowledged, spaces[space].inFlightCount > 0
        else { return }
        let basis = max(roundTrip.smoothed, roundTrip.latest)
        let delay = max(
            basis + max(basis, .milliseconds(8)) * (reorderEighths - 1) / 8 + basis / 8,
            Self.granularity
        )
        let lowest = spaces[space].lowestInFlight
        let start = spaces[space].sent.partition { $0.number >= lowest }
        spaces[space].lowestInFlight = largest + 1
        for place in start..<spaces[space].sent.count {
            guard let packet = spaces[space].sent[place], packet.number <= largest else { break }
            guard packet.state == .inFlight else { continue }
            let due = packet.time + delay
            if packet.number + packetThreshold <= largest || due <= now {
                if !packet.isPathProbe {
                    samples.all.lost(packet.byteCount, isTagged: packet.tag == congestion.tag)
                    if let tag = packet.backgroundTag {
                        samples.background.lost(
                            packet.byteCount,
                            isTagged: tag == background.tag
                        )
                    }
                    let former = place > start ? spaces[space].sent[place - 1] : nil
                    if former?.state != .lost { samples.all.lossRuns += 1 }
                }
                declareLost(place, space, now: now)
            } else {
                spaces[space].lowestInFlight = min(spaces[space].lowestInFlight, packet.number)
                spaces[space].lossTime = min(spaces[space].lossTime ?? due, due)
            }
        }
    }

    private mutating func declareLost(_ place: Int, _ space: Int, now: Instant) {
        guard let packet = spaces[space].sent[place] else { return }
        if !packet.isPathProbe { counters.packetsLost += 1 }
        noteVanished(packet, now: now)
        spaces[space].sent[place]?.state = .lost
        spaces[space].sent[place]?.lostAt = now
        spaces[space].inFlightCount -= 1
        landed(packet)
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
        case .acknowledgment, .copy, .pathProbe: return
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
        background.probeTimedOut(consecutive: probeCount, now: now)
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
}
