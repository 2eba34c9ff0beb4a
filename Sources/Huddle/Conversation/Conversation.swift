import Synchronization

/// The room that a program's activities live in: where Apple has a call, here is a room.
///
/// A program has one, ``process``. What it is told by ``use(_:)`` comes first; else, at first use, it
/// enters the room of the node that `huddle up` runs for this user, as a guest with an identity of its
/// own. A test that plays several participants in one process makes several and runs each part of it
/// ``run(_:)`` in its own.
public final class Conversation: Sendable {
    /// The conversation of the running task: its own, or else the process's.
    public static var current: Conversation { scoped ?? process }

    /// The conversation of this process.
    public static let process = Conversation()

    @TaskLocal private static var scoped: Conversation?

    private struct State {
        var node: Node?
        var diagnosis: EligibilityDiagnosis? = .noRoom
        var isEntering = false
        var following: Task<Void, Never>?
        var listeners: [Mailbox<EligibilityDiagnosis?>] = []
        var nodeListeners: [Mailbox<Node>] = []
        var companions: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    private let state = Mutex(State())

    /// A conversation without a room.
    public init() {}

    deinit {
        state.withLock { $0.following?.cancel() }
    }

    /// Runs `body` with this as the current conversation.
    public func run<Result>(
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Self.$scoped.withValue(self, operation: body)
    }

    /// Takes part through `node`: its room is the conversation's, whenever it is in one.
    public func use(_ node: Node) async {
        let updates = await node.updates()
        let following = Task { [weak self] in
            await self?.look(at: node)
            for await _ in updates {
                guard let self else { return }
                await self.look(at: node)
            }
            // Another node has taken its place if the task was cancelled.
            if !Task.isCancelled { self?.become(.nodeStopped) }
        }
        state.withLock { state in
            state.node = node
            state.following?.cancel()
            state.following = following
            state.nodeListeners.removeAll { $0.isAbandoned }
            for listener in state.nodeListeners { listener.send(node) }
        }
        await look(at: node)
    }

    /// Why activities cannot be started or joined now; `nil` if they can.
    public var eligibility: EligibilityDiagnosis? {
        enter()
        return state.withLock { $0.diagnosis }
    }

    /// What ``eligibility`` is now, and each change of it.
    public func eligibilityChanges() -> MailboxSequence<EligibilityDiagnosis?> {
        let mailbox = Mailbox<EligibilityDiagnosis?>(.newest(64))
        enter()
        state.withLock { state in
            mailbox.send(state.diagnosis)
            state.listeners.append(mailbox)
        }
        return mailbox.makeSequence()
    }

    /// The node that stands for the conversation, and each that takes its place.
    package func nodes() -> MailboxSequence<Node> {
        let mailbox = Mailbox<Node>(.newest(4))
        enter()
        state.withLock { state in
            if let node = state.node { mailbox.send(node) }
            state.nodeListeners.append(mailbox)
        }
        return mailbox.makeSequence()
    }

    /// The node, if it is in a room that works.
    package func node() throws(EligibilityDiagnosis) -> Node {
        if let diagnosis = eligibility { throw diagnosis }
        guard let node = state.withLock({ $0.node }) else { throw .noRoom }
        return node
    }

    /// The node that stands for the conversation, in a room or not.
    var currentNode: Node? { state.withLock { $0.node } }

    /// The one object of this type that goes with the conversation, made at the first call.
    package func companion<Companion: AnyObject & Sendable>(
        _ make: () -> Companion
    ) -> Companion {
        state.withLock { state in
            let key = ObjectIdentifier(Companion.self)
            if let known = state.companions[key] as? Companion { return known }
            let new = make()
            state.companions[key] = new
            return new
        }
    }

    // MARK: The node's room

    private func look(at node: Node) async {
        let room = await node.room
        let view = await room?.view
        let diagnosis: EligibilityDiagnosis? =
            // A view that is being changed is one all the same.
            if room == nil { .noRoom } else if view == nil || view?.suspension != nil {
                .viewNotInstalled
            } else { nil }
        become(diagnosis)
    }

    private func become(_ diagnosis: EligibilityDiagnosis?) {
        state.withLock { state in
            guard state.diagnosis != diagnosis else { return }
            state.diagnosis = diagnosis
            state.listeners.removeAll { $0.isAbandoned }
            for listener in state.listeners { listener.send(diagnosis) }
        }
    }

    /// The process's own way into a room, if it was not told which; tried until there is one.
    ///
    /// A node may be started after the program. A room that refuses is asked seldom, since each time
    /// costs it an invitation.
    private func enter() {
        guard self === Self.process else { return }
        let isFirst = state.withLock { state in
            defer { state.isEntering = true }
            return !state.isEntering && state.node == nil
        }
        guard isFirst else { return }
        Task {
            while state.withLock({ $0.node == nil }) {
                do throws(EligibilityDiagnosis) {
                    let node = try await LocalRoom.enter()
                    guard state.withLock({ $0.node == nil }) else { return await node.stop() }
                    return await use(node)
                } catch {
                    // What the program says itself meanwhile counts.
                    if state.withLock({ $0.node == nil }) { become(error) }
                    try? await Task.sleep(for: error == .noRoom ? .seconds(2) : .seconds(60))
                }
            }
        }
    }
}
