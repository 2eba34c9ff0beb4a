import MeshConsensus
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

/// What the nodes do while faults happen.
extension EngineRun {
    /// One thing at random: a write, a compare-and-set, a read, a message on one of the lanes.
    func workOnce(_ index: Int) throws(Violation) {
        guard let process = world.nodes[index].process, !leavers.contains(index),
            !world.nodes[index].isPaused
        else { return }
        guard let state = process.room?.session(session) else { return }
        guard let own = state.participant(of: process.process) else {
            let isMember = process.role == .member || process.role == .leader
            if isMember, joining[index] == nil { try joinSession(index) }
            return
        }
        switch draw.next() % 12 {
        case 0..<3: try write(index)
        case 3..<5: try compareAndSet(index, state)
        case 5:
            let request = takeRequest(index, .read)
            remark = "read"
            reads.begin(request)
            history.call(request, .read, on: Self.register(Self.sharedKey), by: life(index))
            try perform(.read(request, .linearizable), on: index)
        case 6..<9: try sendReliable(index, state, own)
        default: try sendFast(index)
        }
    }

    func write(_ index: Int) throws(Violation) {
        let key = Int(draw.next() % 4)
        let write = AcknowledgedWrites.Write(writer: life(index), key: key, number: takeNumber())
        let request = takeRequest(index, .write(write))
        let name = Self.key(write.writer, key)
        call(request, .write(write.number), name, index)
        try perform(
            .submit(
                request,
                .put(key: name, value: Self.bytes(write.number)),
                session: session,
                level: draw.happens(0.2) ? .all : .majority
            ),
            on: index
        )
    }

    private func compareAndSet(_ index: Int, _ state: RoomSession) throws(Violation) {
        var expected: UInt64 = 0
        if case .bytes(let bytes)? = state.values[Self.sharedKey]?.content {
            expected = Self.number(bytes) ?? 0
        }
        let value = takeNumber()
        let request = takeRequest(index, .compareAndSet(expected: expected, value: value))
        call(request, .compareAndSet(expected: expected, value), Self.sharedKey, index)
        let command = RoomCommand.compareAndSet(
            key: Self.sharedKey,
            expected: expected == 0 ? .absent : .value(Self.bytes(expected)),
            value: Self.bytes(value)
        )
        try perform(.submit(request, command, session: session, level: .majority), on: index)
    }

    private func call(
        _ request: UInt64,
        _ action: Linearizability.Action,
        _ key: String,
        _ index: Int
    ) {
        remark = "\(action) to \(key)"
        switch action {
        case .write(let number), .compareAndSet(_, let number): requests[number] = request
        case .read, .add: break
        }
        history.call(request, action, on: Self.register(key), by: life(index))
    }

    private func sendReliable(
        _ index: Int,
        _ state: RoomSession,
        _ own: Participant
    ) throws(Violation) {
        let channel = Int(draw.next() % UInt64(Self.channels.count))
        let number = takeNumber()
        remark = "message \(number) on \(Self.channels[channel])"
        // Mostly small, sometimes in fragments.
        let padding = draw.happens(0.1) ? Int(draw.next() % 40_000) : Int(draw.next() % 300)
        let message = ProbeMessage(
            sender: life(index),
            stream: channel,
            number: number,
            padding: padding
        )
        var receivers: [ParticipantID: Life] = [:]
        for participant in state.participants where participant.id != own.id {
            guard let life = lives[participant.process] else { continue }
            receivers[participant.id] = life
            let stream = stream(to: life, from: message.sender, channel)
            reliable.send(number, on: stream)
            // To a life that is over nothing is owed, nor to a participation that its node knows to
            // be over while the sender does not yet.
            if !isAlive(life) { reliable.end { $0 == stream } }
            if lifecycle.isOver(participant.id, for: life) { reliable.fail(number, on: stream) }
        }
        var outbound = OutboundMessage(
            session: session,
            channel: Self.channels[channel],
            payload: message.encoded
        )
        outbound.acknowledgeAtOnce = draw.happens(0.3)
        let request = takeRequest(
            index,
            .send(number: number, channel: channel, receivers: receivers)
        )
        try perform(.send(request, outbound), on: index)
    }

    private func sendFast(_ index: Int) throws(Violation) {
        let key = 1 + Int(draw.next() % 3)
        let message = ProbeMessage(
            sender: life(index),
            stream: key,
            number: takeNumber(),
            padding: draw.happens(0.1) ? Int(draw.next() % 4000) : 20
        )
        remark = "fast message \(message.number) of key \(key)"
        var outbound = OutboundMessage(
            session: session,
            channel: "pointer",
            payload: message.encoded
        )
        outbound.lane = .fast
        outbound.key = UInt64(key)
        let request = takeRequest(index, .send(number: message.number, channel: 0, receivers: [:]))
        try perform(.send(request, outbound), on: index)
    }

    func stream(to receiver: Life, from sender: Life, _ channel: Int) -> ReliableOrder.Stream {
        ReliableOrder.Stream(sender: sender, channel: channel, receiver: receiver)
    }
}
