import Huddle
import MessageCoding
import Synchronization

/// The messages of one session in one delivery mode: what comes in goes to the subscribers of its type,
/// what goes out goes in the order of the calls.
final class MessageHub: Sendable {
    /// What a subscriber asks for.
    enum Topic: Hashable, Sendable {
        case data
        case type(UInt64)
    }

    /// A message as it came, its sender being published.
    struct Inbound: Sendable {
        let payload: [UInt8]
        let source: Participant
    }

    /// A message on its way out.
    struct Outbound: Sendable {
        let bytes: [UInt8]
        let recipients: MessageRecipients
        let done: @Sendable (MessengerError?) -> Void
    }

    private struct State {
        var subscribers: [Topic: [Subscriber]] = [:]
        var early = EarlyMessages()
        var isFinished = false
        var pumps: [Task<Void, Never>] = []
        /// Messages that were taken and not handed to the lane yet.
        var pending = 0
        /// Sends that somebody waits for, oldest first, while the watch looks after them.
        var awaited: [Awaited] = []
        var isWatching = false
        var failureListeners: [Mailbox<MessengerError>] = []
    }

    private let core: SessionCore
    private let mode: DeliveryMode
    private let state = Mutex(State())
    private let outbox: Mailbox<Outbound>
    private let hasSpace = Signal()

    /// The channel of the session that messengers use; others are the app's own.
    private static let channel = "groupactivities"
    /// Bytes that wait to be accepted by the lane before `send` is suspended.
    private static let outboxBytes = 8 << 20
    /// How long a send waits for a recipient that is silent.
    private static let patience = Duration.seconds(1)
    /// Bytes a subscriber of the reliable mode may be behind before the senders wait.
    private static let subscriberBytes = 4 << 20
    /// Messages a subscriber of the unreliable mode may be behind before the oldest are dropped.
    private static let subscriberMessages = 1024

    init(core: SessionCore, mode: DeliveryMode) {
        self.core = core
        self.mode = mode
        let hasSpace = hasSpace
        outbox = Mailbox(
            .bounded(Self.outboxBytes),
            cost: { $0.bytes.count + 8192 },
            onSpace: { hasSpace.raise() }
        )
    }

    /// Begins to read and to send; they end with the session.
    func start() {
        let incoming = outbox.makeSequence()
        let sending = Task { [weak self] in
            for await message in incoming {
                await self?.dispatch(message)
                self?.endTurn()
            }
        }
        let receiving = Task { [weak self, core, mode] in
            for await message in await core.session.messages(on: Self.channel, mode: mode) {
                await self?.receive(message)
            }
        }
        state.withLock { $0.pumps = [sending, receiving] }
    }

    /// Ends every subscriber's sequence, and fails what was not sent.
    func finish() {
        let (subscribers, listeners) = state.withLock { state in
            state.isFinished = true
            defer { (state.subscribers, state.failureListeners) = ([:], []) }
            return (state.subscribers.values.flatMap(\.self), state.failureListeners)
        }
        for listener in listeners { listener.finish() }
        for subscriber in subscribers {
            subscriber.mailbox.finish()
            // What waits for its space waits no more.
            subscriber.space.raise()
        }
        outbox.finish()
        hasSpace.raise()
    }

    // MARK: Out

    /// Sends, and waits until every recipient has it.
    func send(_ bytes: [UInt8], to recipients: MessageRecipients) async throws(MessengerError) {
        let answer = Outcome()
        if takeTurn() {
            // Nobody is before it: it needs no queue.
            await dispatch(Outbound(bytes: bytes, recipients: recipients, done: answer.give))
            endTurn()
        } else {
            enqueue(bytes, to: recipients, done: answer.give)
        }
        if let failure = await answer.value { throw failure }
    }

    /// Whether nothing waits to be handed to the lane, so that the caller may do it itself.
    private func takeTurn() -> Bool {
        state.withLock { state in
            guard state.pending == 0, core.isJoined else { return false }
            state.pending += 1
            return true
        }
    }

    private func endTurn() {
        state.withLock { $0.pending -= 1 }
    }

    /// Takes a message; `done` is called once, with what went wrong if anything.
    func enqueue(
        _ bytes: [UInt8],
        to recipients: MessageRecipients,
        done: @escaping @Sendable (MessengerError?) -> Void
    ) {
        let message = Outbound(bytes: bytes, recipients: recipients, done: done)
        guard core.reason == nil else { return done(.sessionInvalidated) }
        state.withLock { $0.pending += 1 }
        if outbox.send(message) { return }
        Task {
            while core.reason == nil {
                await hasSpace.wait()
                if outbox.send(message) { return }
            }
            done(.sessionInvalidated)
        }
    }

    /// Hands a message to its lane, in turn; what becomes of it is awaited aside.
    private func dispatch(_ message: Outbound) async {
        do {
            try await core.untilJoined()
            guard mode == .reliable else {
                try await core.session.sendFast(
                    message.bytes,
                    on: Self.channel,
                    to: message.recipients
                )
                return message.done(nil)
            }
            let delivery = try await core.session.beginSend(
                message.bytes,
                on: Self.channel,
                to: message.recipients
            )
            let answer = Answer(message.done)
            watch(Awaited(answer: answer, recipients: message.recipients, since: .now))
            Task {
                do throws(MessengerError) {
                    try await delivery.outcome()
                    answer.give(nil)
                } catch {
                    // Nobody waits any more for a recipient that had been silent.
                    if !answer.give(error) { tell(error) }
                }
            }
        } catch {
            message.done(error)
        }
    }

    /// Sends that failed for a recipient which nobody waited for any more.
    func failures() -> MailboxSequence<MessengerError> {
        let mailbox = Mailbox<MessengerError>(.newest(256))
        state.withLock { state in
            if state.isFinished { mailbox.finish() } else { state.failureListeners.append(mailbox) }
        }
        return mailbox.makeSequence()
    }

    private func tell(_ failure: MessengerError) {
        let listeners = state.withLock { state in
            state.failureListeners.removeAll { $0.isAbandoned }
            return state.failureListeners
        }
        for listener in listeners { listener.send(failure) }
    }

    /// Looks after a send: once a second has passed, it does not wait for those alone who are silent.
    private func watch(_ awaited: Awaited) {
        let isFirst = state.withLock { state in
            state.awaited.append(awaited)
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        Task { [weak self] in
            while await self?.look() == true { try? await Task.sleep(for: .milliseconds(100)) }
        }
    }

    /// Lets go of what is old enough; whether anything is left to look after.
    private func look() async -> Bool {
        let ready = state.withLock { state -> [Awaited] in
            state.awaited.removeAll { $0.answer.isGiven }
            let old = state.awaited.filter { ContinuousClock.now - $0.since >= Self.patience }
            state.isWatching = !state.awaited.isEmpty
            return old
        }
        for awaited in ready where core.isQuietInPart(awaited.recipients) {
            awaited.answer.give(nil)
        }
        return state.withLock { $0.isWatching }
    }

    // MARK: In

    /// A new subscriber; the first of its topic also gets what came before it.
    func subscribe(_ topic: Topic) -> MailboxSequence<Inbound> {
        let space = Signal()
        let mailbox: Mailbox<Inbound> =
            switch mode {
            case .reliable:
                Mailbox(
                    .bounded(Self.subscriberBytes),
                    cost: { $0.payload.count + 128 },
                    onSpace: { space.raise() },
                    onAbandoned: { space.raise() }
                )
            case .unreliable: Mailbox(.newest(Self.subscriberMessages))
            }
        let subscriber = Subscriber(mailbox: mailbox, space: space)
        let isFinished = state.withLock { state in
            guard !state.isFinished else { return true }
            mailbox.send(contentsOf: state.early.take(topic))
            state.subscribers[topic, default: []].append(subscriber)
            return false
        }
        if isFinished { mailbox.finish() }
        return mailbox.makeSequence()
    }

    private func receive(_ message: Message) async {
        guard
            let (envelope, payload) = try? MessageEnvelope.decode(
                message.payload,
                limit: MessageLimits.payloadBytes
            ), let source = await core.participant(message.from.uuid)
        else { return }
        let topic: Topic
        switch envelope.kind {
        case .raw: topic = .data
        case .value, .latestFinal:
            guard envelope.type != TypeHash.none else { return }
            topic = .type(envelope.type)
        case .bindName: return
        }
        let inbound = Inbound(payload: payload, source: source)
        let subscribers = state.withLock { state -> [Subscriber] in
            let live = (state.subscribers[topic] ?? []).filter { !$0.mailbox.isAbandoned }
            state.subscribers[topic] = live.isEmpty ? nil : live
            if live.isEmpty { state.early.keep(inbound, topic) }
            return live
        }
        for subscriber in subscribers {
            while !subscriber.mailbox.send(inbound), !subscriber.mailbox.isAbandoned {
                await subscriber.space.wait()
            }
        }
    }
}

/// A send that somebody waits for.
private struct Awaited: Sendable {
    let answer: Answer
    let recipients: MessageRecipients
    let since: ContinuousClock.Instant
}

/// One iteration of one messenger's messages.
private struct Subscriber: Sendable {
    let mailbox: Mailbox<MessageHub.Inbound>
    let space: Signal
}
