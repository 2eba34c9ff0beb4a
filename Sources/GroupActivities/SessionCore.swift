import Huddle
import MeshWire
import Synchronization

/// A session object, as the tasks that work for it see it: without its type of activity.
protocol SessionListener: AnyObject, Sendable {
    @MainActor func hear(_ news: SessionNews)
}

/// What a session object hears, in the order of the room.
enum SessionNews: Sendable {
    /// Who takes part when it begins to listen.
    case present(Set<Participant>)
    case change(ParticipantChange)
    case event(SessionEvent)
    /// What it asked for was refused.
    case failure(HuddleError)
}

/// A session as messengers see it: who is in it, by what was published, and whether it goes on.
///
/// Shared by the session object and its messengers, so that neither keeps the other alive.
final class SessionCore: Sendable {
    fileprivate struct State {
        var isJoined = false
        var reason: GroupSessionError?
        var participants: [UUID: Participant] = [:]
        /// Those who are there no more, the newest last: nobody waits for the news of their join.
        var gone: [UUID] = []
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
        var hubs: [DeliveryMode: MessageHub] = [:]
    }

    fileprivate enum Waiter {
        case join(CheckedContinuation<GroupSessionError?, Never>)
        case participant(UUID, CheckedContinuation<Participant?, Never>)
    }

    let session: Session
    /// The participant that this process is, or will be once it has joined.
    let local: Participant
    private let state = Mutex(State())

    /// How long a message of somebody unknown waits for the news of its join.
    private static let patience = Duration.seconds(2)
    /// Participants that are gone and still known for that.
    private static let remembered = 256

    init(session: Session, local: Participant) {
        self.session = session
        self.local = local
    }

    // MARK: Between the room and the session object

    /// Tells `listener` what the room says of the session, until it is over.
    func follow(for listener: any SessionListener) {
        Task { @MainActor in
            let (present, changes) = await session.node.presence(of: session.id)
            listener.hear(.present(present))
            let participants = Task { @MainActor in
                for await change in changes { listener.hear(.change(change)) }
            }
            for await event in await session.events {
                listener.hear(.event(event))
                if case .invalidated = event { return participants.cancel() }
                if reason != nil { break }
            }
            participants.cancel()
            listener.hear(.event(.invalidated(.roomLeft)))
        }
    }

    /// Tells `listener` something on the main actor.
    func tell(_ listener: any SessionListener, _ news: SessionNews) {
        Task { @MainActor in listener.hear(news) }
    }

    /// Does something in the room; what goes wrong is told to `listener`.
    func act(
        for listener: any SessionListener,
        _ body: @escaping @Sendable (Session) async throws(HuddleError) -> Void
    ) {
        guard reason == nil else { return }
        Task { [session] in
            do throws(HuddleError) {
                try await body(session)
            } catch {
                await listener.hear(.failure(error))
            }
        }
    }

    /// Shows the others that a participant did something; nobody is told if that is not possible.
    func notify(_ text: String, by participant: ParticipantID) {
        guard isJoined else { return }
        Task { [session] in try? await session.notify(text, by: participant) }
    }

    /// What messages go by from now on; called where and when it is published.
    func publish(_ participants: Set<Participant>, isJoined: Bool) {
        let ready = state.withLock { state -> [Waiter] in
            let known = Dictionary(uniqueKeysWithValues: participants.map { ($0.id, $0) })
            state.gone.removeAll { known[$0] != nil }
            state.gone += state.participants.keys.filter { known[$0] == nil }
            if state.gone.count > Self.remembered {
                state.gone.removeFirst(state.gone.count - Self.remembered)
            }
            state.participants = known
            state.isJoined = isJoined
            return state.take { waiter in
                switch waiter {
                case .join: isJoined
                case .participant(let id, _): known[id] != nil
                }
            }
        }
        resume(ready)
    }

    /// The session is over for this process.
    func invalidate(_ reason: GroupSessionError) {
        let (waiters, hubs) = state.withLock { state -> ([Waiter], [MessageHub]) in
            guard state.reason == nil else { return ([], []) }
            state.reason = reason
            state.isJoined = false
            state.participants = [:]
            // They hold this object, and it holds them no longer than they have work.
            defer { state.hubs = [:] }
            return (state.take { _ in true }, Array(state.hubs.values))
        }
        resume(waiters)
        for hub in hubs { hub.finish() }
    }

    /// Whether this process takes part now.
    var isJoined: Bool { state.withLock { $0.isJoined } }

    /// Why it is over, if it is.
    var reason: GroupSessionError? { state.withLock { $0.reason } }

    /// The messages of one mode, read from the first call on.
    func hub(_ mode: DeliveryMode) -> MessageHub {
        let (hub, isNew, isOver) = state.withLock { state -> (MessageHub, Bool, Bool) in
            if let hub = state.hubs[mode] { return (hub, false, false) }
            let hub = MessageHub(core: self, mode: mode)
            guard state.reason == nil else { return (hub, true, true) }
            state.hubs[mode] = hub
            return (hub, true, false)
        }
        if isOver { hub.finish() } else if isNew { hub.start() }
        return hub
    }

    /// Waits until this process has joined; throws if the session ends before.
    func untilJoined() async throws(MessengerError) {
        let reason = await wait(
            known: { state in
                if let reason = state.reason {
                    .some(reason)
                } else if state.isJoined {
                    .some(nil)
                } else {
                    nil
                }
            },
            waiter: { .join($0) },
            giveUp: nil
        )
        if reason != nil { throw .sessionInvalidated }
    }

    /// The published participant of this identifier; `nil` if it stays unknown.
    func participant(_ id: UUID) async -> Participant? {
        await wait(
            known: { state in
                if let known = state.participants[id] {
                    .some(known)
                } else if state.reason != nil || state.gone.contains(id) {
                    .some(nil)
                } else {
                    nil
                }
            },
            waiter: { .participant(id, $0) },
            giveUp: Self.patience
        )
    }

    /// What `known` finds, now or once a waiter is resumed.
    private func wait<Found: Sendable>(
        known: (borrowing State) -> Found??,
        waiter: (CheckedContinuation<Found?, Never>) -> Waiter,
        giveUp: Duration?
    ) async -> Found? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Found?, Never>) in
            let number = state.withLock { state -> UInt64? in
                if let found = known(state) {
                    continuation.resume(returning: found)
                    return nil
                }
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = waiter(continuation)
                return state.nextWaiter
            }
            guard let number, let giveUp else { return }
            Task { [node = session.node] in
                await node.sleep(for: giveUp)
                let late = self.state.withLock { $0.waiters.removeValue(forKey: number) }
                if let late { self.resume([late]) }
            }
        }
    }

    private func resume(_ waiters: [Waiter]) {
        let (reason, participants) = state.withLock { ($0.reason, $0.participants) }
        for waiter in waiters {
            switch waiter {
            case .join(let continuation): continuation.resume(returning: reason)
            case .participant(let id, let continuation):
                continuation.resume(returning: participants[id])
            }
        }
    }
}

extension SessionCore.State {
    /// Takes out the waiters that `isReady`, oldest first.
    fileprivate mutating func take(_ isReady: (SessionCore.Waiter) -> Bool) -> [SessionCore.Waiter]
    {
        let ready = waiters.filter { isReady($0.value) }.sorted { $0.key < $1.key }
        for (number, _) in ready { waiters[number] = nil }
        return ready.map(\.value)
    }
}
