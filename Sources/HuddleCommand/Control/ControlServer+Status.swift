import Glibc
import Huddle
import MeshCrypto
import MeshEngine
import MeshFaults
import MeshNet
import MeshWire

// What the node says of itself, its room and its peers.
extension ControlServer {
    func status() async -> [JSON.Member] {
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
            "policy": .string(await room.policy.word),
            "suspended": view?.suspension.map {
                ["have": .count($0.have), "need": .count($0.need)]
            },
            "isUsable": view.map { .bool($0.isUsable) },
            "conflicts": .count(await room.conflicts.count),
            "viewSize": view.map { .count($0.members.count) },
            "applied": status.applied.map { .string($0.description) },
            "state": await node.stateDigest.map { .string(hexadecimal($0.bytes)) },
            "members": .array(members),
        ])
    }

    func sessions() async -> [JSON] {
        guard let room = await node.room else { return [] }
        var list: [JSON] = []
        for session in await room.sessions {
            let participants = await session.participants.map { participant -> JSON in
                [
                    "id": .string(hexadecimal(participant.participantID.bytes)),
                    "name": .string(shown(participant.name, participant.node)),
                    "number": .count(participant.number),
                    "isPresent": .bool(participant.isPresent),
                ]
            }
            let lead = await session.lead
            let activity = await session.activity
            let metadata = shown(activity)
            list.append(
                .record([
                    "id": .string(hexadecimal(session.id.bytes)),
                    "activity": .string(activity?.identifier ?? ""),
                    "title": metadata.title.map { .string($0) },
                    "fallbackURL": metadata.address.map { .string($0) },
                    "lead": lead.map { .string(shown($0.name, $0.node)) } ?? .null,
                    "participants": .array(participants),
                ])
            )
        }
        return list
    }

    func peers() async -> [JSON.Member] {
        let status = await node.status
        let now = SystemClock.now()
        let members = await node.members
        let others = members.filter { !$0.isLocal }
        let peers = others.map { member -> JSON in
            let link = status.links.first { $0.process.nodeID == member.node }
            let address: JSON = link.map { .string($0.address.description) } ?? .null
            let helper = status.relays.first { $0.process.nodeID == member.node }?.helper.nodeID
            let via = helper.map { helper in
                shown(members.first { $0.node == helper }?.name ?? "", helper)
            }
            let state = via != nil ? "relayed" : link == nil ? "unreachable" : "connected"
            let silence: JSON? = link?.lastHeard.map { .milliseconds(now - $0) }
            let record: JSON = .record([
                "name": .string(shown(member.name, member.node)),
                "fingerprint": .string(member.node.fingerprint),
                "isLeader": .bool(member.isLeader),
                "isPresent": .bool(member.isPresent),
                "state": .string(state),
                "via": via.map { .string($0) } ?? .null,
                "address": address,
                "silentMilliseconds": silence,
            ])
            return record.merging(figures(link))
        }
        return [JSON.Member("peers", .array(peers))]
    }

    private nonisolated func figures(_ link: LinkStatus?) -> [JSON.Member] {
        guard let transport = link?.transport else { return [] }
        return JSON.figures(transport)
    }
}
