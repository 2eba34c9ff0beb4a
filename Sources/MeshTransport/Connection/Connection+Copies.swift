import MeshWire

extension Connection {
    /// Notes that a whole message left for the first time; of a thin stream it rides again.
    mutating func noteThin(_ index: Int, _ place: Int, now: Instant) {
        guard redundancy.isActive, outgoing[index].trafficClass.mayRideAgain,
            outgoing[index].sent.count <= Redundancy.thinMessages,
            congestion.queueDelay <= congestion.target,
            let byteCount = outgoing[index].sent[place]?.byteCount
        else { return }
        redundancy.sent(
            outgoing[index].number,
            outgoing[index].base + UInt64(place),
            byteCount: byteCount,
            roundTrip: roundTrip.smoothed,
            now: now
        )
    }

    /// Puts copies that are due into the packet; those almost due too if it leaves anyway.
    mutating func writeCopies(
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        guard !redundancy.pending.isEmpty else { return }
        redundancy.refill(rate: congestion.rate(smoothed: roundTrip.smoothed), now: now)
        let early = redundancy.spacing(roundTrip: roundTrip.smoothed) / 2
        while let place = redundancy.next(by: draft.hasContent ? now + early : now) {
            let copy = redundancy.pending[place]
            guard let index = outgoing.index(of: copy.channel),
                let message = outgoing[index].place(of: copy.sequence),
                outgoing[index].sent[message]?.state == .live
            else {
                redundancy.remove(at: place)
                continue
            }
            // No room: no copy, and never a first sending that waits for one.
            guard redundancy.mayRide, inFlightBytes < congestion.window,
                congestion.queueDelay <= congestion.target
            else {
                redundancy.rode(at: place, roundTrip: roundTrip.smoothed, now: now)
                continue
            }
            let before = buffer.count
            guard writeCopy(index, message, copy, &draft, into: &buffer) else { return }
            redundancy.spend(buffer.count - before)
            counters.redundantBytes += UInt64(copy.byteCount)
            redundancy.rode(at: place, roundTrip: roundTrip.smoothed, now: now)
        }
    }

    private mutating func writeCopy(
        _ index: Int,
        _ place: Int,
        _ copy: Redundancy.Copy,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        guard let message = outgoing[index].sent[place] else { return false }
        let header = MessageHeader(
            channel: copy.channel,
            sequence: copy.sequence,
            isUnordered: !message.isOrdered,
            acknowledgesAtOnce: true
        )
        let size = header.byteCount(length: copy.byteCount) + copy.byteCount
        guard buffer.count + size <= draft.end else { return false }
        header.encode(length: copy.byteCount, into: &buffer)
        buffer.append(contentsOf: message.bytes)
        draft.hasMessage = true
        draft.elicits = true
        draft.hasContent = true
        draft.frames.append(.copy(copy.channel, sequence: copy.sequence, 0..<copy.byteCount))
        return true
    }
}

extension TrafficClass {
    /// Whether small messages of the class ride again where packets are lost.
    fileprivate var mayRideAgain: Bool {
        switch self {
        case .high, .normal, .low: true
        case .control, .fast, .background: false
        }
    }
}
