internal import MeshCrypto
package import MeshWire

extension Endpoint {
    /// Lets the timers that are due act.
    package mutating func advance(to now: Instant) {
        indices.expire(now: now)
        expireInvites(now: now)
        advanceDials(now: now)
        for entry in halfOpen {
            if let held = entry.held, held.until <= now { drop(entry, now: now) }
            if entry.touched + configuration.halfOpenLife <= now { drop(entry, now: now) }
        }
        for keys in refused {
            if keys.established + configuration.confirmationTimeout <= now {
                refused.removeAll { $0 === keys }
                release(keys, now: now)
            } else if keys.resend.fire(now: now) {
                sendProof(under: keys, now: now)
            }
        }
        while let first = closing.first, first.until <= now {
            closing.removeFirst()
            release(first.keys, now: now)
        }
        for peer in peerTable { advance(peer, now: now) }
    }

    private mutating func advanceDials(now: Instant) {
        for dial in dials {
            if case .held(_, let until) = dial.phase {
                if until <= now { fail(dial, .unconfirmed, now: now) }
            } else if dial.resend.fire(now: now) {
                outbox.append((dial.address, dial.bytes))
            } else if dial.resend.end <= now {
                fail(dial, timeoutFailure(of: dial), now: now)
            }
        }
    }

    private mutating func advance(_ peer: Peer, now: Instant) {
        if let next = peer.next {
            if next.established + configuration.confirmationTimeout <= now {
                // Its initiator never answered: nothing of it is left.
                forget(next, of: peer, now: now)
                if let id = next.dial { events.append(.dialFailed(id, .unconfirmed)) }
            } else if next.resend.fire(now: now) {
                sendProof(under: next, now: now)
            }
        }
        guard peer.isConnected || peer.isGated else {
            if peer.next == nil { end(peer, .lost, now: now) }
            return
        }
        let silence = now - peer.lastHeard
        guard silence < configuration.transport.grace else {
            sayClose(to: peer, .idle, text: "", now: now)
            mark(peer.nodeID, peer.incarnation)
            end(peer, .lost, now: now)
            return
        }
        if silence >= configuration.transport.idleTimeout { peer.isAway = true }
        retireKeys(of: peer, now: now)
        if wantsRenewal(peer, now: now) { renew(peer, now: now) }
        peer.connection.advance(to: now)
        drain(peer, now: now)
    }

    private mutating func retireKeys(of peer: Peer, now: Instant) {
        if let previous = peer.previous, retirement(of: previous) <= now {
            forget(previous, of: peer, now: now)
        }
        if let current = peer.current, current.box.traffic.stopInstant <= now {
            forget(current, of: peer, now: now)
        }
    }

    /// 10 s after the new keys were confirmed or its last packet came (`10-security.md` §6).
    private func retirement(of keys: PairKeys) -> Instant {
        min(
            max(keys.retires, keys.lastOpened + configuration.previousKeyLife),
            keys.box.traffic.stopInstant
        )
    }

    // MARK: Renewal

    private func wantsRenewal(_ peer: Peer, now: Instant) -> Bool {
        guard peer.renewal == nil, roomKeys != nil, let due = renewalInstant(of: peer, now: now)
        else { return false }
        return due <= now
    }

    /// When our own handshake with a peer is due; `nil` if none is.
    private func renewalInstant(of peer: Peer, now: Instant) -> Instant? {
        guard !peer.isAway, let current = peer.current else { return peer.nextAttempt }
        guard peer.next == nil else { return nil }
        let traffic = Renewal(of: current, limits: limits(of: current), now: now)
        guard traffic.isWanted else {
            return max(peer.nextAttempt, traffic.ageInstant + ownStagger(for: peer))
        }
        if peer.rekeyWanted == nil { peer.rekeyWanted = now }
        if traffic.isUrgent { return peer.nextAttempt }
        let since = peer.rekeyWanted ?? now
        return max(peer.nextAttempt, since + ownStagger(for: peer))
    }

    /// The smaller identity begins; the larger only if that one does not.
    private func ownStagger(for peer: Peer) -> Duration {
        nodeID < peer.nodeID ? .zero : configuration.rekeyStagger
    }

    private func limits(of keys: PairKeys) -> KeyLimits {
        configuration.keyLimits ?? KeyLimits(keys.box.traffic.suite)
    }

    /// What a pair's counters and age say about its replacement.
    private struct Renewal {
        /// Whether a soft limit is reached.
        let isWanted: Bool
        /// Whether three quarters of the hard stop are used, or nothing more is sealed.
        let isUrgent: Bool
        /// When age alone makes a rekey due.
        let ageInstant: Instant

        init(of keys: PairKeys, limits: KeyLimits, now: Instant) {
            let used = max(
                keys.box.traffic.sealing.counter,
                keys.box.traffic.opening.highest ?? 0
            )
            isWanted = keys.box.traffic.wantsRekey(now: now)
            isUrgent =
                used >= limits.hardPackets / 4 * 3 || keys.box.traffic.sealing.isSpent(now: now)
                || now >= keys.box.traffic.created + limits.hardAge * 0.75 + .seconds(10)
            ageInstant = keys.box.traffic.rekeyInstant
        }
    }

    // MARK: Deadline

    /// How often lanes that have no key to seal with are looked at.
    private static var stuckInterval: Duration { .milliseconds(1) }

    /// When ``advance(to:)`` has something to do.
    func deadline(now: Instant) -> Instant? {
        var earliest: Instant?
        func note(_ instant: Instant?) {
            guard let instant else { return }
            earliest = min(earliest ?? instant, instant)
        }
        if !outbox.isEmpty { note(now) }
        note(invites.map(\.expires).min())
        for dial in dials { note(dial.deadline) }
        for entry in halfOpen {
            note(entry.held?.until ?? entry.touched + configuration.halfOpenLife)
        }
        for keys in refused {
            note(keys.resend.next ?? keys.established + configuration.confirmationTimeout)
        }
        for pair in closing { note(pair.until) }
        for peer in peerTable {
            if let next = peer.next {
                note(next.resend.next)
                note(next.established + configuration.confirmationTimeout)
            }
            guard peer.isConnected || peer.isGated else { continue }
            let transport = configuration.transport
            note(peer.lastHeard + (peer.isAway ? transport.grace : transport.idleTimeout))
            note(peer.previous.map { retirement(of: $0) })
            note(peer.current.map { $0.box.traffic.stopInstant })
            if peer.renewal == nil, roomKeys != nil {
                note(renewalInstant(of: peer, now: now))
            }
            // All that could leave has left: what is due all the same waits for a key to seal with.
            note(
                peer.connection.deadline(now: now).map {
                    $0 <= now ? now + Self.stuckInterval : $0
                }
            )
        }
        return earliest
    }
}
