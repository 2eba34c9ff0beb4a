import MeshConsensus
import MeshWire
import Testing

@Suite("Log, commit, reads — 30-consensus §8") struct LogTests {
    @Test("a command has one effect however often it is sent", arguments: rounds(2, 20))
    func exactlyOnce(_ seed: UInt64) throws {
        var cluster = try formed(seed: seed, 3, loss: 0.2)
        cluster.duplication = 0.3
        for round in 0..<60 {
            cluster.submit(round % 3)
            cluster.run(for: .milliseconds(20))
            if round == 30 { cluster.crash(0) }
        }
        let done = cluster.run(within: .seconds(5)) { cluster in
            cluster.nodes[1].open.isEmpty && cluster.nodes[2].open.isEmpty
        }
        #expect(done != nil, "\(cluster.nodes[1].consensus.diagnostics)")
        // Whoever does not lead hears of the last commit a moment later.
        cluster.run(for: .milliseconds(200))
        let machine = cluster.nodes[1].consensus.machine
        for write in cluster.acknowledged {
            #expect(
                machine.lines.filter { $0.origin == write.origin && $0.sequence == write.sequence }
                    .count == 1
            )
        }
        // In the order of their origin.
        for node in cluster.nodes {
            let sequences = machine.lines.filter { $0.origin == Origin(node.process) }.map(
                \.sequence
            )
            #expect(sequences == sequences.sorted())
        }
        #expect(cluster.failures == [])
    }

    @Test("an acknowledged write is held by a majority at that moment", arguments: rounds(1, 10))
    func majorityHolds(_ seed: UInt64) throws {
        var cluster = try formed(seed: seed, 5, loss: 0.1)
        for round in 0..<40 {
            let before = cluster.acknowledged.count
            cluster.submit(round % 5)
            _ = cluster.run(within: .seconds(1)) { $0.acknowledged.count > before }
            let write = try #require(cluster.acknowledged.last)
            let index = write.position.index
            let hash = cluster.nodes.compactMap { $0.consensus.hash(at: index) }.first
            let holders = cluster.nodes.filter { $0.consensus.hash(at: index) == hash }.count
            #expect(holders >= 3)
        }
    }

    @Test("level all waits for every member")
    func levelAll() throws {
        var cluster = try formed(seed: 51, 3)
        cluster.run(for: .milliseconds(200))
        cluster.pause(2, for: .milliseconds(120))
        cluster.submit(0, level: .all)
        cluster.submit(0)
        cluster.run(for: .milliseconds(60))
        #expect(cluster.acknowledged.map(\.sequence) == [2])
        cluster.run(for: .milliseconds(200))
        #expect(cluster.acknowledged.map(\.sequence) == [2, 1])
    }

    @Test("a command whose signature fails has no effect and is refused")
    func forged() throws {
        var cluster = try formed(seed: 52, 3)
        cluster.submit(1, isForged: true)
        cluster.submit(1)
        cluster.run(for: .milliseconds(300))
        #expect(cluster.refusals == [.badSignature])
        #expect(cluster.acknowledged.map(\.sequence) == [2])
        #expect(cluster.nodes[2].consensus.machine.lines.count == 1)
    }

    @Test("what cannot be submitted is refused with its reason")
    func refusals() throws {
        var cluster = Cluster(seed: 53, count: 1)
        cluster.submit(0)
        cluster.form()
        cluster.submit(0, size: Limits.commandBytes + 1)
        cluster.submit(0, level: .durable)
        #expect(cluster.refusals == [.notJoined, .tooLarge(limit: Limits.commandBytes), .noStore])
        var full = try formed(seed: 54, 2)
        full.groups = [0, 1]
        for _ in 0..<300 { full.submit(1) }
        #expect(full.refusals.count == 300 - 256)
        #expect(full.refusals.first == .busy)
    }

    @Test(
        "a linearizable read sees every write acknowledged before it; a leader cut off cannot answer"
    )
    func linearizable() throws {
        var cluster = try formed(seed: 55, 3)
        cluster.submit(0)
        cluster.run(for: .milliseconds(100))
        let write = try #require(cluster.acknowledged.first)
        let ticket = cluster.read(2, .linearizable)
        cluster.run(for: .milliseconds(100))
        let answer = try #require(cluster.readAnswers.first { $0.ticket == ticket })
        #expect(answer.position >= write.position)
        cluster.groups = [1, 0, 0]
        let stale = cluster.read(0, .linearizable)
        cluster.run(for: .milliseconds(240))
        #expect(!cluster.readAnswers.contains { $0.node == 0 && $0.ticket == stale })
    }

    @Test("a local read waits for the caller's last position, then never goes back")
    func local() throws {
        var cluster = try formed(seed: 56, 3)
        cluster.submit(0)
        cluster.run(for: .milliseconds(100))
        let position = try #require(cluster.acknowledged.first?.position)
        let next = Position(epoch: position.epoch, index: position.index + 1)
        let ticket = cluster.read(1, .local, after: next)
        cluster.run(for: .milliseconds(100))
        #expect(cluster.readAnswers.isEmpty)
        cluster.submit(2)
        cluster.run(for: .milliseconds(100))
        #expect(cluster.readAnswers.map(\.ticket) == [ticket])
    }

    @Test("the log stays bounded under steady writing")
    func bounded() throws {
        var cluster = Cluster(seed: 57, count: 2) {
            $0.compactionEntries = 300
            $0.keptEntries = 64
        }
        cluster.form()
        try #require(cluster.run(within: .seconds(2)) { $0.isOneView([0, 1]) } != nil)
        for round in 0..<900 {
            cluster.submit(round % 2)
            if round % 8 == 7 { cluster.run(for: .milliseconds(10)) }
        }
        cluster.run(for: .seconds(1))
        #expect(cluster.isEqualState([0, 1]))
        #expect(cluster.nodes[0].consensus.machine.lines.count == 900)
        #expect(cluster.nodes[0].consensus.hash(at: 100) == nil)
        #expect(cluster.failures == [])
    }
}

@Suite("Messages — 30-consensus §4") struct MessageTests {
    @Test("a command has 144 bytes around its payload and survives its coding")
    func command() throws {
        let command = Command(
            type: 0x20,
            level: .all,
            requiresPrimary: true,
            origin: Origin(nodeID: .zero, incarnation: 7),
            sequence: 9,
            acknowledgedUpTo: 8,
            payload: [1, 2, 3],
            signature: Array(repeating: 5, count: 64)
        )
        let bytes = command.encoded
        #expect(bytes.count == Command.overheadBytes + 3)
        #expect(Array(bytes.dropLast(64)) == command.signedBytes)
        var reader = ByteReader(bytes.raw)
        #expect(try Command(reading: &reader) == command)
        for cut in 0..<bytes.count {
            var short = ByteReader(Array(bytes.prefix(cut)).raw)
            #expect(throws: WireError.self) { try Command(reading: &short) }
        }
    }

    @Test("mutated messages are refused or taken, never a trap, and the room survives them")
    func fuzz() throws {
        var cluster = Cluster(seed: 61, count: 4)
        cluster.keepsMessages = true
        cluster.form()
        cluster.run(for: .seconds(1))
        cluster.groups = [0, 0, 1, 1]
        for index in 0..<4 { cluster.submit(index, size: 30) }
        cluster.run(for: .seconds(2))
        for index in 0..<4 { cluster.submit(index, size: 1500) }
        cluster.groups = [0, 0, 0, 0]
        cluster.run(for: .seconds(3))
        let joiner = cluster.add()
        cluster.join(joiner, via: 1)
        cluster.run(for: .seconds(1))
        let corpus = cluster.messages
        let codes = Set(corpus.map { $0.bytes[0] })
        #expect(codes.count >= 20, "\(codes.sorted())")
        var random = SeededGenerator(seed: 62)
        var refused = 0
        for _ in 0..<4000 {
            guard let sample = corpus.randomElement(using: &random) else { break }
            var bytes = sample.bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[place] = 0xff
                case 2: bytes.removeSubrange(place...)
                case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                default: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
                }
            }
            if Consensus<Ledger>.fault(in: bytes.raw) != nil { refused += 1 }
            cluster.inject(bytes, from: sample.from, to: sample.to)
        }
        #expect(refused > 1000)
        #expect(cluster.nodes.map { $0.consensus.statistics.malformed }.reduce(0, +) > 500)
    }
}
