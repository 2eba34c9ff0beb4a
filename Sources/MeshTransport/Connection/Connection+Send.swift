package import MeshWire

extension Connection {
    // MARK: Channels

    /// Opens a channel of ours and answers with its number.
    ///
    /// Throws `.channelLimit` beyond 1,024 channels or for a name above 255 bytes, `.closed` after
    /// the end.
    package mutating func openChannel(
        name: [UInt8],
        class trafficClass: TrafficClass
    ) throws(SendError) -> ChannelNumber {
        guard life == .open else { throw .closed }
        guard outgoing.count < Limits.channels, name.count <= Limits.channelNameBytes else {
            throw .channelLimit
        }
        let number = nextChannel
        nextChannel += 1
        outgoing.insert(
            OutgoingChannel(
                number: number,
                name: name,
                trafficClass: trafficClass,
                limit: UInt64(peerChannelWindow)
            )
        )
        enqueue(.channelOpen(number))
        return number
    }

    /// Takes no more messages on a channel of ours; those taken are still delivered.
    package mutating func closeChannel(_ number: ChannelNumber, now: Instant) {
        guard number > 1, let index = outgoing.index(of: number) else { return }
        outgoing[index].isClosing = true
        for message in fast.pending.indices.reversed()
        where fast.pending[message].header.channel == number {
            drop(fast.remove(at: message), outcome: .cancelled)
        }
        // A `latest` value need not stand still any longer.
        for key in outgoing[index].latest.keys.sorted() { settle(index, key) }
        finishClosing(index)
    }

    /// Sends CHANNEL_CLOSE once every message has a sequence; forgets the channel at its end.
    mutating func finishClosing(_ index: Int) {
        guard outgoing[index].isClosing, outgoing[index].unsent.isEmpty else { return }
        let number = outgoing[index].number
        if !outgoing[index].isCloseQueued {
            outgoing[index].isCloseQueued = true
            enqueue(.channelClose(number))
        } else if outgoing[index].isCloseAcknowledged, outgoing[index].sent.isEmpty,
            outgoing[index].latest.isEmpty
        {
            outgoing.remove(at: index)
        }
    }

    // MARK: Messages

    /// Queues a message; it leaves with the next packets that have room for its class.
    ///
    /// Throws before anything is queued: `.tooLarge` with the lane's limit, `.wouldBlock` when the
    /// channel's queue is full, `.closed`.
    package mutating func send(
        _ message: [UInt8],
        on channel: ChannelNumber,
        options: SendOptions = .reliable,
        now: Instant
    ) throws(SendError) -> SendToken {
        guard life == .open, let index = outgoing.index(of: channel), !outgoing[index].isClosing
        else { throw .closed }
        let token = SendToken(channel: channel, number: nextToken)
        switch options.lane {
        case .reliable: try sendReliable(message, index, token, options)
        case .fast: try sendFast(message, index, token, options, now: now)
        }
        nextToken += 1
        return token
    }

    private mutating func sendReliable(
        _ bytes: [UInt8],
        _ index: Int,
        _ token: SendToken,
        _ options: SendOptions
    ) throws(SendError) {
        guard bytes.count <= peerMessageBytes else {
            throw .tooLarge(size: bytes.count, limit: peerMessageBytes)
        }
        let message = OutgoingMessage(token: token.number, bytes: bytes, options: options)
        let queued = outgoing[index].queuedCost
        // A message larger than the bound is taken alone.
        if queued > 0, queued + message.cost > configuration.channelQueueBytes {
            outgoing[index].hasRefused = true
            throw .wouldBlock
        }
        if queuedCost > 0, queuedCost + message.cost > configuration.connectionQueueBytes {
            outgoing[index].hasRefused = true
            hasRefused = true
            throw .wouldBlock
        }
        if let expires = options.expires {
            expiries.insert(ExpiryQueue.Entry(due: expires, token: token))
            compactExpiries()
        }
        outgoing[index].queuedCost += message.cost
        queuedCost += message.cost
        outgoing[index].unsent.append(message)
        counters.messagesSent += 1
        markReady(index)
    }

    /// Keeps the deadlines of finished messages from piling up.
    private mutating func compactExpiries() {
        guard expiries.count > 256, expiries.count > 4 * queuedCost / OutgoingMessage.overhead
        else { return }
        let channels = outgoing
        expiries.compact { token in
            guard let index = channels.index(of: token.channel) else { return false }
            return channels[index].find(token.number) != nil
        }
    }

    /// Calls a message back; nothing happens if the peer has it or it ended otherwise.
    package mutating func cancel(_ token: SendToken, now: Instant) {
        cancel(token, outcome: .cancelled)
    }

    mutating func cancel(_ token: SendToken, outcome: SendOutcome) {
        if let place = fast.pending.firstIndex(where: { $0.token == token.number }) {
            drop(fast.remove(at: place), outcome: outcome)
            return
        }
        guard let index = outgoing.index(of: token.channel) else { return }
        switch outgoing[index].find(token.number) {
        case nil: return
        case .unsent(let place):
            guard let message = outgoing[index].unsent[place] else { return }
            outgoing[index].unsent[place]?.state = .cancelled
            outgoing[index].unsent[place]?.bytes = []
            // The overhead goes when the message leaves the queue.
            outgoing[index].queuedCost -= message.byteCount
            queuedCost -= message.byteCount
            report(token, outcome, wanted: message.reportsOutcome)
        case .sent(let place):
            guard let message = outgoing[index].sent[place] else { return }
            reservedBytes -= message.byteCount - message.sentOffset
            if !message.isWhollySent { markAllReady() }
            finish(index, place, .cancelled, outcome)
            enqueue(
                .cancel(token.channel, sequence: outgoing[index].base + UInt64(place))
            )
        }
        markReady(index)
    }

    /// Ends a message that has a sequence.
    mutating func finish(
        _ index: Int,
        _ place: Int,
        _ state: OutgoingMessage.State,
        _ outcome: SendOutcome
    ) {
        guard let message = outgoing[index].sent[place] else { return }
        outgoing[index].sent[place]?.state = state
        outgoing[index].sent[place]?.bytes = []
        outgoing[index].sent[place]?.lost = ByteRanges()
        outgoing[index].sent[place]?.acknowledged = ByteRanges()
        outgoing[index].sent[place]?.isEmptyLost = false
        outgoing[index].queuedCost -= message.cost
        queuedCost -= message.cost
        let token = SendToken(channel: outgoing[index].number, number: message.token)
        report(token, outcome, wanted: message.reportsOutcome)
        openQueue(index)
    }

    /// Tells the application that a queue that refused has room again.
    mutating func openQueue(_ index: Int) {
        if hasRefused, queuedCost <= configuration.connectionQueueBytes / 4 * 3 {
            // The connection's bound refused: any channel may wait for it.
            hasRefused = false
            for other in outgoing.indices { openOwnQueue(other) }
        }
        openOwnQueue(index)
    }

    private mutating func openOwnQueue(_ index: Int) {
        guard outgoing[index].hasRefused, !hasRefused,
            outgoing[index].queuedCost <= configuration.channelQueueBytes / 2
        else { return }
        outgoing[index].hasRefused = false
        events.append(.windowOpened(outgoing[index].number))
    }

    mutating func report(_ token: SendToken, _ outcome: SendOutcome, wanted: Bool) {
        if wanted { events.append(.outcome(token, outcome)) }
    }

    /// Puts a channel into its class's turn if it has something to send.
    mutating func markReady(_ index: Int) {
        guard !outgoing[index].isReady, canSend(index) else { return }
        outgoing[index].isReady = true
        scheduler.append(outgoing[index].number, outgoing[index].trafficClass)
    }

    /// Room of the whole connection came free: any channel may have waited for it.
    mutating func markAllReady() {
        for index in outgoing.indices { markReady(index) }
    }

    /// Whether a channel could put bytes into a packet now, the window and the pacer aside.
    func canSend(_ index: Int) -> Bool {
        if !outgoing[index].resend.isEmpty { return true }
        if outgoing[index].hasPartial {
            return outgoing[index].sentBytes < outgoing[index].limit && sentBytes < sendLimit
        }
        guard let message = outgoing[index].unsent.first else { return false }
        return message.state != .live || mayStart(index, byteCount: message.byteCount)
    }

    /// Whether the next message of a channel may get its sequence.
    ///
    /// A message starts only if the whole of it fits into the connection's limit, or no other is
    /// under way: so messages that wait for room cannot lock each other out.
    func mayStart(_ index: Int, byteCount: Int) -> Bool {
        guard outgoing[index].sent.count < Int(IncomingChannel.aheadMaximum) else { return false }
        guard outstanding < Self.outstandingMaximum else { return false }
        // Before its name is known the peer delivers nothing, and keeps all of it.
        guard
            outgoing[index].isOpenAcknowledged || outgoing[index].number < 2
                || outgoing[index].nextSequence < IncomingChannel.aheadMaximum
        else { return false }
        guard byteCount > 0 else { return true }
        guard outgoing[index].sentBytes < outgoing[index].limit else { return false }
        let room = Int(clamping: sendLimit - min(sentBytes, sendLimit))
        return byteCount + reservedBytes <= room || reservedBytes == 0 && room > 0
    }

    // MARK: Frames of others

    /// Queues a datagram of a machine: it leaves with the next packet and is never sent again.
    ///
    /// `false` if it is too large for a packet; when 64 wait, the oldest is dropped and counted.
    @discardableResult
    package mutating func sendControl(machine: UInt8, _ bytes: [UInt8]) -> Bool {
        guard life == .open, bytes.count + 4 <= Self.floorBytes else { return false }
        if controls.count >= Self.controlMaximum {
            controls.popFirst()
            counters.controlDropped += 1
        }
        controls.append(Control(machine: machine, bytes: bytes))
        return true
    }

    /// Queues a frame of the endpoint, once or until the peer acknowledged it.
    package mutating func sendEndpointFrame(_ frame: Frame, untilAcknowledged: Bool) {
        guard life == .open else { return }
        if untilAcknowledged {
            endpointFrames[nextEndpointFrame] = frame
            enqueue(.endpoint(nextEndpointFrame))
            nextEndpointFrame += 1
        } else {
            onceFrames.append(frame)
        }
    }
}

extension OutgoingChannel {
    /// Where a message stands.
    enum Place { case unsent(Int), sent(Int) }

    /// Finds a live message by its token.
    func find(_ token: UInt64) -> Place? {
        let sentPlace = sent.partition { $0.token >= token }
        if let message = sent[sentPlace], message.token == token {
            return message.state == .live ? .sent(sentPlace) : nil
        }
        let place = unsent.partition { $0.token >= token }
        guard let message = unsent[place], message.token == token, message.state == .live
        else { return nil }
        return .unsent(place)
    }
}
