import MeshEngine
import MeshTransport
import MeshWire
import Synchronization

/// Messages from the application's threads to the node's, so that not each of them pays for a visit there.
///
/// Who waits for no more than acceptance posts here while there is room, and goes on; the node takes all that came in
/// one go. Beyond the bound, and whenever the node has not said yet that the session takes messages, the sender goes
/// to the node itself and waits: the back-pressure is the same, with so much in advance.
final class Outbox: Sendable {
    private struct State {
        /// Sessions that this node takes part in, as far as nothing has changed since it was asked.
        var open: Set<SessionID> = []
        var posted: [OutboundMessage] = []
        /// Messages and bytes that no lane has taken yet.
        var count = 0
        var byteCount = 0
    }

    /// What may be posted and not be accepted yet.
    static let messages = 256
    static let bytes = 256 << 10

    private let state = Mutex(State())

    /// Takes a message, if there is room; `isFirst` if the node must be told to take it.
    func post(_ message: OutboundMessage) -> (isPosted: Bool, isFirst: Bool) {
        state.withLock { state in
            guard state.count < Self.messages,
                state.byteCount + message.payload.count <= Self.bytes,
                state.open.contains(message.session)
            else { return (false, false) }
            state.count += 1
            state.byteCount += message.payload.count
            state.posted.append(message)
            return (true, state.posted.count == 1)
        }
    }

    /// What was posted, in order; messages alike in all but their payload as one.
    func take() -> [OutboundMessage] {
        let posted = state.withLock { state in
            defer { state.posted.removeAll(keepingCapacity: true) }
            return state.posted
        }
        var runs: [OutboundMessage] = []
        for message in posted {
            if let last = runs.indices.last, runs[last].isAlike(message) {
                runs[last].others.append(message.payload)
            } else {
                runs.append(message)
            }
        }
        return runs
    }

    /// The lanes have taken so much of it, or refused it.
    func accepted(count: Int, byteCount: Int) {
        state.withLock { state in
            state.count -= count
            state.byteCount -= byteCount
        }
    }

    /// The session takes messages of this node.
    func open(_ session: SessionID) { state.withLock { _ = $0.open.insert(session) } }

    /// Something changed: who sends next asks the node.
    func close() { state.withLock { $0.open.removeAll() } }
}

extension OutboundMessage {
    /// Whether both may be one request.
    fileprivate func isAlike(_ other: OutboundMessage) -> Bool {
        session == other.session && channel == other.channel && lane == other.lane
            && recipients == other.recipients && priority == other.priority
            && expires == other.expires && lane == .reliable
    }
}

extension Node {
    /// Posts a message that nobody waits for, if there is room.
    nonisolated func post(_ message: OutboundMessage) -> Bool {
        guard message.channel.utf8.count <= SessionChannelName.nameLimit else { return false }
        let (isPosted, isFirst) = outbox.post(message)
        if isFirst { Task(executorPreference: loop) { await self.takePosted() } }
        return isPosted
    }

    /// Hands what was posted to its lanes; before any message that comes by the other way.
    func takePosted() {
        for message in outbox.take() {
            let request = takeRequest()
            let sizes = message.others.reduce(message.payload.count) { $0 + $1.count }
            posted[request] = (1 + message.others.count, sizes)
            guard !isStopped else {
                acceptedPosted(request)
                continue
            }
            markStream(message)
            handle(.send(request, message))
        }
    }

    /// Whoever sends next asks the node; what was posted goes before that.
    func closeOutbox() {
        outbox.close()
        takePosted()
    }

    /// The lanes have taken what was posted, or never will.
    func acceptedPosted(_ request: RequestID) {
        guard let (count, byteCount) = posted.removeValue(forKey: request) else { return }
        outbox.accepted(count: count, byteCount: byteCount)
    }
}
