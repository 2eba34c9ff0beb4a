import Glibc
import Huddle
import MeshCrypto
import MeshEngine
import MeshFaults
import MeshNet
import MeshWire

extension ControlServer {
    /// Does what a request asks and answers with the members of the answer.
    func perform(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        switch request.op {
        case "status": await status()
        case "peers": await peers()
        case "down": down()
        case "subscribe": try await subscribe(request)
        case "room.create": try await createRoom(request)
        case "room.join": try await joinRoom(request)
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

    // MARK: Node

    private func status() async -> [JSON.Member] {
        let status = await node.status
        let now = SystemClock.now()
        var members: [JSON.Member] = [
            JSON.Member(
                "node",
                [
                    "name": .string(node.configuration.displayName),
                    "fingerprint": .string(node.id.fingerprint),
                    "port": .count(node.port),
                    "pid": .count(getpid()),
                    "version": .string(Usage.version),
                    "uptime": .count((now - started).components.seconds),
                ]
            ),
            JSON.Member("room", await room(status)),
            JSON.Member("sessions", .array(await sessions())),
            JSON.Member(
                "invites",
                .array(await node.openSlots.map { .string($0 < 10 ? "0\($0)" : "\($0)") })
            ),
        ]
        if await node.faults.isImpaired {
            members.append(JSON.Member("faults", .object(await listFaults())))
        }
        if let failure = await node.storeFailure {
            members.append(JSON.Member("storeFailure", .string(failure)))
        }
        return members
    }

    private func room(_ status: EngineStatus) async -> JSON {
        let phase =
            switch status.phase {
            case .none: "none"
            case .connecting: "connecting"
            case .joined: "joined"
            case .left: "left"
            }
        guard let room = await node.room else {
            guard status.phase == .connecting else { return .null }
            return ["phase": .string(phase), "name": .string(await node.nameOfRoom)]
        }
        let view = await room.view
        let members = await room.members.map { member -> JSON in
            [
                "name": .string(shown(member.name, member.node)),
                "fingerprint": .string(member.node.fingerprint),
                "isPresent": .bool(member.isPresent),
                "isLeader": .bool(member.isLeader),
                "isLocal": .bool(member.isLocal),
            ]
        }
        let leader = view?.leader
        return .record([
            "name": .string(room.name),
            "phase": .string(phase),
            "epoch": view.map { .string($0.epoch.description) },
            "leader": leader.map { .string($0.fingerprint) } ?? .null,
            "isPrimary": view.map { .bool($0.isPrimary) },
            "isUsable": view.map { .bool($0.isUsable) },
            "viewSize": view.map { .count($0.members.count) },
            "applied": status.applied.map { .string($0.description) },
            "state": await node.stateDigest.map { .string(hexadecimal($0.bytes)) },
            "members": .array(members),
        ])
    }

    private func sessions() async -> [JSON] {
        guard let room = await node.room else { return [] }
        var list: [JSON] = []
        for session in await room.sessions {
            let participants = await session.participants.map { participant -> JSON in
                [
                    "id": .string(hexadecimal(participant.id.bytes)),
                    "name": .string(shown(participant.name, participant.node)),
                    "number": .count(participant.number),
                    "isPresent": .bool(participant.isPresent),
                ]
            }
            let lead = await session.lead
            list.append(
                .record([
                    "id": .string(hexadecimal(session.id.bytes)),
                    "activity": .string(await node.activity(of: session.id) ?? ""),
                    "lead": lead.map { .string(shown($0.name, $0.node)) } ?? .null,
                    "participants": .array(participants),
                ])
            )
        }
        return list
    }

    private func peers() async -> [JSON.Member] {
        let status = await node.status
        let now = SystemClock.now()
        let others = await node.members.filter { !$0.isLocal }
        let peers = others.map { member -> JSON in
            let link = status.links.first { $0.process.nodeID == member.node }
            let address: JSON = link.map { .string($0.address.description) } ?? .null
            let silence: JSON? = link?.lastHeard.map { .milliseconds(now - $0) }
            let record: JSON = .record([
                "name": .string(shown(member.name, member.node)),
                "fingerprint": .string(member.node.fingerprint),
                "isLeader": .bool(member.isLeader),
                "isPresent": .bool(member.isPresent),
                "state": .string(link == nil ? "unreachable" : "connected"),
                "address": address,
                "silentMilliseconds": silence,
            ])
            return record.merging(figures(link))
        }
        return [JSON.Member("peers", .array(peers))]
    }

    private func down() -> [JSON.Member] {
        onDown()
        return [JSON.Member("pid", .count(getpid()))]
    }

    // MARK: Room

    private func createRoom(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member]
    {
        let name = try request.text("name")
        do {
            let room = try await node.createRoom(named: name)
            return [JSON.Member("room", .string(room.name))]
        } catch {
            throw ControlFailure(error)
        }
    }

    private func joinRoom(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let text = try request.text("target")
        var near: SocketAddress?
        if let address = try request.optionalText("at") {
            near = SocketAddress(address)
            guard near != nil else {
                throw ControlFailure(
                    "mistyped",
                    "'\(address)' is no address: it looks like 192.168.1.20:41002 or [fe80::1%2]:41002",
                    exit: 2
                )
            }
        }
        do throws(JoinError) {
            let invitation = try Invitation(text, near: near)
            let unused = await leaveUnusedRoom()
            let room: Room
            do throws(JoinError) {
                room = try await node.join(invitation)
            } catch {
                // As after 'up': the room that was left held nothing and nobody.
                if let unused {
                    unusedRoom = try? await node.createRoom(named: unused).name
                }
                throw error
            }
            var names: [JSON] = []
            for member in await room.members where !member.isLocal {
                names.append(.string(shown(member.name, member.node)))
            }
            return [
                JSON.Member("room", .string(room.name)), JSON.Member("members", .array(names)),
            ]
        } catch {
            throw ControlFailure(error)
        }
    }

    /// Leaves the room that `huddle up` just made and nobody used, so that a guest need not; its name.
    ///
    /// A room that was resumed, that somebody entered or was invited to, or that holds a value, is
    /// never left unasked.
    private func leaveUnusedRoom() async -> String? {
        guard let made = unusedRoom, let room = await node.room, room.name == made,
            await room.view?.epoch.counter == 1, await node.status.openInvites == 0
        else { return nil }
        for session in await room.sessions where await !session.values.all.isEmpty { return nil }
        // A failure to leave shows at once, as `alreadyInRoom`.
        guard (try? await room.leave()) != nil else { return nil }
        unusedRoom = nil
        return made
    }

    private func leaveRoom() async throws(ControlFailure) -> [JSON.Member] {
        guard let room = await node.room else { throw ControlFailure(HuddleError.noRoom) }
        do {
            try await room.leave()
        } catch {
            throw ControlFailure(error)
        }
        return [JSON.Member("room", .string(room.name))]
    }

    private func openInvite() async throws(ControlFailure) -> [JSON.Member] {
        guard let room = await node.room else { throw ControlFailure(HuddleError.noRoom) }
        do {
            let invite = try await room.invite()
            return [
                JSON.Member("code", .string(invite.code)),
                JSON.Member("link", .string(invite.link)),
                JSON.Member("slot", .count(invite.slot)),
                JSON.Member("secondsLeft", .count(invite.lifetime.components.seconds)),
            ]
        } catch {
            throw ControlFailure(error)
        }
    }

    private func closeInvites() async -> [JSON.Member] {
        await node.closeInvites()
        return []
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

    private nonisolated func figures(_ link: LinkStatus?) -> [JSON.Member] {
        guard let transport = link?.transport else { return [] }
        return JSON.figures(transport)
    }
}

extension ControlFailure {
    /// The failure in the words of the control socket.
    init(_ error: HuddleError) {
        let exit: Int32 = error.kind == .timedOut ? 4 : 1
        self.init(error.kind.code, error.description, hint: error.hint, exit: exit)
    }

    init(_ error: JoinError) {
        self.init(error.code, error.description, hint: error.hint, exit: error.exitCode)
    }

    init(_ error: MessengerError) {
        let code =
            switch error {
            case .tooLarge: "tooLarge"
            case .badChannel: "badChannel"
            case .sessionInvalidated: "notJoined"
            case .notDelivered: "notDelivered"
            case .deadlineExceeded: "deadlineExceeded"
            case .cancelled: "cancelled"
            }
        self.init(code, error.description)
    }

    init(_ error: ValueError) {
        switch error {
        case .failed(let inner): self.init(inner)
        case .conflict(let current):
            self.init(
                "conflict",
                error.description,
                hint: "read it again and decide: 'huddle values get KEY'",
                details: ["current": current.map { .string($0.description) } ?? .null]
            )
        case .tooLarge: self.init("tooLarge", error.description)
        case .full: self.init("full", error.description)
        case .wrongKind: self.init("wrongKind", error.description)
        }
    }
}

extension JSON {
    /// The object with further members behind its own.
    func merging(_ more: [JSON.Member]) -> JSON {
        .object((members ?? []) + more)
    }
}
