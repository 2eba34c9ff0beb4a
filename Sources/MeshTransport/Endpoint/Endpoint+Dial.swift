internal import MeshCrypto
package import MeshWire

// The initiator's side of the handshake (10-security §5):
//
//   code mode   HELLO -> RETRY -> HS1 -> HS2 -> HS3 -> DATA 0 with the responder's AUTH
//   others               [RETRY]  HS1 -> HS2 -> HS3 -> DATA 0 with the responder's AUTH
//
// A message is sent again, the same bytes, until something answers. Whatever does not open, verify or
// fit is dropped and changes nothing.
extension Endpoint {
    /// Starts a handshake; its end is `connected` or `dialFailed`.
    ///
    /// A member dialled by its name that is connected and was heard lately is left alone, without an
    /// event; one that is silent is looked for at the new address, and its channels go on there.
    /// A second dial of a member at one address is the first.
    @discardableResult
    package mutating func dial(_ target: DialTarget, now: Instant) -> DialID {
        let id = DialID(number: nextDial)
        nextDial += 1
        let address = target.address
        var expected: NodeID?
        switch target {
        case .member(_, let name):
            expected = name
            if let name, let peer = peer(name), peer.isConnected {
                let isQuiet = now - peer.lastHeard > configuration.transport.keepAlive * 1.5
                guard isQuiet, address != peer.address || peer.renewal == nil else { return id }
            }
            let same = dials.first {
                $0.mode == .member && $0.address == address && $0.expected == name && $0.isAsked
            }
            if let same { return same.id }
        case .link(let link, _): expected = link.inviter
        case .code: break
        }
        guard expected != nodeID, !selfAddresses.contains(address) else {
            events.append(.dialFailed(id, .selfDialed))
            return id
        }
        guard dials.count < configuration.dialsMaximum else {
            events.append(.dialFailed(id, .tooManyDials))
            return id
        }
        let isKnown = expected.flatMap { peer($0) }?.isConnected == true
        switch target {
        case .member:
            guard let roomKeys else {
                events.append(.dialFailed(id, .noRoom))
                return id
            }
            let dial = makeDial(
                id,
                isAsked: true,
                renewal: isKnown ? expected : nil,
                expected: expected,
                keys: roomKeys,
                address: address,
                now: now
            )
            begin(dial, now: now)
        case .link(let link, _):
            let dial = makeDial(
                id,
                isAsked: true,
                expected: expected,
                keys: .link(link.secret),
                address: address,
                now: now
            )
            begin(dial, now: now)
        case .code(let code, let invite, _):
            guard hasTries(of: code) else {
                events.append(.dialFailed(id, .triesSpent))
                return id
            }
            let dial = makeDial(
                id,
                isAsked: true,
                code: code,
                invite: invite,
                keys: nil,
                address: address,
                now: now
            )
            let hello = HelloMessage(
                senderIndex: dial.index,
                clientNonce: dial.clientNonce,
                invite: invite ?? .zero,
                slot: code.slot
            )
            dials.append(dial)
            indices.assign(dial.index, to: .dial(dial))
            send(hello.encode(), of: dial, now: now)
        }
        return id
    }

    /// Ends a dial in silence, without an event.
    package mutating func cancelDial(_ dial: DialID, now: Instant) {
        guard let found = dials.first(where: { $0.id == dial }) else { return }
        drop(found, now: now)
    }

    /// Begins a handshake that replaces the keys of a peer, or looks for it.
    mutating func renew(_ peer: Peer, now: Instant) {
        peer.nextAttempt = now + .seconds(1)
        guard let roomKeys, dials.count < configuration.dialsMaximum else { return }
        let id = DialID(number: nextDial)
        nextDial += 1
        peer.renewal = id
        let dial = makeDial(
            id,
            isAsked: false,
            renewal: peer.nodeID,
            expected: peer.nodeID,
            keys: roomKeys,
            address: peer.address,
            now: now
        )
        begin(dial, now: now)
    }

    private mutating func makeDial(
        _ id: DialID,
        isAsked: Bool,
        renewal: NodeID? = nil,
        expected: NodeID? = nil,
        code: InviteCode? = nil,
        invite: InviteID? = nil,
        keys: ModeKeys?,
        address: SocketAddress,
        now: Instant
    ) -> Dial {
        Dial(
            id: id,
            isAsked: isAsked,
            renewal: renewal,
            expected: expected,
            mode: keys?.mode ?? .code,
            code: code,
            invite: invite,
            keys: keys,
            address: address,
            index: indices.unused(from: &secrets),
            clientNonce: secrets.identifier(),
            resend: resendTimer(now: now),
            now: now
        )
    }

    func resendTimer(now: Instant) -> ResendTimer {
        ResendTimer(
            offsets: configuration.resendOffsets,
            timeout: configuration.answerTimeout,
            now: now
        )
    }

    private mutating func begin(_ dial: Dial, now: Instant) {
        dials.append(dial)
        indices.assign(dial.index, to: .dial(dial))
        sendFirst(dial, cookie: .zero, now: now)
    }

    /// A new Noise state and its HS1: the prologue contains the cookie.
    private mutating func sendFirst(_ dial: Dial, cookie: Cookie, now: Instant) {
        guard let keys = dial.keys else { return }
        do {
            let handshake = try InitiatorHandshake(
                keys: keys,
                code: dial.code,
                index: dial.index,
                clientNonce: dial.clientNonce,
                cookie: cookie,
                seeds: HandshakeSeeds(mode: keys.mode, from: &secrets)
            )
            let first = handshake.first
            dial.attempt = Attempt(handshake)
            dial.phase = .first
            send(first, of: dial, now: now)
        } catch {
            // Only a generator that is the identity gets here: chance of 2^-250.
            fail(dial, .unconfirmed, now: now)
        }
    }

    private mutating func send(_ bytes: [UInt8], of dial: Dial, now: Instant) {
        dial.bytes = bytes
        dial.resend.restart(now: now)
        outbox.append((dial.address, bytes))
    }

    // MARK: Answers

    /// RETRY: the same again, with a cookie; at most three an attempt.
    mutating func receiveRetry(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        guard let header = try? HandshakeHeader(datagram) else {
            statistics.malformed += 1
            return
        }
        guard case .dial(let dial)? = indices[header.receiverIndex] else {
            statistics.unknownIndex += 1
            return
        }
        guard source == dial.address else {
            statistics.wrongSource += 1
            return
        }
        let isWaiting =
            switch dial.phase {
            case .hello, .first: true
            case .third, .held: false
            }
        guard isWaiting, dial.retries < configuration.retriesMaximum else {
            statistics.repeatedHandshakes += 1
            return
        }
        // The mac is keyed with the request sent last, so a late RETRY is nothing.
        let request = Array(dial.bytes.suffix(Mac1.byteCount))
        guard let retry = try? RetryMessage(datagram, requestMac1: request) else {
            statistics.wrongMAC += 1
            return
        }
        let fits: Bool
        switch (dial.mode, dial.code) {
        case (.code, let code?):
            let named = dial.keys?.invite ?? dial.invite ?? retry.invite
            fits = retry.invite == named && named != .zero
            if fits { dial.keys = .code(invite: named, slot: code.slot) }
        default: fits = retry.invite == .zero
        }
        guard fits, retry.mode == dial.mode else {
            statistics.forgedHandshakes += 1
            return
        }
        dial.retries += 1
        sendFirst(dial, cookie: retry.cookie, now: now)
    }

    /// HS2: derive, decide the suite, send HS3.
    mutating func receiveSecond(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        guard let message = try? LaterMessage(datagram) else {
            statistics.malformed += 1
            return
        }
        guard case .dial(let dial)? = indices[message.header.receiverIndex] else {
            statistics.unknownIndex += 1
            return
        }
        guard source == dial.address else {
            statistics.wrongSource += 1
            return
        }
        guard case .first = dial.phase, let attempt = dial.attempt, let keys = dial.keys,
            message.header.mode == dial.mode
        else {
            statistics.repeatedHandshakes += 1
            return
        }
        guard Mac1.isValid(datagram, key: keys.mac1Key) else {
            statistics.wrongMAC += 1
            return
        }
        do {
            let answer = try attempt.handshake.answer(
                message,
                node: node,
                now: now,
                jitter: jitter(),
                limits: configuration.keyLimits,
                slab: slab
            )
            if let code = dial.code, !spendTry(of: code) {
                fail(dial, .triesSpent, now: now)
                return
            }
            let third = answer.third
            dial.proof = answer.proof
            dial.traffic = KeyBox(answer.takeKeys())
            dial.phase = .third
            send(third, of: dial, now: now)
        } catch {
            statistics.forgedHandshakes += 1
        }
    }

    /// A DATA that opened before its sender proved itself: only an AUTH at its front counts.
    mutating func prove(_ dial: Dial, _ content: RawSpan, _ number: UInt64, now: Instant) {
        guard case .third = dial.phase, let proof = dial.proof else {
            statistics.unprovenData += 1
            return
        }
        var reader = ByteReader(content)
        let type: UInt8? = try? reader.read()
        guard type == Authentication.frameType,
            let span = try? reader.readSpan(Authentication.byteCount),
            let claim = try? Authentication(span)
        else {
            statistics.unprovenData += 1
            return
        }
        if let said = proof.capabilities, said != claim.capabilities {
            // Nobody but the one who sealed P2 could: torn down, and no weaker attempt follows.
            statistics.forgedHandshakes += 1
            fail(dial, .unconfirmed, now: now)
            return
        }
        do { try proof.verify(claim) } catch {
            statistics.forgedHandshakes += 1
            return
        }
        let proven = Dial.Proven(proof: claim, content: content.copied, number: number)
        guard claim.nodeID != nodeID else {
            if selfAddresses.count >= 16 { selfAddresses.removeFirst() }
            selfAddresses.append(dial.address)
            fail(dial, .selfDialed, now: now)
            return
        }
        if let expected = dial.expected, expected != claim.nodeID {
            fail(dial, .wrongPeer(claim.nodeID), now: now)
            return
        }
        if let reason = refusal(in: reader) {
            fail(dial, reason == .roomFull ? .roomFull : .refused(reason), now: now)
            return
        }
        guard dial.mode != .member || isAllowed(claim.nodeID) else {
            dial.phase = .held(proven, until: now + configuration.rosterHold)
            return
        }
        finish(dial, proven, now: now)
    }

    /// A CLOSE that stands right behind the AUTH: the responder does not take us.
    private func refusal(in reader: consuming ByteReader) -> CloseReason? {
        guard reader.remaining > 0, let frame = try? Frame(reading: &reader),
            case .close(let reason, _) = frame
        else { return nil }
        return reason
    }

    /// The responder proved itself: the pair is up.
    mutating func finish(_ dial: Dial, _ proven: Dial.Proven, now: Instant) {
        guard let box = dial.traffic else { return }
        guard !penalties.holds(proven.proof.nodeID, now: now) else {
            fail(dial, .refused(.protocolError), now: now)
            return
        }
        guard let peer = peerOrNew(proven.proof, at: dial.address, now: now) else {
            fail(dial, .roomFull, now: now)
            return
        }
        dials.removeAll { $0 === dial }
        let keys = PairKeys(
            box: box,
            peer: proven.proof,
            mode: dial.mode,
            role: .initiator,
            address: dial.address,
            space: peer.takeSpace(),
            resend: resendTimer(now: now),
            now: now
        )
        keys.peerProof = Array(proven.content[1...Authentication.byteCount])
        keys.dial = dial.isAsked ? dial.id : nil
        indices.assign(dial.index, to: .keys(keys))
        if peer.renewal == dial.id { peer.renewal = nil }
        statistics.handshakes += 1
        install(keys, in: peer, now: now)
        peer.lastHeard = now
        deliver(proven.content.raw, proven.number, under: keys, to: peer, now: now)
    }

    // MARK: Ends

    /// Ends a dial and says why, if the owner asked for it.
    mutating func fail(_ dial: Dial, _ failure: JoinFailure, now: Instant) {
        drop(dial, now: now)
        if dial.isAsked { events.append(.dialFailed(dial.id, failure)) }
    }

    /// Ends a dial in silence.
    mutating func drop(_ dial: Dial, now: Instant) {
        guard let index = dials.firstIndex(where: { $0 === dial }) else { return }
        dials.remove(at: index)
        indices.release(dial.index, now: now)
        if let name = dial.renewal, let peer = peer(name), peer.renewal == dial.id {
            peer.renewal = nil
        }
    }

    /// What a dial that nothing answered came to.
    func timeoutFailure(of dial: Dial) -> JoinFailure {
        switch dial.phase {
        case .hello: dial.invite == nil ? .unreachable : .notFound
        case .first: dial.mode == .code ? .notFound : .unreachable
        case .third, .held: .unconfirmed
        }
    }

    mutating func jitter() -> Duration {
        chance.duration(in: .zero...max(.zero, configuration.rekeyJitter))
    }
}
