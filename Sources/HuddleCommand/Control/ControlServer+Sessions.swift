import Huddle
import MeshNet
import MeshWire

/// A channel of a session that the server collects for whoever asks.
struct ReaderKey: Hashable, Sendable {
    var session: SessionID
    var channel: String
    var mode: DeliveryMode
}

/// The messages of one channel, the newest 8,192 of them.
final class MessageCollector {
    struct Entry {
        var from: ParticipantID
        var text: String
        var byteCount: Int
        var received: Instant
    }

    private(set) var entries: [Entry] = []
    private(set) var dropped = 0

    func add(_ entry: Entry) {
        entries.append(entry)
        guard entries.count > 8192 else { return }
        entries.removeFirst(1024)
        dropped += 1024
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
        guard readers[key] == nil else { return [] }
        guard readers.count < 64 else {
            throw ControlFailure("tooMany", "64 channels are collected already")
        }
        let collector = MessageCollector()
        readers[key] = collector
        let session = Session(id: key.session, node: node)
        let messages = await session.messages(on: key.channel, mode: key.mode)
        watches.append(Task { await self.collect(messages, key) })
        return []
    }

    private func collect(_ messages: MailboxSequence<Message>, _ key: ReaderKey) async {
        for await message in messages {
            readers[key]?.add(
                MessageCollector.Entry(
                    from: message.from,
                    text: String(decoding: message.payload.prefix(256), as: UTF8.self),
                    byteCount: message.payload.count,
                    received: SystemClock.now()
                )
            )
        }
    }

    func listMessages(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let key = try await readerKey(request)
        let entries = readers[key]?.entries ?? []
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
            JSON.Member("dropped", .count(readers[key]?.dropped ?? 0)),
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
            JSON.Member("participant", own.map { .string(hexadecimal($0.id.bytes)) } ?? .null),
        ]
    }
}
