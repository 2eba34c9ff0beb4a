import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

/// What each participant shows under one name, such as a cursor: only the newest of each counts.
///
/// A value replaces the one before it on every way there is: it waits for nothing, is sent at most once
/// in 4 ms a link, and once it stands still for 100 ms it arrives whatever is lost. Who joins later
/// gets what everybody shows. A participant shows at most 256 names.
public struct Latest: Sendable {
    /// What the values are called.
    public let name: String
    let session: SessionID
    let node: Node

    /// The most names of one participant.
    static let names = 256
    /// The most bytes of a name, UTF-8.
    static let nameBytes = 64
    /// The most bytes of a value.
    static let valueBytes = 8192
    /// The channels that carry the values, by name.
    static let prefix = "huddle.latest."

    /// Shows `value` to all others, in place of the one before.
    ///
    /// Returns when it is handed over. Throws `tooLarge` above 8,192 bytes, `badChannel` for a name that is
    /// empty or above 64 bytes, `tooManyValues` for the 257th name, and `sessionInvalidated` unless this
    /// node is a participant.
    public func set(_ value: [UInt8]) async throws(MessengerError) {
        try await node.show(value, name, in: session)
    }

    /// What the others show now, in the order of their joins.
    public var all: [(participant: Participant, value: [UInt8])] {
        get async { await node.shown(name, in: session) }
    }

    /// What the others show, first as it stands, then as it changes.
    ///
    /// Of each participant the newest is the last. A reader more than 1,024 changes behind loses the oldest.
    public func changes() async -> MailboxSequence<LatestChange> {
        await node.shownChanges(name, of: session)
    }
}

/// A participant shows something new, or nothing any more.
public struct LatestChange: Hashable, Sendable {
    /// Who shows it.
    public let participant: Participant
    /// What it shows; `nil` once it is gone.
    public let value: [UInt8]?
}

extension Session {
    /// What each participant shows under `name`, 1 to 64 bytes of UTF-8.
    public func latest(_ name: String) -> Latest {
        Latest(name: name, session: id, node: node)
    }
}

/// What the participants of one session show, as this node knows it; belongs to the node's thread.
final class LatestBoard {
    /// What this node's participant shows.
    private(set) var own: [String: [UInt8]] = [:]
    private var others: [ParticipantID: [String: [UInt8]]] = [:]
    private var readers: [String: [Mailbox<LatestChange>]] = [:]
    /// Values of others that were over a bound.
    private(set) var refused: UInt64 = 0

    private static let changes = 1024

    /// Notes what this node shows; `false` if that is one name too many.
    func show(_ value: [UInt8], _ name: String) -> Bool {
        guard own[name] != nil || own.count < Latest.names else { return false }
        own[name] = value
        return true
    }

    /// Takes a value back that was not sent, unless another one stands in its place.
    func takeBack(_ value: [UInt8], _ name: String, to former: [UInt8]?) {
        if own[name] == value { own[name] = former }
    }

    /// Nothing is shown by this node any more: its participation is over.
    func clear() { own = [:] }

    func value(_ name: String, of participant: ParticipantID) -> [UInt8]? {
        others[participant]?[name]
    }

    func hear(_ value: [UInt8], _ name: String, from participant: Participant) {
        let known = others[participant.participantID] ?? [:]
        guard (1...Latest.nameBytes).contains(name.utf8.count), value.count <= Latest.valueBytes,
            known[name] != nil || known.count < Latest.names
        else {
            refused += 1
            return
        }
        guard known[name] != value else { return }
        others[participant.participantID, default: [:]][name] = value
        tell(LatestChange(participant: participant, value: value), name)
    }

    func gone(_ participant: Participant) {
        guard let values = others.removeValue(forKey: participant.participantID) else { return }
        for name in values.keys.sorted() {
            tell(LatestChange(participant: participant, value: nil), name)
        }
    }

    /// A reader of `name`, which first gets what `present` show.
    func read(_ name: String, _ present: [Participant]) -> MailboxSequence<LatestChange> {
        let mailbox = Mailbox<LatestChange>(.newest(Self.changes))
        for participant in present {
            guard let value = value(name, of: participant.participantID) else { continue }
            mailbox.send(LatestChange(participant: participant, value: value))
        }
        readers[name, default: []].append(mailbox)
        return mailbox.makeSequence()
    }

    func finish() {
        for mailbox in readers.keys.sorted().flatMap({ readers[$0] ?? [] }) { mailbox.finish() }
        readers = [:]
        others = [:]
        own = [:]
    }

    private func tell(_ change: LatestChange, _ name: String) {
        let live = (readers[name] ?? []).filter { !$0.isAbandoned }
        readers[name] = live.isEmpty ? nil : live
        for mailbox in live { mailbox.send(change) }
    }
}

extension Node {
    func show(_ value: [UInt8], _ name: String, in session: SessionID) async throws(MessengerError)
    {
        guard value.count <= Latest.valueBytes else {
            throw .tooLarge(size: value.count, limit: Latest.valueBytes)
        }
        guard (1...Latest.nameBytes).contains(name.utf8.count) else {
            throw .badChannel(limit: Latest.nameBytes)
        }
        guard !isStopped, localParticipant(of: session) != nil else { throw .sessionInvalidated }
        let board = hub(session).latest
        let former = board.own[name]
        // Noted before it is sent, so that who joins between the two is shown it.
        guard board.show(value, name) else { throw .tooManyValues(limit: Latest.names) }
        do throws(MessengerError) {
            let message = latestMessage(value, name, in: session)
            try await accept(message, as: takeRequest(), isConfirmed: false)
        } catch {
            board.takeBack(value, name, to: former)
            throw error
        }
    }

    func shown(
        _ name: String,
        in session: SessionID
    ) -> [(participant: Participant, value: [UInt8])] {
        participants(of: session).compactMap { participant in
            hubs[session]?.latest.value(name, of: participant.participantID).map {
                (participant, $0)
            }
        }
    }

    func shownChanges(_ name: String, of session: SessionID) -> MailboxSequence<LatestChange> {
        hub(session).latest.read(name, participants(of: session))
    }

    /// Takes a message that carries what a participant shows; `false` if it is none.
    func hearLatest(_ message: InboundMessage) -> Bool {
        guard message.lane == .fast, message.channel.hasPrefix(Latest.prefix) else { return false }
        if let sender = engine.room?.session(message.session)?.participant(message.from) {
            let name = String(message.channel.dropFirst(Latest.prefix.count))
            hub(message.session).latest.hear(message.payload, name, from: participant(sender))
        }
        return true
    }

    /// Shows a participant that has come, or come back, what this node's shows.
    ///
    /// If the pair is not up yet this is lost, and made good when it is.
    func showLatest(to newcomer: MeshSession.Participant, in session: SessionID) {
        guard newcomer.process != engine.process, let board = hubs[session]?.latest else { return }
        for name in board.own.keys.sorted() {
            var message = latestMessage(board.own[name] ?? [], name, in: session)
            message.recipients = .only([newcomer.id])
            // Nobody waits for what becomes of it.
            handle(.send(takeRequest(), message))
        }
    }

    /// Shows a node whose pair is up what this node shows in every session that both are in.
    func showLatest(to node: NodeID) {
        for session in engine.room?.sessions ?? [] where hubs[session.id] != nil {
            for participant in session.participants where participant.process.nodeID == node {
                showLatest(to: participant, in: session.id)
            }
        }
    }

    private func latestMessage(
        _ value: [UInt8],
        _ name: String,
        in session: SessionID
    ) -> OutboundMessage {
        var message = OutboundMessage(
            session: session,
            channel: Latest.prefix + name,
            payload: value
        )
        message.lane = .fast
        message.key = 1
        message.latest = true
        return message
    }
}
