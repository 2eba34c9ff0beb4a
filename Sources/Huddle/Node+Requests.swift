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
        handle(make(request))
        return await answer(to: request)
    }

    /// A number no other request has.
    func takeRequest() -> RequestID {
        defer { nextRequest += 1 }
        return nextRequest
    }

    /// Waits for the first event that answers `request`.
    func answer(to request: RequestID) async -> Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiting[request] = $0 }
        } onCancel: {
            Task { await self.abandon(request) }
        }
    }

    /// Waits for what became of a message that was accepted; it was announced by ``announce(_:)``.
    func outcome(of request: RequestID) async -> SendReport? {
        defer { outcomes[request] = nil }
        // It may have come in the same turn as the acceptance.
        if case .known(let report)? = outcomes[request] { return report }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { outcomes[request] = .awaited($0) }
        } onCancel: {
            Task { await self.abandon(request) }
        }
    }

    private func abandon(_ request: RequestID) {
        waiting.removeValue(forKey: request)?.resume(returning: nil)
        if case .awaited(let continuation)? = outcomes.removeValue(forKey: request) {
            continuation.resume(returning: nil)
        }
    }

    /// Ends every wait and every sequence, when the node stops.
    func abandonAll() {
        for continuation in waiting.values { continuation.resume(returning: nil) }
        for case .awaited(let continuation) in outcomes.values {
            continuation.resume(returning: nil)
        }
        waiting = [:]
        outcomes = [:]
        for hub in hubs.values { hub.finish() }
        for listener in listeners { listener.finish() }
        hubs = [:]
        listeners = []
    }

    /// Changes the room's state, and answers with what the log made of it.
    ///
    /// Waits for at most `timeout`; a write that timed out may still happen.
    func submit(
        _ command: RoomCommand,
        session: SessionID = .zero,
        within timeout: Duration = .seconds(20)
    ) async throws(HuddleError) -> Committed {
        let event = await limited(timeout) { node in
            await node.perform { .submit($0, command, session: session, level: .majority) }
        }
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
                // Cancelled is as good as over.
                try? await Task.sleep(for: timeout)
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
        handle(.leaveRoom(request))
        return await withTaskGroup(of: Event?.self) { group in
            group.addTask { await self.answer(to: request) }
            group.addTask {
                try? await Task.sleep(for: .seconds(2))
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}

/// Where the wait for a message's outcome stands.
enum AwaitedOutcome {
    /// Somebody will ask for it.
    case announced
    /// It came before anybody asked.
    case known(SendReport)
    /// Somebody waits for it.
    case awaited(CheckedContinuation<SendReport?, Never>)
}
