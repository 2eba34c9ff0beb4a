internal import MeshCrypto
package import MeshWire

extension Endpoint {
    /// Appends all datagrams that may leave now, and answers when to call ``advance(to:)`` next.
    ///
    /// Handshakes go first, then the peers in the order of their identities.
    package mutating func poll(now: Instant, into batch: inout DatagramBatch) -> Instant? {
        let entries = batch.entries.count
        let bytes = batch.storage.count
        flushOutbox(into: &batch)
        boundMemory()
        for peer in peerTable {
            build(peer, into: &batch, now: now)
            drain(peer, now: now)
        }
        flushOutbox(into: &batch)
        statistics.sent &+= UInt64(batch.entries.count - entries)
        statistics.sentBytes &+= UInt64(batch.storage.count - bytes)
        return deadline(now: now)
    }

    /// All connections of a node hold so much at most, 256 MiB (`20-transport.md` §2).
    private static var memoryMaximum: UInt64 { 256 << 20 }

    /// Lets no window grow while the peers' unread bytes fill the node's memory.
    private func boundMemory() {
        let held = peerTable.reduce(UInt64(0)) { sum, peer in
            let window = peer.connection.receiveWindow
            return sum &+ (window.received - min(window.received, window.released))
        }
        for peer in peerTable { peer.connection.windowsMayGrow = held < Self.memoryMaximum }
    }

    private mutating func flushOutbox(into batch: inout DatagramBatch) {
        for (address, bytes) in outbox { batch.append(bytes, to: .address(address)) }
        outbox.removeAll(keepingCapacity: true)
    }

    /// The packets a peer's lanes want to send: acknowledgments under *previous*, all under *current*.
    private func build(_ peer: Peer, into batch: inout DatagramBatch, now: Instant) {
        for keys in [peer.previous, peer.current] {
            guard let keys else { continue }
            while !keys.box.traffic.sealing.isSpent(now: now) {
                let count = batch.entries.count
                batch.append(to: .address(keys.address)) { buffer in
                    let start = buffer.count
                    DataHeader.append(receiverIndex: keys.box.traffic.remoteIndex, to: &buffer)
                    let isFilled = peer.connection.build(
                        space: keys.space,
                        number: keys.box.traffic.sealing.counter,
                        into: &buffer,
                        now: now
                    )
                    guard isFilled, Self.seal(&buffer, from: start, under: keys, now: now) else {
                        buffer.removeLast(buffer.count - start)
                        return
                    }
                }
                guard batch.entries.count > count else { break }
            }
        }
    }

    private static func seal(
        _ buffer: inout [UInt8],
        from start: Int,
        under keys: PairKeys,
        now: Instant
    ) -> Bool {
        do {
            _ = try keys.box.traffic.sealing.seal(from: start, in: &buffer, now: now)
            return true
        } catch {
            // A spent key: the caller asked just before, so this is a key that was closed.
            return false
        }
    }

    /// One packet of the endpoint's own frames, padded to a multiple of 16.
    private mutating func sendFrames(_ frames: [Frame], under keys: PairKeys, now: Instant) {
        var bytes: [UInt8] = []
        DataHeader.append(receiverIndex: keys.box.traffic.remoteIndex, to: &bytes)
        for frame in frames { frame.encode(into: &bytes) }
        while !bytes.count.isMultiple(of: 16) { Frame.padding.encode(into: &bytes) }
        let number = keys.box.traffic.sealing.counter
        guard Self.seal(&bytes, from: 0, under: keys, now: now) else { return }
        outbox.append((keys.address, bytes))
        // Before the pair is adopted its numbers are noted all at once.
        if keys.isConfirmed, let peer = peer(keys.peer),
            peer.allKeys.contains(where: { $0 === keys })
        {
            peer.connection.skip(space: keys.space, number: number)
        }
    }

    /// Our AUTH as the responder, with the refusal behind it if there is one.
    mutating func sendProof(under keys: PairKeys, now: Instant) {
        var frames: [Frame] = [.authentication(keys.proof)]
        if let reason = keys.refusal { frames.append(.close(reason, text: "")) }
        sendFrames(frames, under: keys, now: now)
    }

    mutating func sendClose(
        _ reason: CloseReason,
        text: String,
        under keys: PairKeys,
        now: Instant
    ) {
        sendFrames([.close(reason, text: text)], under: keys, now: now)
    }

    /// Says CLOSE under the current keys, which stay a while to say it again.
    mutating func sayClose(to peer: Peer, _ reason: CloseReason, text: String, now: Instant) {
        guard let keys = peer.current else { return }
        sendClose(reason, text: text, under: keys, now: now)
        if closing.count >= Limits.members { expire(closing.removeFirst(), now: now) }
        closing.append(
            ClosingPair(
                keys: keys,
                reason: reason,
                text: text,
                remaining: 2,
                until: now + .seconds(3)
            )
        )
    }

    private mutating func expire(_ pair: ClosingPair, now: Instant) {
        release(pair.keys, now: now)
    }

    /// Ends the connection to a peer; its open sends end with `peerLost`, then `disconnected` comes.
    ///
    /// What the lanes may send at once still leaves before the CLOSE. A text above 128 bytes is cut.
    package mutating func close(
        _ peer: NodeID,
        reason: CloseReason,
        text: String = "",
        now: Instant
    ) {
        guard let found = self.peer(peer) else { return }
        var batch = DatagramBatch()
        build(found, into: &batch, now: now)
        for entry in batch.entries {
            guard case .address(let address) = entry.destination else { continue }
            outbox.append((address, batch.bytes(of: entry)))
        }
        var text = text
        while text.utf8.count > Frame.closeTextBytes { text.removeLast() }
        sayClose(to: found, reason, text: text, now: now)
        mark(peer, found.incarnation)
        end(found, .local(reason), now: now)
    }

    /// Ends every connection, as ``close(_:reason:text:now:)`` does.
    package mutating func closeAll(reason: CloseReason, text: String = "", now: Instant) {
        for peer in peerTable { close(peer.nodeID, reason: reason, text: text, now: now) }
    }
}
