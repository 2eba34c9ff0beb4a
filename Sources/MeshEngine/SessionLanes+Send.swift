import MeshSession
import MeshTransport
import MeshWire

extension SessionLanes {
    /// Takes a message from the application and gives it to the pair of each recipient.
    ///
    /// The addressed set is fixed here. Without any recipient the message counts as accepted and done.
    mutating func submit(
        _ message: OutboundMessage,
        request: RequestID,
        from local: ProcessID,
        room: RoomState,
        endpoint: inout Endpoint,
        now: Instant
    ) {
        let session = room.session(message.session)
        guard let session, let sender = session.participant(of: local) else {
            return refuse(message, request: request, .notActive)
        }
        let addressed: [ParticipantID] =
            switch message.recipients {
            case .all: session.participants.map(\.id)
            case .only(let chosen): chosen
            }
        let size = message.others.reduce(message.payload.count) { max($0, $1.count) }
        guard size <= Self.messageBytes else {
            // The fast lane's limit depends on the path, so the pair itself refuses there.
            let reason = SendFailure.tooLarge(size: size, limit: Self.messageBytes)
            return refuse(message, request: request, reason)
        }
        let recipients = addressed.filter { $0 != sender.id }
        outstanding[request] = Outstanding(
            // One more than the recipients, so that the request cannot end inside this loop.
            unaccepted: recipients.count * (1 + message.others.count) + 1,
            pending: recipients.count + 1,
            parts: message.others.isEmpty
                ? [] : recipients.map { Part(participant: $0, left: 1 + message.others.count) },
            report: SendReport(delivered: [], failures: [])
        )
        let key = ChannelKey(
            name: SessionChannelName(session: message.session, name: message.channel),
            lane: message.lane,
            priority: message.lane == .fast ? .normal : message.priority
        )
        let options = options(of: message, now: now)
        for recipient in recipients {
            let delivery = Delivery(
                request: request,
                session: message.session,
                participant: recipient
            )
            guard let participant = session.participant(recipient) else {
                for _ in 0...message.others.count {
                    accept(request)
                    finish(delivery, .notActive)
                }
                continue
            }
            let envelope = Envelope(
                source: Envelope.Name(sender),
                target: Envelope.Name(participant),
                mark: message.mark,
                receipt: message.receipt
            )
            let index = index(of: participant.process.nodeID)
            func submit(_ payload: [UInt8]) {
                let waiting = Waiting(
                    delivery: delivery,
                    key: key,
                    bytes: envelope.encode(payload),
                    options: options,
                    expires: options.expires
                )
                self.submit(waiting, at: index, endpoint: &endpoint, now: now)
            }
            submit(message.payload)
            for payload in message.others { submit(payload) }
        }
        accept(request)
        settle(request)
    }

    /// Channels of one pair that sessions may use: all but its own two, 0 and 1.
    static let pairChannels = Limits.channels - 2

    /// The most bytes of the application that one message carries.
    static let messageBytes = Limits.messageBytes - Envelope.maximumBytes

    private mutating func refuse(
        _ message: OutboundMessage,
        request: RequestID,
        _ reason: SendFailure
    ) {
        var addressed: [ParticipantID] = []
        if case .only(let chosen) = message.recipients { addressed = chosen }
        let failures = addressed.map { SendReport.Failure(participant: $0, reason: reason) }
        let report = SendReport(delivered: [], failures: failures, refusal: reason)
        events.append(.sendOutcome(request, report))
    }

    private func options(of message: OutboundMessage, now: Instant) -> SendOptions {
        SendOptions(
            lane: message.lane,
            isOrdered: message.ordered,
            expires: message.expires.map { now + $0 },
            key: message.lane == .fast ? message.key : 0,
            isLatest: message.lane == .fast && message.latest && message.key != 0,
            acknowledgesAtOnce: message.lane == .reliable && message.acknowledgeAtOnce,
            reportsOutcome: message.lane == .reliable
        )
    }

    /// Ends the request if every recipient's outcome was known before this call returned.
    private mutating func settle(_ request: RequestID) {
        guard let place = outstanding.index(forKey: request) else { return }
        outstanding.values[place].pending -= 1
        keep(at: place)
    }

    private mutating func submit(
        _ waiting: Waiting,
        at index: Int,
        endpoint: inout Endpoint,
        now: Instant
    ) {
        let mustWait =
            !peers[index].isConnected || peers[index].backlog.contains(waiting.key)
        if waiting.key.lane == .fast || !mustWait {
            // A fast message never waits behind reliable ones, nor for a pair.
            guard peers[index].isConnected else {
                accept(waiting.delivery.request)
                finish(waiting.delivery, .notActive)
                return
            }
            if hand(waiting, at: index, endpoint: &endpoint, now: now) { return }
        }
        let queued = withPeer(at: index) { peer in
            if !peer.isConnected, peer.waitingSince == nil { peer.waitingSince = now }
            peer.unansweredSince = peer.unansweredSince ?? now
            var waiting = waiting
            waiting.isAccepted = peer.isQuiet
            return peer.backlog.append(waiting)
        }
        if !queued {
            accept(waiting.delivery.request)
            finish(waiting.delivery, .backlogFull)
        } else if peers[index].isQuiet {
            accept(waiting.delivery.request)
            becomeQuiet(waiting.delivery)
        }
    }

    /// Gives a message to its pair; `false` if the pair has no room for it now.
    private mutating func hand(
        _ waiting: Waiting,
        at index: Int,
        endpoint: inout Endpoint,
        now: Instant
    ) -> Bool {
        let nodeID = peers[index].nodeID
        let delivery = waiting.delivery
        do {
            let channel = try channel(waiting.key, at: index, endpoint: &endpoint)
            let token = try endpoint.send(
                waiting.bytes,
                on: channel,
                to: nodeID,
                options: waiting.options,
                now: now
            )
            accept(waiting)
            if waiting.options.reportsOutcome {
                withPeer(at: index) { peer in
                    peer.tokens[token] = delivery
                    peer.unansweredSince = peer.unansweredSince ?? now
                }
                if peers[index].isQuiet { becomeQuiet(delivery) }
            } else {
                finish(delivery, nil)
            }
            return true
        } catch {
            switch error {
            case .refused(.wouldBlock) where waiting.key.lane == .reliable:
                return false
            case .refused(.channelLimit):
                accept(waiting)
                finish(delivery, .tooManyChannels(limit: Self.pairChannels))
            case .refused(.wouldBlock):
                accept(waiting)
                finish(delivery, .backlogFull)
            case .refused(.closed), .notConnected:
                accept(waiting)
                finish(delivery, .peerLost)
            case .refused(.tooLarge(let size, let limit)):
                accept(waiting)
                finish(delivery, .tooLarge(size: size, limit: limit))
            }
            return true
        }
    }

    private mutating func channel(
        _ key: ChannelKey,
        at index: Int,
        endpoint: inout Endpoint
    ) throws(LaneError) -> ChannelNumber {
        if let channel = peers[index].channels[key] { return channel }
        let trafficClass: TrafficClass =
            switch (key.lane, key.priority) {
            case (.fast, _): .fast
            case (.reliable, .high): .high
            case (.reliable, .normal): .normal
            case (.reliable, .low): .low
            }
        let channel = try endpoint.openChannel(
            to: peers[index].nodeID,
            name: key.name.bytes,
            class: trafficClass
        )
        withPeer(at: index) { $0.channels[key] = channel }
        return channel
    }

    /// Gives waiting messages of a node to its pair, as long as the pair takes them.
    mutating func drain(_ nodeID: NodeID, endpoint: inout Endpoint, now: Instant) {
        let index = index(of: nodeID)
        for key in peers[index].backlog.keys {
            drain(key, at: index, endpoint: &endpoint, now: now)
        }
    }

    private mutating func drain(
        _ key: ChannelKey,
        at index: Int,
        endpoint: inout Endpoint,
        now: Instant
    ) {
        while peers[index].isConnected, let waiting = peers[index].backlog.first(of: key) {
            if let expires = waiting.expires, expires <= now {
                accept(waiting)
                finish(waiting.delivery, .expired)
            } else if !hand(waiting, at: index, endpoint: &endpoint, now: now) {
                return
            }
            withPeer(at: index) { $0.backlog.removeFirst(of: key) }
        }
    }

    /// What a pair says about a message it took.
    mutating func ended(
        _ token: SendToken,
        _ outcome: SendOutcome,
        of nodeID: NodeID,
        now: Instant
    ) {
        let index = index(of: nodeID)
        guard let delivery = withPeer(at: index, { $0.tokens.removeValue(forKey: token) }) else {
            return
        }
        progressed(at: index, now: now)
        switch outcome {
        case .delivered: finish(delivery, nil)
        case .expired: finish(delivery, .expired)
        case .cancelled: finish(delivery, .cancelled)
        case .peerLost: finish(delivery, .peerLost)
        }
    }

    /// Gives up whatever of `request` has not arrived.
    mutating func cancel(_ request: RequestID, endpoint: inout Endpoint, now: Instant) {
        withdraw(.cancelled, endpoint: &endpoint, now: now) { $0.request == request }
    }

    /// A participant is gone: what it did not get it never will.
    mutating func participantLeft(
        _ participant: ParticipantID,
        endpoint: inout Endpoint,
        now: Instant
    ) {
        withdraw(.left, endpoint: &endpoint, now: now) { $0.participant == participant }
    }

    /// A session is over: what nobody has got yet is called back, since nobody can take it any more,
    /// and the channels are closed, so that their numbers do not run out.
    mutating func sessionEnded(_ session: SessionID, endpoint: inout Endpoint, now: Instant) {
        withdraw(.left, endpoint: &endpoint, now: now) { $0.session == session }
        paused = paused.filter { $0.session != session }
        for index in peers.indices {
            // A window that stays shut would keep the other side from closing the channel.
            for incoming in peers[index].incoming where incoming.name.session == session {
                guard !peers[index].shut.contains(incoming.channel) else { continue }
                endpoint.hold(incoming.channel, of: peers[index].nodeID, false)
            }
            let over = peers[index].channels.filter { $0.key.name.session == session }
            // order: by number, so that the CHANNEL_CLOSE frames leave in one order everywhere
            for channel in over.values.sorted() {
                endpoint.closeChannel(channel, to: peers[index].nodeID, now: now)
            }
            withPeer(at: index) { peer in
                peer.channels = peer.channels.filter { $0.key.name.session != session }
                peer.incoming.removeAll { $0.name.session == session }
            }
        }
    }

    private mutating func withdraw(
        _ reason: SendFailure,
        endpoint: inout Endpoint,
        now: Instant,
        where predicate: (Delivery) -> Bool
    ) {
        for index in peers.indices {
            let queued = withPeer(at: index) { peer in
                peer.backlog.removeAll { predicate($0.delivery) }
            }
            for waiting in queued {
                accept(waiting)
                finish(waiting.delivery, reason)
            }
            // order: by token, so that the CANCEL frames leave in one order everywhere
            let sent = peers[index].tokens.filter { predicate($0.value) }.sorted { $0.key < $1.key }
            for (token, delivery) in sent {
                endpoint.cancel(token, to: peers[index].nodeID, now: now)
                if reason == .left {
                    withPeer(at: index) { $0.tokens[token] = nil }
                    finish(delivery, reason)
                }
            }
        }
    }
}
