package import MeshWire

/// What a packet holds so far.
struct PacketDraft {
    let start: Int
    let end: Int
    var frames: [SentFrame] = []
    var elicits = false
    /// Whether a MESSAGE or FAST frame is in, so that the packet is not padded.
    var hasMessage = false
    /// Whether anything is in that should leave even without an acknowledgment due.
    var hasContent = false
    /// Whether anything of the background class is in.
    var isBackground = false
}

extension Connection {
    /// Appends one packet's content; `false`, and nothing appended, when nothing may leave now.
    ///
    /// `number` is the counter the packet will be sealed with; it must be used if the answer is
    /// `true`. In any space but the last adopted one only acknowledgments leave.
    package mutating func build(
        space identifier: UInt32,
        number: UInt64,
        into buffer: inout [UInt8],
        now: Instant
    ) -> Bool {
        guard let space = knownSpace(identifier) else { return false }
        let isCurrent = identifier == currentSpace
        // What is sent again into a silence is small: larger ones may be what is swallowed.
        let room = probeCount < 2 ? packetBytes : Self.floorBytes
        var draft = PacketDraft(start: buffer.count, end: buffer.count + room)
        guard life == .open else {
            guard isCurrent, writeClose(into: &buffer) else { return false }
            finish(&draft, space, number, into: &buffer, now: now)
            return true
        }
        if isCurrent, let control = controls.first, control.machine == Self.clockMachine,
            buffer.count + control.bytes.count + 4 <= draft.end
        {
            controls.popFirst()
            write(control, into: &buffer)
            finish(&draft, space, number, into: &buffer, now: now)
            return true
        }
        if isCurrent, writePathProbe(&draft, into: &buffer, now: now) {
            finish(&draft, space, number, into: &buffer, now: now)
            return true
        }
        writeAcknowledgment(space, &draft, isAlone: !isCurrent, into: &buffer, now: now)
        let acknowledgmentEnd = buffer.count
        let isDue = spaces[space].acknowledgmentDue.map { $0 <= now } ?? false
        if isCurrent {
            writeControls(&draft, into: &buffer)
            writeUrgent(&draft, into: &buffer, now: now)
            writeData(&draft, into: &buffer, now: now)
            writeCopies(&draft, into: &buffer, now: now)
            if isPingOwed, !draft.elicits, buffer.count < draft.end {
                buffer.append(Frame.Kind.ping)
                draft.elicits = true
                draft.hasContent = true
            }
        }
        guard draft.hasContent || isDue, buffer.count > draft.start else {
            buffer.removeLast(buffer.count - draft.start)
            return false
        }
        if acknowledgmentEnd > draft.start { spaces[space].acknowledgmentSent() }
        finish(&draft, space, number, into: &buffer, now: now)
        return true
    }

    /// Pads the packet and notes it as sent.
    private mutating func finish(
        _ draft: inout PacketDraft,
        _ space: Int,
        _ number: UInt64,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        if !draft.hasMessage {
            while (buffer.count - draft.start) % 16 != 0, buffer.count < draft.end {
                buffer.append(Frame.Kind.padding)
            }
        }
        let count = buffer.count - draft.start
        counters.packetsSent += 1
        counters.bytesSent += UInt64(count)
        lastSent = now
        spaces[space].largestSent = number
        guard draft.elicits else { return }
        isPingOwed = false
        if probesAllowed > 0 {
            probesAllowed -= 1
            // A second probe leaves even if there is nothing to repeat.
            isPingOwed = probesAllowed > 0
        }
        let bytes = count + Limits.sealOverheadBytes
        path.left(full: bytes > path.datagramBytes - Self.fragmentMinimum)
        pacer.refill(
            rate: congestion.rate(smoothed: roundTrip.smoothed),
            packetBytes: packetBytes,
            base: roundTrip.minimum,
            now: now
        )
        pacer.spend(bytes)
        if inFlightBytes == 0 {
            // Nothing was on its way: the time since then is nobody's.
            deliveredAt = now
            deliveredSentAt = now
        }
        inFlightBytes += bytes
        if draft.isBackground { backgroundInFlight += bytes }
        spaces[space].inFlightCount += 1
        spaces[space].lastElicitingSent = now
        spaces[space].sent.append(
            SentPacket(
                number: number,
                time: now,
                byteCount: bytes,
                delivered: deliveredBytes,
                deliveredAt: deliveredAt,
                deliveredSentAt: deliveredSentAt,
                isApplicationLimited: deliveredBytes < applicationLimitedUntil,
                tag: congestion.tag,
                backgroundTag: draft.isBackground ? background.tag : nil,
                frames: draft.frames
            )
        )
    }
}
