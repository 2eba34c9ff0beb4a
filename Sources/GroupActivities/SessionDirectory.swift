import Huddle
import Synchronization

/// Who makes session objects of what runs in a room, and forgets them.
protocol SessionOffering: AnyObject, Sendable {
    func offer(_ update: SessionUpdate, of node: Node) async
    func forget(_ id: UUID)
    /// Holds replacements back, for all kinds of activities of the conversation.
    var desk: ReplacementDesk { get }
}

/// Reads the sessions of a conversation's node, whichever that is.
enum SessionReading {
    /// Sessions that are over and still known for that.
    static let remembered = 1024

    static func begin(_ conversation: Conversation, for directory: any SessionOffering) {
        Task { [weak directory] in
            var reading: Task<Void, Never>?
            for await node in conversation.nodes() {
                reading?.cancel()
                reading = Task { [weak directory] in
                    for await update in await node.sessionUpdates() {
                        await directory?.offer(update, of: node)
                    }
                }
            }
            reading?.cancel()
        }
    }
}

/// The sessions of one kind of activity in one conversation: one object for each participation.
///
/// Reads the conversation from its first use on, and hands each new session to every subscriber.
final class SessionDirectory<ActivityType: GroupActivity>: SessionOffering {
    private struct State {
        var running: [UUID: UncheckedBox<GroupSession<ActivityType>>] = [:]
        /// Over for this process, the newest last: not offered again by itself.
        var left: [UUID] = []
        var subscribers: [Mailbox<UncheckedBox<GroupSession<ActivityType>>>] = []
        var isReading = false
    }

    private let state = Mutex(State())
    let desk: ReplacementDesk

    private init(desk: ReplacementDesk) {
        self.desk = desk
    }

    /// The directory of the current conversation.
    static var current: SessionDirectory {
        let conversation = Conversation.current
        let desk = conversation.companion { ReplacementDesk() }
        let directory = conversation.companion { SessionDirectory(desk: desk) }
        directory.read(conversation)
        return directory
    }

    private func read(_ conversation: Conversation) {
        let isFirst = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        if isFirst { SessionReading.begin(conversation, for: self) }
    }

    /// A session runs: if it is of this kind and new, it gets its object.
    func offer(_ update: SessionUpdate, of node: Node) async {
        let id = update.session.id.uuid
        if update.isAgain { await renew(id) }
        guard update.slot == Node.activitySlot,
            ActivityType._identifiable(by: update.activity.identifier),
            state.withLock({ $0.running[id] == nil && !$0.left.contains(id) })
        else { return }
        await desk.makeWay(for: update, of: node)
        guard let local = await node.localParticipantToBe(of: update.session.id),
            let activity = try? ActivityPayload.decode(ActivityType.self, update.activity.payload)
        else { return }
        let box = UncheckedBox(activity)
        let group = await GroupSession(update, local: local, activity: box, directory: self)
        let offered = UncheckedBox(group)
        state.withLock { state in
            guard state.running[id] == nil else { return }
            state.running[id] = offered
            state.subscribers.removeAll { $0.isAbandoned }
            for subscriber in state.subscribers { subscriber.send(offered) }
        }
    }

    /// A session that was left is asked for again: its old object is over, and it counts as new.
    private func renew(_ id: UUID) async {
        let old = state.withLock { $0.running[id] }
        await old?.value.hear(.event(.invalidated(.left)))
        state.withLock { state in state.left.removeAll { $0 == id } }
    }

    /// A session is over for this process: it is not offered again by itself.
    func forget(_ id: UUID) {
        state.withLock { state in
            state.running[id] = nil
            state.left.append(id)
            if state.left.count > SessionReading.remembered { state.left.removeFirst() }
        }
    }

    /// A new subscriber: it gets what runs, then each new session.
    func subscribe() -> MailboxSequence<UncheckedBox<GroupSession<ActivityType>>> {
        let mailbox = Mailbox<UncheckedBox<GroupSession<ActivityType>>>(.newest(256))
        state.withLock { state in
            // In an order that repeats, whatever the dictionary's is.
            let running = state.running.sorted { $0.key.uuidString < $1.key.uuidString }
            for (_, session) in running { mailbox.send(session) }
            state.subscribers.append(mailbox)
        }
        return mailbox.makeSequence()
    }
}

extension GroupSession {
    /// The sessions of an activity, as they come.
    public struct Sessions: AsyncSequence {
        /// A session; it waits to be joined.
        public typealias Element = GroupSession<ActivityType>
        /// It does not fail.
        public typealias Failure = Never

        let directory: SessionDirectory<ActivityType>

        /// A subscriber: it gets the sessions that run and each new one.
        public func makeAsyncIterator() -> Iterator {
            Iterator(inner: directory.subscribe().makeAsyncIterator())
        }

        /// One subscriber's sessions.
        public struct Iterator: AsyncIteratorProtocol {
            var inner: MailboxSequence<UncheckedBox<GroupSession<ActivityType>>>.Iterator

            /// The next session; `nil` when the task is cancelled.
            public mutating func next() async -> GroupSession<ActivityType>? {
                await next(isolation: #isolation)
            }

            /// The next session; `nil` when the task is cancelled.
            ///
            /// - Parameter isolation: The caller's isolation, which the wait does not leave.
            /// - Returns: The next session, or `nil`.
            public mutating func next(
                isolation: isolated (any Actor)?
            ) async -> GroupSession<ActivityType>? {
                while let box = await inner.next(isolation: isolation) {
                    // One that was left or has ended meanwhile is not offered any more.
                    if box.value.core.reason == nil { return box.value }
                }
                return nil
            }
        }
    }
}

extension GroupSession.Sessions: Sendable where ActivityType: Sendable {}
