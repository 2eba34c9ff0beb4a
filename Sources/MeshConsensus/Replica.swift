import MeshWire

/// Everything the log drives: equal on all processes that applied the same entries.
///
/// A value; copies are the checkpoints a losing branch goes back to.
struct Replica: Sendable {
    var machine: any StateMachine
    var origins = Origins()
    /// Commands that require the primary and wait for a primary leader's word, in log order.
    var unconfirmed: [Unconfirmed] = []
    var view: View?
    /// The views of the history, oldest first; those of branches that were taken in among them.
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
            if view?.primary == true, view?.forced != true { primaryEnd = entry.position }
        }
        switch entry.body {
        case .noop: return confirm(at: entry.position)
        case .merge(let record):
            merge(record, at: entry.position)
            return .merge(record)
        case .view(let view):
            install(view, entry)
            return .view(view)
        case .command(let command):
            // A command that is known, or whose origin left, changes nothing.
            guard !knows(command.origin, command.sequence),
                let member = view?.member(origin: command.origin),
                !isBuried(member.process.tag)
            else { return .none }
            guard entry.isVerified || verify(command) else {
                origins.note(
                    .init(sequence: command.sequence, position: entry.position, result: []),
                    of: command
                )
                return .badSignature(command)
            }
            guard !command.requiresPrimary else {
                let isKept = keepUnconfirmed(
                    command,
                    tag: member.process.tag,
                    at: entry.position
                )
                return isKept ? .unconfirmed(command) : .none
            }
            return .command(command, perform(command, at: entry.position))
        }
    }

    /// The effect of a genuine command; answers with its result.
    mutating func perform(_ command: Command, at position: Position) -> [UInt8] {
        let result = Array(
            machine.apply(command, at: position).prefix(ConsensusLimits.resultBytes)
        )
        origins.note(
            .init(sequence: command.sequence, position: position, result: result),
            of: command
        )
        return result
    }

    enum Effect: Sendable {
        case none
        case view(View)
        case merge(MergeRecord)
        case command(Command, [UInt8])
        /// The command waits until a primary leader confirms it.
        case unconfirmed(Command)
        case badSignature(Command)
    }

    private mutating func install(_ next: View, _ entry: Entry) {
        bury(next.departed.map(\.tag))
        for process in next.departed { origins.remove(Origin(process)) }
        unconfirmed = unconfirmed.filter { !isBuried($0.tag) }
        let old = view
        let lost = (old?.members ?? []).map(\.process).filter {
            !next.contains($0) && !estranged.contains($0)
        }
        view = next
        estranged += lost
        settleEstranged()
        if let old, let place = lineage.lastIndex(where: { $0.epoch == old.epoch }) {
            lineage[place].until = entry.position.index - 1
        }
        lineage.append(
            LineageView(
                epoch: next.epoch,
                index: entry.position.index,
                hash: entry.hash,
                until: .max,
                parents: next.parents,
                tags: next.tags
            )
        )
        trimLineage()
        origins.trimAbsent(next)
        machine.install(next, departed: next.departed, at: entry.position)
    }

    /// Keeps those who may come back.
    private mutating func settleEstranged() {
        estranged = estranged.filter { process in
            !(view?.contains(process) ?? false) && !isBuried(process.tag)
        }.sorted()
        if estranged.count > ConsensusLimits.estranged {
            estranged.removeFirst(estranged.count - ConsensusLimits.estranged)
        }
    }

    private mutating func trimLineage() {
        if lineage.count > ConsensusLimits.lineage {
            lineage.removeFirst(lineage.count - ConsensusLimits.lineage)
        }
    }

    private mutating func bury(_ tags: [UInt64]) {
        let new = tags.filter { !isBuried($0) }
        guard !new.isEmpty else { return }
        tombstones = (tombstones + new).sorted()
        // The cap drops the lowest tags: arbitrary, but the same everywhere.
        if tombstones.count > ConsensusLimits.tombstones {
            tombstones.removeFirst(tombstones.count - ConsensusLimits.tombstones)
        }
    }

    /// Takes a losing branch in: its views, its dead, what its commands did.
    private mutating func merge(_ record: MergeRecord, at position: Position) {
        for view in record.views {
            if let place = lineage.lastIndex(where: { $0.epoch == view.epoch }) {
                lineage[place].until = max(lineage[place].until, view.until)
            } else {
                // Before the view that took it in.
                lineage.insert(view, at: max(lineage.count - 1, 0))
            }
        }
        trimLineage()
        bury(record.buried.filter { tag in view?.member(tag: tag) == nil })
        let lost = record.estranged.filter { !estranged.contains($0) }
        estranged += lost
        settleEstranged()
        let known = origins
        for theirs in record.origins { origins.merge(theirs) }
        settleUnconfirmed(record, known: known, at: position)
        if let view { origins.trimAbsent(view) }
        machine.merge(record.patch, buried: record.buried, at: position)
    }
}

/// The canonical bytes of a replica: what a snapshot carries and what two replicas compare.
///
/// version u8 (1) · genesis 32 · applied 24 · hash 32 · primaryEnd 24 · view · lineage · tombstones ·
/// estranged · origins · unconfirmed · machine as a blob of u32 length.
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
        for view in lineage { view.encode(into: &writer) }
        writer.writeCount(tombstones.count)
        for tag in tombstones { writer.write(tag) }
        writer.writeCount(estranged.count)
        for process in estranged { writer.write(process) }
        origins.encode(into: &writer)
        writer.writeCount(unconfirmed.count)
        for waiting in unconfirmed { waiting.encode(into: &writer) }
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
            lineage.append(try LineageView(reading: &reader))
        }
        tombstones = try reader.readAscendingTags(limit: ConsensusLimits.tombstones)
        estranged = try reader.readProcesses(limit: ConsensusLimits.estranged)
        origins = try Origins(reading: &reader)
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.unconfirmed)) {
            unconfirmed.append(try Unconfirmed(reading: &reader))
        }
        let length: UInt32 = try reader.read()
        guard length <= UInt32(ConsensusLimits.snapshotBytes) else {
            throw .overLimit(UInt64(length), at: reader.offset)
        }
        let state = try reader.readSpan(Int(length))
        try self.machine.restore(from: state)
        try reader.finish()
    }
}
