import MeshEngine
import MeshSession
import MeshTransport
public import MeshWire

/// One activity running in a room: participants, messages, values.
///
/// A handle: cheap, sendable, and still safe to use when the session or the room is gone.
public final class Session: Identifiable, Sendable {
    /// The same on every node.
    public let id: SessionID
    /// The node this handle belongs to.
    public let node: Node
    /// The session's shared values.
    public let values: Values

    package init(id: SessionID, node: Node) {
        self.id = id
        self.node = node
        values = Values(session: id, node: node)
    }

    // MARK: Membership

    /// Becomes a participant; answers with oneself.
    ///
    /// Harmless if joined already. Throws `refused` if the session is locked, full or bans this node, `noSession` if it ended.
    @discardableResult
    public func join() async throws(HuddleError) -> Participant {
        try await node.joinSession(id)
    }

    /// Stops being a participant; harmless if not joined.
    public func leave() async throws(HuddleError) {
        try await node.leaveSession(id)
    }

    /// Makes the session be offered to this process once more, after it was left: a new participation, under
    /// a new identifier, begins with the next ``join()``.
    ///
    /// A participation that goes on ends first. Throws `noSession` if the session is over.
    public func rejoin() async throws(HuddleError) {
        try await node.offerAgain(id)
    }

    /// Ends the session for all.
    public func end() async throws(HuddleError) {
        try await node.endSession(id)
    }

    /// This node's own participant, once joined.
    public var localParticipant: Participant? {
        get async { await node.localParticipant(of: id) }
    }

    /// Everybody joined, in the order of their joins; empty once the session has ended.
    public var participants: [Participant] {
        get async { await node.participants(of: id) }
    }

    /// Changes of participants and lead from now on, in the order of the room's log.
    ///
    /// A reader more than 4,096 changes behind loses the oldest; ``participants`` has the whole.
    public func participantChanges() async -> MailboxSequence<ParticipantChange> {
        await node.participantChanges(of: id)
    }

    // MARK: Lead

    /// The participant that leads, a role given by people and inherited after a crash.
    public var lead: Participant? {
        get async { await node.lead(of: id) }
    }

    /// Gives the lead to another participant.
    ///
    /// Throws `refused` unless this node's participant has it and the other is present.
    public func giveLead(to participant: ParticipantID) async throws(HuddleError) {
        _ = try await node.submit(.giveLead(to: participant), session: id)
    }

    /// Takes the lead, in a session whose lead can be switched.
    public func takeLead() async throws(HuddleError) {
        _ = try await node.submit(.takeLead, session: id)
    }

    // MARK: Messages

    /// Sends a message on the reliable lane.
    ///
    /// Waits as `confirm` says; to wait for acceptance is the back-pressure that keeps a fast sender
    /// within what its slowest recipient takes; up to 256 messages or 256 KiB of a node count as accepted in
    /// advance. Cancelling before acceptance gives the message up;
    /// afterwards it ends the wait only.
    ///
    /// - Parameters:
    ///   - payload: The application's bytes, at most 16 MiB.
    ///   - channel: Order holds within one channel; at most 239 bytes of UTF-8.
    ///   - recipients: Who gets it.
    ///   - confirm: What to wait for.
    ///   - deadline: How long it is worth sending; it is not sent later.
    ///   - priority: Its rank among what waits for the same links; order holds within one rank only.
    /// - Throws: `MessengerError`, which names who did not get it.
    public func send(
        _ payload: [UInt8],
        on channel: String = "",
        to recipients: MessageRecipients = .all,
        confirm: Confirmation = .delivered,
        deadline: Duration? = nil,
        priority: MessagePriority = .normal
    ) async throws(MessengerError) {
        var message = outbound(payload, channel, recipients)
        message.expires = deadline
        message.priority = priority.inner
        message.acknowledgeAtOnce = confirm != .accepted
        if confirm == .accepted, node.post(message) { return }
        try await node.send(message, confirm: confirm)
    }

    /// Sends messages on the reliable lane, as if one after the other.
    ///
    /// One call, and one visit of the node's thread for some 256 of them, where calls one by one pay for it each
    /// time. Returns when the last is what `confirm` says. If one fails those behind it may have been sent or not.
    ///
    /// - Parameters:
    ///   - payloads: The application's bytes of each, at most 16 MiB.
    ///   - channel: Order holds within one channel; at most 239 bytes of UTF-8.
    ///   - recipients: Who gets them.
    ///   - confirm: What to wait for.
    ///   - deadline: How long each is worth sending.
    ///   - priority: Their rank among what waits for the same links.
    /// - Throws: `MessengerError` of the first that was not sent or delivered.
    public func send(
        contentsOf payloads: [[UInt8]],
        on channel: String = "",
        to recipients: MessageRecipients = .all,
        confirm: Confirmation = .delivered,
        deadline: Duration? = nil,
        priority: MessagePriority = .normal
    ) async throws(MessengerError) {
        var message = outbound([], channel, recipients)
        message.expires = deadline
        message.priority = priority.inner
        message.acknowledgeAtOnce = confirm != .accepted
        try await node.send(payloads, like: message, confirm: confirm)
    }

    /// Sends a message on the fast lane: at most once, never after a newer one of its `key`.
    ///
    /// Returns when it is handed over; nobody says whether it arrives. With `latest` the last value of
    /// a non-zero `key` also arrives reliably once it stays. Throws `tooLarge` above the fast lane's limit.
    public func sendFast(
        _ payload: [UInt8],
        on channel: String = "",
        key: UInt64 = 0,
        latest: Bool = false,
        to recipients: MessageRecipients = .all
    ) async throws(MessengerError) {
        var message = outbound(payload, channel, recipients)
        message.lane = .fast
        message.key = key
        message.latest = latest
        // Larger ones may be refused, which the sender hears of the node.
        if payload.count <= Limits.datagramFloorBytes, node.post(message) { return }
        try await node.send(message, confirm: .accepted)
    }

    /// Hands a reliable message to its lane, and returns when the windows have room for it.
    ///
    /// What becomes of it is the ``SentMessage``'s to tell; two calls one after the other keep their order.
    package func beginSend(
        _ payload: [UInt8],
        on channel: String,
        to recipients: MessageRecipients
    ) async throws(MessengerError) -> SentMessage {
        var message = outbound(payload, channel, recipients)
        message.acknowledgeAtOnce = true
        return SentMessage(request: try await node.accept(message), node: node)
    }

    /// The messages of a channel from now on; the first reader also gets those that came before.
    ///
    /// Each call is a reader of its own. Of the reliable lane it gets every message; if it is 4 MiB
    /// behind, the senders wait, as they do while a channel has 128 messages or 512 KiB and nobody has
    /// read it yet. Of the fast lane the oldest are dropped beyond 1,024 (256 before the first
    /// reader). Once all its readers have let go, a channel keeps the newest 256 messages, at most
    /// 1 MiB, for the next.
    public func messages(
        on channel: String = "",
        mode: DeliveryMode = .reliable
    ) async -> MailboxSequence<Message> {
        await node.messages(of: id, on: channel, mode)
    }

    private func outbound(
        _ payload: [UInt8],
        _ channel: String,
        _ recipients: MessageRecipients
    ) -> OutboundMessage {
        var message = OutboundMessage(session: id, channel: channel, payload: payload)
        if case .only(let chosen) = recipients { message.recipients = .only(chosen.sorted()) }
        return message
    }
}

/// A reliable message on its way.
package struct SentMessage: Sendable {
    let request: RequestID
    let node: Node

    /// Waits until every recipient has it; throws what went wrong, naming who did not get it.
    ///
    /// `inPart` is called at most once before: when some have it and the others are silent.
    package func outcome(
        inPart: @escaping @Sendable () -> Void
    ) async throws(MessengerError) {
        try await node.outcome(of: request, inPart: inPart)?.check(deadline: nil)
    }
}
