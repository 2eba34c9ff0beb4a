import Huddle
import MeshWire
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
        /// Whether `done` tells of all recipients, the silent ones among them.
        let isForAll: Bool
        let done: @Sendable (MessengerError?) -> Void
    }

    private struct State {
        var subscribers: [Topic: [Subscriber]] = [:]
        var early = EarlyMessages()
        /// What subscribers that are gone had lost.
        var overrun: UInt64 = 0
        var isFinished = false
        var receiving: Task<Void, Never>?
        /// What waits to be handed to the lane, oldest first.
        ///
        /// Who awaits a send has one message here. The form that does not wait cannot be held back either:
        /// what it hands over is the program's to bound.
        var outgoing = Queue<Outbound>()
        /// Whether a message is being handed to the lane.
        var isSending = false
        var failureListeners: [Mailbox<MessengerError>] = []

        /// What subscribers lost, those that are gone too.
        var totalOverrun: UInt64 {
            subscribers.values.joined().reduce(overrun) { $0 + UInt64($1.mailbox.dropped) }
        }
    }

    private let core: SessionCore
    private let mode: DeliveryMode
    private let state = Mutex(State())
    private let hasOutgoing = Signal()

    /// The channel of the session that messengers use; others are the app's own.
    private static let channel = "groupactivities"
    /// Bytes a subscriber of the reliable mode may be behind before the senders wait.
    private static let subscriberBytes = 4 << 20
    /// Messages a subscriber of the unreliable mode may be behind before the oldest are dropped.
    private static let subscriberMessages = 1024

    init(core: SessionCore, mode: DeliveryMode) {
        self.core = core
        self.mode = mode
    }

    /// Begins to read and to send; they end with the session.
    func start() {
        Task { [weak self, hasOutgoing] in
            while true {
                await hasOutgoing.wait()
                while let message = self?.takeOutgoing() {
                    await self?.dispatch(message)
                    self?.endTurn()
                }
                if self?.isFinished ?? true { return }
            }
        }
        let receiving = Task { [weak self, core, mode] in
            for await message in await core.session.messages(on: Self.channel, mode: mode) {
                await self?.receive(message)
            }
        }
        state.withLock { state in
            if state.isFinished { receiving.cancel() } else { state.receiving = receiving }
        }
    }

    /// Ends every subscriber's sequence, and fails what was not sent.
    func finish() {
        let (subscribers, listeners, unsent) = state.withLock { state in
            state.isFinished = true
            // The lane is the next participation's, if there is one.
            state.receiving?.cancel()
            state.receiving = nil
            state.overrun = state.totalOverrun
            defer { (state.subscribers, state.failureListeners) = ([:], []) }
            let unsent = state.outgoing.removeAll { _ in true }
            return (state.subscribers.values.flatMap(\.self), state.failureListeners, unsent)
        }
        for message in unsent { message.done(.sessionInvalidated) }
        for listener in listeners { listener.finish() }
        for subscriber in subscribers {
            subscriber.mailbox.finish()
            // What waits for its space waits no more.
            subscriber.space.raise()
        }
        hasOutgoing.raise()
    }

    private var isFinished: Bool { state.withLock { $0.isFinished } }

    // MARK: Out

    /// Sends, and waits until every recipient has it.
    func send(_ bytes: [UInt8], to recipients: MessageRecipients) async throws(MessengerError) {
        let answer = Outcome()
        if takeTurn() {
            // Nobody is before it: it needs no queue.
            await dispatch(
                Outbound(bytes: bytes, recipients: recipients, isForAll: false, done: answer.give)
            )
            endTurn()
        } else {
            enqueue(bytes, to: recipients, isForAll: false, done: answer.give)
        }
        if let failure = await answer.value { throw failure }
    }

    /// Whether nothing waits to be handed to the lane, so that the caller may do it itself.
    private func takeTurn() -> Bool {
        state.withLock { state in
            guard !state.isSending, state.outgoing.isEmpty, core.isJoined else { return false }
            state.isSending = true
            return true
        }
    }

    private func endTurn() {
        let isMore = state.withLock { state in
            state.isSending = false
            return !state.outgoing.isEmpty
        }
        if isMore { hasOutgoing.raise() }
    }

    /// The next message, whose turn it is then.
    private func takeOutgoing() -> Outbound? {
        state.withLock { state in
            guard !state.isSending, let message = state.outgoing.popFirst() else { return nil }
            state.isSending = true
            return message
        }
    }

    /// Takes a message; `done` is called once, with what went wrong if anything.
    ///
    /// With `isForAll` that is when all is known, else it waits for nobody who is silent while others answer.
    func enqueue(
        _ bytes: [UInt8],
        to recipients: MessageRecipients,
        isForAll: Bool,
        done: @escaping @Sendable (MessengerError?) -> Void
    ) {
        let message = Outbound(
            bytes: bytes,
            recipients: recipients,
            isForAll: isForAll,
            done: done
        )
        let isTaken = state.withLock { state in
            if !state.isFinished { state.outgoing.append(message) }
            return !state.isFinished
        }
        if isTaken { hasOutgoing.raise() } else { done(.sessionInvalidated) }
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
            Task {
                do throws(MessengerError) {
                    // Whoever is silent while others have it is not waited for.
                    try await delivery.outcome(inPart: {
                        if !message.isForAll { answer.give(nil) }
                    })
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

    // MARK: In

    /// What nobody got, so far.
    var statistics: GroupSessionMessenger.Statistics {
        state.withLock { state in
            GroupSessionMessenger.Statistics(
                unclaimed: state.early.unclaimed,
                overrun: state.totalOverrun
            )
        }
    }

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
            let all = state.subscribers[topic] ?? []
            let live = all.filter { !$0.mailbox.isAbandoned }
            for gone in all where gone.mailbox.isAbandoned {
                state.overrun += UInt64(gone.mailbox.dropped)
            }
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

/// One iteration of one messenger's messages.
private struct Subscriber: Sendable {
    let mailbox: Mailbox<MessageHub.Inbound>
    let space: Signal
}
