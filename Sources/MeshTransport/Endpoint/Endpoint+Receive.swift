internal import MeshCrypto
package import MeshWire

extension Endpoint {
    /// Takes one datagram of the types 01 to 10; those of discovery are not for the endpoint.
    ///
    /// Nothing it holds can trap; what is wrong is counted in ``statistics`` and answered by silence.
    package mutating func receive(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) {
        statistics.received += 1
        statistics.receivedBytes &+= UInt64(datagram.byteCount)
        indices.expire(now: now)
        var reader = ByteReader(datagram)
        // The first byte tells the types apart; an empty datagram has none.
        let first: UInt8? = try? reader.read()
        guard let first, let type = MessageType(rawValue: first) else {
            statistics.malformed += 1
            return
        }
        switch type {
        case .data: receiveData(datagram, now: now)
        case .hello: receiveHello(datagram, from: source, now: now)
        case .retry: receiveRetry(datagram, from: source, now: now)
        case .first: receiveFirst(datagram, from: source, now: now)
        case .second: receiveSecond(datagram, from: source, now: now)
        case .third: receiveThird(datagram, from: source, now: now)
        case .beacon, .inviteBeacon, .probe: statistics.malformed += 1
        }
    }

    /// The receive path of `10-security.md` §6: length, index, counter, window, open, window.
    private mutating func receiveData(_ datagram: RawSpan, now: Instant) {
        guard let header = DataHeader(datagram) else {
            statistics.malformed += 1
            return
        }
        var content: [UInt8] = []
        swap(&content, &scratch)
        defer { swap(&content, &scratch) }
        switch indices[header.receiverIndex] {
        case .keys(let keys)?:
            let opened = keys.box.traffic.opening.open(datagram, into: &content, now: now)
            guard let count = counted(opened) else { return }
            keys.lastOpened = now
            accept(content.raw.extracting(0..<count), header.counter, under: keys, now: now)
        case .dial(let dial)?:
            guard let box = dial.traffic else {
                statistics.unknownIndex += 1
                return
            }
            let opened = box.traffic.opening.open(datagram, into: &content, now: now)
            guard let count = counted(opened) else { return }
            prove(dial, content.raw.extracting(0..<count), header.counter, now: now)
        case .halfOpen?, nil:
            statistics.unknownIndex += 1
        }
    }

    private mutating func counted(_ opened: Opened) -> Int? {
        switch opened {
        case .packet(let byteCount): return byteCount
        case .replay: statistics.replayedData += 1
        case .forged: statistics.forgedData += 1
        case .exhausted: statistics.exhaustedData += 1
        }
        return nil
    }

    /// One packet that opened under the keys of a finished handshake.
    private mutating func accept(
        _ content: RawSpan,
        _ number: UInt64,
        under keys: PairKeys,
        now: Instant
    ) {
        if let index = closing.firstIndex(where: { $0.keys === keys }) {
            guard closing[index].remaining > 0 else { return }
            closing[index].remaining -= 1
            let pair = closing[index]
            sendClose(pair.reason, text: pair.text, under: keys, now: now)
            return
        }
        // A refused process has its answer; whatever it says is not heard.
        guard keys.refusal == nil, let peer = peer(keys.peer) else { return }
        if !keys.isConfirmed {
            keys.isConfirmed = true
            install(keys, in: peer, now: now)
        }
        peer.lastHeard = now
        // Heard again under the keys of before: the silence is over, and nothing was lost.
        if peer.isAway, peer.current === keys || peer.previous === keys { peer.isAway = false }
        deliver(content, number, under: keys, to: peer, now: now)
    }

    /// Hands a packet's content to the lanes, after what concerns the endpoint alone.
    mutating func deliver(
        _ content: RawSpan,
        _ number: UInt64,
        under keys: PairKeys,
        to peer: Peer,
        now: Instant
    ) {
        guard isProofRepeated(content, under: keys) else {
            violate(peer, now: now)
            return
        }
        if peer.isGated {
            guard passesGate(content, peer: peer, now: now) else { return }
        }
        do {
            try peer.connection.receive(content, space: keys.space, number: number, now: now)
            drain(peer, now: now)
        } catch {
            drain(peer, now: now)
            violate(peer, now: now)
        }
    }

    /// Whether an AUTH at the front, if one is there, is the one that we know.
    private func isProofRepeated(_ content: RawSpan, under keys: PairKeys) -> Bool {
        var reader = ByteReader(content)
        // Too short for an AUTH is the lanes' to judge.
        let type: UInt8? = try? reader.read()
        guard type == Authentication.frameType else { return true }
        let proof = try? reader.readBytes(Authentication.byteCount)
        return proof == keys.peerProof
    }
}
