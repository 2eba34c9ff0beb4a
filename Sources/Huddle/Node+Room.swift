import MeshCrypto
import MeshEngine
import MeshNet
import MeshSession
import MeshStore
import MeshTransport
import MeshWire

// The room as the application sees it, read from the engine's own state.

extension Node {
    /// The room's name: what its founder wrote into the shared session, or what was stored.
    var currentRoomName: String {
        let shared = engine.room?.session(SessionID(standing: Self.sharedSessionName))
        let text = shared.flatMap { String(validating: $0.activity.payload, as: UTF8.self) }
        return text ?? roomName
    }

    package var members: [Member] {
        let leader = view?.leader
        let members = (engine.room?.members ?? []).map { member in
            Member(
                node: member.process.nodeID,
                name: shown(member).profile.name,
                isPresent: member.isPresent,
                isLeader: member.process == leader,
                isLocal: member.process == engine.process
            )
        }
        return members.sorted { ($0.name, $0.node) < ($1.name, $1.node) }
    }

    var roomView: RoomView? { view.map(RoomView.init) }

    // MARK: Conflicts

    var conflicts: [Conflict] {
        (engine.room?.conflicts.conflicts ?? []).map(Conflict.init)
    }

    var unlistedConflicts: Int { Int(engine.room?.conflicts.unlisted ?? 0) }

    func acknowledge(
        _ session: SessionID,
        _ subject: Conflict.Subject,
        _ key: String
    ) async throws(HuddleError) {
        _ = try await submit(.acknowledgeConflict(subject.inner, key: key), session: session)
    }

    // MARK: Updates

    package func updates() -> MailboxSequence<RoomUpdate> {
        let mailbox = Mailbox<RoomUpdate>(.newest(1024))
        listeners.append(mailbox)
        return mailbox.makeSequence()
    }

    // MARK: Invitations

    func invite() async throws(HuddleError) -> Invite {
        switch await perform({ .openInvite($0) }) {
        case .inviteOpened(_, let invite)?:
            return Invite(
                code: invite.code.text,
                link: link(invite.link).text,
                slot: Int(invite.code.slot),
                lifetime: invite.expires - loop.turnInstant
            )
        case .inviteRefused(_, let refusal)?: throw HuddleError(refusal)
        default: throw abandoned
        }
    }

    package func closeInvites() {
        handle(.closeInvites)
        invites = [:]
    }

    /// The addresses of this machine's interfaces that the node listens at.
    private var localAddresses: [SocketAddress] {
        if let address = socket.simulatedAddress { return [address] }
        guard configuration.reach == .everywhere else {
            return [SocketAddress(127, 0, 0, 1, port: port)]
        }
        // Without the list there are no hints, and discovery has to do.
        let interfaces = (try? Interfaces.list()) ?? []
        return interfaces.filter { $0.isUp && !$0.isLoopback }.flatMap { interface in
            interface.addresses.map(\.address).filter { !$0.isLinkLocal }
        }
    }

    /// The link with the addresses at which this node can be dialed from near.
    private func link(_ link: InviteLink) -> InviteLink {
        InviteLink(
            secret: link.secret,
            isSingleUse: link.isSingleUse,
            inviter: link.inviter,
            addresses: localAddresses.map { $0.with(port: port) }
        )
    }

    // MARK: Leaving

    /// The rule of the room that the node is in.
    var partitionPolicy: PartitionPolicy {
        engine.policy.map(PartitionPolicy.init) ?? .available
    }

    func adoptPrimary() throws(HuddleError) {
        guard case .joined = phase else { throw .noRoom }
        handle(.adoptPrimary)
    }

    /// Leaves the room for good, or gives up getting into one.
    package func leaveRoom() async throws(HuddleError) {
        guard phase != .none else { throw .noRoom }
        let room = record?.secret.room
        // Who waits to get in hears that it was stopped, not that nothing was found.
        if let entering { waiting[entering.request]?.fulfil(nil) }
        guard case .left? = await perform({ .leaveRoom($0) }) else { throw abandoned }
        record = nil
        await saving?.value
        guard let room, let store else { return }
        do {
            try store.delete(room)
        } catch {
            throw HuddleError(
                .roomFile,
                "the room was left, but its file stays: \(error)",
                hint: "remove \(configuration.places.rooms)"
            )
        }
    }
}
