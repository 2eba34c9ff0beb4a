internal import MeshCrypto
internal import MeshWire

// The responder's side of the handshake (10-security §5, §9). Until a source has shown that it gets
// what is sent to its address, no answer is larger than the question, and nothing is allocated before
// the last step.
extension Endpoint {
    /// HELLO: a cookie, while an invite of that slot is open.
    mutating func receiveHello(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        guard let hello = wellFormed(try? HelloMessage(datagram)),
            isForeign(hello.clientNonce, now: now)
        else { return }
        let met = invites.first {
            $0.slot == hello.slot && (hello.invite == .zero || hello.invite == $0.id)
        }
        guard let met else {
            statistics.unknownInvite += 1
            return
        }
        guard isKeyed(datagram, by: ModeKeys.mac1Key(invite: hello.invite)) else { return }
        sendRetry(
            to: source,
            index: hello.senderIndex,
            clientNonce: hello.clientNonce,
            mode: .code,
            invite: met.id,
            request: Mac1.of(datagram),
            now: now
        )
    }

    /// HS1, in the order of `10-security.md` §5.
    mutating func receiveFirst(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        guard let message = wellFormed(try? FirstMessage(datagram)),
            isForeign(message.clientNonce, now: now)
        else { return }
        guard let keys = keys(of: message.mode, fitting: datagram) else {
            statistics.wrongMAC += 1
            return
        }
        let mac = Mac1.of(datagram)
        if let known = halfOpen.first(where: { $0.firstMAC == mac && $0.source == source }) {
            known.touched = now
            outbox.append((source, known.handshake.second))
            return
        }
        guard !isFinished(mac, from: source) else {
            statistics.repeatedHandshakes += 1
            return
        }
        guard
            mayCost(message, invite: keys.invite, from: source, request: mac, now: now),
            takeArithmetic(message.mode, now: now)
        else { return }
        do {
            let opened = try OpenedFirst(
                message,
                keys: keys,
                seeds: HandshakeSeeds(mode: keys.mode, from: &secrets)
            )
            let code = inviteIndex(of: keys).map { invites[$0].code }
            let handshake = try ResponderHandshake(
                opened,
                code: code,
                index: indices.unused(from: &secrets),
                node: node
            )
            makeRoom(for: source, now: now)
            let second = handshake.second
            let index = handshake.index
            let entry = HalfOpen(handshake, source: source, firstMAC: mac, now: now)
            halfOpen.append(entry)
            indices.assign(index, to: .halfOpen(entry))
            outbox.append((source, second))
        } catch {
            statistics.forgedHandshakes += 1
        }
    }

    /// HS3: who is there, may it come in, then keys and our own AUTH.
    mutating func receiveThird(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        guard let message = wellFormed(try? LaterMessage(datagram)) else { return }
        let mac = Mac1.of(datagram)
        switch indices[message.header.receiverIndex] {
        case .halfOpen(let entry)?:
            guard isFrom(source, expected: entry.source) else { return }
            guard message.header.senderIndex == entry.handshake.remoteIndex,
                message.header.mode == entry.handshake.keys.mode
            else {
                statistics.unknownIndex += 1
                return
            }
            guard isKeyed(datagram, by: entry.handshake.keys.mac1Key) else { return }
            guard entry.held == nil else {
                statistics.repeatedHandshakes += 1
                return
            }
            take(message, mac: mac, of: entry, now: now)
        case .keys(let keys)?:
            // A repeated HS3 splits nothing: the AUTH once more, while the initiator lacks it.
            statistics.repeatedHandshakes += 1
            guard keys.role == .responder, !keys.isConfirmed, keys.thirdMAC == mac,
                keys.address == source
            else { return }
            sendProof(under: keys, now: now)
        case .dial?, nil:
            statistics.unknownIndex += 1
        }
    }

    private mutating func take(
        _ message: LaterMessage,
        mac: [UInt8],
        of entry: HalfOpen,
        now: Instant
    ) {
        let keys = entry.handshake.keys
        guard entry.handshake.opensStatic(of: message) else {
            // From nobody we answered: no guess.
            statistics.forgedHandshakes += 1
            return
        }
        if keys.mode == .code {
            guard let index = inviteIndex(of: keys), invites[index].nextTry <= now else {
                statistics.tooEarly += 1
                return
            }
            invites[index].nextTry = now + configuration.guessSpacing
        }
        do {
            let accepted = try entry.handshake.accept(
                message,
                node: node,
                now: now,
                jitter: jitter(),
                limits: configuration.keyLimits,
                slab: slab
            )
            guard !yieldsToOwnDial(accepted.peer.nodeID, at: entry.source, now: now) else { return }
            guard keys.mode != .member || isAllowed(accepted.peer.nodeID) else {
                entry.held = (message, mac, now + configuration.rosterHold)
                return
            }
            finish(entry, accepted, mac: mac, now: now)
        } catch .ownIdentity {
            if selfAddresses.count >= 16 { selfAddresses.removeFirst() }
            selfAddresses.append(entry.source)
            drop(entry, now: now)
        } catch {
            statistics.forgedHandshakes += 1
            guard keys.mode == .code else { return }
            drop(entry, now: now)
            countGuess(of: keys, now: now)
        }
    }

    /// The initiator proved itself and may come in.
    private mutating func finish(
        _ entry: HalfOpen,
        _ accepted: consuming ResponderHandshake.Accepted,
        mac: [UInt8],
        now: Instant
    ) {
        let mode = entry.handshake.keys.mode
        let claim = accepted.peer
        guard !penalties.holds(claim.nodeID, now: now) else {
            drop(entry, now: now)
            return
        }
        let index = entry.handshake.index
        let proof = accepted.authentication.encode()
        let box = KeyBox(accepted.takeKeys())
        halfOpen.removeAll { $0 === entry }
        let peer = peerOrNew(claim, at: entry.source, now: now)
        let keys = PairKeys(
            box: box,
            peer: claim,
            mode: mode,
            role: .responder,
            address: entry.source,
            space: peer?.takeSpace() ?? 0,
            resend: resendTimer(now: now),
            now: now
        )
        keys.proof = proof
        keys.firstMAC = entry.firstMAC
        keys.thirdMAC = mac
        indices.assign(index, to: .keys(keys))
        if let peer {
            if mode != .member, let position = inviteIndex(of: entry.handshake.keys) {
                // Recorded before DATA 0 leaves: a single-use invite admits one node.
                let invite = invites[position]
                burn(invite.id, now: now)
                events.append(.inviteUsed(slot: invite.slot, by: claim.nodeID))
            }
            if let old = peer.next { forget(old, of: peer, now: now) }
            peer.next = keys
            keys.dial = endOwnDials(to: claim.nodeID, at: entry.source, now: now)
        } else {
            // Refused after authentication only; nobody is displaced.
            keys.refusal = .roomFull
            if refused.count >= 16 { release(refused.removeFirst(), now: now) }
            refused.append(keys)
        }
        statistics.handshakes += 1
        sendProof(under: keys, now: now)
    }

    // MARK: Simultaneous open

    /// Whether our own dial to the sender goes first: we are the smaller, and the dial is young.
    private func yieldsToOwnDial(
        _ sender: NodeID,
        at source: SocketAddress,
        now: Instant
    ) -> Bool {
        guard nodeID < sender else { return false }
        return dials.contains {
            isDial($0, to: sender, at: source)
                && now - $0.started < configuration.simultaneousWindow
        }
    }

    /// Ends our own dials to a process whose handshake we took, as the larger identity.
    private mutating func endOwnDials(
        to sender: NodeID,
        at source: SocketAddress,
        now: Instant
    ) -> DialID? {
        guard sender < nodeID else { return nil }
        var asked: DialID?
        for dial in dials where isDial(dial, to: sender, at: source) {
            if dial.isAsked { asked = dial.id }
            drop(dial, now: now)
        }
        return asked
    }

    private func isDial(_ dial: Dial, to sender: NodeID, at source: SocketAddress) -> Bool {
        dial.mode == .member
            && (dial.expected == sender || (dial.expected == nil && dial.address == source))
    }

    // MARK: Held

    /// Goes on with processes that waited for their Join entry.
    mutating func releaseHeld(now: Instant) {
        for entry in halfOpen {
            guard let held = entry.held else { continue }
            entry.held = nil
            take(held.third, mac: held.mac, of: entry, now: now)
            // Still unknown: the time it began to wait counts.
            if entry.held != nil { entry.held?.until = held.until }
        }
        for dial in dials {
            guard case .held(let proven, _) = dial.phase, isAllowed(proven.proof.nodeID) else {
                continue
            }
            finish(dial, proven, now: now)
        }
    }
}
