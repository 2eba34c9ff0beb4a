import MeshWire

// One hop through a helper where the direct way is broken (`30-consensus.md` §6, partial connectivity).
// A helper that vouched for a member I do not hear carries what I send it, and the answers if it does
// not hear me either. What came that way counts as hearing, so nobody is dropped and nobody campaigns;
// direct probes go on, and the first packet that comes directly ends it.
extension ConsensusCore {
    /// The helper that carries what is sent to `process`; `nil`: the direct way is used.
    func carrier(to process: ProcessID) -> ProcessID? {
        links.index(of: process.tag).flatMap { carrier(links.values[$0]) }
    }

    func carrier(_ link: Link) -> ProcessID? {
        guard let helper = link.relay, link.isDeaf || now - link.deafAt < Relaying.hold,
            isDirect(helper), view?.member(tag: link.process.tag) != nil
        else { return nil }
        return helper
    }

    /// Whether `process` is a member that is reached without help.
    func isDirect(_ process: ProcessID) -> Bool {
        guard view?.member(tag: process.tag) != nil, let link = links[process.tag] else {
            return false
        }
        return link.isReachable && !link.isDeaf
    }

    /// Whether a message to `process` leaves at all.
    func hasWay(to process: ProcessID) -> Bool {
        links[process.tag]?.isReachable == true || carrier(to: process) != nil
    }

    /// Sends `inner`, an encoded message for `process`, through `helper`.
    mutating func sendRelayed(_ inner: [UInt8], to process: ProcessID, through helper: ProcessID) {
        guard let signing, let genesis else { return }
        relaying.counter += 1
        var relay = Message.Relay(
            origin: me.tag,
            target: process.tag,
            counter: relaying.counter,
            isDeaf: links[process.tag]?.isDeaf ?? false,
            inner: inner
        )
        relay.signature = signing.sign(.relay, relay.signedBytes(genesis: genesis))
        links.update(process.tag) { $0.relaySentAt = now }
        sendDirectly(.relay(relay), to: helper)
    }

    // MARK: Beginning and end

    /// `helper` answered for `tag`: if the direct way is broken, messages take that one.
    mutating func noteVouched(_ tag: UInt64, by helper: ProcessID) {
        guard signing != nil, role == .member || role == .leader || role == .suspended,
            isDirect(helper), view?.member(tag: tag) != nil, let link = links[tag]
        else { return }
        if link.isDeaf {
            // The helper of before leads nowhere any more.
            if now - link.relayedAt > probeStart { links.update(tag) { $0.relay = helper } }
            return
        }
        guard
            !link.isReachable
                || now - link.directAt > probeStart
                    && (link.probes >= Relaying.probes || attempt != nil)
        else { return }
        links.update(tag) {
            $0.isDeaf = true
            $0.relay = helper
            $0.relayedAt = now
        }
        relaying.nextTry = min(relaying.nextTry, now)
        statistics.relaysBegun += 1
    }

    /// `tag` answered a direct probe directly: both ways work.
    mutating func noteTwoWay(_ tag: UInt64) {
        guard links[tag]?.relay != nil else { return }
        links.update(tag) { link in
            link.deafAt = now - .seconds(10)
            link.relay = nil
        }
    }

    /// Tries the broken ways again, and tells those behind them that I still do not hear them.
    mutating func tickRelays() {
        guard now >= relaying.nextTry else { return }
        relaying.nextTry = .distantFuture
        for index in 0..<links.count where links.values[index].isDeaf {
            let process = links.values[index].process
            guard view?.member(tag: process.tag) != nil, role != .joining else {
                links.update(process.tag) {
                    $0.isDeaf = false
                    $0.relay = nil
                }
                continue
            }
            relaying.nextTry = now + Relaying.retry
            sendProbe(to: process)
            let isQuiet = now - (links[process.tag]?.relaySentAt ?? now) >= Relaying.retry
            if isQuiet, let helper = carrier(to: process) {
                let bytes = encoded(probe(of: process), to: process)
                sendRelayed(bytes, to: process, through: helper)
            }
        }
    }

    // MARK: Receiving

    /// A RELAY from `sender`: for me, or to be passed on.
    mutating func receiveRelay(_ relay: Message.Relay, _ sender: ProcessID) {
        guard let view, view.member(tag: sender.tag) != nil, relay.origin != me.tag,
            let origin = view.member(tag: relay.origin)?.process,
            let target = view.member(tag: relay.target)?.process, origin != target,
            // What comes from its origin is passed on, all else is for me: one hop and no more.
            (origin == sender) != (target == me)
        else {
            statistics.relaysRefused += 1
            return
        }
        let limit =
            target == me ? ConsensusLimits.relaysReceived : ConsensusLimits.relaysCarried
        guard relaying.admits(sender.tag, bytes: relay.inner.count, limit: limit, now: now) else {
            statistics.relaysOverBound += 1
            return
        }
        guard target == me else {
            statistics.relaysCarried += 1
            return sendDirectly(.relay(relay), to: target)
        }
        takeRelay(relay, origin, through: sender)
    }

    private mutating func takeRelay(
        _ relay: Message.Relay,
        _ origin: ProcessID,
        through helper: ProcessID
    ) {
        var window = relaying.windows[origin.tag] ?? RelayWindow()
        guard let signing, let genesis, window.accepts(relay.counter),
            signing.verify(
                .relay,
                origin.nodeID,
                relay.signedBytes(genesis: genesis),
                relay.signature
            )
        else {
            statistics.relaysRefused += 1
            return
        }
        window.note(relay.counter)
        keepWindow(window, of: origin.tag)
        let header: MessageHeader
        let message: Message
        do {
            (header, message) = try Message.decode(relay.inner.raw)
        } catch {
            statistics.malformed += 1
            return
        }
        if case .relay = message {
            statistics.relaysRefused += 1
            return
        }
        guard isAcceptable(header, message, from: origin) else {
            statistics.misdirected += 1
            return
        }
        touchLink(origin)
        let late = probeStart
        links.update(origin.tag) { link in
            let wasSilent = now - link.relayedAt > late
            link.relayedAt = now
            guard relay.isDeaf else { return }
            link.deafAt = now
            // Answers take the way of the question. Two that are both deaf settle for one helper: if each
            // had its own and one of them died, its user would go on hearing the other by the second.
            guard link.isDeaf, !wasSilent, let own = link.relay, own.tag <= helper.tag else {
                link.relay = helper
                return
            }
        }
        statistics.relaysReceived += 1
        noteHeard(origin, isDirect: false)
        counterSeen = max(counterSeen, header.epoch.counter)
        dispatch(message, header, origin, isRelayed: true)
    }

    /// Keeps what came of an origin; those of processes that are gone make room.
    private mutating func keepWindow(_ window: RelayWindow, of tag: UInt64) {
        if relaying.windows[tag] == nil, relaying.windows.count >= ConsensusLimits.links,
            let spare = relaying.windows.tags.first(where: { view?.member(tag: $0) == nil })
        {
            relaying.windows[spare] = nil
        }
        relaying.windows[tag] = window
    }
}
