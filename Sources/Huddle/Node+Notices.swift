import MeshCrypto
import MeshEngine
import MeshNet
import MeshSession
public import MeshWire

// Notices travel in the shared session, which every node of the room is in, so that the node of
// `huddle up` shows them too (`40-groupactivities.md` §8).

extension Session {
    /// What participants tell everybody that they did, from now on; ends with the session.
    ///
    /// At most five a second of each sender. A reader more than 256 notices behind loses the oldest.
    public var notices: MailboxSequence<Notice> {
        get async { await node.notices(of: id) }
    }

    /// Tells all nodes of the room that a participant did something in this session.
    ///
    /// Returns when the notice is on its way.
    ///
    /// - Parameters:
    ///   - text: What was done, as in "paused the film"; at most 1,024 bytes.
    ///   - participant: Who did it; `nil` for this node's own participant.
    /// - Throws: `MessengerError`: `tooLarge`, or `sessionInvalidated` unless this node is in the session.
    public func notify(
        _ text: String,
        by participant: ParticipantID? = nil
    ) async throws(MessengerError) {
        guard let own = await localParticipant else { throw .sessionInvalidated }
        try await node.post(
            .event(session: id, by: participant ?? own.participantID),
            text
        )
    }
}

extension Room {
    /// Every notice of the room from now on; ends with the node.
    ///
    /// At most five a second of each sender. A reader more than 256 notices behind loses the oldest.
    public func notices() async -> MailboxSequence<Notice> {
        await node.notices(of: nil)
    }

    /// Answers an invitation; whoever sent it is told, and nobody else.
    ///
    /// Does nothing for a notice that is none. Throws ``MessengerError``: an empty `notDelivered` if the sender
    /// is not in the room any more.
    public func answer(
        _ notice: Notice,
        accepting isAccepted: Bool
    ) async throws(MessengerError) {
        guard case .invitation(let id, _) = notice.subject else { return }
        try await node.post(.answer(id, isAccepted: isAccepted), "", to: notice.sender)
    }
}

/// Who listens to notices, and what was left out of them.
struct NoticeBoard {
    var listeners: [(session: SessionID?, mailbox: Mailbox<Notice>)] = []
    var gate = NoticeGate()
    /// Notices that were not shown: too many, or unreadable.
    var dropped = 0

    mutating func show(_ notice: Notice) {
        listeners.removeAll { $0.mailbox.isAbandoned }
        for (session, mailbox) in listeners {
            if let session {
                guard case .event(session: session, by: _) = notice.subject else { continue }
            }
            mailbox.send(notice)
        }
    }

    /// Ends the streams of a session, or all streams.
    mutating func finish(_ session: SessionID?) {
        for listener in listeners where session == nil || listener.session == session {
            listener.mailbox.finish()
        }
        listeners.removeAll { session == nil || $0.session == session }
    }
}

extension Node {
    /// Notices that were not shown, since their senders sent too many or they could not be read.
    package var droppedNotices: Int { board.dropped }

    /// Notices about one session, or all of the room's.
    package func notices(of session: SessionID?) -> MailboxSequence<Notice> {
        let mailbox = Mailbox<Notice>(.newest(256))
        let isOver = session.map { engine.room?.session($0) == nil } ?? false
        if isStopped || isOver {
            mailbox.finish()
        } else {
            board.listeners.append((session, mailbox))
        }
        return mailbox.makeSequence()
    }

    /// Sends a notice to every node of the room, or to one.
    package func post(
        _ subject: Notice.Subject,
        _ text: String,
        to node: NodeID? = nil
    ) async throws(MessengerError) {
        guard text.utf8.count <= Notice.textLimit else {
            throw .tooLarge(size: text.utf8.count, limit: Notice.textLimit)
        }
        let shared: Session
        do {
            shared = try await standingSession(Self.sharedSessionName)
        } catch {
            throw .sessionInvalidated
        }
        var recipients = MessageRecipients.all
        if let node {
            let chosen = participants(of: shared.id).filter { $0.node == node }
            // Whoever has left cannot be named as a participant any more.
            guard !chosen.isEmpty else { throw .notDelivered([:]) }
            recipients = .only(Set(chosen.map(\.participantID)))
        }
        // Who is out of reach for so long has no use for it any more.
        try await shared.send(
            NoticeBody(subject: subject, text: text).bytes,
            on: NoticeBody.channel,
            to: recipients,
            confirm: .accepted,
            deadline: .seconds(10)
        )
    }

    /// Whether a message is a notice; if so, it is shown.
    func isNotice(_ message: InboundMessage) -> Bool {
        guard message.channel == NoticeBody.channel,
            message.session == SessionID(standing: Self.sharedSessionName)
        else { return false }
        guard
            let sender = participants(of: message.session)
                .first(where: { $0.participantID == message.from }),
            let body = try? NoticeBody(message.payload),
            board.gate.admits(sender.node, at: loop.turnInstant)
        else {
            board.dropped += 1
            return true
        }
        let who = doer(body.subject, sender)
        board.show(Notice(sender: sender.node, who: who, subject: body.subject, text: body.text))
        return true
    }

    /// Who did it; where that is somebody else than the sender, both are named.
    private func doer(_ subject: Notice.Subject, _ sender: Participant) -> String {
        let name = named(sender)
        guard case .event(let session, let participant) = subject,
            let doer = participants(of: session).first(where: { $0.participantID == participant }),
            doer.node != sender.node
        else { return name }
        return "\(named(doer)) (says \(name))"
    }

    private func named(_ participant: Participant) -> String {
        participant.name.isEmpty ? participant.node.shortFingerprint : participant.name
    }
}
