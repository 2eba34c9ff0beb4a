package import MeshWire

extension Connection {
    /// Takes in one opened packet; `space` names the handshake, `number` is the packet's counter.
    ///
    /// Throws when the peer broke the protocol: the caller closes with `protocolError`. A packet
    /// that came before is ignored.
    package mutating func receive(
        _ content: RawSpan,
        space identifier: UInt32,
        number: UInt64,
        now: Instant
    ) throws(ProtocolViolation) {
        counters.packetsReceived += 1
        counters.bytesReceived += UInt64(content.byteCount)
        heard(now: now)
        switch life {
        case .closed: return
        case .closing(let reason, let text, let left, _):
            life = .closing(reason, text: text, left: left, isOwed: left > 0)
            return
        case .open: break
        }
        let space = spaceIndex(identifier)
        guard !spaces[space].received.contains(number) else { return }
        var elicits = false
        var atOnce = false
        var reader = ByteReader(content)
        while reader.remaining > 0 {
            do {
                let kind: UInt8 = try reader.read()
                switch kind {
                case Frame.Kind.padding:
                    continue
                case Frame.Kind.message:
                    var header = MessageHeader(channel: 0, sequence: 0)
                    let bytes = try MessageHeader.read(&reader, header: &header)
                    elicits = true
                    atOnce = atOnce || header.acknowledgesAtOnce
                    try receive(header, bytes, now: now)
                case Frame.Kind.fast:
                    var header = FastHeader(channel: 0, key: 0, sequence: 0)
                    let bytes = try FastHeader.read(&reader, header: &header)
                    elicits = true
                    atOnce = atOnce || header.acknowledgesAtOnce
                    try receive(header, bytes, now: now)
                default:
                    let frame = try Frame(kind: kind, reading: &reader)
                    elicits = elicits || frame.elicitsAcknowledgment
                    try receive(frame, space, now: now)
                }
            } catch let error as WireError {
                throw .malformed(error)
            } catch let error as ProtocolViolation {
                throw error
            } catch {
                preconditionFailure("no other error is thrown: \(error)")
            }
            guard life == .open else { return }
        }
        spaces[space].note(
            number,
            elicits: elicits,
            atOnce: atOnce,
            delay: configuration.acknowledgmentDelay,
            now: now
        )
    }

    private mutating func receive(
        _ frame: Frame,
        _ space: Int,
        now: Instant
    ) throws(ProtocolViolation) {
        switch frame {
        case .acknowledgment(let frame):
            try receive(frame, space, now: now)
        case .control(let machine, let bytes):
            events.append(.control(machine: machine, bytes))
        case .window(let channel, let limit):
            try receiveWindow(channel, limit)
        case .windowAll(let limit):
            guard limit > sendLimit else { return }
            sendLimit = limit
            markAllReady()
        case .cancel(let channel, let first, let count):
            try receiveCancel(channel, first, count, now: now)
        case .channelOpen(let channel, let trafficClass, let name):
            try receiveOpen(channel, trafficClass, name, now: now)
        case .channelClose(let channel, let final):
            try receiveClose(channel, final, now: now)
        case .settings(let settings):
            for setting in settings { apply(setting) }
        case .resume(let points):
            for point in points { try receiveResume(point) }
        case .close(let reason, let text):
            abandon()
            events.append(.closedByPeer(reason, text: text))
        case .authentication, .grant, .pathChallenge, .pathResponse, .relay:
            events.append(.endpointFrame(frame))
        case .ping, .padding, .unknown, .message, .fast: return
        }
    }

    private mutating func apply(_ setting: Setting) {
        switch setting.identifier {
        case Setting.Identifier.acknowledgmentDelay:
            // A peer that claims more than a second does not stretch our timers further.
            peerDelay = .microseconds(Int64(min(setting.value, 1_000_000)))
        case Setting.Identifier.channelWindow:
            peerChannelWindow = max(peerChannelWindow, Int(min(setting.value, 1 << 40)))
            for index in outgoing.indices {
                outgoing[index].limit = max(outgoing[index].limit, UInt64(peerChannelWindow))
                markReady(index)
            }
        case Setting.Identifier.connectionWindow:
            sendLimit = max(sendLimit, setting.value)
            markAllReady()
        case Setting.Identifier.datagramBytes:
            peerDatagramBytes = Int(
                min(max(setting.value, 1200), UInt64(Limits.datagramCeilingBytes))
            )
        case Setting.Identifier.messageBytes:
            peerMessageBytes = Int(min(setting.value, UInt64(Limits.messageBytes)))
        default: return
        }
    }

    private mutating func receiveWindow(
        _ channel: ChannelNumber,
        _ limit: UInt64
    ) throws(ProtocolViolation) {
        guard let index = outgoing.index(of: channel) else {
            guard channel < nextChannel else { throw .channelLimit(channel) }
            return
        }
        guard limit > outgoing[index].limit else { return }
        outgoing[index].limit = limit
        markReady(index)
    }

    /// Everything below the peer's next sequence was delivered.
    private mutating func receiveResume(_ point: ResumePoint) throws(ProtocolViolation) {
        guard let index = outgoing.index(of: point.channel) else {
            guard point.channel < nextChannel else { throw .resume(point.channel) }
            return
        }
        guard point.next <= outgoing[index].nextSequence else { throw .resume(point.channel) }
        guard point.next > outgoing[index].base else { return }
        for place in 0..<Int(point.next - outgoing[index].base) {
            guard let message = outgoing[index].sent[place] else { continue }
            switch message.state {
            case .live:
                // Delivered means all of it was sent.
                guard message.isWhollySent else { throw .resume(point.channel) }
                finish(index, place, .delivered, .delivered)
            case .cancelled: outgoing[index].sent[place]?.state = .skipped
            case .delivered, .skipped: continue
            }
        }
        prune(index)
    }

    // MARK: Fast

    private mutating func receive(
        _ header: FastHeader,
        _ bytes: RawSpan,
        now: Instant
    ) throws(ProtocolViolation) {
        guard let index = try incomingIndex(header.channel, now: now) else { return }
        guard header.sequence < UInt64.max - 1 << 32 else {
            throw .sequence(header.channel, header.sequence)
        }
        guard !incoming[index].isStaleFast(key: header.key, sequence: header.sequence) else {
            counters.fastStale += 1
            return
        }
        let whole: [UInt8]
        if let fragment = header.fragment {
            let assembled = fastReassembly.insert(
                header,
                fragment,
                bytes,
                now: now,
                dropped: &counters.fastStale
            )
            guard let assembled else { return }
            whole = assembled
        } else {
            whole = bytes.copied
        }
        guard incoming[index].acceptFast(key: header.key, sequence: header.sequence) else {
            counters.fastStale += 1
            return
        }
        let message = ReceivedMessage(
            bytes: whole,
            channel: header.channel,
            name: incoming[index].name,
            lane: .fast,
            key: header.key,
            sequence: header.sequence,
            isLatest: header.isLatest
        )
        guard incoming[index].isOpen else {
            // It overtook its CHANNEL_OPEN.
            if heldFast.count >= FastReassembly.countMaximum {
                heldFast.removeFirst()
                counters.fastStale += 1
            }
            heldFast.append(message)
            return
        }
        counters.fastReceived += 1
        events.append(.received(message))
    }

    mutating func releaseFast(_ index: Int) {
        let number = incoming[index].number
        for message in heldFast where message.channel == number {
            var message = message
            message.name = incoming[index].name
            counters.fastReceived += 1
            events.append(.received(message))
        }
        heldFast.removeAll { $0.channel == number }
    }
}
