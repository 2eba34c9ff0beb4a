import MeshWire

/// One view of the lineage, as merges compare them.
struct LineageView: Hashable, Sendable {
    var epoch: Epoch
    /// The view entry's index and its hash.
    var index: UInt64
    var hash: Digest
    var tags: [UInt64]
}

/// Everything the log drives: equal on all processes that applied the same entries.
///
/// A value; copies are the checkpoints a losing branch goes back to.
struct Replica: Sendable {
    var machine: any StateMachine
    var origins = Origins()
    var view: View?
    /// Oldest first.
    var lineage: [LineageView] = []
    /// Tags of processes that left for good, ascending.
    var tombstones: [UInt64] = []
    /// Members lost without leaving, ascending.
    var estranged: [ProcessID] = []
    var applied: Position
    var appliedHash: Digest
    /// The last entry of the newest committed primary view.
    var primaryEnd: Position = .zero

    init(machine: any StateMachine, genesis: Digest) {
        self.machine = machine
        applied = .zero
        appliedHash = genesis
    }

    func isBuried(_ tag: UInt64) -> Bool {
        var low = 0
        var high = tombstones.count
        while low < high {
            let middle = (low + high) / 2
            if tombstones[middle] < tag { low = middle + 1 } else { high = middle }
        }
        return low < tombstones.count && tombstones[low] == tag
    }

    /// Whether a view entry loses members that did not leave.
    func losesMembers(_ next: View) -> Bool {
        guard let view else { return false }
        return view.members.contains {
            !next.contains($0.process) && !next.departed.contains($0.process)
        }
    }

    /// Applies the next committed entry; answers with the result of a command that had its effect.
    mutating func apply(_ entry: Entry, verify: (Command) -> Bool) -> Effect {
        defer {
            applied = entry.position
            appliedHash = entry.hash
            if view?.primary == true { primaryEnd = entry.position }
        }
        switch entry.body {
        case .noop: return .none
        case .view(let view):
            install(view, entry)
            return .view(view)
        case .command(let command):
            // A command whose effect is known, or whose origin left, changes nothing.
            guard origins.answer(command.origin, command.sequence) == .unknown,
                let member = view?.member(origin: command.origin),
                !isBuried(member.process.tag)
            else { return .none }
            let isGenuine = entry.isVerified || verify(command)
            let result =
                isGenuine
                ? Array(
                    machine.apply(command, at: entry.position).prefix(ConsensusLimits.resultBytes)
                ) : []
            origins.note(
                .init(sequence: command.sequence, position: entry.position, result: result),
                of: command
            )
            return isGenuine ? .command(command, result) : .badSignature(command)
        }
    }

    enum Effect: Sendable {
        case none
        case view(View)
        case command(Command, [UInt8])
        case badSignature(Command)
    }

    private mutating func install(_ next: View, _ entry: Entry) {
        for process in next.departed {
            if !isBuried(process.tag) {
                tombstones.append(process.tag)
                tombstones.sort()
            }
            origins.remove(Origin(process))
        }
        // The cap drops the lowest tags: arbitrary, but the same everywhere.
        if tombstones.count > ConsensusLimits.tombstones {
            tombstones.removeFirst(tombstones.count - ConsensusLimits.tombstones)
        }
        let lost = (view?.members ?? []).map(\.process).filter {
            !next.contains($0) && !estranged.contains($0)
        }
        estranged = (estranged + lost).filter {
            !next.contains($0) && !isBuried($0.tag)
        }
        estranged.sort()
        if estranged.count > ConsensusLimits.estranged {
            estranged.removeFirst(estranged.count - ConsensusLimits.estranged)
        }
        lineage.append(
            LineageView(
                epoch: next.epoch,
                index: entry.position.index,
                hash: entry.hash,
                tags: next.tags
            )
        )
        if lineage.count > ConsensusLimits.lineage { lineage.removeFirst() }
        view = next
        origins.trimAbsent(next)
        machine.install(next, departed: next.departed, at: entry.position)
    }
}

/// The canonical bytes of a replica: what a snapshot carries and what two replicas compare.
///
/// version u8 (1) · genesis 32 · applied 24 · hash 32 · primaryEnd 24 · view · lineage · tombstones ·
/// estranged · origins · machine as a blob of u32 length.
extension Replica {
    func snapshot(genesis: Digest) -> [UInt8] {
        var writer = ByteWriter(capacity: 4096)
        writer.write(UInt8(1))
        writer.write(genesis)
        writer.write(applied)
        writer.write(appliedHash)
        writer.write(primaryEnd)
        writer.write(UInt8(view == nil ? 0 : 1))
        if let view { writer.write(view) }
        writer.writeCount(lineage.count)
        for view in lineage {
            writer.write(view.epoch)
            writer.write(view.index)
            writer.write(view.hash)
            writer.writeCount(view.tags.count)
            for tag in view.tags { writer.write(tag) }
        }
        writer.writeCount(tombstones.count)
        for tag in tombstones { writer.write(tag) }
        writer.writeCount(estranged.count)
        for process in estranged { writer.write(process) }
        origins.encode(into: &writer)
        let state = machine.snapshot()
        writer.write(UInt32(state.count))
        writer.write(state)
        return writer.bytes
    }

    /// Restores a replica on a pristine machine; throws unless every byte is as it should be.
    init(
        restoring bytes: [UInt8],
        machine: any StateMachine,
        genesis: Digest
    ) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        let version: UInt8 = try reader.read()
        guard version == 1 else { throw .unknownType(version, at: 0) }
        let named: Digest = try reader.read()
        guard named == genesis else { throw .invalid(at: 1) }
        self.init(machine: machine, genesis: genesis)
        applied = try reader.readPosition()
        appliedHash = try reader.read()
        primaryEnd = try reader.readPosition()
        let flag: UInt8 = try reader.read()
        guard flag <= 1 else { throw .reserved(at: reader.offset) }
        if flag == 1 { view = try reader.readView() }
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.lineage)) {
            lineage.append(
                LineageView(
                    epoch: try reader.readEpoch(),
                    index: try reader.read(),
                    hash: try reader.read(),
                    tags: try reader.readTags()
                )
            )
        }
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.tombstones)) {
            let tag: UInt64 = try reader.read()
            if let last = tombstones.last, last >= tag { throw .invalid(at: reader.offset) }
            tombstones.append(tag)
        }
        estranged = try reader.readProcesses(limit: ConsensusLimits.estranged)
        origins = try Origins(reading: &reader)
        let length: UInt32 = try reader.read()
        guard length <= UInt32(ConsensusLimits.snapshotBytes) else {
            throw .overLimit(UInt64(length), at: reader.offset)
        }
        let state = try reader.readSpan(Int(length))
        try self.machine.restore(from: state)
        try reader.finish()
    }
}
