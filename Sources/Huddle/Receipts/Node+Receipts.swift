import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

// Receipts of messages that readers have taken (`40-groupactivities.md` §9.1).

extension Node {
    /// Sends a message and waits until a reader of each recipient has taken it.
    func sendProcessed(_ message: OutboundMessage) async throws(MessengerError) {
        let start = instant
        let request = takeRequest()
        let desk = hub(message.session).receipts
        let receipts = desk.await(request)
        defer { desk.forget(request) }
        var message = message
        message.receipt = request
        try await accept(message, as: request, isConfirmed: true)
        guard let report = await outcome(of: request) else { return }
        try report.check(deadline: message.expires)
        let limit = message.expires.map { start + $0 - instant }
        switch await outcome(of: receipts, request, Set(report.delivered), limit, message.session) {
        case .all(let outcomes):
            let failures = outcomes.compactMapValues(\.failure)
            guard failures.isEmpty else { throw .notDelivered(failures) }
        case .late(let missing): throw .deadlineExceeded(undelivered: missing)
        case .cancelled: return
        case .over: throw .sessionInvalidated
        }
    }

    private func outcome(
        of receipts: AwaitedReceipts,
        _ request: RequestID,
        _ recipients: Set<ParticipantID>,
        _ limit: Duration?,
        _ session: SessionID
    ) async -> AwaitedReceipts.End {
        // Who left before the message was known to have arrived is not told again.
        let present = Set(engine.room?.session(session)?.participants.map(\.id) ?? [])
        for gone in recipients.subtracting(present).sorted() { receipts.receive(.left, from: gone) }
        let alarm = limit.map { limit in
            Task { [weak self] in
                await self?.sleep(for: limit)
                await self?.expire(request, in: session)
            }
        }
        defer { alarm?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { receipts.wait(for: recipients, $0) }
        } onCancel: {
            Task { await self.cancel(request, in: session) }
        }
    }

    private func expire(_ request: RequestID, in session: SessionID) {
        hubs[session]?.receipts.expire(request)
    }

    private func cancel(_ request: RequestID, in session: SessionID) {
        hubs[session]?.receipts.cancel(request)
    }

    /// Takes a message that carries a receipt; `false` if it is none.
    func hearReceipt(_ message: InboundMessage) -> Bool {
        guard message.lane == .reliable, message.channel == Receipt.channel else { return false }
        if let receipt = try? Receipt(decoding: message.payload) {
            hubs[message.session]?.receipts.receive(receipt, from: message.from)
        }
        return true
    }

    /// A reader took a message, or never will; its sender hears of it once all are through.
    func settled(_ key: ReceiptDesk.Key, isTaken: Bool, in session: SessionID) {
        guard let isTaken = hubs[session]?.receipts.settle(key, isTaken: isTaken) else { return }
        tell(Receipt(number: key.number, isTaken: isTaken), to: key.sender, in: session)
    }

    /// Tells the senders of messages that no reader gets.
    func tellDropped(in session: SessionID) {
        for (key, isTaken) in hubs[session]?.receipts.takeDropped() ?? [] {
            tell(Receipt(number: key.number, isTaken: isTaken), to: key.sender, in: session)
        }
    }

    /// Tells a message's sender what became of it, if it wants to know.
    func acknowledge(_ message: InboundMessage, isTaken: Bool) {
        guard let number = message.receipt else { return }
        tell(Receipt(number: number, isTaken: isTaken), to: message.from, in: message.session)
    }

    private func tell(_ receipt: Receipt, to sender: ParticipantID, in session: SessionID) {
        guard !isStopped else { return }
        var message = OutboundMessage(
            session: session,
            channel: Receipt.channel,
            payload: receipt.encoded
        )
        message.priority = .high
        message.recipients = .only([sender])
        handle(.send(takeRequest(), message))
    }
}

extension AwaitedReceipts.Outcome {
    fileprivate var failure: DeliveryFailure? {
        switch self {
        case .taken: nil
        case .unread: .unread
        case .left: .left
        }
    }
}
