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

    private var readers: [ChannelKey: [Mailbox<Message>]] = [:]
    private var early: [ChannelKey: Early] = [:]
    private var participantReaders: [Mailbox<ParticipantChange>] = []
    private var valueReaders: [Mailbox<ValueChange>] = []

    /// Messages of a channel nobody reads yet that are kept (`40-groupactivities.md` D13).
    private static let earlyMessages = 256
    private static let earlyBytes = 1 << 20
    /// Channels nobody reads yet.
    private static let earlyChannels = 64
    /// Bytes a reader of the reliable lane may be behind before its sequence ends.
    private static let reliableBytes = 64 << 20
    /// Messages a reader of the fast lane may be behind before the oldest are dropped.
    private static let fastMessages = 1024
    /// Changes a reader may be behind before the oldest are dropped.
    private static let changes = 4096

    /// A new reader of a channel; the first one also gets what came before it.
    func read(_ channel: String, _ mode: DeliveryMode) -> MailboxSequence<Message> {
        let key = ChannelKey(name: channel, mode: mode)
        let mailbox: Mailbox<Message> =
            switch mode {
            case .reliable: Mailbox(.bounded(Self.reliableBytes), cost: { $0.payload.count + 128 })
            case .unreliable: Mailbox(.newest(Self.fastMessages))
            }
        readers[key, default: []].append(mailbox)
        if let early = early.removeValue(forKey: key) { mailbox.send(contentsOf: early.messages) }
        return mailbox.makeSequence()
    }

    func readParticipants() -> MailboxSequence<ParticipantChange> {
        let mailbox = Mailbox<ParticipantChange>(.newest(Self.changes))
        participantReaders.append(mailbox)
        return mailbox.makeSequence()
    }

    func readValues() -> MailboxSequence<ValueChange> {
        let mailbox = Mailbox<ValueChange>(.newest(Self.changes))
        valueReaders.append(mailbox)
        return mailbox.makeSequence()
    }

    func deliver(_ message: Message) {
        let key = ChannelKey(name: message.channel, mode: message.mode)
        guard var mailboxes = readers[key] else { return keep(message, key) }
        mailboxes.removeAll { mailbox in
            if mailbox.isAbandoned { return true }
            // A full mailbox ends: a gap in the reliable lane would be worse than an end.
            guard mailbox.send(message) else {
                mailbox.finish()
                return true
            }
            return false
        }
        readers[key] = mailboxes.isEmpty ? nil : mailboxes
    }

    func deliver(_ change: ParticipantChange) {
        participantReaders.removeAll { $0.isAbandoned }
        for mailbox in participantReaders { mailbox.send(change) }
    }

    func deliver(_ change: ValueChange) {
        valueReaders.removeAll { $0.isAbandoned }
        for mailbox in valueReaders { mailbox.send(change) }
    }

    func finish() {
        for mailboxes in readers.values {
            for mailbox in mailboxes { mailbox.finish() }
        }
        for mailbox in participantReaders { mailbox.finish() }
        for mailbox in valueReaders { mailbox.finish() }
        readers = [:]
        participantReaders = []
        valueReaders = []
    }

    private func keep(_ message: Message, _ key: ChannelKey) {
        guard early[key] != nil || early.count < Self.earlyChannels else { return }
        var kept = early.removeValue(forKey: key) ?? Early()
        kept.messages.append(message)
        kept.byteCount += message.payload.count
        while kept.messages.count > Self.earlyMessages
            || kept.byteCount > Self.earlyBytes && kept.messages.count > 1
        {
            kept.byteCount -= kept.messages.removeFirst().payload.count
        }
        early[key] = kept
    }
}
