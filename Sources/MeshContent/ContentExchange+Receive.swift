package import MeshWire

// What comes from the others, and what the driver answers.
extension ContentExchange {
    /// Takes a message of channel 1.
    ///
    /// `isAllowed` says whether the sender may have a content; who may not is told that this node is
    /// busy, since the news of its part in a session may still be on its way here.
    package mutating func receive(
        _ bytes: [UInt8],
        from peer: NodeID,
        isAllowed: (ContentID) -> Bool,
        now: Instant
    ) {
        guard isHeard(peer) else { return }
        let message: ContentMessage
        do {
            message = try ContentMessage(decoding: bytes)
        } catch {
            switch error {
            case .unknownType:
                // A later version may say more than this one understands.
                statistics.unknown += 1
            case .malformed:
                statistics.malformed += 1
                charge(peer, 1)
            }
            return
        }
        switch message {
        case .inventory(let items):
            for item in items { note(item, of: peer) }
        case .have(let content, let ranges):
            have(content, ranges, of: peer)
        case .wantTree(let content, let part):
            give([.tree(part)], of: content, to: peer, isUrgent: false, isAllowed(content))
        case .want(let content, let isUrgent, let chunks):
            let wanted = chunks.map { Wanted.chunk($0) }
            give(wanted, of: content, to: peer, isUrgent: isUrgent, isAllowed(content))
        case .cancel(let content, let chunks):
            serve.cancel(content, chunks, for: peer)
        case .tree(let content, let part, let bytes):
            let taken = fetches[content]?.fetch.take(part, bytes, from: peer)
            take(taken, .tree(part), of: content, bytes, from: peer)
        case .chunk(let content, let chunk, let bytes):
            let taken = fetches[content]?.fetch.take(
                chunk,
                byteCount: bytes.count,
                from: peer,
                now: now
            )
            take(taken, .chunk(chunk), of: content, bytes, from: peer)
        case .refuse(let content, let wanted, let reason):
            fetches[content]?.fetch.refused(peer, wanted, reason, now: now)
        }
        ask(now: now)
        serveNext()
    }

    private mutating func note(_ item: ContentMessage.Item, of peer: NodeID) {
        let index = place(of: peer)
        let old = peers[index].holdings[item.content] ?? .none
        if item.state == .none {
            peers[index].holdings[item.content] = nil
        } else {
            guard
                old != .none || peers[index].holdings.count < ContentLimits.inventoryMemory
            else { return }
            peers[index].holdings[item.content] = item.state
        }
        fetches[item.content]?.fetch.offer(peer, item.state)
        if (old == .all) != (item.state == .all) { actions.append(.holders(item.content)) }
    }

    private mutating func have(_ content: ContentID, _ ranges: [Range<Int>], of peer: NodeID) {
        let index = place(of: peer)
        guard peers[index].holdings[content] != .all else { return }
        note(.init(content, .part), of: peer)
        fetches[content]?.fetch.offer(peer, ranges)
    }

    /// Queues what a peer asks for, or says why not.
    private mutating func give(
        _ wanted: [Wanted],
        of content: ContentID,
        to peer: NodeID,
        isUrgent: Bool,
        _ isAllowed: Bool
    ) {
        _ = place(of: peer)
        let state = holding(content)
        for part in wanted {
            if !isAllowed {
                send(.refuse(content, part, .busy), to: peer)
            } else if !exists(part, of: content) {
                charge(peer, 1)
            } else if !isHere(part, of: content) {
                send(.refuse(content, part, .notHeld), to: peer)
            } else if !serve.want(
                Serve.Part(content: content, wanted: part),
                for: peer,
                isUrgent: isUrgent
            ) {
                send(.refuse(content, part, .busy), to: peer)
            }
        }
        // Who asks for the record of what is here in part wants to know of which.
        guard isAllowed, state == .part, wanted.contains(.tree(.record)),
            let fetch = fetches[content]?.fetch
        else { return }
        send(.have(content, fetch.verified.ranges(limit: ContentLimits.haveRanges)), to: peer)
    }

    /// Whether the content has such a part, as far as that is known here.
    private func exists(_ part: Wanted, of content: ContentID) -> Bool {
        guard let shape = held[content]?.shape ?? fetches[content]?.fetch.tree?.shape else {
            return true
        }
        switch part {
        case .chunk(let chunk): return chunk < shape.chunks
        case .tree(.record): return true
        case .tree(.page(let page)): return page < shape.pages
        }
    }

    private func isHere(_ part: Wanted, of content: ContentID) -> Bool {
        if held[content] != nil { return true }
        guard let fetch = fetches[content]?.fetch, fetch.tree != nil else { return false }
        switch part {
        case .chunk(let chunk): return fetch.verified.contains(chunk)
        case .tree: return true
        }
    }

    private mutating func take(
        _ taken: Fetch.Taken?,
        _ part: Wanted,
        of content: ContentID,
        _ bytes: [UInt8],
        from peer: NodeID
    ) {
        switch taken {
        case .verify(let hash, let expected)?:
            actions.append(
                .verify(
                    Verification(
                        content: content,
                        part: part,
                        hash: hash,
                        expected: expected,
                        bytes: bytes,
                        from: peer
                    )
                )
            )
        case .known?: statistics.known += 1
        case nil where held[content] != nil || isRecent(content): statistics.known += 1
        case .unasked?, nil:
            statistics.unasked += 1
            charge(peer, 1)
        }
    }

    /// What became of a part that was to be verified.
    package mutating func verified(
        _ verification: Verification,
        _ verdict: Verdict,
        now: Instant
    ) {
        let (content, peer) = (verification.content, verification.from)
        guard fetches[content] != nil else { return }
        let isTrue = verdict != .wrong
        if !isTrue { statistics.wrong += 1 }
        let amount: Int?
        switch verification.part {
        case .chunk(let chunk):
            if verdict == .notKept {
                fetches[content]?.fetch.lost(chunk)
                amount = 0
            } else {
                amount = fetches[content]?.fetch.judge(chunk, from: peer, isTrue: isTrue, now: now)
                if isTrue { keep(chunk, of: content, now: now) }
            }
        case .tree(let part):
            amount = fetches[content]?.fetch.judge(
                part,
                verification.bytes,
                from: peer,
                isTrue: isTrue,
                now: now
            )
        }
        charge(peer, amount ?? 0)
        follow(content)
        ask(now: now)
    }

    private mutating func keep(_ chunk: Int, of content: ContentID, now: Instant) {
        statistics.chunksReceived += 1
        fetches[content]?.untold.append(chunk)
        if fetches[content]?.untoldSince == nil { fetches[content]?.untoldSince = now }
        if fetches[content]?.untold.count ?? 0 >= Self.haveChunks { tellChunks(of: content) }
        actions.append(.progress(content))
    }

    /// What follows from where a fetch stands now.
    private mutating func follow(_ content: ContentID) {
        guard let fetching = fetches[content] else { return }
        if !fetching.isMapped, let tree = fetching.fetch.tree {
            fetches[content]?.isMapped = true
            actions.append(.mapped(content, size: tree.shape.size))
            if fetching.fetch.phase != .held { actions.append(.announce(content)) }
        }
        switch fetching.fetch.phase {
        case .held:
            guard let tree = fetching.fetch.tree else { return }
            end(content)
            held[content] = tree
            actions.append(.held(content, tree))
            actions.append(.announce(content))
        case .failed:
            end(content)
            actions.append(.failed(content))
        case .mapping, .fetching: break
        }
    }

    /// Tells the others of the chunks that came since the last time.
    mutating func tellChunks(of content: ContentID) {
        guard let untold = fetches[content]?.untold else { return }
        fetches[content]?.untold = []
        fetches[content]?.untoldSince = nil
        var ranges: [Range<Int>] = []
        for chunk in untold.sorted() {
            if let last = ranges.last, last.upperBound == chunk {
                ranges[ranges.count - 1] = last.lowerBound..<chunk + 1
            } else {
                ranges.append(chunk..<chunk + 1)
            }
        }
        guard !ranges.isEmpty else { return }
        for peer in peers where peer.told.contains(content) && peer.holdings[content] != .all {
            send(.have(content, ranges), to: peer.nodeID)
        }
    }

    /// A chunk was read for a peer; `nil` if it cannot be.
    package mutating func read(
        _ content: ContentID,
        _ chunk: Int,
        for peer: NodeID,
        bytes: [UInt8]?
    ) {
        let isWanted = peers.contains { $0.nodeID == peer }
        serve.wasRead(for: peer, isSent: bytes != nil && isWanted)
        if isWanted {
            if let bytes {
                let message = ContentMessage.chunk(content, chunk, bytes)
                actions.append(.send(peer, message.encoded, isPart: true))
                statistics.chunksSent += 1
            } else {
                send(.refuse(content, .chunk(chunk), .sourceChanged), to: peer)
            }
        }
        serveNext()
    }

    /// A pair took a part that it was handed.
    package mutating func taken(by peer: NodeID) {
        serve.taken(by: peer)
        serveNext()
    }
}
