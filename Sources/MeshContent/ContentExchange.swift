package import MeshWire

/// One node's part in the exchange of contents: what it holds, fetches, serves and tells.
///
/// A sans-IO value. It is handed messages, verdicts, bytes that were read, and time; it answers with
/// ``Action``s, which its driver does in order and, where they say so, answers. Which peer may have
/// which content the driver decides: it is asked for each request, and it announces.
///
/// ```
/// fetch ─▶ requests ─▶ send …  chunk ─▶ verify ─▶ verified ─▶ held ─▶ announce
/// want  ─▶ read     ─▶ read(…) ─▶ send ─▶ taken
/// ```
package struct ContentExchange: Sendable {
    /// What the driver must do.
    package enum Action: Hashable, Sendable {
        /// Hand the bytes to the pair; answered by ``ContentExchange/taken(by:)`` if `isPart`.
        case send(NodeID, [UInt8], isPart: Bool)
        /// Hash, and keep a chunk that is true; answered by ``ContentExchange/verified(_:_:now:)``.
        case verify(Verification)
        /// Read a chunk; answered by ``ContentExchange/read(_:_:for:bytes:)``.
        case read(ContentID, Int, for: NodeID)
        /// The size is known: make room. Comes before any chunk is to be kept.
        case mapped(ContentID, size: UInt64)
        /// Every chunk is verified and kept.
        case held(ContentID, ContentTree)
        /// What was announced is not what it is.
        case failed(ContentID)
        /// More of it is verified.
        case progress(ContentID)
        /// Other nodes began or ceased to hold it.
        case holders(ContentID)
        /// What this node holds of it is another than before: tell those who may know.
        case announce(ContentID)
        /// A peer broke the rules so often that it is not heard any more.
        case misbehaved(NodeID)
    }

    /// A part that must be hashed.
    package struct Verification: Hashable, Sendable {
        package var content: ContentID
        package var part: Wanted
        package var hash: ContentHash
        package var expected: Digest
        package var bytes: [UInt8]
        package var from: NodeID
    }

    /// What became of a part that was to be verified.
    package enum Verdict: Hashable, Sendable {
        /// It hashes to what it must, and a chunk is kept.
        case genuine
        /// It does not.
        case wrong
        /// It does, and there was no place to keep it.
        case notKept
    }

    struct Peer: Sendable {
        let nodeID: NodeID
        /// What it says that it holds, known here or not; bounded.
        var holdings: [ContentID: Holding] = [:]
        /// What it was told about.
        var told: Set<ContentID> = []
    }

    struct Fetching: Sendable {
        var fetch: Fetch
        /// Somebody waits for it.
        var isUrgent: Bool
        /// Chunks that are not told yet, and since when.
        var untold: [Int] = []
        var untoldSince: Instant?
        var isMapped = false
    }

    /// Looked up; walked by ``order``.
    var fetches: [ContentID: Fetching] = [:]
    /// The contents that are fetched, oldest first.
    var order: [ContentID] = []
    /// What this node holds whole; looked up, never walked.
    var held: [ContentID: ContentTree] = [:]
    /// The connected peers, sorted.
    var peers: [Peer] = []
    var serve = Serve()
    var actions: [Action] = []
    /// What the peers did wrong, also those that left; bounded.
    private var charges: [NodeID: Int] = [:]
    /// Contents whose fetch is over: what is still on its way is no fault of its sender.
    private var recent: [ContentID] = []
    private let seed: UInt64
    /// What was dropped and why.
    package internal(set) var statistics = ContentStatistics()

    /// Contents that are fetched at once; others wait.
    static let fetchesMaximum = 4
    /// A content of at most this size jumps the queue.
    private static let smallBytes: UInt64 = 1 << 20
    /// A charge at which a peer is not heard any more.
    private static let chargeMaximum = 100
    private static let chargeMemory = 1024
    private static let recentMemory = 256
    /// How long a chunk waits to be told with others, and how many do.
    static let haveDelay: Duration = .milliseconds(100)
    static let haveChunks = 16

    /// An exchange whose order of asking `seed` gives, another one at each node.
    package init(seed: UInt64) {
        self.seed = seed
    }

    /// Takes what is to be done, in order.
    package mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    /// When ``advance(to:)`` has something to do.
    package var deadline: Instant? {
        let told = order.lazy.compactMap { fetches[$0]?.untoldSince.map { $0 + Self.haveDelay } }
        return (active.compactMap { fetches[$0]?.fetch.deadline } + told).min()
    }

    // MARK: What this node holds and wants

    /// The contents that are held or fetched here, in no order.
    package var known: Set<ContentID> {
        Set(order).union(held.keys)
    }

    /// How much of a content this node holds.
    package func holding(_ content: ContentID) -> Holding {
        if held[content] != nil { return .all }
        return fetches[content]?.fetch.tree == nil ? .none : .part
    }

    /// The connected nodes that hold all of a content.
    package func holders(of content: ContentID) -> [NodeID] {
        peers.filter { $0.holdings[content] == .all }.map(\.nodeID)
    }

    /// How much of a content is verified, of how much; `nil` while its size is not known.
    package func progress(of content: ContentID) -> (verified: Int, chunks: Int)? {
        guard let fetch = fetches[content]?.fetch, let chunks = fetch.chunks else { return nil }
        return (fetch.verified.count, chunks)
    }

    /// Whether anybody who holds some of it is connected.
    package func hasHolder(of content: ContentID) -> Bool {
        peers.contains { ($0.holdings[content] ?? .none) != .none }
    }

    /// This node holds all of a content, whose tree is this.
    package mutating func hold(_ content: ContentID, _ tree: ContentTree) {
        end(content)
        held[content] = tree
        actions.append(.announce(content))
    }

    /// Fetches a content of one of these sizes; harmless while it is fetched or held.
    package mutating func fetch(
        _ content: ContentID,
        sizes: ContentSizes,
        isUrgent: Bool,
        now: Instant
    ) {
        guard held[content] == nil else { return }
        if fetches[content] != nil {
            fetches[content]?.fetch.sizes = sizes
            if isUrgent { fetches[content]?.isUrgent = true }
        } else {
            var fetch = Fetch(content, sizes: sizes, seed: seed)
            for peer in peers {
                if let holding = peer.holdings[content] { fetch.offer(peer.nodeID, holding) }
            }
            fetches[content] = Fetching(fetch: fetch, isUrgent: isUrgent)
            order.append(content)
        }
        ask(now: now)
    }

    /// Gives a content up: it is fetched and served no more.
    package mutating func drop(_ content: ContentID) {
        end(content)
        held[content] = nil
        for (peer, part) in serve.forget(content) {
            send(.refuse(content, part.wanted, .removed), to: peer)
        }
        for index in peers.indices where peers[index].told.remove(content) != nil {
            send(.inventory([.init(content, .none)]), to: peers[index].nodeID)
        }
    }

    /// Ends a fetch, well or not.
    mutating func end(_ content: ContentID) {
        guard fetches.removeValue(forKey: content) != nil else { return }
        order.removeAll { $0 == content }
        recent.append(content)
        if recent.count > Self.recentMemory { recent.removeFirst() }
    }

    func isRecent(_ content: ContentID) -> Bool { recent.contains(content) }

    // MARK: Peers

    /// A pair is up.
    package mutating func connected(_ peer: NodeID) {
        _ = place(of: peer)
    }

    /// A pair is gone.
    package mutating func disconnected(_ peer: NodeID, now: Instant) {
        guard let index = peers.firstIndex(where: { $0.nodeID == peer }) else { return }
        let contents = peers[index].holdings.keys.sorted()
        peers.remove(at: index)
        serve.lose(peer)
        for content in order { fetches[content]?.fetch.lose(peer) }
        for content in contents { actions.append(.holders(content)) }
        ask(now: now)
    }

    /// Tells a peer what this node holds of these contents.
    package mutating func announce(_ contents: [ContentID], to peer: NodeID) {
        guard let index = peers.firstIndex(where: { $0.nodeID == peer }) else { return }
        let items = contents.compactMap { content -> ContentMessage.Item? in
            let state = holding(content)
            // Who was told nothing yet need not hear that there is nothing.
            guard state != .none || peers[index].told.contains(content) else { return nil }
            return .init(content, state)
        }
        for item in items { peers[index].told.insert(item.content) }
        for start in stride(from: 0, to: items.count, by: ContentLimits.inventoryItems) {
            let end = min(start + ContentLimits.inventoryItems, items.count)
            send(.inventory(Array(items[start..<end])), to: peer)
        }
    }

    /// The place of a connected peer, which gets one if it has none.
    mutating func place(of peer: NodeID) -> Int {
        let index = peers.firstIndex { !($0.nodeID < peer) } ?? peers.endIndex
        if index < peers.endIndex, peers[index].nodeID == peer { return index }
        peers.insert(Peer(nodeID: peer), at: index)
        return index
    }

    mutating func charge(_ peer: NodeID, _ amount: Int) {
        guard amount > 0, charges[peer] != nil || charges.count < Self.chargeMemory else { return }
        let before = charges[peer] ?? 0
        charges[peer] = before + amount
        statistics.charged += UInt64(amount)
        if before < Self.chargeMaximum, before + amount >= Self.chargeMaximum {
            for content in order { fetches[content]?.fetch.lose(peer) }
            actions.append(.misbehaved(peer))
        }
    }

    func isHeard(_ peer: NodeID) -> Bool { charges[peer] ?? 0 < Self.chargeMaximum }

    // MARK: Time

    /// Does what is due.
    package mutating func advance(to now: Instant) {
        for content in order {
            guard let since = fetches[content]?.untoldSince, since + Self.haveDelay <= now else {
                continue
            }
            tellChunks(of: content)
        }
        ask(now: now)
    }

    /// The contents that are fetched now: what somebody waits for first, then what is small.
    private var active: [ContentID] {
        let ready = order.filter { fetches[$0]?.fetch.hasHolder == true }
        let ranked = ready.enumerated().sorted { left, right in
            (rank(left.element), left.offset) < (rank(right.element), right.offset)
        }
        return ranked.prefix(Self.fetchesMaximum).map(\.element)
    }

    private func rank(_ content: ContentID) -> Int {
        guard let fetching = fetches[content] else { return 2 }
        if fetching.isUrgent { return 0 }
        return fetching.fetch.sizes.maximum <= Self.smallBytes ? 1 : 2
    }

    /// Asks what may be asked now.
    mutating func ask(now: Instant) {
        for content in active {
            let requests = fetches[content]?.fetch.requests(now: now) ?? []
            for request in requests { send(request.message, to: request.peer) }
        }
    }

    /// Begins the reads that may begin now.
    mutating func serveNext() {
        while let (peer, part) = serve.next() {
            switch part.wanted {
            case .chunk(let chunk):
                actions.append(.read(part.content, chunk, for: peer))
            case .tree(let wanted):
                let bytes = bytes(of: wanted, of: part.content)
                serve.wasRead(for: peer, isSent: bytes != nil)
                if let bytes {
                    let message = ContentMessage.tree(part.content, wanted, bytes)
                    actions.append(.send(peer, message.encoded, isPart: true))
                } else {
                    send(.refuse(part.content, part.wanted, .notHeld), to: peer)
                }
            }
        }
    }

    private func bytes(of part: TreePart, of content: ContentID) -> [UInt8]? {
        guard let tree = held[content] ?? fetches[content]?.fetch.tree else { return nil }
        switch part {
        case .record: return tree.record
        case .page(let page): return page < tree.pages.count ? tree.pages[page] : nil
        }
    }

    mutating func send(_ message: ContentMessage, to peer: NodeID) {
        actions.append(.send(peer, message.encoded, isPart: false))
    }
}

/// What an exchange dropped, and how much it moved.
package struct ContentStatistics: Hashable, Sendable {
    /// Messages of types that this version does not know.
    package var unknown: UInt64 = 0
    /// Messages whose bytes made no sense.
    package var malformed: UInt64 = 0
    /// Parts that nobody asked for.
    package var unasked: UInt64 = 0
    /// Parts that were there already.
    package var known: UInt64 = 0
    /// Parts with a wrong hash.
    package var wrong: UInt64 = 0
    /// Charges of all peers.
    package var charged: UInt64 = 0
    /// Chunks that were verified.
    package var chunksReceived: UInt64 = 0
    /// Chunks that were handed to a pair.
    package var chunksSent: UInt64 = 0

    package init() {}
}
