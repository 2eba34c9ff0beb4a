import MeshWire
import Testing

@testable import MeshConsensus

@Suite("Commands that require the primary — 30-consensus §8") struct ConfirmTests {
    // MARK: One replica

    private static let first = process(1)
    private static let second = process(2)

    private static func process(_ number: UInt8) -> ProcessID {
        ProcessID(
            nodeID: NodeID([UInt8](repeating: number, count: 32)) ?? .zero,
            incarnation: UInt64(number),
            tag: UInt64(number)
        )
    }

    private static func command(
        _ sequence: UInt64,
        of process: ProcessID = first,
        requiresPrimary: Bool = true
    ) -> Command {
        Command(
            type: 1,
            requiresPrimary: requiresPrimary,
            origin: Origin(process),
            sequence: sequence,
            payload: [UInt8(truncatingIfNeeded: sequence)]
        )
    }

    /// A replica that applies what it is given, in a view of its own.
    private struct Bench {
        var replica = Replica(machine: Ledger(), genesis: .zero)
        var log = Log(base: .zero, hash: .zero)
        var epoch = Epoch.zero

        var lines: [UInt64] { (replica.machine as? Ledger)?.lines.map(\.sequence) ?? [] }

        @discardableResult
        mutating func apply(_ body: EntryBody) -> Replica.Effect {
            let position = Position(epoch: epoch, index: log.head + 1)
            log.append(Entry(position: position, body: body), digest: quickDigest)
            return log[position.index].map { replica.apply($0) { $0.signature[0] != 0xff } }
                ?? .none
        }

        mutating func enter(
            _ members: [ProcessID] = [first, second],
            departed: [ProcessID] = [],
            primary: Bool
        ) {
            epoch = Epoch(counter: epoch.counter + 1, proposer: first.tag)
            let view = View(
                epoch: epoch,
                members: members.map { Member(process: $0, ability: 0, joined: .zero) },
                departed: departed,
                parents: [],
                required: [],
                start: Position(epoch: epoch, index: log.head + 1),
                startHash: log.headHash,
                primary: primary
            )
            apply(.view(view))
        }

        func answer(_ sequence: UInt64, of process: ProcessID = first) -> Origins.Answer {
            replica.origins.answer(Origin(process), sequence)
        }
    }

    @Test("it takes effect, one a noop and oldest first, in a primary view alone")
    func noops() {
        var bench = Bench()
        bench.enter(primary: true)
        bench.apply(.noop)
        bench.apply(.command(Self.command(1)))
        bench.apply(.command(Self.command(2, requiresPrimary: false)))
        bench.apply(.command(Self.command(3)))
        // A retry that was sequenced twice.
        bench.apply(.command(Self.command(1)))
        #expect(bench.lines == [2])
        #expect(bench.answer(1) == .unknown)
        bench.enter(primary: false)
        bench.apply(.noop)
        #expect(bench.lines == [2])
        bench.enter(primary: true)
        #expect(bench.lines == [2])
        bench.apply(.noop)
        #expect(bench.lines == [2, 1])
        guard case .done(let outcome) = bench.answer(1) else {
            Issue.record("no outcome")
            return
        }
        #expect(outcome.position == bench.log.headPosition)
        bench.apply(.command(Self.command(1)))
        bench.apply(.noop)
        bench.apply(.noop)
        #expect(bench.lines == [2, 1, 3])
        #expect(bench.replica.unconfirmed.isEmpty)
    }

    @Test("a forged one is answered at once, one of a process that left is dropped")
    func neverConfirmed() {
        var bench = Bench()
        bench.enter(primary: true)
        var forged = Self.command(1)
        forged.signature[0] = 0xff
        bench.apply(.command(forged))
        #expect(bench.replica.unconfirmed.isEmpty)
        #expect(bench.answer(1) != .unknown)
        bench.apply(.command(Self.command(1, of: Self.second)))
        #expect(bench.replica.unconfirmed.count == 1)
        bench.enter([Self.first], departed: [Self.second], primary: true)
        bench.apply(.noop)
        #expect(bench.lines == [])
    }

    @Test("at most 64 wait; a snapshot carries them and refuses more")
    func boundAndSnapshot() throws {
        var bench = Bench()
        bench.enter(primary: true)
        for sequence in 1...70 as ClosedRange<UInt64> {
            bench.apply(.command(Self.command(sequence)))
        }
        #expect(bench.replica.unconfirmed.count == ConsensusLimits.unconfirmed)
        let bytes = bench.replica.snapshot(genesis: .zero)
        var restored = try Replica(restoring: bytes, machine: Ledger(), genesis: .zero)
        #expect(restored.unconfirmed == bench.replica.unconfirmed)
        #expect(restored.snapshot(genesis: .zero) == bytes)
        let position = Position(epoch: bench.epoch, index: bench.log.head + 1)
        _ = restored.confirm(at: position)
        _ = bench.replica.confirm(at: position)
        #expect(restored.snapshot(genesis: .zero) == bench.replica.snapshot(genesis: .zero))
        #expect(restored.snapshot(genesis: .zero) != bytes)
        restored.unconfirmed += bench.replica.unconfirmed
        let long = restored.snapshot(genesis: .zero)
        #expect(throws: WireError.self) {
            try Replica(restoring: long, machine: Ledger(), genesis: .zero)
        }
    }

    @Test("in a merge the winner's stay, the loser's are refused for good")
    func merge() {
        var bench = Bench()
        bench.enter(primary: true)
        bench.apply(.command(Self.command(1)))
        bench.apply(.command(Self.command(2)))
        let head = bench.log.headPosition
        let theirs = Self.command(7, of: Self.second)
        // Of mine, the losing branch had confirmed the second.
        var known = Origins()
        known.note(
            .init(sequence: 2, position: head, result: [2]),
            of: Self.command(2)
        )
        bench.apply(
            .merge(
                MergeRecord(
                    winner: bench.epoch,
                    loser: bench.epoch,
                    fork: .zero,
                    head: head,
                    views: [],
                    buried: [],
                    estranged: [],
                    origins: known.records,
                    commands: [.init(position: head, command: theirs, outcome: .superseded)],
                    isComplete: true,
                    patch: []
                )
            )
        )
        #expect(bench.replica.unconfirmed.map(\.command.sequence) == [1])
        #expect(bench.answer(7, of: Self.second) == .refused)
        // A retry that comes later does nothing, also after a snapshot.
        bench.apply(.command(theirs))
        #expect(bench.replica.unconfirmed.map(\.command.sequence) == [1])
        let bytes = bench.replica.snapshot(genesis: .zero)
        let restored = try? Replica(restoring: bytes, machine: Ledger(), genesis: .zero)
        #expect(restored?.origins == bench.replica.origins)
    }

    // MARK: Rooms

    @Test("each has one effect and one answer through crashes, splits and loss", arguments: 1...4)
    func rooms(_ seed: UInt64) throws {
        var cluster = try formed(seed: seed, 5, loss: 0.05)
        cluster.duplication = 0.1
        for round in 0..<80 {
            cluster.submit(round % 5, requiresPrimary: round % 2 == 0)
            cluster.run(for: .milliseconds(15))
            if round == 20 { cluster.groups = [0, 1, 1, 0, 1] }
            if round == 45 { cluster.groups = [0, 0, 0, 0, 0] }
            if round == 65 { cluster.crash(Int(seed % 5)) }
        }
        let live = cluster.live
        let healed = cluster.run(within: .seconds(6)) { $0.isOneView(live) }
        try #require(healed != nil, "\(cluster.describe(live)) \(cluster.failures)")
        let isSettled = cluster.settle(live)
        #expect(isSettled, "\(cluster.nodes[live[0]].consensus.diagnostics)")
        let machine = cluster.nodes[live[0]].consensus.machine
        #expect(!machine.hasDouble)
        for write in cluster.acknowledged {
            let count = machine.lines.count {
                $0.origin == write.origin && $0.sequence == write.sequence
            }
            #expect(count == 1, "\(write)")
        }
        #expect(cluster.acknowledged.count > 40)
        #expect(cluster.failures == [])
    }

    @Test("alone in its room a process confirms at once; a new leader confirms what is left")
    func leaders() throws {
        var alone = try formed(seed: 71, 1)
        for _ in 0..<70 { alone.submit(0, requiresPrimary: true) }
        alone.run(for: .milliseconds(50))
        #expect(alone.acknowledged.count == 70)

        var cluster = try formed(seed: 72, 5)
        cluster.keepsEvents = true
        cluster.run(for: .milliseconds(300))
        let leader = try #require(cluster.leader(cluster.live))
        let origin = (leader + 1) % 5
        // The leader dies when its log has the command and nobody has its confirmation.
        cluster.submit(origin, requiresPrimary: true)
        let head = cluster.nodes[leader].consensus.head.index
        let written = cluster.run(within: .seconds(1)) {
            $0.nodes[origin].consensus.head.index > head
        }
        try #require(written != nil)
        cluster.crash(leader)
        let answered = cluster.run(within: .seconds(3)) { !$0.acknowledged.isEmpty }
        #expect(answered != nil)
        let index = cluster.acknowledged.first?.position.index ?? 0
        #expect(index > head + 2, "its effect stands behind the view of the new leader")
        let isSettled = cluster.settle(cluster.live)
        #expect(isSettled)
        #expect(cluster.failures == [])
    }
}
