package import MeshConsensus
import MeshCrypto
import MeshSession
import MeshTransport
import MeshWire

/// Into a room, through its life, and out of it.
extension Engine {
    mutating func createRoom(
        _ name: String,
        _ policy: PartitionPolicy,
        request: RequestID,
        now: Instant
    ) {
        guard isFree(request) else { return }
        let record = RoomRecord(
            secret: RoomSecret(from: &secrets),
            name: name,
            addresses: [],
            policy: policy
        )
        enter(record, now: now)
        membership = .entering(request, record, deadline: now + configuration.admissionTimeout)
        consensus?.create(now: now)
        events.append(.roomPhase(.connecting))
    }

    mutating func resume(_ record: RoomRecord, request: RequestID, now: Instant) {
        guard isFree(request) else { return }
        enter(record, now: now)
        for address in record.addresses {
            contacts.note(address, nodeID: nil, isMember: false, now: now)
        }
        membership = .resuming(request, record, until: now + configuration.resumeWindow)
        events.append(.roomPhase(.connecting))
    }

    mutating func join(_ target: JoinTarget, request: RequestID, now: Instant) {
        guard isFree(request) else { return }
        membership = .searching(
            JoinAttempt(
                request: request,
                target: target,
                deadline: now + configuration.joinTimeout
            )
        )
        events.append(.roomPhase(.connecting))
        switch target {
        case .code(let code, let near):
            endpoint.allowTries(of: code)
            if let near { dialInviter(.code(code, inviteID: nil, address: near), now: now) }
        case .link(let link):
            for address in link.addresses {
                dialInviter(.link(link, address: address), now: now)
            }
        }
        discovery.hurry(now: now)
    }

    private mutating func isFree(_ request: RequestID) -> Bool {
        if case .none = membership { return true }
        events.append(.joinFailed(request, .busy))
        return false
    }

    private mutating func dialInviter(_ target: DialTarget, now: Instant) {
        guard case .searching(var attempt) = membership else { return }
        attempt.triedAddresses.append(target.address)
        if case .code(_, let invite?, _) = target { attempt.triedInvites.append(invite) }
        attempt.dials.append(endpoint.dial(target, now: now))
        membership = .searching(attempt)
    }

    // MARK: Looking

    /// The silence on a pair after which a beacon of its peer says that the pair is dead.
    private static let deafness: Duration = .milliseconds(4500)

    /// Follows what discovery heard.
    mutating func follow(_ hint: DiscoveryHint, now: Instant) {
        switch hint {
        case .member(let address, let reference):
            guard membership.record != nil else { return }
            let known = knownNodes.first {
                discovery.reference(of: $0) == reference
            }
            if let known, let link = link(known), link.address == address {
                // It lives, and says nothing on its pair: its keys are gone. The endpoint shakes
                // hands anew as soon as the silence is long enough to be sure.
                let heard = endpoint.lastHeard(of: known) ?? now
                if now - heard > Self.deafness {
                    _ = endpoint.dial(.member(address: address, expected: known), now: now)
                }
                return
            }
            let delay = known.map { patience(towards: $0) } ?? .zero
            contacts.note(
                address,
                nodeID: known,
                isMember: known != nil,
                delay: delay,
                now: now
            )
        case .invite(let beacon, let address):
            consider(beacon, at: address, now: now)
        }
    }

    private mutating func consider(
        _ beacon: InviteBeacon,
        at address: SocketAddress,
        now: Instant
    ) {
        guard case .searching(let attempt) = membership else { return }
        switch attempt.target {
        case .code(let code, _):
            guard beacon.slot == code.slot, beacon.mode == .code,
                !attempt.triedInvites.contains(beacon.invite),
                attempt.triedInvites.count < JoinAttempt.codeTries
            else { return }
            dialInviter(
                .code(code, inviteID: beacon.invite, address: address),
                now: now
            )
        case .link(let link):
            guard beacon.offersLink || beacon.mode == .link,
                !attempt.triedAddresses.contains(address),
                attempt.triedAddresses.count < JoinAttempt.linkTries
            else { return }
            dialInviter(.link(link, address: address), now: now)
        }
    }

    mutating func dialFailed(_ dial: DialID, _ failure: JoinFailure, now: Instant) {
        guard case .searching(var attempt) = membership, attempt.dials.contains(dial) else {
            return
        }
        attempt.dials.removeAll { $0 == dial }
        switch failure {
        case .unconfirmed, .triesSpent, .wrongPeer: attempt.failure = .unconfirmed
        case .roomFull: attempt.failure = .roomFull
        case .selfDialed: attempt.failure = .ownInvite
        case .unreachable, .notFound:
            if attempt.failure == .notFound, let address = attempt.triedAddresses.first,
                attempt.target.isAddressed
            {
                attempt.failure = .unreachable(address)
            }
        case .refused, .noRoom, .tooManyDials: break
        }
        let isDecided = attempt.failure != .notFound && !attempt.failure.isUnreachable
        if isDecided, attempt.dials.isEmpty {
            attempt.deadline = min(attempt.deadline, now + JoinAttempt.patience)
        }
        membership = .searching(attempt)
    }

    /// Gives up or begins what is due.
    mutating func advanceMembership(to now: Instant) {
        switch membership {
        case .searching(let attempt) where attempt.deadline <= now:
            for dial in attempt.dials { endpoint.cancelDial(dial, now: now) }
            membership = .none
            events.append(.joinFailed(attempt.request, attempt.failure))
            events.append(.roomPhase(.none))
        case .entering(let request, _, let deadline) where deadline <= now:
            forgetRoom(now: now)
            events.append(.joinFailed(request, .notAdmitted))
            events.append(.roomPhase(.none))
        case .resuming(let request, let record, let until) where until <= now:
            // Nobody who is in the room took us in: we are the room until we meet the others. Who is
            // listed already keeps its promises and waits for its view, however late it wakes.
            if consensus?.role == .joining { foundAgain(record, now: now) }
            if consensus?.role == .suspended {
                // A majority must say first what the room had decided; the node waits in it for them.
                membership = .member(record)
                events.append(.roomPhase(.joined))
                events.append(.joined(request))
                return
            }
            membership = .entering(request, record, deadline: now + configuration.admissionTimeout)
        case .none, .searching, .entering, .resuming, .member, .leaving:
            break
        }
    }

    private mutating func foundAgain(_ record: RoomRecord, now: Instant) {
        consensus = makeConsensus(record, now: now)
        for link in links { consensus?.reachable(link.process, now: now) }
        consensus?.resume(now: now)
    }

    // MARK: In

    /// An inviter gave us the room's keys.
    mutating func admitted(with secret: RoomSecret, by peer: NodeID, now: Instant) {
        guard case .searching(let attempt) = membership, let link = link(peer) else { return }
        for dial in attempt.dials { endpoint.cancelDial(dial, now: now) }
        let record = RoomRecord(secret: secret, name: "", addresses: [link.address])
        enter(record, now: now)
        membership = .entering(
            attempt.request,
            record,
            deadline: now + configuration.admissionTimeout
        )
        consensus?.join(via: link.process, now: now)
    }

    private mutating func enter(_ record: RoomRecord, now: Instant) {
        endpoint.setRoom(record.secret, now: now)
        endpoint.setRoster([], anyoneWithSecret: true, now: now)
        discovery.setRoom(record.secret, now: now)
        consensus = makeConsensus(record, now: now)
        for link in links { consensus?.reachable(link.process, now: now) }
    }

    private static func label(_ purpose: SigningPurpose) -> SignatureLabel {
        switch purpose {
        case .head: .head
        case .relay: .relay
        }
    }

    private mutating func makeConsensus(
        _ record: RoomRecord,
        now: Instant
    ) -> Consensus<RoomState> {
        let room = record.secret.room
        var consensusConfiguration = ConsensusConfiguration(room: room)
        consensusConfiguration.policy = record.policy
        consensusConfiguration.paces = CommandType.paces
        configuration.consensus(&consensusConfiguration)
        return Consensus(
            configuration: consensusConfiguration,
            process: process,
            ability: configuration.ability,
            machine: .empty,
            digest: { Hash.digest(.entry, $0) },
            verify: { command in
                guard let signature = Signature(command.signature) else { return false }
                return signature.isValid(
                    .operation,
                    room: room,
                    command.signedBytes,
                    by: command.origin.nodeID
                )
            },
            signing: Signing(
                sign: { [identity] purpose, bytes in
                    identity.sign(Self.label(purpose), room: room, bytes).bytes
                },
                verify: { purpose, node, bytes, signature in
                    Signature(signature)?
                        .isValid(Self.label(purpose), room: room, bytes, by: node) ?? false
                }
            ),
            seed: generator.next(),
            now: now
        )
    }

    mutating func connected(_ connection: PeerConnection, now: Instant) {
        let peer = ProcessID(
            nodeID: connection.peer,
            incarnation: connection.incarnation,
            tag: Hash.processTag(connection.peer, incarnation: connection.incarnation)
        )
        links.removeAll { $0.process.nodeID == connection.peer }
        let position = links.firstIndex { connection.peer < $0.process.nodeID } ?? links.endIndex
        links.insert(Link(process: peer, address: connection.address, heard: now), at: position)
        lanes.connected(connection.peer, resumed: connection.resumed, now: now)
        contents.drop(connection.peer)
        contacts.answered(connection.address, nodeID: connection.peer, now: now)
        consensus?.reachable(peer, now: now)
        if case .resuming = membership { consensus?.join(via: peer, now: now) }
        lanes.drain(connection.peer, endpoint: &endpoint, now: now)
        upkeep.linksChanged(now: now)
        events.append(.peer(connection.peer, .connected(connection.address)))
    }

    mutating func disconnected(
        _ peer: NodeID,
        incarnation: UInt64,
        reason: DisconnectReason,
        now: Instant
    ) {
        guard let link = link(peer), link.process.incarnation == incarnation else { return }
        links.removeAll { $0.process == link.process }
        consensus?.unreachable(link.process, now: now)
        lanes.disconnected(peer)
        contents.drop(peer)
        if case .closed(.leaving) = reason { contacts.forget(peer) }
        upkeep.linksChanged(now: now)
        events.append(.peer(peer, .disconnected))
    }

    /// The view, its leader or this node's role changed.
    mutating func viewChanged(now: Instant) {
        guard let view = consensus?.view else { return }
        discovery.setView(view.epoch)
        if let summary = summary { events.append(.view(summary)) }
        guard consensus?.isUsable == true,
            consensus?.role == .member || consensus?.role == .leader
        else { return }
        switch membership {
        case .entering(let request, var record, _), .resuming(let request, var record, _):
            record.policy = consensus?.policy
            membership = .member(record)
            events.append(.roomPhase(.joined))
            events.append(.joined(request))
            events.append(.roomRecord(record))
            showProfile(for: nil, now: now)
            upkeep.linksChanged(now: now)
            discovery.hurry(now: now)
        case .member:
            // It waited for a majority, as no member of any view yet.
            if room?.member(process)?.profile.isEmpty == true {
                showProfile(for: nil, now: now)
            }
        case .none, .searching, .leaving:
            break
        }
    }

    /// The rule that the room follows, once it is known.
    package var policy: PartitionPolicy? { inspectConsensus { $0.policy } }

    /// The members heard and those that it takes, while there are too few.
    private var suspension: ViewSummary.Suspension? {
        guard case .suspended(let have, let need)? = inspectConsensus({ $0.suspension }) ?? nil
        else { return nil }
        return .init(have: have, need: need)
    }

    /// The view in the words of the application.
    var summary: ViewSummary? {
        guard let view else { return nil }
        return ViewSummary(
            epoch: view.epoch,
            members: view.members.map(\.process),
            leader: view.leader,
            isPrimary: inspectConsensus { $0.isPrimary } ?? false,
            isUsable: inspectConsensus { $0.isUsable && $0.role != .suspended } ?? false,
            suspension: suspension
        )
    }

    // MARK: Out

    mutating func leave(request: RequestID, now: Instant) {
        switch membership {
        case .none:
            events.append(.left(request))
        case .searching(let attempt):
            for dial in attempt.dials { endpoint.cancelDial(dial, now: now) }
            events.append(.joinFailed(attempt.request, .notFound))
            membership = .none
            events.append(.left(request))
            events.append(.roomPhase(.none))
        case .leaving(let former, let record):
            // The first caller hears now that the node goes; the room is forgotten once for both.
            events.append(.left(former))
            membership = .leaving(request, record)
        case .entering(let joining, let record, _), .resuming(let joining, let record, _):
            events.append(.joinFailed(joining, .notFound))
            membership = .leaving(request, record)
            consensus?.leave(now: now)
        case .member(let record):
            membership = .leaving(request, record)
            consensus?.leave(now: now)
        }
    }

    mutating func leftRoom(_ exit: RoomExit, now: Instant) {
        let request: RequestID? =
            if case .leaving(let request, _) = membership { request } else { nil }
        forgetRoom(now: now)
        events.append(.roomPhase(.left(exit)))
        if let request { events.append(.left(request)) }
    }

    mutating func refused(_ refusal: JoinRefusal, now: Instant) {
        switch membership {
        case .entering(let request, _, _), .resuming(let request, _, _):
            forgetRoom(now: now)
            events.append(.joinFailed(request, refusal == .full ? .roomFull : .notAdmitted))
            events.append(.roomPhase(.none))
        case .none, .searching, .member, .leaving:
            break
        }
    }

    private mutating func forgetRoom(now: Instant) {
        for (request, isRead) in operations.abandon() {
            events.append(
                isRead
                    ? .readReady(request, .failure(.notJoined))
                    : .completed(request, .failure(.notJoined))
            )
        }
        endpoint.closeInvites(now: now)
        endpoint.closeAll(reason: .leaving, now: now)
        endpoint.setRoom(nil, now: now)
        discovery.setRoom(nil, now: now)
        contacts.removeAll()
        consensus = nil
        observer = RoomObserver(seen: .empty)
        membership = .none
        upkeep = Upkeep()
    }
}

extension JoinTarget {
    /// Whether a person named where to look.
    var isAddressed: Bool {
        switch self {
        case .code(_, let near): near != nil
        case .link(let link): !link.addresses.isEmpty
        }
    }
}

extension AdmissionFailure {
    var isUnreachable: Bool {
        if case .unreachable = self { true } else { false }
    }
}

extension RoomState {
    /// The state of a room that was just founded.
    static var empty: RoomState { RoomState(digest: { Hash.digest(.participant, $0) }) }
}
