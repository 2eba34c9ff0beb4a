import MeshConsensus
import MeshEngine
import MeshSession
import MeshStore
import MeshWire

extension Node {
    /// Hands a command to the engine and waits for the event that answers it.
    ///
    /// `nil` if the wait was cancelled or the node stopped; the command goes on then.
    func perform(_ make: (RequestID) -> MeshEngine.Command) async -> Event? {
        guard !isStopped else { return nil }
        let request = takeRequest()
        waiting[request] = .announced
        handle(make(request))
        return await answer(to: request)
    }

    /// A number no other request has.
    func takeRequest() -> RequestID {
        defer { nextRequest += 1 }
        return nextRequest
    }

    /// Waits for the first event that answers `request`, which was announced in ``waiting``.
    func answer(to request: RequestID) async -> Event? {
        defer { waiting[request] = nil }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The turn may have ended since the command was handled, and the answer be here.
                waiting[request, default: .announced].wait(continuation)
            }
        } onCancel: {
            Task { await self.abandon(request) }
        }
    }

    /// Waits for what became of a message, which was announced in ``outcomes``.
    ///
    /// `inPart` is called at most once before, on the node's thread: when all have it but those who are silent.
    func outcome(
        of request: RequestID,
        inPart: (@Sendable () -> Void)? = nil
    ) async -> SendReport? {
        defer {
            outcomes[request] = nil
            settling[request] = nil
        }
        if let inPart {
            if case .told? = settling[request] { inPart() }
            settling[request] = .asked(inPart)
        }
        let event = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                outcomes[request, default: .announced].wait(continuation)
            }
        } onCancel: {
            Task { await self.abandon(request) }
        }
        guard case .sendOutcome(_, let report)? = event else { return nil }
        return report
    }

    func settledInPart(_ request: RequestID) {
        guard outcomes[request] != nil else { return }
        if case .asked(let tell)? = settling[request] { tell() }
        settling[request] = .told
    }

    private func abandon(_ request: RequestID) {
        waiting[request]?.fulfil(nil)
        outcomes[request]?.fulfil(nil)
    }

    /// Ends every wait and every sequence, when the node stops.
    func abandonAll() {
        for request in waiting.keys.sorted() { waiting[request]?.fulfil(nil) }
        for request in outcomes.keys.sorted() { outcomes[request]?.fulfil(nil) }
        endedAll(.roomLeft)
        for listener in listeners { listener.finish() }
        for listener in sessionListeners { listener.finish() }
        listeners = []
        sessionListeners = []
        board.finish(nil)
    }

    /// Changes the room's state, and answers with what the log made of it.
    ///
    /// Waits for at most `timeout`; a write that timed out may still happen.
    func submit(
        _ command: RoomCommand,
        session: SessionID = .zero,
        within timeout: Duration = .seconds(20)
    ) async throws(HuddleError) -> Committed {
        try await committed(within: timeout) {
            .submit($0, command, session: session, level: .majority)
        }
    }

    /// The same for any command that is answered by `completed`.
    func committed(
        within timeout: Duration,
        _ make: @escaping @Sendable (RequestID) -> MeshEngine.Command
    ) async throws(HuddleError) -> Committed {
        let event = await limited(timeout) { node in await node.perform(make) }
        guard case .completed(_, let result)? = event else {
            throw isStopped
                ? .stopped
                : HuddleError(
                    .timedOut,
                    "the room did not answer in time; the write may still happen",
                    hint: "'huddle status' shows who is reachable"
                )
        }
        let committed: Committed
        do {
            committed = try result.get()
        } catch {
            throw HuddleError(error)
        }
        if case .refused(let refusal) = committed.result { throw HuddleError(refusal) }
        return committed
    }

    /// Waits until the local state holds everything the room had accepted when this was called.
    package func catchUp(within timeout: Duration = .seconds(10)) async throws(HuddleError) {
        let event = await limited(timeout) { node in
            await node.perform { .read($0, .linearizable) }
        }
        guard case .readReady(_, let result)? = event else {
            throw isStopped ? .stopped : HuddleError(.timedOut, "the room did not answer in time")
        }
        if case .failure(let failure) = result { throw HuddleError(failure) }
    }

    /// Runs `body`, cancelled after `timeout`.
    private func limited(
        _ timeout: Duration,
        _ body: @escaping @Sendable (Node) async -> Event?
    ) async -> Event? {
        await withTaskGroup(of: Event?.self) { group in
            group.addTask { await body(self) }
            group.addTask {
                await self.sleep(for: timeout)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }

    /// The farewell of a node that stops: it hands over and leaves the view, and can come back.
    func sayFarewell() async {
        guard case .joined = phase else { return }
        _ = await limitedFarewell()
    }

    private func limitedFarewell() async -> Event? {
        let request = takeRequest()
        waiting[request] = .announced
        handle(.leaveRoom(request))
        return await withTaskGroup(of: Event?.self) { group in
            group.addTask { await self.answer(to: request) }
            group.addTask {
                await self.sleep(for: .seconds(2))
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}

/// Whether a message has arrived at all that answer, and who wants to know.
enum PartialOutcome {
    /// Somebody wants to be told.
    case asked(@Sendable () -> Void)
    /// It was so, whether or not somebody was told.
    case told
}

/// Where the wait for an event stands; it is announced before the command that causes the event.
enum AwaitedEvent {
    /// Somebody will ask for it.
    case announced
    /// It came, or the wait was given up, before anybody asked.
    case known(Event?)
    /// Somebody waits for it.
    case awaited(CheckedContinuation<Event?, Never>)

    /// Begins the wait, or ends it at once.
    mutating func wait(_ continuation: CheckedContinuation<Event?, Never>) {
        switch self {
        case .announced: self = .awaited(continuation)
        case .known(let event): continuation.resume(returning: event)
        case .awaited: continuation.resume(returning: nil)  // one waiter each, by construction
        }
    }

    /// Gives the event to whoever waits, or keeps the first; `nil` ends the wait without one.
    mutating func fulfil(_ event: Event?) {
        switch self {
        case .announced: self = .known(event)
        case .known: break
        case .awaited(let continuation):
            self = .known(event)
            continuation.resume(returning: event)
        }
    }
}
