package import MeshWire

extension Connection {
    /// Lets the timers that are due act; `build` then finds what they want to send.
    package mutating func advance(to now: Instant) {
        if !isQuiet, now - lastHeard >= configuration.quietAfter, !spaces.isEmpty {
            isQuiet = true
            if life == .open { events.append(.quiet) }
        }
        guard life == .open else { return }
        for space in spaces.indices {
            if let time = spaces[space].lossTime, time <= now {
                var samples = AckSamples()
                detectLost(space, &samples, now: now)
                note(samples.all)
                control(samples, now: now)
            }
        }
        if let probe = probeDeadline, probe <= now { probeTimedOut(now: now) }
        while let token = expiries.popExpired(now: now) { cancel(token, outcome: .expired) }
        advanceFast(now: now)
        advanceLatest(now: now)
        if now - lastSent >= configuration.keepAlive, !spaces.isEmpty { isPingOwed = true }
    }

    /// When ``advance(to:)``, and `build` after it, should be called next if nothing comes before.
    package func deadline(now: Instant) -> Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            earliest = min(earliest ?? instant, instant)
        }
        guard !spaces.isEmpty else { return nil }
        if !isQuiet { consider(lastHeard + configuration.quietAfter) }
        guard life == .open else { return earliest }
        for space in spaces {
            consider(space.acknowledgmentDue)
            consider(space.lossTime)
        }
        consider(probeDeadline)
        consider(redundancy.deadline)
        consider(pacingDeadline)
        consider(expiries.deadline)
        consider(latestTimers.first?.due)
        consider(fastReassembly.deadline)
        for message in fast.pending {
            consider(message.dropped(after: configuration.fastWaitMaximum))
            if message.header.isLatest, latestGate > now { consider(latestGate) }
        }
        if !isPingOwed { consider(lastSent + configuration.keepAlive) }
        return earliest
    }
}
