internal import MeshCrypto
internal import MeshWire

// What strangers may cost (10-security §9): a mac1 first, then a cookie or a small budget without one,
// then the budget of arithmetic, and last a slot of the half-open table.
extension Endpoint {
    /// A clientNonce of our own: somebody sends our messages back to us.
    mutating func isReflected(_ clientNonce: ClientNonce) -> Bool {
        guard dials.contains(where: { $0.clientNonce == clientNonce }) else { return false }
        statistics.reflected += 1
        return true
    }

    /// The keys of that mode whose mac1 fits; one room, four links, four invites are tried at most.
    func keys(of mode: HandshakeMode, fitting datagram: RawSpan) -> ModeKeys? {
        switch mode {
        case .member:
            if let roomKeys, Mac1.isValid(datagram, key: roomKeys.mac1Key) { return roomKeys }
        case .link:
            for invite in invites where Mac1.isValid(datagram, key: invite.linkKeys.mac1Key) {
                return invite.linkKeys
            }
        case .code:
            for invite in invites where Mac1.isValid(datagram, key: invite.codeKeys.mac1Key) {
                return invite.codeKeys
            }
        case .trusted: break
        }
        return nil
    }

    /// Whether an HS1 is a late copy of one whose handshake is done.
    func isFinished(_ mac: [UInt8], from source: SocketAddress) -> Bool {
        func made(_ keys: PairKeys) -> Bool { keys.firstMAC == mac && keys.address == source }
        return peerTable.contains { $0.allKeys.contains(where: made) }
            || refused.contains(where: made)
    }

    /// Whether this HS1 may cost arithmetic now; answers RETRY itself where a cookie is wanted.
    mutating func mayCost(
        _ message: FirstMessage,
        invite: InviteID,
        from source: SocketAddress,
        request: [UInt8],
        now: Instant
    ) -> Bool {
        cookies.rotate(now: now, from: &secrets)
        if message.cookie != .zero {
            let isValid = cookies.isValid(
                message.cookie,
                for: source,
                clientNonce: message.clientNonce,
                mode: message.mode,
                invite: invite
            )
            if isValid {
                // Only a source proven by its cookie is charged.
                if sources.take(source, now: now) { return true }
                statistics.overSourceRate += 1
                return false
            }
            statistics.wrongCookie += 1
        }
        if message.mode == .member {
            let live = peerTable.first { $0.isConnected && $0.address == source }
            if let live, live.handshakes.take(now: now) { return true }
        }
        if message.mode != .code, cookieless.take(now: now) { return true }
        sendRetry(
            to: source,
            index: message.senderIndex,
            clientNonce: message.clientNonce,
            mode: message.mode,
            invite: invite,
            request: request,
            now: now
        )
        return false
    }

    mutating func takeArithmetic(_ mode: HandshakeMode, now: Instant) -> Bool {
        guard mode != .code || arithmeticOfCodes.has(now: now), arithmetic.take(now: now) else {
            statistics.overBudget += 1
            return false
        }
        if mode == .code { _ = arithmeticOfCodes.take(now: now) }
        return true
    }

    mutating func sendRetry(
        to source: SocketAddress,
        index: UInt32,
        clientNonce: ClientNonce,
        mode: HandshakeMode,
        invite: InviteID,
        request: [UInt8],
        now: Instant
    ) {
        guard retryBudget.take(now: now) else {
            statistics.overBudget += 1
            return
        }
        cookies.rotate(now: now, from: &secrets)
        let cookie = cookies.cookie(
            for: source,
            clientNonce: clientNonce,
            mode: mode,
            invite: invite
        )
        let retry = RetryMessage(mode: mode, receiverIndex: index, cookie: cookie, invite: invite)
        outbox.append((source, retry.encode(requestMac1: request)))
        statistics.retries += 1
    }

    /// Makes room for one half-open handshake: the oldest of its source, else the oldest of all.
    mutating func makeRoom(for source: SocketAddress, now: Instant) {
        func isSame(_ entry: HalfOpen) -> Bool {
            source.isLoopback
                ? entry.source == source : entry.source.with(port: 0) == source.with(port: 0)
        }
        func isOlder(_ left: HalfOpen, _ right: HalfOpen) -> Bool { left.touched < right.touched }
        let same = halfOpen.filter(isSame)
        let oldest: HalfOpen? =
            if same.count >= configuration.halfOpenPerSource {
                same.min(by: isOlder)
            } else if halfOpen.count >= configuration.halfOpenMaximum {
                halfOpen.min(by: isOlder)
            } else {
                nil
            }
        guard let oldest else { return }
        statistics.displaced += 1
        drop(oldest, now: now)
    }

    /// Ends a half-open handshake in silence.
    mutating func drop(_ entry: HalfOpen, now: Instant) {
        guard let index = halfOpen.firstIndex(where: { $0 === entry }) else { return }
        halfOpen.remove(at: index)
        indices.release(entry.handshake.index, now: now)
    }
}
