package import MeshWire

/// The receiver's half of the reliable lane.
extension Connection {
    /// The place of a channel of the peer's; `nil` if it is closed already.
    mutating func incomingIndex(
        _ number: ChannelNumber,
        now: Instant
    ) throws(ProtocolViolation) -> Int? {
        if let index = incoming.index(of: number) { return index }
        guard !closedIncoming.contains(number) else { return nil }
        guard incoming.count < Limits.channels else { throw .channelLimit(number) }
        return incoming.insert(
            IncomingChannel(
                number: number,
                isOpen: false,
                window: configuration.channelWindowBytes,
                now: now
            )
        )
    }

    mutating func receive(
        _ header: MessageHeader,
        _ bytes: RawSpan,
        now: Instant
    ) throws(ProtocolViolation) {
        let number = header.channel
        let sequence = header.sequence
        guard let index = try incomingIndex(number, now: now) else { return }
        guard sequence >= incoming[index].next else { return }
        guard sequence - incoming[index].next < IncomingChannel.aheadMaximum,
            incoming[index].final.map({ sequence < $0 }) ?? true
        else { throw .sequence(number, sequence) }
        let total = header.fragment?.total ?? bytes.byteCount
        guard total <= configuration.messageBytes else { throw .windowExceeded(number) }
        if header.fragment == nil, sequence == incoming[index].next, incoming[index].isOpen,
            incoming[index].slots.isEmpty
        {
            // The common case touches no table.
            try charge(bytes.byteCount, index)
            fit(total, index)
            incoming[index].next += 1
            deliver(bytes.copied, sequence, index)
            try finishIfDone(index)
            return
        }
        try store(header, bytes, total: total, index)
    }

    private mutating func store(
        _ header: MessageHeader,
        _ bytes: RawSpan,
        total: Int,
        _ index: Int
    ) throws(ProtocolViolation) {
        let sequence = header.sequence
        let offset = header.fragment?.offset ?? 0
        if let slot = incoming[index].slots[sequence] {
            guard slot.state == .partial else { return }
            guard slot.message.total == total else { throw .contradiction(header.channel) }
        } else {
            guard heldSlots < Self.outstandingMaximum else { throw .fragments(header.channel) }
            heldSlots += 1
        }
        fit(total, index)
        var slot = IncomingSlot(message: Reassembly(total: total))
        if let known = incoming[index].slots.removeValue(forKey: sequence) { slot = known }
        slot.isUnordered = header.isUnordered
        try charge(slot.message.growth(to: offset + bytes.byteCount), index)
        guard slot.message.insert(bytes, at: offset) else { throw .fragments(header.channel) }
        if slot.message.isWhole {
            slot.state = .whole
            if slot.isUnordered, sequence != incoming[index].next {
                if incoming[index].isOpen {
                    deliver(slot.message.bytes, sequence, index)
                    slot = .done
                } else {
                    incoming[index].early.append(sequence)
                }
            }
        }
        incoming[index].slots[sequence] = slot
        try drain(index)
    }

    /// Counts bytes that came against both limits.
    private mutating func charge(_ count: Int, _ index: Int) throws(ProtocolViolation) {
        incoming[index].window.received += UInt64(count)
        receiveWindow.received += UInt64(count)
        guard incoming[index].window.received <= incoming[index].window.limit,
            receiveWindow.received <= receiveWindow.limit
        else { throw .windowExceeded(incoming[index].number) }
    }

    /// Makes both windows fit a message: its sender must not wait for room that cannot come.
    private mutating func fit(_ total: Int, _ index: Int) {
        if total * 2 > incoming[index].window.size {
            incoming[index].window.fit(total)
            offerWindow(index)
        }
        if total * 2 > receiveWindow.size {
            receiveWindow.fit(total)
            offerWindowAll()
        }
    }

    private mutating func deliver(_ bytes: [UInt8], _ sequence: UInt64, _ index: Int) {
        counters.messagesReceived += 1
        events.append(
            .received(
                ReceivedMessage(
                    bytes: bytes,
                    channel: incoming[index].number,
                    name: incoming[index].name,
                    lane: .reliable,
                    sequence: sequence
                )
            )
        )
    }

    /// Delivers what has its turn.
    mutating func drain(_ index: Int) throws(ProtocolViolation) {
        guard incoming[index].isOpen else { return }
        while let slot = incoming[index].slots[incoming[index].next], slot.state != .partial {
            let sequence = incoming[index].next
            incoming[index].slots[sequence] = nil
            incoming[index].next += 1
            heldSlots -= 1
            if slot.state == .whole { deliver(slot.message.bytes, sequence, index) }
        }
        try finishIfDone(index)
    }

    private mutating func finishIfDone(_ index: Int) throws(ProtocolViolation) {
        guard incoming[index].isOpen, incoming[index].final == incoming[index].next else { return }
        let number = incoming[index].number
        events.append(.channelClosed(number))
        heldSlots -= incoming[index].slots.count
        incoming.remove(at: index)
        _ = closedIncoming.insert(number)
        guard closedIncoming.ranges.count <= 2 * Limits.channels else {
            throw .channelLimit(number)
        }
    }

    // MARK: Frames about channels

    mutating func receiveCancel(
        _ number: ChannelNumber,
        _ first: UInt64,
        _ count: UInt64,
        now: Instant
    ) throws(ProtocolViolation) {
        guard let index = try incomingIndex(number, now: now) else { return }
        // Both are below 2^62: the sum cannot overflow.
        let end = first + count
        guard end <= incoming[index].next + IncomingChannel.aheadMaximum,
            incoming[index].final.map({ end <= $0 }) ?? true
        else { throw .sequence(number, end) }
        var sequence = max(first, incoming[index].next)
        while sequence < end {
            defer { sequence += 1 }
            if let slot = incoming[index].slots[sequence] {
                // What is whole is delivered all the same.
                guard slot.state == .partial else { continue }
                giveBack(slot.message.highest, index)
            } else {
                guard heldSlots < Self.outstandingMaximum else { throw .fragments(number) }
                heldSlots += 1
            }
            incoming[index].slots[sequence] = .done
        }
        try drain(index)
    }

    mutating func receiveOpen(
        _ number: ChannelNumber,
        _ trafficClass: TrafficClass,
        _ name: [UInt8],
        now: Instant
    ) throws(ProtocolViolation) {
        guard number > 1 else { throw .contradiction(number) }
        guard let index = try incomingIndex(number, now: now) else { return }
        guard !incoming[index].isOpen else {
            guard incoming[index].name == name else { throw .contradiction(number) }
            return
        }
        incoming[index].isOpen = true
        incoming[index].name = name
        events.append(.channelOpened(number, name: name, class: trafficClass))
        for sequence in incoming[index].early {
            guard let slot = incoming[index].slots[sequence], slot.state == .whole else { continue }
            incoming[index].slots[sequence] = .done
            deliver(slot.message.bytes, sequence, index)
        }
        incoming[index].early = []
        releaseFast(index)
        try drain(index)
    }

    mutating func receiveClose(
        _ number: ChannelNumber,
        _ final: UInt64,
        now: Instant
    ) throws(ProtocolViolation) {
        guard number > 1 else { throw .contradiction(number) }
        guard let index = try incomingIndex(number, now: now) else { return }
        let next = incoming[index].next
        guard final >= next, final - next <= IncomingChannel.aheadMaximum,
            incoming[index].final.map({ $0 == final }) ?? true
        else { throw .contradiction(number) }
        incoming[index].final = final
        try finishIfDone(index)
    }

    // MARK: Room

    /// While held, the bytes delivered on the peer's channel are not given back to the peer, which
    /// so is made to wait; other channels go on.
    package mutating func hold(_ number: ChannelNumber, _ isHeld: Bool) {
        guard let index = incoming.index(of: number) else { return }
        incoming[index].isHeld = isHeld
        guard !isHeld else { return }
        incoming[index].window.released += UInt64(incoming[index].owed)
        incoming[index].owed = 0
        offerWindow(index)
    }

    /// The layer above took `count` bytes of a channel.
    mutating func release(_ count: Int, of number: ChannelNumber) {
        guard life == .open else { return }
        receiveWindow.released += UInt64(count)
        offerWindowAll()
        guard let index = incoming.index(of: number) else { return }
        if incoming[index].isHeld {
            incoming[index].owed += count
        } else {
            incoming[index].window.released += UInt64(count)
            offerWindow(index)
        }
    }

    /// The sender gave up a message of which `count` bytes had come or left.
    private mutating func giveBack(_ count: Int, _ index: Int) {
        incoming[index].window.released += UInt64(count)
        receiveWindow.released += UInt64(count)
        offerWindow(index)
        offerWindowAll()
    }

    private mutating func offerWindow(_ index: Int) {
        guard incoming[index].window.wantsUpdate else { return }
        incoming[index].window.isUpdateQueued = true
        enqueue(.window(incoming[index].number))
    }

    private mutating func offerWindowAll() {
        guard receiveWindow.wantsUpdate else { return }
        receiveWindow.isUpdateQueued = true
        enqueue(.windowAll)
    }
}

extension IncomingSlot {
    /// A sequence that needs no bytes any more.
    static var done: IncomingSlot { IncomingSlot(state: .done, message: Reassembly(total: 0)) }
}
