import MeshEngine
import MeshWire

/// What the node keeps for one session's readers: their mailboxes, and messages that came before them.
///
/// Belongs to the node's thread; a class, so that handing out a batch copies nothing.
final class SessionHub {
    private struct ChannelKey: Hashable {
        var name: String
        var mode: DeliveryMode
    }

    private struct Early {
        var messages: [Message] = []
        var byteCount = 0
    }

    private var readers: [ChannelKey: [Reader]] = [:]
    private var early: [ChannelKey: Early] = [:]
    private var participantReaders: [Mailbox<ParticipantChange>] = []
    private var eventReaders: [Mailbox<SessionEvent>] = []
    /// Requests for the session's state.
    let state = StateDesk()
    /// Receipts for messages, owed and awaited.
    let receipts = ReceiptDesk()
    /// The session's sequence, and the moves that wait for their places in it.
    let log = LogDesk()
    let arbiter = ArbiterDesk()
    private var valueReaders: [Mailbox<ValueChange>] = []
    private var attachmentReaders: [Mailbox<[Attachment]>] = []
    private var journalReaders: [Mailbox<JournalChange>] = []
    /// What the participants show of themselves.
    let latest = LatestBoard()
    /// Reliable channels whose senders were told to wait.
    private(set) var paused: Set<String> = []
    private var isFinished = false
    /// Channels that had a reader once.
    private var wasRead: Set<ChannelKey> = []

    /// Messages of a channel nobody reads that are kept (`40-groupactivities.md` D13).
    ///
    /// At half of it the senders of a reliable channel are made to wait for the first reader, and
    /// what is under way then is kept too: that is at most their windows.
    private static let earlyMessages = 256
    private static let earlyBytes = 1 << 20
    /// Channels nobody reads yet; the senders of a further reliable one wait from its first message.
    private static let earlyChannels = 64
    /// Bytes a reader of the reliable lane may be behind before the senders wait.
    private static let reliableBytes = 4 << 20
    /// Messages a reader of the fast lane may be behind before the oldest are dropped.
    private static let fastMessages = 1024
    /// Changes a reader may be behind before the oldest are dropped.
    private static let changes = 4096
    /// Whole sets of attachments a reader may be behind before the oldest are dropped.
    private static let attachmentSets = 64

    /// A new reader of a channel; the first one also gets what came before it.
    ///
    /// `onSpace` is called on the reader's thread when a full reader has room again, or is gone;
    /// `onSettled` when it took a message that its sender wants a receipt for, or never will.
    func read(
        _ channel: String,
        _ mode: DeliveryMode,
        onSpace: @escaping @Sendable () -> Void,
        onSettled: @escaping @Sendable (ReceiptDesk.Key, Bool) -> Void
    ) -> MailboxSequence<Message> {
        let key = ChannelKey(name: channel, mode: mode)
        let mailbox: Mailbox<Message> =
            switch mode {
            case .reliable:
                Mailbox(
                    .bounded(Self.reliableBytes),
                    cost: { $0.payload.count + 128 },
                    onSpace: onSpace,
                    onAbandoned: onSpace,
                    isMarked: { $0.receipt != nil },
                    onSettled: { message, isTaken in
                        guard let key = message.receiptKey else { return }
                        onSettled(key, isTaken)
                    }
                )
            case .unreliable: Mailbox(.newest(Self.fastMessages))
            }
        let reader = Reader(mailbox, onSettled: onSettled)
        readers[key, default: []].append(reader)
        wasRead.insert(key)
        if let early = early.removeValue(forKey: key) {
            for message in early.messages { owe(message, readers: 1) }
            reader.deliver(early.messages)
        }
        return mailbox.makeSequence()
    }

    func readParticipants() -> MailboxSequence<ParticipantChange> {
        let mailbox = Mailbox<ParticipantChange>(.newest(Self.changes))
        participantReaders.append(mailbox)
        return mailbox.makeSequence()
    }

    /// A reader of what happens to this node's part, which first gets how that stands.
    func readEvents(_ first: SessionEvent?) -> MailboxSequence<SessionEvent> {
        let mailbox = Mailbox<SessionEvent>(.newest(Self.changes))
        if let first { mailbox.send(first) }
        eventReaders.append(mailbox)
        return mailbox.makeSequence()
    }

    /// A reader of the whole set of attachments, which first gets how it stands.
    func readAttachments(_ first: [Attachment]) -> MailboxSequence<[Attachment]> {
        let mailbox = Mailbox<[Attachment]>(.newest(Self.attachmentSets))
        mailbox.send(first)
        if isFinished { mailbox.finish() } else { attachmentReaders.append(mailbox) }
        return mailbox.makeSequence()
    }

    func readJournal() -> MailboxSequence<JournalChange> {
        let mailbox = Mailbox<JournalChange>(.newest(Self.changes))
        if isFinished { mailbox.finish() } else { journalReaders.append(mailbox) }
        return mailbox.makeSequence()
    }

    func readValues() -> MailboxSequence<ValueChange> {
        let mailbox = Mailbox<ValueChange>(.newest(Self.changes))
        valueReaders.append(mailbox)
        return mailbox.makeSequence()
    }

    /// Hands a message to the channel's readers; `true` if its senders must wait from now on.
    func deliver(_ message: Message) -> Bool {
        let key = ChannelKey(name: message.channel, mode: message.mode)
        let live = liveReaders(key)
        guard !live.isEmpty else {
            return keep(message, key) && paused.insert(message.channel).inserted
        }
        owe(message, readers: live.count)
        for reader in live { reader.deliver([message]) }
        return live.contains { $0.isFull } && paused.insert(message.channel).inserted
    }

    /// Hands on what full readers of a reliable channel have room for now; `true` if its senders may
    /// go on.
    func makeSpace(_ channel: String) -> Bool {
        let key = ChannelKey(name: channel, mode: .reliable)
        let live = liveReaders(key)
        for reader in live { reader.deliver([]) }
        return !live.contains { $0.isFull } && paused.remove(channel) != nil
    }

    /// Whether the readers of reliable channels have taken all there is; the last to do so calls its
    /// `onSpace`.
    ///
    /// What waits for a first reader counts, what waits for readers that have gone does not.
    func isDrained() -> Bool {
        var isDrained = !early.contains { $0.key.mode == .reliable && !wasRead.contains($0.key) }
        for (key, all) in readers where key.mode == .reliable {
            // order: each is asked, so that each will tell
            for reader in all where !reader.isDrained() { isDrained = false }
        }
        return isDrained
    }

    /// Drops what these participants sent on reliable channels before there was a reader.
    ///
    /// - Returns: The channels whose senders may go on, sorted.
    func dropEarly(from senders: Set<ParticipantID>) -> [String] {
        var opened: [String] = []
        // order: the answer is sorted
        for (key, kept) in early where key.mode == .reliable {
            let rest = kept.messages.filter { !senders.contains($0.from) }
            for message in kept.messages where senders.contains(message.from) {
                drop(message, isTaken: true)
            }
            let byteCount = rest.reduce(0) { $0 + $1.payload.count }
            early[key] = rest.isEmpty ? nil : Early(messages: rest, byteCount: byteCount)
            guard rest.count < Self.earlyMessages / 2, byteCount < Self.earlyBytes / 2,
                paused.remove(key.name) != nil
            else { continue }
            opened.append(key.name)
        }
        return opened.sorted()
    }

    /// The readers of a channel; those that are gone take nothing of what waited for them.
    private func liveReaders(_ key: ChannelKey) -> [Reader] {
        var live: [Reader] = []
        for reader in readers[key] ?? [] {
            if reader.mailbox.isAbandoned { reader.giveUp() } else { live.append(reader) }
        }
        readers[key] = live.isEmpty ? nil : live
        return live
    }

    private func drop(_ message: Message, isTaken: Bool) {
        if let key = message.receiptKey { receipts.drop(key, isTaken: isTaken) }
    }

    private func owe(_ message: Message, readers: Int) {
        if let key = message.receiptKey { receipts.owe(key, readers: readers) }
    }

    func deliver(_ change: ParticipantChange) {
        participantReaders.removeAll { $0.isAbandoned }
        for mailbox in participantReaders { mailbox.send(change) }
    }

    /// Tells a change of the journal, and the set of attachments as it is then.
    func deliver(_ attachments: [Attachment], _ change: JournalChange) {
        attachmentReaders.removeAll { $0.isAbandoned }
        for mailbox in attachmentReaders { mailbox.send(attachments) }
        deliver(change)
    }

    func deliver(_ change: JournalChange) {
        journalReaders.removeAll { $0.isAbandoned }
        for mailbox in journalReaders { mailbox.send(change) }
    }

    func deliver(_ change: ValueChange) {
        valueReaders.removeAll { $0.isAbandoned }
        for mailbox in valueReaders { mailbox.send(change) }
    }

    func tell(_ event: SessionEvent) {
        eventReaders.removeAll { $0.isAbandoned }
        for mailbox in eventReaders { mailbox.send(event) }
    }

    /// This node's part in the session is over, and with it what its readers hear of it.
    func invalidate(_ reason: GroupSessionError) {
        tell(.invalidated(reason))
        state.end()
        receipts.end()
        log.end()
        arbiter.end()
        for mailbox in eventReaders { mailbox.finish() }
        for mailbox in attachmentReaders { mailbox.finish() }
        for mailbox in journalReaders { mailbox.finish() }
        eventReaders = []
        attachmentReaders = []
        journalReaders = []
        latest.clear()
    }

    func finish(_ reason: GroupSessionError) {
        invalidate(reason)
        for all in readers.values {
            for reader in all { reader.mailbox.finish() }
        }
        for mailbox in participantReaders { mailbox.finish() }
        for mailbox in valueReaders { mailbox.finish() }
        isFinished = true
        latest.finish()
        readers = [:]
        participantReaders = []
        valueReaders = []
    }

    /// Keeps a message that nobody reads now; `true` if its senders must wait from now on.
    ///
    /// Of a reliable channel that nobody has read yet every message is kept: its senders wait. Those
    /// of one whose readers have gone need not, since perhaps nobody reads it ever again; of that,
    /// and of a fast channel, the newest are kept.
    private func keep(_ message: Message, _ key: ChannelKey) -> Bool {
        let mustWait = key.mode == .reliable && !wasRead.contains(key)
        let hasPlace = early[key] != nil || early.count < Self.earlyChannels
        guard mustWait || hasPlace else {
            drop(message, isTaken: false)
            return false
        }
        var kept = early.removeValue(forKey: key) ?? Early()
        kept.messages.append(message)
        kept.byteCount += message.payload.count
        while !mustWait,
            kept.messages.count > Self.earlyMessages
                || kept.byteCount > Self.earlyBytes && kept.messages.count > 1
        {
            let oldest = kept.messages.removeFirst()
            kept.byteCount -= oldest.payload.count
            drop(oldest, isTaken: false)
        }
        early[key] = kept
        return mustWait
            && (!hasPlace || kept.messages.count >= Self.earlyMessages / 2
                || kept.byteCount >= Self.earlyBytes / 2)
    }
}

/// One reader of a channel: its mailbox, and what came while that was full.
private final class Reader {
    let mailbox: Mailbox<Message>
    /// Bounded by the windows of the senders, who are told to wait when it begins to fill.
    private var waiting: [Message] = []

    private let onSettled: @Sendable (ReceiptDesk.Key, Bool) -> Void

    init(
        _ mailbox: Mailbox<Message>,
        onSettled: @escaping @Sendable (ReceiptDesk.Key, Bool) -> Void
    ) {
        self.mailbox = mailbox
        self.onSettled = onSettled
    }

    /// Nobody will take what waits.
    func giveUp() {
        for key in waiting.compactMap(\.receiptKey) { onSettled(key, false) }
        waiting = []
    }

    var isFull: Bool { !waiting.isEmpty }

    /// Whether its consumer has taken and asked beyond all; if not, `onSpace` tells when it has.
    func isDrained() -> Bool { mailbox.isDrained() && waiting.isEmpty }

    func deliver(_ messages: [Message]) {
        waiting += messages
        guard !waiting.isEmpty else { return }
        waiting.removeFirst(mailbox.send(contentsOf: waiting))
    }
}

extension Message {
    /// Where a receipt for it goes, if its sender wants one.
    fileprivate var receiptKey: ReceiptDesk.Key? {
        receipt.map { ReceiptDesk.Key(sender: from, number: $0) }
    }
}
