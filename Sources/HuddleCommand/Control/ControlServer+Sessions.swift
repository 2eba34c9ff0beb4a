import Huddle
import MeshNet
import MeshWire

/// A channel of a session whose messages a connection collects.
struct ReaderKey: Hashable, Sendable {
    var session: SessionID
    var channel: String
    var mode: DeliveryMode
}

/// The newest messages of one channel, at most 4,096 of them and 256 bytes of each.
///
/// It belongs to the connection that opened it and ends with that, or with the session.
final class MessageCollector {
    struct Entry {
        var from: ParticipantID
        var text: String
        var byteCount: Int
        var received: Instant
    }

    /// Channels that a node collects at a time, for all connections together: 64 MiB at the most.
    static let countMaximum = 64
    static let entriesMaximum = 4096
    static let textBytes = 256

    private(set) var entries: [Entry] = []
    private(set) var dropped = 0
    /// What fills it.
    var task: Task<Void, Never>?

    func add(_ entry: Entry) {
        entries.append(entry)
        guard entries.count > Self.entriesMaximum else { return }
        entries.removeFirst(Self.entriesMaximum / 8)
        dropped += Self.entriesMaximum / 8
    }
}

extension ControlServer {
    func startSession(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        do {
            let session = try await room.start(try request.text("activity"))
            return await describe(session)
        } catch let error as HuddleError {
            throw ControlFailure(error)
        } catch let error as ControlFailure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    func joinSession(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let session = try await session(request)
        do {
            try await session.join()
        } catch {
            throw ControlFailure(error)
        }
        return await describe(session)
    }

    func leaveSession(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let session = try await session(request)
        do {
            try await session.leave()
        } catch {
            throw ControlFailure(error)
        }
        return []
    }

    func endSession(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let session = try await session(request)
        do {
            try await session.end()
        } catch {
            throw ControlFailure(error)
        }
        return []
    }

    // MARK: Messages

    func openMessages(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let key = try await readerKey(request)
        // Who has gone needs no messages.
        guard let connection = connection(request.connection), connection.readers[key] == nil
        else { return [] }
        guard collectorCount < MessageCollector.countMaximum else {
            throw ControlFailure(
                "tooMany",
                "\(MessageCollector.countMaximum) channels are collected already",
                hint: "a channel is collected until the connection that opened it closes"
            )
        }
        let collector = MessageCollector()
        connection.readers[key] = collector
        let session = Session(id: key.session, node: node)
        let messages = await session.messages(on: key.channel, mode: key.mode)
        collector.task = Task { await self.collect(messages, key, request.connection) }
        // Closed while we waited: then nobody else cancels it.
        if self.connection(request.connection) == nil { collector.task?.cancel() }
        return []
    }

    private func collect(
        _ messages: MailboxSequence<Message>,
        _ key: ReaderKey,
        _ id: Int
    ) async {
        for await message in messages {
            let head = message.payload.prefix(MessageCollector.textBytes)
            connection(id)?.readers[key]?.add(
                MessageCollector.Entry(
                    from: message.from,
                    text: String(decoding: head, as: UTF8.self),
                    byteCount: message.payload.count,
                    received: SystemClock.now()
                )
            )
        }
        // The session is over, or this node is not in the room any more.
        connection(id)?.readers[key] = nil
    }

    func listMessages(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let key = try await readerKey(request)
        guard let reader = connection(request.connection)?.readers[key] else {
            throw ControlFailure(
                "notOpen",
                "this connection does not collect that channel",
                hint: "'messages.open' begins it"
            )
        }
        let entries = reader.entries
        let list = entries.suffix(512).map { entry -> JSON in
            [
                "from": .string(hexadecimal(entry.from.bytes)),
                "text": .string(entry.text),
                "bytes": .count(entry.byteCount),
                "at": .integer(entry.received.nanoseconds),
            ]
        }
        return [
            JSON.Member("messages", .array(list)),
            JSON.Member("count", .count(entries.count)),
            JSON.Member("dropped", .count(reader.dropped)),
        ]
    }

    func sendMessage(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let session = try await session(request)
        let channel = try request.optionalText("channel") ?? ""
        var payload = Array(try request.text("text").utf8)
        // For experiments: a message of this many bytes, the text in front.
        if let size = request.json["bytes"]?.whole {
            guard (0...64 << 20).contains(size) else {
                throw ControlFailure("tooLarge", "'bytes' goes up to 64 MiB", exit: 2)
            }
            payload += Array(repeating: 0x2e, count: max(0, Int(size) - payload.count))
        }
        do {
            if request.json["lane"]?.text == "fast" {
                let key = UInt64(clamping: request.json["key"]?.whole ?? 0)
                let latest = try request.flag("latest")
                try await session.sendFast(payload, on: channel, key: key, latest: latest)
            } else {
                try await session.send(payload, on: channel)
            }
        } catch let error as MessengerError {
            throw ControlFailure(error)
        } catch let error as ControlFailure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
        return []
    }

    // MARK: Which session

    func requireRoom() async throws(ControlFailure) -> Room {
        guard let room = await node.room else { throw ControlFailure(HuddleError.noRoom) }
        return room
    }

    /// The session that a request names: by identifier, or by activity where there is one of it.
    func session(_ request: ControlRequest) async throws(ControlFailure) -> Session {
        let room = try await requireRoom()
        let name = try request.text("session")
        let sessions = await room.sessions
        for session in sessions where hexadecimal(session.id.bytes) == name { return session }
        for session in sessions {
            let activity = await node.activity(of: session.id)
            if activity == name || activity == "huddle.\(name)" { return session }
        }
        throw ControlFailure(
            "noSession",
            "there is no session '\(name)'",
            hint: "'huddle status' lists the sessions"
        )
    }

    private func readerKey(_ request: ControlRequest) async throws(ControlFailure) -> ReaderKey {
        let isFast = request.json["lane"]?.text == "fast"
        return ReaderKey(
            session: try await session(request).id,
            channel: try request.optionalText("channel") ?? "",
            mode: isFast ? .unreliable : .reliable
        )
    }

    private func describe(_ session: Session) async -> [JSON.Member] {
        let own = await session.localParticipant
        return [
            JSON.Member("session", .string(hexadecimal(session.id.bytes))),
            JSON.Member(
                "participant",
                own.map { .string(hexadecimal($0.participantID.bytes)) } ?? .null
            ),
        ]
    }
}
