package import MeshWire

/// The sizes that a content may have, by what was announced.
package struct ContentSizes: Hashable, Sendable {
    /// Sizes that entries of a journal name.
    package var exact: [UInt64]
    /// Any size up to this, for what is announced without one.
    package var atMost: UInt64

    package init(exact: [UInt64] = [], atMost: UInt64 = 0) {
        self.exact = exact
        self.atMost = atMost
    }

    func allow(_ size: UInt64) -> Bool {
        exact.contains(size) || size <= atMost
    }

    /// The largest of them.
    package var maximum: UInt64 { max(exact.max() ?? 0, atMost) }
}

/// Gets one content from whoever holds it: what to ask whom, and what to do with the answers.
///
/// First the root record and the pages, then the chunks, of every holder at once. Each part that
/// comes is verified outside, against the hash that ``Taken/verify(_:_:)`` names, before it counts.
/// What is not answered in time goes back to the pool, for another holder if there is one; a wrong
/// part is charged to its sender, which is left alone for this content after three
/// (`50-journal-and-playback.md` A4, A5).
package struct Fetch: Sendable {
    /// Where a fetch stands.
    package enum Phase: Hashable, Sendable {
        /// The root record or pages are missing.
        case mapping
        /// Chunks are missing.
        case fetching
        /// Every chunk is verified.
        case held
        /// The content is not what was announced: another size.
        case failed
    }

    /// What becomes of a part that came.
    package enum Taken: Hashable, Sendable {
        /// It must hash to this.
        case verify(ContentHash, Digest)
        /// It is there already.
        case known
        /// Nobody asked for it, or its length is wrong.
        case unasked
    }

    /// The content.
    package let content: ContentID
    /// Where it stands.
    package private(set) var phase = Phase.mapping
    /// The chunks that were verified; none until the content is mapped.
    package private(set) var verified = ChunkSet(capacity: 0)
    /// The sizes that it may have; another one fails the fetch.
    var sizes: ContentSizes
    /// The holders, sorted.
    var servers: [Server] = []

    private var record: ContentRecord?
    private var recordBytes: [UInt8] = []
    private var pages: [[UInt8]] = []
    private var missingParts: [TreePart] = [.record]
    /// Parts that came and have no verdict yet.
    private var unverifiedParts: [TreePart] = []
    /// Chunks nobody is asked for, in an order of this fetch's own.
    private var pool: [Int] = []
    /// Chunks that came and have no verdict yet.
    private var unverified: [Int] = []
    private var generator: SeededGenerator

    /// Chunks asked for or waiting for a verdict, 4 MiB.
    static let chunksAhead = 64
    /// Candidates that are compared by how many hold them.
    private static let candidates = 32

    /// A fetch that `seed` gives its order.
    package init(_ content: ContentID, sizes: ContentSizes, seed: UInt64) {
        self.content = content
        self.sizes = sizes
        generator = SeededGenerator(seed: seed ^ content.words.0)
    }

    /// Bytes of the content, once the record is there.
    package var size: UInt64? { record?.shape.size }

    /// Chunks of the content, once the record is there.
    package var chunks: Int? { record?.shape.chunks }

    /// The tree, once it is whole.
    package var tree: ContentTree? {
        guard let record, missingParts.isEmpty else { return nil }
        return ContentTree(shape: record.shape, record: recordBytes, pages: pages)
    }

    /// Whether somebody could be asked, now or after a pause.
    package var hasHolder: Bool { servers.contains { $0.holding != .none } }

    /// When something must be given up or asked again.
    package var deadline: Instant? {
        guard phase == .mapping || phase == .fetching else { return nil }
        return servers.lazy.compactMap(\.deadline).min()
    }

    // MARK: Holders

    /// A peer says how much it holds.
    package mutating func offer(_ peer: NodeID, _ holding: Holding) {
        let index = place(of: peer)
        servers[index].holding = holding
        if holding == .none {
            giveBack(at: index)
        } else {
            servers[index].pause = nil
        }
        if holding == .all { servers[index].chunks = nil }
    }

    /// A peer that holds a part says of which chunks; before the content is mapped that says nothing.
    package mutating func offer(_ peer: NodeID, _ ranges: [Range<Int>]) {
        guard let record else { return }
        let index = place(of: peer)
        guard servers[index].holding != .all else { return }
        servers[index].holding = .part
        var chunks = servers[index].chunks ?? ChunkSet(capacity: record.shape.chunks)
        for range in ranges {
            for chunk in range.clamped(to: 0..<record.shape.chunks) { chunks.insert(chunk) }
        }
        servers[index].chunks = chunks
    }

    /// A peer is gone; what it was asked for goes to the others.
    package mutating func lose(_ peer: NodeID) {
        guard let index = servers.firstIndex(where: { $0.peer == peer }) else { return }
        giveBack(at: index)
        servers[index].holding = .none
        servers[index].chunks = nil
        // Who lied is known when it comes back, and what was asked for may still be on its way.
        if !servers[index].isRemembered { servers.remove(at: index) }
    }

    /// A peer does not give what it was asked for.
    package mutating func refused(
        _ peer: NodeID,
        _ wanted: Wanted,
        _ reason: ContentRefusal,
        now: Instant
    ) {
        guard let index = servers.firstIndex(where: { $0.peer == peer }) else { return }
        switch wanted {
        case .chunk(let chunk):
            guard servers[index].answered(chunk) else { return }
            restore(chunk)
            if reason == .notHeld { servers[index].chunks?.remove(chunk) }
        case .tree(let part):
            guard servers[index].answered(part) else { return }
        }
        switch reason {
        case .busy, .quota: servers[index].pause = now + Server.busyPause
        case .notHeld where servers[index].holding == .part:
            servers[index].pause = now + Server.busyPause
        case .notHeld, .sourceChanged, .removed: offer(peer, .none)
        }
    }

    private mutating func place(of peer: NodeID) -> Int {
        let index = servers.firstIndex { !($0.peer < peer) } ?? servers.endIndex
        if index < servers.endIndex, servers[index].peer == peer { return index }
        servers.insert(Server(peer), at: index)
        return index
    }

    private mutating func giveBack(at index: Int) {
        for asked in servers[index].giveUpAll() { restore(asked) }
    }

    /// Puts a chunk back that nobody is asked for any more.
    private mutating func restore(_ chunk: Int) {
        guard !verified.contains(chunk), !unverified.contains(chunk), !pool.contains(chunk),
            !servers.contains(where: { $0.isAsked(chunk) })
        else { return }
        pool.append(chunk)
    }

    // MARK: Answers

    /// A part of the tree came.
    package mutating func take(_ part: TreePart, _ bytes: [UInt8], from peer: NodeID) -> Taken {
        guard let index = servers.firstIndex(where: { $0.peer == peer }),
            servers[index].answered(part)
        else { return .unasked }
        guard missingParts.contains(part), !unverifiedParts.contains(part) else { return .known }
        switch part {
        case .record:
            unverifiedParts.append(part)
            return .verify(.root, Digest(words: content.words))
        case .page(let page):
            guard let record, page < record.pages.count,
                bytes.count == 32 * record.shape.chunks(ofPage: page).count
            else { return .unasked }
            unverifiedParts.append(part)
            return .verify(.page, record.pages[page])
        }
    }

    /// Whether a part of the tree hashes to what it must; answers the charge to its sender.
    package mutating func judge(
        _ part: TreePart,
        _ bytes: [UInt8],
        from peer: NodeID,
        isTrue: Bool,
        now: Instant
    ) -> Int {
        unverifiedParts.removeAll { $0 == part }
        guard isTrue else { return lied(peer, now: now) }
        guard let place = missingParts.firstIndex(of: part) else { return 0 }
        switch part {
        case .record:
            // It has the right hash, so whatever is wrong with it is its author's doing.
            guard let read = try? ContentRecord(decoding: bytes), sizes.allow(read.shape.size)
            else {
                phase = .failed
                return 0
            }
            record = read
            recordBytes = bytes
            pages = Array(repeating: [], count: read.pages.count)
            missingParts = (0..<read.pages.count).map { .page($0) }
        case .page(let page):
            pages[page] = bytes
            missingParts.remove(at: place)
        }
        if missingParts.isEmpty { mapped() }
        return 0
    }

    private mutating func mapped() {
        guard let record else { return }
        verified = ChunkSet(capacity: record.shape.chunks)
        pool = Array(0..<record.shape.chunks)
        pool.shuffle(using: &generator)
        phase = pool.isEmpty ? .held : .fetching
        for index in servers.indices where servers[index].holding == .part {
            servers[index].chunks = nil
        }
    }

    /// A chunk came.
    package mutating func take(
        _ chunk: Int,
        byteCount: Int,
        from peer: NodeID,
        now: Instant
    ) -> Taken {
        guard let index = servers.firstIndex(where: { $0.peer == peer }) else { return .unasked }
        let isLate = !servers[index].isAsked(chunk)
        guard servers[index].arrived(chunk, now: now) else { return .unasked }
        guard let tree, !verified.contains(chunk), !unverified.contains(chunk) else {
            return .known
        }
        guard let leaf = tree.leaf(chunk), byteCount == tree.shape.byteCount(ofChunk: chunk) else {
            restore(chunk)
            return .unasked
        }
        unverified.append(chunk)
        if isLate { pool.removeAll { $0 == chunk } }
        return .verify(.leaf, leaf)
    }

    /// Whether a chunk is what it must be and is kept; answers the charge to its sender.
    package mutating func judge(
        _ chunk: Int,
        from peer: NodeID,
        isTrue: Bool,
        now: Instant
    ) -> Int {
        guard let place = unverified.firstIndex(of: chunk) else { return 0 }
        unverified.remove(at: place)
        guard isTrue else {
            restore(chunk)
            return lied(peer, now: now)
        }
        verified.insert(chunk)
        if verified.isFull { phase = .held }
        return 0
    }

    /// A chunk was what it must be and could not be kept: it is fetched again.
    package mutating func lost(_ chunk: Int) {
        unverified.removeAll { $0 == chunk }
        restore(chunk)
    }

    private mutating func lied(_ peer: NodeID, now: Instant) -> Int {
        if let index = servers.firstIndex(where: { $0.peer == peer }) {
            giveBack(at: index)
            servers[index].lied(now: now)
        }
        return Server.lieCharge
    }

    // MARK: Questions

    /// What to ask whom now.
    package mutating func requests(now: Instant) -> [(peer: NodeID, message: ContentMessage)] {
        guard phase == .mapping || phase == .fetching else { return [] }
        for index in servers.indices {
            servers[index].resume(now: now)
            for chunk in servers[index].giveUpOld(now: now) { restore(chunk) }
        }
        var requests: [(NodeID, ContentMessage)] = []
        for index in servers.indices where servers[index].isAvailable(now: now) {
            let peer = servers[index].peer
            if phase == .mapping {
                while servers[index].treeAsked.count < Server.treeParts,
                    let part = missingParts.first(where: { part in
                        !unverifiedParts.contains(part) && !servers.contains { $0.isAsked(part) }
                    })
                {
                    servers[index].ask(part, now: now)
                    requests.append((peer, .wantTree(content, part)))
                }
            } else if servers[index].holding == .part, servers[index].chunks == nil {
                // Who holds a part tells of which with the record.
                guard !servers[index].isAsked(TreePart.record) else { continue }
                servers[index].ask(.record, now: now)
                requests.append((peer, .wantTree(content, .record)))
            } else {
                let chunks = choose(at: index, now: now)
                for start in stride(from: 0, to: chunks.count, by: ContentLimits.wantChunks) {
                    let some = chunks[start..<min(start + ContentLimits.wantChunks, chunks.count)]
                    requests.append((peer, .want(content, isUrgent: false, Array(some))))
                }
            }
        }
        return requests
    }

    private mutating func choose(at index: Int, now: Instant) -> [Int] {
        var chosen: [Int] = []
        let asked = servers.reduce(unverified.count) { $0 + $1.asked.count }
        var room = min(
            servers[index].window - servers[index].asked.count,
            Self.chunksAhead - asked
        )
        while room > 0, let place = rarest(for: index) {
            let chunk = pool[place]
            pool.swapAt(place, pool.count - 1)
            pool.removeLast()
            servers[index].ask(chunk, now: now)
            chosen.append(chunk)
            room -= 1
        }
        return chosen
    }

    /// The place in the pool of a chunk that this server has and few others do.
    private func rarest(for index: Int) -> Int? {
        var best: (place: Int, holders: Int)?
        var seen = 0
        for place in pool.indices.reversed() where servers[index].has(pool[place]) {
            let holders = servers.count { $0.has(pool[place]) }
            if holders < best?.holders ?? .max { best = (place, holders) }
            seen += 1
            if seen == Self.candidates || holders <= 1 { break }
        }
        return best?.place
    }
}
