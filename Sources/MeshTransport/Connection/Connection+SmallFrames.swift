import MeshWire

// Frames that are not of the lanes: acknowledgments, datagrams of machines, and the small frames that
// leave again until they are acknowledged.
extension Connection {
    mutating func writeClose(into buffer: inout [UInt8]) -> Bool {
        guard case .closing(let reason, let text, let left, true) = life else { return false }
        Frame.close(reason, text: text).encode(into: &buffer)
        life = left > 1 ? .closing(reason, text: text, left: left - 1, isOwed: false) : .closed
        return true
    }

    mutating func writeAcknowledgment(
        _ space: Int,
        _ draft: inout PacketDraft,
        isAlone: Bool,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        guard spaces[space].acknowledgmentDue != nil else { return }
        let ranges = spaces[space].received.ranges
        guard let largest = ranges.last?.upperBound else { return }
        let waited = max(now - spaces[space].largestReceivedAt, .zero)
        // A range costs at most 16 bytes, and type, delay, count and first 25.
        let room = max(1, (draft.end - draft.start - 25) / 16)
        let frame = AcknowledgmentFrame(
            ranges: Array(ranges.suffix(room).reversed()),
            delay: UInt64(waited.wholeNanoseconds / 1000)
        )
        frame.encode(into: &buffer)
        if !isAlone { draft.frames.append(.acknowledgment(largest: largest)) }
    }

    func write(_ control: Control, into buffer: inout [UInt8]) {
        buffer.append(Frame.Kind.control)
        buffer.append(control.machine)
        buffer.append(variable: UInt64(control.bytes.count))
        buffer.append(contentsOf: control.bytes)
    }

    mutating func writeControls(_ draft: inout PacketDraft, into buffer: inout [UInt8]) {
        while let control = controls.first, control.machine != Self.clockMachine,
            buffer.count + control.bytes.count + 4 <= draft.end
        {
            controls.popFirst()
            write(control, into: &buffer)
            draft.hasContent = true
        }
        while let frame = onceFrames.first {
            guard append(frame, &draft, into: &buffer) else { return }
            onceFrames.popFirst()
        }
    }

    /// Appends a frame if it fits.
    private func append(
        _ frame: Frame,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        let mark = buffer.count
        frame.encode(into: &buffer)
        guard buffer.count <= draft.end else {
            buffer.removeLast(buffer.count - mark)
            return false
        }
        draft.elicits = draft.elicits || frame.elicitsAcknowledgment
        draft.hasContent = true
        return true
    }

    mutating func writeUrgent(
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) {
        while let next = urgent.first {
            // Larger than any urgent frame but a fragment of a `latest` value and a RESUME, which
            // are cut or put off below.
            guard write(next, &draft, into: &buffer, now: now) else { return }
            urgent.popFirst()
            urgentWaiting.remove(next)
        }
    }

    /// Writes a small frame, or nothing if nobody waits for it any more; `false` if it does not fit.
    private mutating func write(
        _ urgent: UrgentFrame,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) -> Bool {
        let frame: Frame
        switch urgent {
        case .settings: frame = settingsFrame
        case .resume(let from): return writeResume(from, &draft, into: &buffer)
        case .channelOpen(let number):
            guard let index = outgoing.index(of: number) else { return true }
            frame = .channelOpen(
                channel: number,
                class: outgoing[index].trafficClass,
                name: outgoing[index].name
            )
        case .channelClose(let number):
            guard let index = outgoing.index(of: number) else { return true }
            frame = .channelClose(channel: number, final: outgoing[index].nextSequence)
        case .cancel(let number, let sequence):
            return writeCancel(number, sequence, &draft, into: &buffer)
        case .window(let number):
            guard let index = incoming.index(of: number) else { return true }
            incoming[index].window.isUpdateQueued = false
            let limit = incoming[index].window.update(
                roundTrip: roundTrip.smoothed,
                maximum: configuration.windowMaximumBytes,
                mayGrow: windowsMayGrow,
                now: now
            )
            frame = .window(channel: number, limit: limit)
        case .windowAll:
            receiveWindow.isUpdateQueued = false
            let limit = receiveWindow.update(
                roundTrip: roundTrip.smoothed,
                maximum: configuration.windowMaximumBytes,
                mayGrow: windowsMayGrow,
                now: now
            )
            frame = .windowAll(limit: limit)
        case .latest(let channel, let key, let sequence, let fragment):
            guard let index = outgoing.index(of: channel),
                let value = outgoing[index].latest[key], value.sequence == sequence
            else { return true }
            let fragments = FastHeader.Fragment(index: fragment, count: UInt8(value.fragmentCount))
            let header = FastHeader(
                channel: channel,
                key: key,
                sequence: sequence,
                fragment: value.fragmentCount > 1 ? fragments : nil,
                isLatest: true
            )
            frame = .fast(header, Array(value.bytes(of: Int(fragment))))
            guard append(frame, &draft, into: &buffer) else { return false }
            draft.hasMessage = true
            draft.frames.append(.urgent(urgent))
            return true
        case .endpoint(let number):
            guard let kept = endpointFrames[number] else { return true }
            frame = kept
        }
        guard append(frame, &draft, into: &buffer) else { return false }
        draft.frames.append(.urgent(urgent))
        return true
    }

    private var settingsFrame: Frame {
        let delay = configuration.acknowledgmentDelay.wholeNanoseconds / 1000
        let idle = configuration.idleTimeout.wholeNanoseconds / 1_000_000
        return .settings([
            Setting(Setting.Identifier.acknowledgmentDelay, UInt64(max(delay, 0))),
            Setting(Setting.Identifier.channelWindow, UInt64(configuration.channelWindowBytes)),
            Setting(
                Setting.Identifier.connectionWindow,
                UInt64(configuration.connectionWindowBytes)
            ),
            Setting(Setting.Identifier.idleTimeout, UInt64(max(idle, 0))),
            Setting(Setting.Identifier.datagramBytes, UInt64(configuration.datagramBytes)),
            Setting(Setting.Identifier.messageBytes, UInt64(configuration.messageBytes)),
        ])
    }

    /// As many channels as fit; the rest in the next packet.
    private mutating func writeResume(
        _ from: ChannelNumber,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        let first = incoming.partition(from)
        let room = (draft.end - buffer.count - 3) / 16
        guard room > 0 || first == incoming.count else { return false }
        let last = min(first + max(room, 0), incoming.count)
        let points = (first..<last).map {
            ResumePoint(channel: incoming[$0].number, next: incoming[$0].next)
        }
        guard append(.resume(points), &draft, into: &buffer) else { return false }
        draft.frames.append(.urgent(.resume(from: from)))
        if last < incoming.count { enqueue(.resume(from: incoming[last].number)) }
        return true
    }

    /// CANCEL, behind an empty fragment that tells how far the message had been sent.
    ///
    /// The receiver counts a message up to the highest offset it saw; the fragment makes both sides
    /// count the same bytes, whatever was lost (as RESET_STREAM's final size does, RFC 9000 §4.5).
    private mutating func writeCancel(
        _ number: ChannelNumber,
        _ sequence: UInt64,
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8]
    ) -> Bool {
        guard let index = outgoing.index(of: number),
            let place = outgoing[index].place(of: sequence),
            let message = outgoing[index].sent[place], message.state == .cancelled
        else { return true }
        guard draft.end - buffer.count >= 64 else { return false }
        if message.sentOffset > 0 {
            let header = MessageHeader(
                channel: number,
                sequence: sequence,
                fragment: MessageHeader.Fragment(
                    total: message.byteCount,
                    offset: message.sentOffset
                ),
                isUnordered: !message.isOrdered
            )
            _ = append(.message(header, []), &draft, into: &buffer)
        }
        _ = append(
            .cancel(channel: number, first: sequence, count: 1),
            &draft,
            into: &buffer
        )
        draft.frames.append(.urgent(.cancel(number, sequence: sequence)))
        return true
    }
}
