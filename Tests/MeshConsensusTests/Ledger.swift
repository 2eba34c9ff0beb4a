import MeshConsensus
import MeshWire

/// A state machine that remembers what it did: enough to notice a lost, doubled or reordered command.
struct Ledger: StateMachine {
    struct Line: Hashable { var origin: Origin, sequence: UInt64, amount: UInt64 }

    private(set) var lines: [Line] = []
    private(set) var total: UInt64 = 0
    /// Grows with everything that happens, in order.
    private(set) var fingerprint: UInt64 = 1
    private(set) var installs: UInt64 = 0
    private var seen: Set<Line> = []
    /// Whether one (origin, sequence) had two effects.
    private(set) var hasDouble = false

    mutating func apply(_ command: Command, at position: Position) -> [UInt8] {
        let amount = command.payload.first.map(UInt64.init) ?? 0
        let line = Line(origin: command.origin, sequence: command.sequence, amount: amount)
        if !seen.insert(line).inserted { hasDouble = true }
        lines.append(line)
        total &+= amount
        mix(position.index)
        mix(command.sequence)
        mix(command.origin.incarnation)
        var writer = ByteWriter()
        writer.write(total)
        return writer.bytes
    }

    mutating func install(_ view: View, departed: [ProcessID], at position: Position) {
        installs += 1
        mix(view.epoch.counter)
        mix(view.epoch.proposer)
        for process in departed { mix(process.tag) }
    }

    func contains(_ origin: Origin, _ sequence: UInt64) -> Bool {
        lines.contains { $0.origin == origin && $0.sequence == sequence }
    }

    private mutating func mix(_ word: UInt64) {
        fingerprint = (fingerprint ^ word) &* 0x9e37_79b9_7f4a_7c15
        fingerprint ^= fingerprint >> 29
    }

    func plan(_ branch: LosingBranch) -> MergePlan {
        guard let theirs = branch.state as? Ledger else {
            return MergePlan(outcomes: [], patch: [])
        }
        var writer = ByteWriter()
        for line in theirs.lines where !seen.contains(line) {
            writer.write(line.origin.nodeID)
            writer.write(line.origin.incarnation)
            writer.write(line.sequence)
            writer.write(line.amount)
        }
        return MergePlan(outcomes: branch.commands.map { _ in .joined }, patch: writer.bytes)
    }

    mutating func merge(_ patch: [UInt8], buried: [UInt64], at position: Position) {
        var reader = ByteReader(patch.raw)
        while reader.remaining > 0 {
            guard let node: NodeID = try? reader.read(),
                let incarnation: UInt64 = try? reader.read(),
                let sequence: UInt64 = try? reader.read(), let amount: UInt64 = try? reader.read()
            else { return }
            let origin = Origin(nodeID: node, incarnation: incarnation)
            let line = Line(origin: origin, sequence: sequence, amount: amount)
            if !seen.insert(line).inserted { hasDouble = true }
            lines.append(line)
            total &+= amount
            mix(sequence)
            mix(incarnation)
        }
        mix(position.index)
    }

    func snapshot() -> [UInt8] {
        var writer = ByteWriter()
        writer.write(total)
        writer.write(fingerprint)
        writer.write(installs)
        writer.writeCount(lines.count)
        for line in lines {
            writer.write(line.origin.nodeID)
            writer.write(line.origin.incarnation)
            writer.write(line.sequence)
            writer.write(line.amount)
        }
        return writer.bytes
    }

    mutating func restore(from bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(bytes)
        total = try reader.read()
        fingerprint = try reader.read()
        installs = try reader.read()
        for _ in 0..<(try reader.readCount(limit: 1 << 20)) {
            let line = Line(
                origin: Origin(nodeID: try reader.read(), incarnation: try reader.read()),
                sequence: try reader.read(),
                amount: try reader.read()
            )
            lines.append(line)
            seen.insert(line)
        }
        try reader.finish()
    }
}

/// How many rounds the costly tests run: few in a debug build, the full number in a release build.
func rounds(_ debug: UInt64, _ release: UInt64) -> ClosedRange<UInt64> {
    #if DEBUG
    1...debug
    #else
    1...release
    #endif
}

/// A fast digest for tests: four lanes of a multiplicative hash.
func quickDigest(_ bytes: [UInt8]) -> Digest {
    var lanes: (UInt64, UInt64, UInt64, UInt64) = (
        0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89
    )
    func round(_ word: UInt64) {
        lanes.0 = (lanes.0 ^ word) &* 0x9e37_79b9_7f4a_7c15
        lanes.0 ^= lanes.0 >> 32
        lanes.1 = (lanes.1 &+ lanes.0) &* 0xd134_2543_de82_ef95
        lanes.2 = (lanes.2 ^ lanes.1 >> 17) &* 0xbf58_476d_1ce4_e5b9
        lanes.3 = (lanes.3 &+ lanes.2 ^ lanes.0) &* 0x94d0_49bb_1331_11eb
    }
    let whole = bytes.raw
    var offset = 0
    var reader = ByteReader(whole)
    while reader.remaining >= 8 {
        guard let word: UInt64 = try? reader.read() else { break }
        round(word)
        offset += 8
    }
    while offset < bytes.count {
        round(UInt64(bytes[offset]) | 0x100)
        offset += 1
    }
    round(UInt64(bytes.count))
    round(lanes.1)
    var writer = ByteWriter(capacity: 32)
    writer.write(lanes.0)
    writer.write(lanes.1)
    writer.write(lanes.2)
    writer.write(lanes.3)
    return Digest(writer.bytes) ?? .zero
}
