import MeshConsensus
import MeshCrypto
import MeshSession
import MeshTransport
import MeshWire

/// From the application to the socket.
extension Engine {
    /// Does what a command asks, or says why not.
    mutating func perform(_ command: Command, now: Instant) {
        switch command {
        case .createRoom(let request, let name, let policy):
            createRoom(name, policy, request: request, now: now)
        case .resumeRoom(let request, let record):
            resume(record, request: request, now: now)
        case .join(let request, let target):
            join(target, request: request, now: now)
        case .leaveRoom(let request):
            leave(request: request, now: now)
        case .openInvite(let request):
            openInvite(request: request, now: now)
        case .closeInvites:
            endpoint.closeInvites(now: now)
        case .adoptPrimary:
            consensus?.adoptPrimary(now: now)
        case .submit(let request, let command, let session, let level):
            submit(command, session: session, level: level, request: request, now: now)
        case .setProfile(let request, let profile):
            configuration.profile = profile
            guard case .member = membership else {
                events.append(.completed(request, .failure(.notJoined)))
                return
            }
            showProfile(for: request, now: now)
        case .read(let request, let level):
            guard consensus != nil, let ticket = consensus?.read(level, now: now) else {
                events.append(.readReady(request, .failure(.notJoined)))
                return
            }
            operations.reading(ticket, request: request)
        case .send(let request, let message):
            guard let room else {
                let report = SendReport(delivered: [], failures: [], refusal: .notActive)
                events.append(.sendOutcome(request, report))
                return
            }
            lanes.submit(
                message,
                request: request,
                from: process,
                room: room,
                endpoint: &endpoint,
                now: now
            )
        case .cancelSend(let request):
            lanes.cancel(request, endpoint: &endpoint, now: now)
        case .pauseReading(let session, let channel, let isPaused):
            lanes.pause(
                SessionChannelName(session: session, name: channel),
                isPaused,
                endpoint: &endpoint
            )
        case .sendContent(let peer, let bytes, let isPart):
            guard link(peer) != nil else { return }
            let message = ContentLane.Message(bytes: bytes, isPart: isPart)
            contents.submit(message, to: peer, endpoint: &endpoint, now: now)
        case .networkChanged:
            discovery.hurry(now: now)
        }
    }

    private mutating func openInvite(request: RequestID, now: Instant) {
        do {
            events.append(.inviteOpened(request, try endpoint.openInvite(now: now)))
            discovery.hurry(now: now)
        } catch {
            events.append(.inviteRefused(request, error))
        }
    }

    private mutating func submit(
        _ command: RoomCommand,
        session: SessionID,
        level: WriteLevel,
        request: RequestID,
        now: Instant
    ) {
        do {
            try command.validate()
        } catch {
            // The limits are those every replica would apply; refusing here loses nothing.
            let result = Committed(position: consensus?.applied ?? .zero, result: .refused(error))
            events.append(.completed(request, .success(result)))
            return
        }
        if let failure = sequence(command, session: session, level: level, for: request, now: now) {
            events.append(.completed(request, .failure(failure)))
        }
    }

    /// Signs a command and gives it to consensus; without a request nobody waits for the answer.
    @discardableResult
    mutating func sequence(
        _ command: RoomCommand,
        session: SessionID,
        level: WriteLevel = .majority,
        for request: RequestID?,
        now: Instant
    ) -> SubmitFailure? {
        guard let record = membership.record, consensus != nil else { return .notJoined }
        var signed = MeshConsensus.Command(
            type: command.type.rawValue,
            level: level,
            requiresPrimary: command.demandsPrimary,
            origin: Origin(process),
            sequence: operations.nextSequence,
            acknowledgedUpTo: operations.acknowledgedUpTo,
            session: session,
            payload: command.payload
        )
        signed.signature =
            identity.sign(.operation, room: record.secret.room, signed.signedBytes).bytes
        do {
            if let ticket = try consensus?.submit(signed, now: now) {
                operations.submitted(ticket, request: request)
            }
            return nil
        } catch {
            return .refused(error)
        }
    }

    /// Puts a message of consensus on the right lane: a datagram's worth, or the reliable channel 0.
    mutating func submit(_ message: OutgoingMessage, now: Instant) {
        let peer = message.to.nodeID
        // A message to a process that is gone, or to its predecessor, reaches nobody.
        guard link(peer)?.process == message.to else { return }
        guard message.isLarge else {
            endpoint.sendControl(
                machine: Self.consensusMachine,
                message.bytes,
                to: peer
            )
            return
        }
        // Consensus repeats what is not answered, so a full lane only delays.
        _ = try? endpoint.send(
            message.bytes,
            on: 0,
            to: peer,
            options: SendOptions(
                isOrdered: false,
                expires: now + .seconds(10),
                acknowledgesAtOnce: true,
                reportsOutcome: false
            ),
            now: now
        )
    }
}
