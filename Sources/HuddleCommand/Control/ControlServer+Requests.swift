import Glibc
import Huddle
import MeshCrypto
import MeshWire

extension ControlServer {
    /// Does what a request asks and answers with the members of the answer.
    func perform(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        switch request.op {
        case "status": await status()
        case "peers": await peers()
        case "down": await down()
        case "subscribe": try await subscribe(request)
        case "room.create": try await createRoom(request)
        case "room.join": try await joinRoom(request)
        case "room.adopt": try await adoptPrimary()
        case "room.leave": try await leaveRoom()
        case "invite.open": try await openInvite()
        case "invite.close": await closeInvites()
        case "fault.set": try await setFault(request)
        case "fault.clear": try await clearFaults(request)
        case "fault.list": await listFaults()
        case "keys.verify": try await verify(request)
        case "chat.send": try await sendChat(request)
        case "values.get": try await getValue(request)
        case "values.list": try await listValues(request)
        case "values.set": try await setValue(request)
        case "values.delete": try await deleteValue(request)
        case "values.conflicts": try await listConflicts(request)
        case "values.acknowledge": try await acknowledgeConflict(request)
        case "sessions": await listSessions()
        case "notices.list": listNotices()
        case "notices.answer": try await answerNotice(request)
        case "activity.start": try await startActivity(request)
        case "session.start": try await startSession(request)
        case "session.join": try await joinSession(request)
        case "session.leave": try await leaveSession(request)
        case "session.end": try await endSession(request)
        case "messages.open": try await openMessages(request)
        case "messages.list": try await listMessages(request)
        case "message.send": try await sendMessage(request)
        default:
            throw ControlFailure(
                "request",
                request.op.isEmpty ? "a request names its 'op'" : "there is no op '\(request.op)'",
                exit: 2
            )
        }
    }

    private func down() async -> [JSON.Member] {
        // The room that the next 'up' goes back to, which need not be one that this node is in.
        let room = await node.roomToResume()
        onDown()
        return [
            JSON.Member("pid", .count(getpid())),
            JSON.Member("resumes", room.map(JSON.string) ?? .null),
        ]
    }

    private func verify(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let text = try request.text("fingerprint")
        guard let wanted = NodeID(fingerprint: text) else {
            throw ControlFailure(
                "mistyped",
                "that is no full fingerprint: it has 52 symbols",
                hint: "'huddle keys' on the other machine shows it",
                exit: 2
            )
        }
        let found = await node.members.first { $0.node == wanted }
        guard let found else {
            throw ControlFailure(
                "noMatch",
                "no member of this room has that fingerprint",
                hint: "'huddle status --json' lists the members' fingerprints"
            )
        }
        return [
            JSON.Member("name", .string(shown(found.name, found.node))),
            JSON.Member("isLocal", .bool(found.isLocal)),
        ]
    }

    /// A node's name, or the beginning of its fingerprint where it shows none.
    nonisolated func shown(_ name: String, _ node: NodeID) -> String {
        name.isEmpty ? node.shortFingerprint : name
    }
}

extension JSON {
    /// The object with further members behind its own.
    func merging(_ more: [JSON.Member]) -> JSON {
        .object((members ?? []) + more)
    }
}
