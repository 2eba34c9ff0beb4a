import Huddle
import MeshWire

// What a merge could not join, for `huddle values conflicts`.
extension ControlServer {
    func listConflicts(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        var list: [JSON] = []
        for conflict in try await conflicts(request, room) {
            list.append(.object(await describe(conflict)))
        }
        return [
            JSON.Member("conflicts", .array(list)),
            JSON.Member("unlisted", .count(await room.unlistedConflicts)),
        ]
    }

    func acknowledgeConflict(
        _ request: ControlRequest
    ) async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        let key = try request.optionalText("key") ?? ""
        let about = try request.optionalText("about") ?? "value"
        guard let subject = Conflict.Subject.allCases.first(where: { word($0) == about }) else {
            throw ControlFailure("request", "'\(about)' is no subject of a conflict", exit: 2)
        }
        let meant = try await conflicts(request, room).filter {
            // Bytes, as the room compares them: equal text may be two keys.
            $0.subject == subject && $0.key.utf8.elementsEqual(key.utf8)
        }
        guard let conflict = meant.first else {
            throw ControlFailure(
                "noConflict",
                subject == .value
                    ? "there is no conflict about '\(key)', or it is settled already"
                    : "there is no conflict about a session's \(about), or it is settled already",
                hint: "'huddle values conflicts' lists them"
            )
        }
        guard meant.count == 1 else {
            throw ControlFailure(
                "ambiguous",
                "\(meant.count) sessions have such a conflict",
                hint: "--session says which one is meant"
            )
        }
        do {
            try await room.acknowledge(conflict)
        } catch {
            throw ControlFailure(error)
        }
        return describe(conflict.session, conflict.subject, conflict.key)
    }

    /// The room's conflicts, or those of the session that the request names, which may be gone.
    private func conflicts(
        _ request: ControlRequest,
        _ room: Room
    ) async throws(ControlFailure) -> [Conflict] {
        if try !request.flag("local") {
            do {
                try await node.catchUp()
            } catch {
                throw ControlFailure(error)
            }
        }
        let all = await room.conflicts
        guard let name = try request.optionalText("session") else { return all }
        let named = all.filter { hexadecimal($0.session.bytes) == name }
        guard named.isEmpty else { return named }
        let session = name == "room" ? room.shared : try await session(request)
        return all.filter { $0.session == session.id }
    }

    // MARK: Words

    func describe(_ conflict: Conflict) async -> [JSON.Member] {
        var members = describe(conflict.session, conflict.subject, conflict.key)
        let activity = await node.activity(of: conflict.session)
        members.append(JSON.Member("activity", activity.map(JSON.string) ?? .null))
        members.append(JSON.Member("base", .object(describe(conflict.base))))
        members.append(JSON.Member("kept", await describe(conflict.kept, conflict.session)))
        var lost: [JSON] = []
        for side in conflict.lost { lost.append(await describe(side, conflict.session)) }
        members.append(JSON.Member("lost", .array(lost)))
        return members
    }

    nonisolated func describe(
        _ session: SessionID,
        _ subject: Conflict.Subject,
        _ key: String
    ) -> [JSON.Member] {
        [
            JSON.Member("session", .string(hexadecimal(session.bytes))),
            JSON.Member("about", .string(word(subject))),
            JSON.Member("key", .string(key)),
        ]
    }

    nonisolated func describe(_ summary: MergeSummary) -> [JSON.Member] {
        [
            JSON.Member("applied", .count(summary.applied)),
            JSON.Member("joined", .count(summary.joined)),
            JSON.Member("superseded", .count(summary.superseded)),
            JSON.Member("conflicting", .count(summary.conflicting)),
            JSON.Member("duplicate", .count(summary.duplicate)),
            JSON.Member("isComplete", .bool(summary.isComplete)),
        ]
    }

    /// One side: its value, and who wrote it as far as that is known.
    private func describe(_ side: Conflict.Side, _ session: SessionID) async -> JSON {
        let participants = await Session(id: session, node: node).participants
        let author = side.author.map { author -> JSON in
            if let found = participants.first(where: { $0.participantID == author }) {
                return .string(shown(found.name, found.node))
            }
            // It is gone: its identifier is what is left of it.
            return .string(String(hexadecimal(author.bytes).prefix(8)))
        }
        let rest: [JSON.Member] = [
            JSON.Member("author", author ?? .null),
            JSON.Member("participant", side.author.map { .string(hexadecimal($0.bytes)) } ?? .null),
            JSON.Member("revision", side.revision.map { .string($0.description) } ?? .null),
        ]
        return .object(describe(side.content) + rest)
    }

    /// Text as text, other bytes in hexadecimal and marked, a counter as a number, a set as a list.
    private nonisolated func describe(_ content: Conflict.Content?) -> [JSON.Member] {
        let hex = JSON.Member("encoding", "hex")
        func text(_ bytes: [UInt8]) -> String? { String(validating: bytes, as: UTF8.self) }
        switch content {
        case .bytes(let bytes)?:
            if let text = text(bytes) { return [JSON.Member("value", .string(text))] }
            return [JSON.Member("value", .string(hexadecimal(bytes))), hex]
        case .counter(let sum)?: return [JSON.Member("value", .integer(sum))]
        case .set(let elements)?:
            let texts = elements.compactMap(text)
            if texts.count == elements.count {
                return [JSON.Member("value", .array(texts.map(JSON.string)))]
            }
            let encoded = elements.map { JSON.string(hexadecimal($0)) }
            return [JSON.Member("value", .array(encoded)), hex]
        case nil: return [JSON.Member("value", .null)]
        }
    }

    private nonisolated func word(_ subject: Conflict.Subject) -> String {
        switch subject {
        case .value: "value"
        case .activity: "activity"
        case .ending: "ending"
        case .session: "session"
        }
    }
}
