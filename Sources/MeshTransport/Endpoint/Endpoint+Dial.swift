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
    mutating func sendFirst(_ dial: Dial, cookie: Cookie, now: Instant) {
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

    mutating func send(_ bytes: [UInt8], of dial: Dial, now: Instant) {
        dial.bytes = bytes
        dial.resend.restart(now: now)
        outbox.append((dial.address, bytes))
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
