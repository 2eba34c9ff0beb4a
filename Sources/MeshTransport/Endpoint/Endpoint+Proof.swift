internal import MeshCrypto
internal import MeshWire

// What answers a dial: RETRY, HS2, and the DATA in which the responder proves itself.
extension Endpoint {
    /// RETRY: the same again, with a cookie; at most three an attempt.
    mutating func receiveRetry(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        guard let header = wellFormed(try? HandshakeHeader(datagram)),
            let dial = dial(answeredAt: header.receiverIndex, from: source)
        else { return }
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
        guard let message = wellFormed(try? LaterMessage(datagram)),
            let dial = dial(answeredAt: message.header.receiverIndex, from: source)
        else { return }
        guard case .first = dial.phase, let attempt = dial.attempt, let keys = dial.keys,
            message.header.mode == dial.mode
        else {
            statistics.repeatedHandshakes += 1
            return
        }
        guard isKeyed(datagram, by: keys.mac1Key) else { return }
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
}
