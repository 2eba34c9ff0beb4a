import Huddle
import MeshEngine
import MeshWire

// Into a room, its invitations, and out of it.
extension ControlServer {
    func createRoom(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let name = try request.text("name")
        do {
            let room = try await node.createRoom(named: name)
            return [JSON.Member("room", .string(room.name))]
        } catch {
            throw ControlFailure(error)
        }
    }

    func joinRoom(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
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
                // As after 'up': the room that was left held nothing and nobody. Who stopped the
                // attempt by 'huddle leave' wants no room at all.
                if let unused, error != .cancelled {
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

    func adoptPrimary() async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        let wasPrimary = await room.view?.isPrimary ?? false
        do {
            try await room.adoptPrimary()
        } catch {
            throw ControlFailure(error)
        }
        return [JSON.Member("wasPrimary", .bool(wasPrimary))]
    }

    func leaveRoom() async throws(ControlFailure) -> [JSON.Member] {
        let entry = await node.entry
        if entry == nil { _ = try await requireRoom() }
        let name = await node.nameOfRoom
        do {
            try await node.leaveRoom()
        } catch {
            throw ControlFailure(error)
        }
        var members = [JSON.Member("room", entry == .joining ? .null : .string(name))]
        if let entry { members.append(JSON.Member("stopped", .string(entry.rawValue))) }
        return members
    }

    func openInvite() async throws(ControlFailure) -> [JSON.Member] {
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

    func closeInvites() async -> [JSON.Member] {
        await node.closeInvites()
        return []
    }
}
