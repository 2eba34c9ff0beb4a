import MeshContent
import MeshWire
import Testing

@Suite("Exchange of contents — 50-journal-and-playback A4, A5") struct ExchangeTests {
    private static let chunk = ContentLimits.chunkBytes

    @Test(
        "a content of any size comes whole",
        arguments: [
            0, 1, chunk - 1, chunk, chunk + 1, 5 * chunk + 77, 40 * chunk,
        ]
    )
    func sizes(size: Int) {
        let swarm = Swarm(2)
        let content = Swarm.content(size)
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(size)])
        #expect(swarm.run { $0.nodes[1].held == [content.id] })
        let chunks = swarm.nodes[1].chunks[content.id] ?? [:]
        #expect(content.chunks.indices.allSatisfy { chunks[$0] == content.chunks[$0] })
        #expect(swarm.nodes[0].sentChunks == content.chunks.count)
        #expect(swarm.nodes[1].exchange.holding(content.id) == .all)
        _ = swarm.run(for: .seconds(1))
        #expect(swarm.nodes[0].exchange.holders(of: content.id) == [Swarm.id(1)])
    }

    @Test("who begins before anybody holds it gets it once somebody does") func early() {
        let swarm = Swarm(2)
        let content = Swarm.content(3 * Self.chunk)
        swarm.fetch(1, content.id, sizes: [UInt64(3 * Self.chunk)])
        _ = swarm.run(for: .seconds(1))
        swarm.give(0, content)
        #expect(swarm.run { $0.nodes[1].held == [content.id] })
    }

    @Test("J2: the source dies once a second node has all; a third gets it from that one")
    func sourceDies() {
        let swarm = Swarm(3)
        let content = Swarm.content(20 * Self.chunk)
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(20 * Self.chunk)])
        #expect(swarm.run { $0.nodes[1].held == [content.id] })
        swarm.kill(0)
        swarm.fetch(2, content.id, sizes: [UInt64(20 * Self.chunk)])
        #expect(swarm.run(for: .seconds(5)) { $0.nodes[2].held == [content.id] })
    }

    @Test(
        "the source dies once every chunk is somewhere: those who hold parts give them to each other"
    )
    func parts() {
        let swarm = Swarm(3)
        let count = 60
        let content = Swarm.content(count * Self.chunk)
        swarm.give(0, content)
        for node in 1...2 { swarm.fetch(node, content.id, sizes: [UInt64(count * Self.chunk)]) }
        let isSpread: (Swarm) -> Bool = { swarm in
            let all = (1...2).flatMap { node in
                (swarm.nodes[node].chunks[content.id] ?? [:]).keys.map(\.self)
            }
            return Set(all).count == count
        }
        #expect(swarm.run(until: isSpread))
        #expect(swarm.nodes[1].held.isEmpty || swarm.nodes[2].held.isEmpty)
        swarm.kill(0)
        #expect(
            swarm.run(for: .seconds(20)) {
                $0.nodes[1].held == [content.id] && $0.nodes[2].held == [content.id]
            }
        )
    }

    @Test("several holders are asked at once, and no chunk comes twice") func several() {
        let swarm = Swarm(4)
        let count = 60
        let content = Swarm.content(count * Self.chunk)
        for node in 0..<3 { swarm.give(node, content) }
        swarm.fetch(3, content.id, sizes: [UInt64(count * Self.chunk)])
        #expect(swarm.run { $0.nodes[3].held == [content.id] })
        let sent = (0..<3).map { swarm.nodes[$0].sentChunks }
        #expect(sent.reduce(0, +) == count)
        #expect(sent.allSatisfy { $0 > count / 6 }, "\(sent)")
    }

    @Test(
        "J10: a holder of garbage is charged and left alone after three; the rest comes from others"
    )
    func garbage() {
        let swarm = Swarm(3)
        let content = Swarm.content(40 * Self.chunk)
        swarm.give(0, content)
        swarm.give(1, content)
        swarm.nodes[1].twist = { message in
            guard case .chunk(let id, let index, var bytes) = message else { return message }
            bytes[index % bytes.count] ^= 1
            return .chunk(id, index, bytes)
        }
        swarm.fetch(2, content.id, sizes: [UInt64(40 * Self.chunk)])
        #expect(swarm.run(for: .seconds(10)) { $0.nodes[2].held == [content.id] })
        let statistics = swarm.nodes[2].exchange.statistics
        #expect(statistics.wrong >= 3)
        #expect(statistics.charged >= 30)
        #expect(swarm.nodes[1].sentChunks <= 16, "\(swarm.nodes[1].sentChunks)")
        #expect(swarm.nodes[2].chunks[content.id]?.count == 40)
        let chunks = swarm.nodes[2].chunks[content.id] ?? [:]
        #expect(content.chunks.indices.allSatisfy { chunks[$0] == content.chunks[$0] })
    }

    @Test(
        "J1: every flip in a page or in the record is found and charged to its sender",
        arguments: [
            true, false,
        ]
    )
    func lyingTree(isRecord: Bool) {
        let swarm = Swarm(3)
        let content = Swarm.content(3 * Self.chunk)
        swarm.give(1, content)
        swarm.nodes[1].twist = { message in
            guard case .tree(let id, let part, var bytes) = message,
                (part == .record) == isRecord
            else { return message }
            bytes[bytes.count - 1] ^= 0x80
            return .tree(id, part, bytes)
        }
        swarm.fetch(2, content.id, sizes: [UInt64(3 * Self.chunk)])
        _ = swarm.run(for: .seconds(5))
        #expect(swarm.nodes[2].held.isEmpty)
        #expect(swarm.nodes[2].exchange.statistics.wrong == 3, "then it is asked no more")
        swarm.give(0, content)
        #expect(swarm.run(for: .seconds(5)) { $0.nodes[2].held == [content.id] })
    }

    @Test("J10: a holder that says it has all and never answers holds nobody up for long")
    func silence() {
        let swarm = Swarm(3)
        let content = Swarm.content(40 * Self.chunk)
        swarm.give(0, content)
        swarm.give(1, content)
        swarm.nodes[1].twist = { message in
            switch message {
            case .chunk, .tree: nil
            default: message
            }
        }
        swarm.fetch(2, content.id, sizes: [UInt64(40 * Self.chunk)])
        #expect(swarm.run(for: .seconds(10)) { $0.nodes[2].held == [content.id] })
    }

    @Test("J10: an entry that announces another size fails, and nobody is charged") func otherSize()
    {
        let swarm = Swarm(2)
        let content = Swarm.content(3 * Self.chunk)
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(3 * Self.chunk + 1), 1 << 40])
        _ = swarm.run(for: .seconds(5))
        #expect(swarm.nodes[1].failed == [content.id])
        #expect(swarm.nodes[1].exchange.statistics.charged == 0)
    }

    @Test("a chunk that comes after its time is still taken, if it is missing") func late() {
        // A round trip of 6 s: every question is given up after 2, 4, … s.
        let swarm = Swarm(2, delay: .seconds(3))
        let content = Swarm.content(4 * Self.chunk)
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(4 * Self.chunk)])
        #expect(swarm.run(for: .seconds(120)) { $0.nodes[1].held == [content.id] })
        #expect(swarm.nodes[1].exchange.statistics.charged == 0)
    }

    @Test("a pair that comes back goes on, and what was on its way then is no fault")
    func comesBack() {
        let swarm = Swarm(2, delay: .milliseconds(20))
        let content = Swarm.content(200 * Self.chunk)
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(200 * Self.chunk)])
        for _ in 0..<4 {
            _ = swarm.run(for: .milliseconds(150))
            swarm.reconnect(0, 1)
        }
        #expect(swarm.nodes[1].held.isEmpty, "it was under way each time")
        #expect(swarm.run(for: .seconds(20)) { $0.nodes[1].held == [content.id] })
        #expect(swarm.nodes[1].exchange.statistics.charged == 0)
        #expect(swarm.nodes[1].exchange.statistics.known > 0)
    }

    @Test("who may not have it is told busy, and gets it once it may") func notAllowed() {
        let swarm = Swarm(2)
        let content = Swarm.content(Self.chunk)
        swarm.isAllowed = false
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(Self.chunk)])
        _ = swarm.run(for: .seconds(5))
        #expect(swarm.nodes[1].held.isEmpty)
        #expect(swarm.nodes[0].sentChunks == 0)
        swarm.isAllowed = true
        #expect(swarm.run(for: .seconds(2)) { $0.nodes[1].held == [content.id] })
    }

    @Test("what nobody asked for, makes no sense or is unknown is counted; at 100 nobody listens")
    func charges() {
        let swarm = Swarm(2)
        let content = Swarm.content(Self.chunk)
        swarm.inject(ContentMessage.chunk(content.id, 0, content.chunks[0]).encoded, from: 0, to: 1)
        swarm.inject([7, 1, 2], from: 0, to: 1)
        swarm.inject([8, 1, 2], from: 0, to: 1)
        _ = swarm.run(for: .seconds(1))
        let statistics = swarm.nodes[1].exchange.statistics
        #expect(statistics.unasked == 1)
        #expect(statistics.malformed == 1)
        #expect(statistics.unknown == 1)
        #expect(statistics.charged == 2, "what is unknown is no fault")
        for _ in 0..<200 { swarm.inject([], from: 0, to: 1) }
        _ = swarm.run(for: .seconds(1))
        #expect(swarm.nodes[1].misbehaved == [Swarm.id(0)])
        #expect(swarm.nodes[1].exchange.statistics.charged == 100)
        swarm.inject(ContentMessage.inventory([.init(content.id, .all)]).encoded, from: 0, to: 1)
        _ = swarm.run(for: .seconds(1))
        #expect(!swarm.nodes[1].exchange.hasHolder(of: content.id))
    }

    @Test("a peer names 8,192 contents at most, known or not") func inventoryBound() {
        let swarm = Swarm(2)
        for block in 0..<4 {
            let items = (0..<4096).map { number in
                let words = (UInt64(block), UInt64(number), UInt64(7), UInt64(9))
                return ContentMessage.Item(ContentID(words: words), .all)
            }
            swarm.inject(ContentMessage.inventory(items).encoded, from: 0, to: 1)
        }
        _ = swarm.run(for: .seconds(1))
        let known = (0..<4).map { block in
            swarm.nodes[1].exchange.hasHolder(of: ContentID(words: (UInt64(block), 0, 7, 9)))
        }
        #expect(known == [true, true, false, false])
    }

    @Test("what is dropped is refused to who waits for it, and told as gone") func dropped() {
        let swarm = Swarm(2)
        let content = Swarm.content(30 * Self.chunk)
        swarm.give(0, content)
        swarm.fetch(1, content.id, sizes: [UInt64(30 * Self.chunk)])
        _ = swarm.run(for: .milliseconds(9))
        swarm.nodes[0].exchange.drop(content.id)
        _ = swarm.run(for: .seconds(10))
        #expect(swarm.nodes[1].held.isEmpty)
        #expect(!swarm.nodes[1].exchange.hasHolder(of: content.id))
        #expect(swarm.nodes[1].exchange.statistics.charged == 0)
    }
}

@Suite("Serving in turn — 50-journal-and-playback A5") struct ServeTests {
    private static let content = ContentID(words: (1, 2, 3, 4))

    /// The queues, as a reference that an expectation may change.
    private final class Desk {
        var serve = Serve()

        func want(_ chunk: Int, _ peer: Int = 0, isUrgent: Bool = false) -> Bool {
            serve.want(ServeTests.part(chunk), for: Swarm.id(peer), isUrgent: isUrgent)
        }

        func next() -> (peer: NodeID, part: Serve.Part)? { serve.next() }
    }

    fileprivate static func part(_ chunk: Int) -> Serve.Part {
        Serve.Part(content: content, wanted: .chunk(chunk))
    }

    @Test("four parts of each are ahead, eight are read at once, in turn") func turns() {
        let desk = Desk()
        for peer in 0..<3 {
            for chunk in 0..<10 {
                #expect(desk.want(chunk, peer))
            }
        }
        var served: [NodeID] = []
        while let (peer, _) = desk.next() { served.append(peer) }
        #expect(served.count == 8)
        #expect((0..<3).map { index in served.count { $0 == Swarm.id(index) } } == [3, 3, 2])
        for peer in served { desk.serve.wasRead(for: peer, isSent: true) }
        // Read and not taken: only the rest of each one's four.
        served = []
        while let (peer, _) = desk.next() { served.append(peer) }
        #expect(served.count == 4)
        for peer in served { desk.serve.wasRead(for: peer, isSent: true) }
        #expect(desk.next() == nil)
        desk.serve.taken(by: Swarm.id(1))
        #expect(desk.next()?.peer == Swarm.id(1))
        #expect(desk.next() == nil)
    }

    @Test("a queue has an end, one that waits counts once, urgent ones are first") func queue() {
        let desk = Desk()
        let peer = Swarm.id(0)
        for chunk in 0..<256 {
            #expect(desk.want(chunk, isUrgent: false))
        }
        #expect(desk.want(7, isUrgent: false))
        #expect(!desk.want(300, isUrgent: true))
        desk.serve.cancel(Self.content, [0, 1], for: peer)
        #expect(desk.want(300, isUrgent: true))
        #expect(desk.next()?.part == Self.part(300))
        #expect(desk.next()?.part == Self.part(2))
        #expect(desk.serve.forget(Self.content).count == 253)
        #expect(desk.next() == nil)
    }
}
