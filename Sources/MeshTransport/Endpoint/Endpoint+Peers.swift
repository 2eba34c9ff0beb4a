internal import MeshCrypto
internal import MeshWire

// What becomes of a pair that is up: it takes over from the one before, ends, or is lost.
extension Endpoint {
    /// The peer of this identity, connected or about to be.
    func peer(_ nodeID: NodeID) -> Peer? {
        let index = position(of: nodeID)
        guard index < peerTable.count, peerTable[index].nodeID == nodeID else { return nil }
        return peerTable[index]
    }

    private func position(of nodeID: NodeID) -> Int {
        var (low, high) = (0, peerTable.count)
        while low < high {
            let middle = (low + high) / 2
            if peerTable[middle].nodeID < nodeID { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The peer that proved itself, a new one if need be; `nil` if the room is full.
    mutating func peerOrNew(
        _ claim: Authentication,
        at address: SocketAddress,
        now: Instant
    ) -> Peer? {
        if let known = peer(claim.nodeID) { return known }
        guard peerTable.count < configuration.peersMaximum else { return nil }
        let made = Peer(
            nodeID: claim.nodeID,
            incarnation: claim.incarnation,
            connection: makeConnection(now: now),
            address: address,
            handshakes: TokenBucket(
                perSecond: configuration.peerRate,
                burst: configuration.peerRate,
                now: now
            ),
            now: now
        )
        peerTable.insert(made, at: position(of: claim.nodeID))
        return made
    }

    private mutating func makeConnection(now: Instant) -> Connection {
        Connection(configuration: configuration.transport, seed: chance.next(), now: now)
    }

    /// A confirmed pair takes over: it carries data from now on, the one before becomes *previous*.
    ///
    /// If two pairs came up within a second, that of the smaller initiator carries data at both ends
    /// (`10-security.md` §5, simultaneous open).
    mutating func install(_ keys: PairKeys, in peer: Peer, now: Instant) {
        if peer.next === keys { peer.next = nil }
        if peer.isConnected, peer.incarnation != keys.incarnation {
            // Another process of that identity: what was between us and the old one is over.
            finishConnection(of: peer, .restarted, now: now)
        }
        let isContinuing = peer.isConnected
        if !isContinuing {
            // What is left of an earlier process, or of a pair that never got through the gate.
            for old in [peer.current, peer.previous] { forget(old, of: peer, now: now) }
            peer.connection = makeConnection(now: now)
            peer.isGated =
                takeMark(keys.peer, keys.incarnation)
                || (peer.isGated && peer.incarnation == keys.incarnation)
            peer.incarnation = keys.incarnation
        }
        keys.established = now
        if isContinuing, let current = peer.current, yields(keys, to: current, now: now) {
            forget(peer.previous, of: peer, now: now)
            keys.retires = now + configuration.previousKeyLife
            peer.previous = keys
        } else {
            if let current = peer.current {
                forget(peer.previous, of: peer, now: now)
                current.retires = now + configuration.previousKeyLife
                peer.previous = current
            }
            peer.current = keys
            peer.address = keys.address
            peer.connection.adopt(
                space: keys.space,
                resumed: isContinuing && peer.isAway,
                now: now
            )
        }
        // What was sealed so far carried our AUTH, and is acknowledged whichever of the two this became.
        let used = keys.box.traffic.sealing.counter
        if used > 0 { peer.connection.skip(space: keys.space, number: used - 1) }
        peer.rekeyWanted = nil
        peer.mayGrant = peer.mayGrant || (keys.mode != .member && keys.role == .initiator)
        if keys.mode != .member, keys.role == .responder, let room {
            peer.connection.sendEndpointFrame(
                .grant(Grant.encode(room)),
                untilAcknowledged: true
            )
        }
        if peer.isGated { return }
        if !isContinuing {
            peer.isConnected = true
            report(keys, resumed: false)
        } else if peer.isAway {
            peer.isAway = false
            report(keys, resumed: true)
        } else {
            statistics.rekeys += 1
            // Asked for by an address: the owner learns that it leads to a peer it has.
            if keys.dial != nil { report(keys, resumed: true) }
        }
    }

    private func yields(_ keys: PairKeys, to current: PairKeys, now: Instant) -> Bool {
        guard now - current.established < configuration.simultaneousWindow,
            keys.role != current.role, !current.box.traffic.sealing.isSpent(now: now)
        else { return false }
        // Of the two initiators one is we; the smaller one's pair carries data.
        let weAreSmaller = nodeID < keys.peer
        return weAreSmaller ? current.role == .initiator : current.role == .responder
    }

    private mutating func report(_ keys: PairKeys, resumed: Bool) {
        events.append(
            .connected(
                PeerConnection(
                    peer: keys.peer,
                    incarnation: keys.incarnation,
                    mode: keys.mode,
                    address: keys.address,
                    isInitiator: keys.role == .initiator,
                    resumed: resumed,
                    dial: keys.dial
                )
            )
        )
    }

    // MARK: The gate

    /// Whether a peer that may not know of its connection's end has begun anew.
    ///
    /// Its first packets hold SETTINGS if it has. If it goes on with a connection that ended here, a
    /// RESUME shows it, or that SETTINGS stay away; then it is told, and both begin anew. Until that
    /// is clear nothing it sends counts.
    mutating func passesGate(_ content: RawSpan, peer: Peer, now: Instant) -> Bool {
        guard let keys = peer.current else { return false }
        var reader = ByteReader(content)
        var beganAnew = false
        var goesOn = now - keys.established > Self.gateMaximum
        // A malformed frame ends the look; the lanes judge it once the gate is open.
        while reader.remaining > 0, let frame = try? Frame(reading: &reader) {
            switch frame {
            case .resume: goesOn = true
            case .settings: beganAnew = true
            case .close:
                end(peer, .lost, now: now)
                return false
            default: continue
            }
        }
        if goesOn, !beganAnew {
            close(peer.nodeID, reason: .superseded, now: now)
            return false
        }
        guard beganAnew else { return false }
        peer.isGated = false
        peer.isConnected = true
        report(keys, resumed: false)
        return true
    }

    /// How long a peer may keep its SETTINGS back behind the gate.
    private static var gateMaximum: Duration { .seconds(2) }

    /// Notes that this life of a peer may not know that its connection ended.
    mutating func mark(_ peer: NodeID, _ incarnation: UInt64) {
        ended.removeAll { $0.peer == peer }
        if ended.count >= 2 * Limits.members { ended.removeFirst() }
        ended.append((peer, incarnation))
    }

    private mutating func takeMark(_ peer: NodeID, _ incarnation: UInt64) -> Bool {
        guard let index = ended.firstIndex(where: { $0.peer == peer }) else { return false }
        return ended.remove(at: index).incarnation == incarnation
    }

    // MARK: What lanes say

    /// Takes the events of a peer's lanes; those that concern the endpoint stay here.
    mutating func drain(_ peer: Peer, now: Instant) {
        while let event = peer.connection.nextEvent() {
            switch event {
            case .endpointFrame(.authentication(let proof)):
                guard peer.allKeys.contains(where: { $0.peerProof == proof }) else {
                    violate(peer, now: now)
                    return
                }
            case .endpointFrame(.grant(let bytes)):
                guard takeGrant(bytes, from: peer) else {
                    violate(peer, now: now)
                    return
                }
            case .endpointFrame:
                // Paths are not validated and nothing is relayed yet; the frames are well formed.
                continue
            case .closedByPeer(let reason, _):
                end(peer, .closed(reason), now: now)
                return
            case .received, .control, .outcome, .windowOpened, .channelOpened, .channelClosed,
                .quiet, .heard:
                events.append(.connection(peer.nodeID, event))
            }
        }
    }

    /// A GRANT counts once, from whoever let us in; the same again is a copy.
    private mutating func takeGrant(_ bytes: [UInt8], from peer: Peer) -> Bool {
        if let known = peer.grant { return known == bytes }
        guard peer.mayGrant, let secret = try? Grant.decode(bytes.raw) else { return false }
        peer.grant = bytes
        events.append(.granted(secret, by: peer.nodeID))
        return true
    }

    // MARK: Ends

    /// The peer broke the protocol.
    mutating func violate(_ peer: Peer, now: Instant) {
        guard self.peer(peer.nodeID) === peer else { return }
        statistics.violations += 1
        penalties.note(peer.nodeID, now: now)
        events.append(.violation(peer.nodeID))
        sayClose(to: peer, .protocolError, text: "", now: now)
        mark(peer.nodeID, peer.incarnation)
        end(peer, .violation, now: now)
    }

    /// Ends everything with a peer: keys are wiped, open sends end, `disconnected` is reported.
    mutating func end(_ peer: Peer, _ reason: DisconnectReason, now: Instant) {
        guard let index = peerTable.firstIndex(where: { $0 === peer }) else { return }
        peerTable.remove(at: index)
        if let id = peer.renewal, let dial = dials.first(where: { $0.id == id }) {
            drop(dial, now: now)
        }
        let waiting = peer.isConnected ? nil : (peer.current ?? peer.next)?.dial
        for keys in peer.allKeys { release(keys, now: now) }
        (peer.current, peer.previous, peer.next) = (nil, nil, nil)
        finishConnection(of: peer, reason, now: now)
        guard let waiting else { return }
        if case .closed(let reason) = reason {
            events.append(
                .dialFailed(waiting, reason == .roomFull ? .roomFull : .refused(reason))
            )
        } else {
            events.append(.dialFailed(waiting, .unconfirmed))
        }
    }

    /// Ends the lanes and reports it; the peer gets new ones, should it stay.
    private mutating func finishConnection(
        of peer: Peer,
        _ reason: DisconnectReason,
        now: Instant
    ) {
        peer.connection.abandon()
        if peer.isConnected {
            while let event = peer.connection.nextEvent() {
                switch event {
                case .endpointFrame, .closedByPeer: continue
                case .received, .control, .outcome, .windowOpened, .channelOpened,
                    .channelClosed, .quiet, .heard:
                    events.append(.connection(peer.nodeID, event))
                }
            }
            events.append(
                .disconnected(
                    peer: peer.nodeID,
                    incarnation: peer.incarnation,
                    reason: reason
                )
            )
        }
        peer.connection = makeConnection(now: now)
        peer.isConnected = false
        peer.isAway = false
        peer.mayGrant = false
        peer.grant = nil
    }

    /// Wipes one pair of a peer; what is unacknowledged under it is sent again.
    mutating func forget(_ keys: PairKeys?, of peer: Peer, now: Instant) {
        guard let keys else { return }
        if peer.current === keys { peer.current = nil }
        if peer.previous === keys { peer.previous = nil }
        if peer.next === keys { peer.next = nil }
        peer.connection.retire(space: keys.space, now: now)
        release(keys, now: now)
    }

    /// Closes a pair, so that nothing is sealed or opened under it, and gives its index back.
    mutating func release(_ keys: PairKeys, now: Instant) {
        guard !closing.contains(where: { $0.keys === keys }) else { return }
        keys.box.traffic.sealing.close()
        keys.box.traffic.opening.close()
        indices.release(keys.index, now: now)
    }
}
