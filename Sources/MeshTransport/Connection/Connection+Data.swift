import MeshWire

/// Filling a packet with messages: the classes in turn, as window and pacer allow.
extension Connection {
    /// A fragment below this waits for a packet with more room.
    static let fragmentMinimum = 128

    mutating func writeData(
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        pacingDeadline = nil
        guard !fast.isEmpty || !scheduler.isEmpty else {
            if inFlightBytes < congestion.window {
                applicationLimitedUntil = deliveredBytes + UInt64(max(inFlightBytes, 1))
            }
            return
        }
        let rate = congestion.rate(smoothed: roundTrip.smoothed)
        pacer.refill(rate: rate, packetBytes: packetBytes, base: roundTrip.minimum, now: now)
        let isProbe = probesAllowed > 0
        let hasReserve = inFlightBytes < congestion.window + Self.reservePackets * Self.floorBytes
        let hasWindow = inFlightBytes < congestion.window
        // Class control is not paced, and the fast lane may go into debt with the pacer.
        if isProbe || hasReserve { writeChannels(.control, &draft, into: &buffer, now: now) }
        if !fast.isEmpty, isProbe || hasReserve, isProbe || pacer.isOpen(debt: 4 * Self.floorBytes)
        {
            writeFast(&draft, into: &buffer, now: now)
        }
        if isProbe || hasWindow && pacer.isOpen() {
            writeClasses(&draft, into: &buffer, now: now)
        }
        guard !isProbe, !fast.isEmpty || !scheduler.isEmpty else { return }
        if hasWindow, !pacer.isOpen() {
            isFull = true
            isBackgroundFull = true
            pacingDeadline = pacer.opens(rate: rate, packetBytes: packetBytes, now: now)
        } else if !hasWindow {
            isFull = true
            isBackgroundFull = true
        } else if scheduler.hasOnlyBackground {
            // What waits yields: the window itself is not what holds it back.
            applicationLimitedUntil = deliveredBytes + UInt64(max(inFlightBytes, 1))
        }
    }

    // MARK: Fast

    private mutating func writeFast(
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        var sentLatest = false
        while true {
            let room = draft.end - buffer.count
            let next = fast.next(room: room, latestMayLeave: sentLatest || latestGate <= now)
            guard let index = next else { break }
            guard writeFragment(index, &draft, into: &buffer) else { break }
            sentLatest = sentLatest || fast.pending[index].header.isLatest
            if fast.pending[index].fragment == fast.pending[index].fragmentCount {
                counters.fastSent += 1
                _ = fast.remove(at: index)
            }
        }
        if sentLatest { latestGate = now + configuration.latestInterval }
    }

    private mutating func writeFragment(
        _ index: Int,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        let message = fast.pending[index]
        let start = message.fragment * message.fragmentBytes
        let end = min(start + message.fragmentBytes, message.bytes.count)
        var header = message.header
        if message.fragmentCount > 1 {
            header.fragment = FastHeader.Fragment(
                index: UInt8(message.fragment),
                count: UInt8(message.fragmentCount)
            )
        }
        let size = header.byteCount(length: end - start) + end - start
        guard buffer.count + size <= draft.end else { return false }
        header.encode(length: end - start, into: &buffer)
        buffer.append(contentsOf: message.bytes[start..<end])
        draft.hasMessage = true
        draft.elicits = true
        draft.hasContent = true
        if header.isLatest {
            draft.frames.append(
                .urgent(
                    .latest(
                        header.channel,
                        key: header.key,
                        sequence: header.sequence,
                        fragment: UInt8(message.fragment)
                    )
                )
            )
        } else if message.reportsOutcome {
            if message.fragment == 0 {
                fastAwaited[message.token] = FastAwaited(
                    channel: header.channel,
                    left: message.fragmentCount
                )
            }
            draft.frames.append(.fast(token: message.token))
        }
        fast.pending[index].fragment += 1
        return true
    }

    // MARK: Reliable

    private mutating func writeClasses(
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        // Each round either fills the packet or empties a class's turn; the background yields to a window of its own.
        while buffer.count < draft.end {
            let mayYield = probesAllowed > 0 || backgroundInFlight < background.window
            if !mayYield, !scheduler.isEmpty(.background) { isBackgroundFull = true }
            guard let trafficClass = scheduler.next(withBackground: mayYield) else { return }
            if trafficClass == .background { draft.isBackground = true }
            guard writeChannels(trafficClass, &draft, into: &buffer, now: now) else { return }
        }
    }

    /// Lets the channels of one class write in turn; `false` when the packet is full.
    @discardableResult
    private mutating func writeChannels(
        _ trafficClass: TrafficClass,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) -> Bool {
        while let number = scheduler.popFirst(trafficClass) {
            guard let index = outgoing.index(of: number) else { continue }
            let before = buffer.count
            writeMessages(index, &draft, into: &buffer, now: now)
            scheduler.spend(buffer.count - before, trafficClass)
            outgoing[index].isReady = false
            if canSend(index) {
                // It did not stop for want of something to send, so the packet is full.
                markReady(index)
                return false
            }
            finishClosing(index)
        }
        return true
    }

    private mutating func writeMessages(
        _ index: Int,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        while let sequence = outgoing[index].resend.first {
            guard let place = outgoing[index].place(of: sequence),
                outgoing[index].sent[place]?.hasLoss == true
            else {
                if let place = outgoing[index].place(of: sequence) {
                    outgoing[index].sent[place]?.isListed = false
                }
                outgoing[index].resend.popFirst()
                continue
            }
            guard writeLost(index, place, &draft, into: &buffer) else { return }
        }
        while true {
            if outgoing[index].hasPartial {
                guard writePartial(index, &draft, into: &buffer) else { return }
            } else {
                guard let next = outgoing[index].unsent.first else { return }
                guard next.state == .live else {
                    outgoing[index].unsent.popFirst()
                    outgoing[index].queuedCost -= OutgoingMessage.overhead
                    queuedCost -= OutgoingMessage.overhead
                    openQueue(index)
                    continue
                }
                guard writeNext(index, byteCount: next.byteCount, &draft, into: &buffer) else {
                    return
                }
                let place = outgoing[index].sent.count - 1
                if next.byteCount > 0, outgoing[index].sent[place]?.isWhollySent == true {
                    noteThin(index, place, now: now)
                }
            }
        }
    }

    private mutating func writeLost(
        _ index: Int,
        _ place: Int,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        let range = outgoing[index].sent[place]?.lost.first ?? 0..<0
        guard let sent = write(range, index, place, &draft, into: &buffer) else { return false }
        outgoing[index].sent[place]?.lost.remove(sent)
        outgoing[index].sent[place]?.isEmptyLost = false
        counters.retransmittedBytes += UInt64(sent.count)
        return true
    }

    /// Goes on with the message under way, as far as the limits allow.
    private mutating func writePartial(
        _ index: Int,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        let place = outgoing[index].sent.count - 1
        guard let start = outgoing[index].sent[place]?.sentOffset,
            let byteCount = outgoing[index].sent[place]?.byteCount
        else { return false }
        let channelRoom =
            outgoing[index].limit - min(outgoing[index].limit, outgoing[index].sentBytes)
        let room = Int(clamping: min(channelRoom, sendLimit - min(sendLimit, sentBytes)))
        let end = min(byteCount, start + room)
        guard start < end,
            let sent = write(start..<end, index, place, &draft, into: &buffer)
        else { return false }
        noteSent(sent, index, place)
        return true
    }

    /// Gives the next message its sequence and writes it, or as much as fits.
    private mutating func writeNext(
        _ index: Int,
        byteCount: Int,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        guard mayStart(index, byteCount: byteCount) else { return false }
        let room = draft.end - buffer.count
        // A message that fits into one packet is not cut for the rest of this one.
        let fits = byteCount + 40 <= room
        guard fits || byteCount + 40 > draft.end - draft.start, room > Self.fragmentMinimum || fits
        else { return false }
        guard let message = outgoing[index].unsent.popFirst() else { return false }
        outgoing[index].sent.append(message)
        outstanding += 1
        reservedBytes += byteCount
        let place = outgoing[index].sent.count - 1
        guard byteCount == 0 else { return writePartial(index, &draft, into: &buffer) }
        return write(0..<0, index, place, &draft, into: &buffer) != nil
    }

    private mutating func noteSent(_ range: Range<Int>, _ index: Int, _ place: Int) {
        outgoing[index].sent[place]?.sentOffset = range.upperBound
        outgoing[index].sentBytes += UInt64(range.count)
        sentBytes += UInt64(range.count)
        reservedBytes -= range.count
        // Only a message that took several fragments can have kept others from starting.
        if range.lowerBound > 0, outgoing[index].sent[place]?.isWhollySent == true {
            markAllReady()
        }
    }

    /// Writes as much of a message's `range` as fits and answers with it; `nil` if too little fits.
    private mutating func write(
        _ range: Range<Int>,
        _ index: Int,
        _ place: Int,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Range<Int>? {
        guard let message = outgoing[index].sent[place] else { return nil }
        let byteCount = message.byteCount
        var header = MessageHeader(
            channel: outgoing[index].number,
            sequence: outgoing[index].base + UInt64(place),
            isUnordered: !message.isOrdered,
            acknowledgesAtOnce: message.acknowledgesAtOnce || redundancy.isActive
        )
        var range = range
        let room = draft.end - buffer.count
        if range != 0..<byteCount || header.byteCount(length: range.count) + range.count > room {
            header.fragment = MessageHeader.Fragment(total: byteCount, offset: range.lowerBound)
            let payload = room - header.byteCount(length: range.count)
            guard payload >= min(range.count, Self.fragmentMinimum) else { return nil }
            range = range.prefix(max(payload, 0))
        }
        header.encode(length: range.count, into: &buffer)
        buffer.append(contentsOf: message.bytes[range])
        draft.hasMessage = true
        draft.elicits = true
        draft.hasContent = true
        draft.frames.append(
            .message(header.channel, sequence: header.sequence, range)
        )
        return range
    }
}
