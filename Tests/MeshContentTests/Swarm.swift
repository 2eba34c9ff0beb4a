import MeshContent
import MeshWire

/// Nodes that exchange contents over links with a delay, in virtual time.
final class Swarm {
    /// One node: its exchange and its disk.
    struct Node {
        var exchange: ContentExchange
        var chunks: [ContentID: [Int: [UInt8]]] = [:]
        var isUp = true
        /// What it does to the messages that it sends.
        var twist: @Sendable (ContentMessage) -> ContentMessage? = { $0 }
        var held: [ContentID] = []
        var failed: [ContentID] = []
        var misbehaved: [NodeID] = []
        /// Messages sent, by what they are.
        var sentChunks = 0
    }

    private struct Flight {
        var at: Instant
        var number: Int
        var from: Int
        var to: Int
        var bytes: [UInt8]
        var isPart: Bool
    }

    var nodes: [Node]
    private(set) var now = Instant.zero
    private var flights: [Flight] = []
    private var number = 0
    private let delay: Duration
    var isAllowed = true
    /// Most parts that a node had sent to one peer and not seen taken.
    private(set) var steps = 0

    init(_ count: Int, delay: Duration = .milliseconds(2)) {
        self.delay = delay
        nodes = (0..<count).map { Node(exchange: ContentExchange(seed: UInt64($0))) }
        for left in 0..<count {
            for right in 0..<count where left != right {
                nodes[left].exchange.connected(Self.id(right))
            }
        }
    }

    static func id(_ index: Int) -> NodeID {
        NodeID(Array(repeating: UInt8(index + 1), count: 32)) ?? .zero
    }

    private static func index(_ id: NodeID) -> Int { Int(id.bytes[0]) - 1 }

    /// A hash that finds every change (FNV-1a over words, spread by SplitMix64), and is always the same.
    static func hash(_ kind: ContentHash, _ bytes: [UInt8]) -> Digest {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ (kind == .leaf ? 1 : 2)
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var words = SeededGenerator(seed: hash ^ UInt64(bytes.count))
        return Digest(words: (words.next(), words.next(), words.next(), words.next()))
    }

    /// A content of `size` bytes, cut into chunks, with its tree.
    static func content(
        _ size: Int,
        salt: UInt8 = 0
    ) -> (
        id: ContentID, tree: ContentTree, chunks: [[UInt8]]
    ) {
        let chunks = stride(from: 0, to: size, by: ContentLimits.chunkBytes).map { start in
            var bytes = [UInt8](
                repeating: salt,
                count: min(ContentLimits.chunkBytes, size - start)
            )
            bytes[bytes.count / 2] = UInt8(truncatingIfNeeded: start / ContentLimits.chunkBytes)
            return bytes
        }
        guard let shape = ContentShape(size: UInt64(size)),
            let tree = ContentTree(shape: shape, leaves: chunks.map { hash(.leaf, $0) }, hash: hash)
        else { preconditionFailure("a content has a tree") }
        return (ContentID(words: hash(.root, tree.record).words), tree, chunks)
    }

    func give(_ index: Int, _ content: (id: ContentID, tree: ContentTree, chunks: [[UInt8]])) {
        let chunks = Dictionary(uniqueKeysWithValues: content.chunks.enumerated().map { ($0, $1) })
        nodes[index].chunks[content.id] = chunks
        nodes[index].exchange.hold(content.id, content.tree)
        settle()
    }

    func fetch(_ index: Int, _ content: ContentID, sizes: [UInt64]) {
        nodes[index].exchange.fetch(
            content,
            sizes: ContentSizes(exact: sizes),
            isUrgent: false,
            now: now
        )
        settle()
    }

    /// The node is gone, for all others at once.
    func kill(_ index: Int) {
        nodes[index].isUp = false
        flights.removeAll { $0.from == index || $0.to == index }
        for other in nodes.indices where other != index && nodes[other].isUp {
            nodes[other].exchange.disconnected(Self.id(index), now: now)
        }
        settle()
    }

    /// The pair of two nodes goes and comes back, and what is on its way arrives all the same.
    func reconnect(_ left: Int, _ right: Int) {
        for (one, other) in [(left, right), (right, left)] {
            nodes[one].exchange.disconnected(Self.id(other), now: now)
            nodes[one].exchange.connected(Self.id(other))
        }
        settle()
        for (one, other) in [(left, right), (right, left)] {
            let known = nodes[one].exchange.known.sorted()
            nodes[one].exchange.announce(known, to: Self.id(other))
        }
        settle()
    }

    /// Sends a message as if node `from` had made it.
    func inject(_ bytes: [UInt8], from: Int, to: Int) {
        number += 1
        flights.append(
            Flight(at: now + delay, number: number, from: from, to: to, bytes: bytes, isPart: false)
        )
    }

    /// Runs until `isDone`, or for `limit` of virtual time; answers whether it was done.
    func run(
        for limit: Duration = .seconds(60),
        until isDone: (Swarm) -> Bool = { _ in false }
    ) -> Bool {
        let end = now + limit
        while !isDone(self) {
            let timers = nodes.filter(\.isUp).compactMap(\.exchange.deadline)
            let next = (timers + flights.map(\.at)).min()
            guard let next, next <= end, steps < 2_000_000 else { return isDone(self) }
            steps += 1
            now = max(now, next)
            let due = flights.filter { $0.at <= now }.sorted {
                ($0.at, $0.number) < ($1.at, $1.number)
            }
            flights.removeAll { $0.at <= now }
            for flight in due { arrive(flight) }
            for index in nodes.indices where nodes[index].isUp {
                nodes[index].exchange.advance(to: now)
            }
            settle()
        }
        return true
    }

    private func arrive(_ flight: Flight) {
        if flight.isPart, nodes[flight.from].isUp {
            nodes[flight.from].exchange.taken(by: Self.id(flight.to))
        }
        guard nodes[flight.to].isUp else { return }
        let isAllowed = isAllowed
        nodes[flight.to].exchange.receive(
            flight.bytes,
            from: Self.id(flight.from),
            isAllowed: { _ in isAllowed },
            now: now
        )
        settle()
    }

    /// Does what the exchanges ask for, until none asks any more.
    private func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for index in nodes.indices {
                for action in nodes[index].exchange.takeActions() {
                    isBusy = true
                    if nodes[index].isUp { perform(action, at: index) }
                }
            }
        }
    }

    private func perform(_ action: ContentExchange.Action, at index: Int) {
        switch action {
        case .send(let peer, let bytes, let isPart):
            guard let message = try? ContentMessage(decoding: bytes),
                let twisted = nodes[index].twist(message)
            else {
                if isPart { nodes[index].exchange.taken(by: peer) }
                return
            }
            if case .chunk = message { nodes[index].sentChunks += 1 }
            number += 1
            flights.append(
                Flight(
                    at: now + delay,
                    number: number,
                    from: index,
                    to: Self.index(peer),
                    bytes: twisted.encoded,
                    isPart: isPart
                )
            )
        case .verify(let part):
            let isTrue = Self.hash(part.hash, part.bytes) == part.expected
            if isTrue, case .chunk(let chunk) = part.part {
                nodes[index].chunks[part.content, default: [:]][chunk] = part.bytes
            }
            nodes[index].exchange.verified(part, isTrue ? .genuine : .wrong, now: now)
        case .read(let content, let chunk, let peer):
            let bytes = nodes[index].chunks[content]?[chunk]
            nodes[index].exchange.read(content, chunk, for: peer, bytes: bytes)
        case .held(let content, _): nodes[index].held.append(content)
        case .failed(let content): nodes[index].failed.append(content)
        case .misbehaved(let peer): nodes[index].misbehaved.append(peer)
        case .announce(let content):
            for other in nodes.indices where other != index && nodes[other].isUp {
                nodes[index].exchange.announce([content], to: Self.id(other))
            }
        case .mapped, .progress, .holders: break
        }
    }
}
