package import MeshWire

/// What became of one command of a branch that lost a merge (`30-consensus.md` §9).
package enum MergeOutcome: UInt8, Hashable, Sendable, CaseIterable {
    /// It has its effect on the merged state.
    case applied = 0
    /// It is joined with what the winner did: counters add, sets unite.
    case joined = 1
    /// A later command of its own branch, or a rule of the winner's, stands in its place.
    case superseded = 2
    /// The winner's stays; the state keeps what was lost until somebody acknowledges it.
    case conflict = 3
    /// The winner had run it too; its effect and result are the winner's.
    case duplicate = 4
}

/// A command of the losing branch and its fate.
package struct MergedCommand: Hashable, Sendable {
    /// Where it stood in the losing branch.
    package var position: Position
    /// What was asked, as its origin signed it.
    package var command: Command
    /// What became of it.
    package var outcome: MergeOutcome
}

/// What every process learns of a merge when its entry is applied.
package struct MergeReport: Hashable, Sendable {
    /// The view of the branch that went on.
    package var winner: Epoch
    /// The last view of the branch that was taken in.
    package var loser: Epoch
    /// The last entry that both share; zero if they were founded apart or share none that is known.
    package var fork: Position
    /// The last entry of the branch that was taken in.
    package var head: Position
    /// Where the merge entry stands.
    package var position: Position
    /// The commands of the losing branch, in its order; each of them once.
    package var commands: [MergedCommand]
    /// Whether ``commands`` are all there were: a log that was compacted does not reach back to the
    /// fork, and then the states alone were merged.
    package var isComplete: Bool
    var views: [LineageView]

    /// Whether an entry stands in the branch that was taken in.
    package func covers(_ position: Position) -> Bool {
        views.contains { $0.epoch == position.epoch && position.index <= $0.until }
    }
}

/// The merge entry: what the winning leader made of a losing branch (`30-consensus.md` §9, M8).
///
/// It stands right behind its view entry. A replica needs nothing else to apply it.
struct MergeRecord: Hashable, Sendable {
    var winner: Epoch
    var loser: Epoch
    var fork: Position
    var head: Position
    /// The losing branch's views that the winner did not have; its history contains them from now on.
    var views: [LineageView]
    /// Tags of processes that left on the losing branch, ascending.
    var buried: [UInt64]
    /// Processes that the losing branch had lost itself, ascending.
    var estranged: [ProcessID]
    /// The losing branch's memory of what its commands did, where the winner's lacks it.
    var origins: [Origins.Record]
    var commands: [MergedCommand]
    /// Whether the log that the commands were taken from reached back to the fork.
    var isComplete: Bool
    /// For the state machine.
    var patch: [UInt8]

    /// Whether the branch's history up to ``head`` contains an entry.
    func covers(_ position: Position) -> Bool {
        views.contains { $0.epoch == position.epoch && position.index <= $0.until }
    }

    func report(at position: Position) -> MergeReport {
        MergeReport(
            winner: winner,
            loser: loser,
            fork: fork,
            head: head,
            position: position,
            commands: commands,
            isComplete: isComplete,
            views: views
        )
    }
}

// Fields in written order, little-endian: winner 16 · loser 16 · fork 24 · head 24 · views · buried ·
// estranged · origins · commands: count, then position 24 · outcome u8 · command ·
// isComplete u8 · patch as a blob.
extension MergeRecord {
    func encode(into writer: inout ByteWriter) {
        writer.write(winner)
        writer.write(loser)
        writer.write(fork)
        writer.write(head)
        writer.writeCount(views.count)
        for view in views { view.encode(into: &writer) }
        writer.writeCount(buried.count)
        for tag in buried { writer.write(tag) }
        writer.writeCount(estranged.count)
        for process in estranged { writer.write(process) }
        writer.writeCount(origins.count)
        for record in origins { record.encode(into: &writer) }
        writer.writeCount(commands.count)
        for command in commands { command.encode(into: &writer) }
        writer.write(UInt8(isComplete ? 1 : 0))
        writer.writeBlob(patch)
    }

    init(reading reader: inout ByteReader) throws(WireError) {
        winner = try reader.readEpoch()
        loser = try reader.readEpoch()
        fork = try reader.readPosition()
        head = try reader.readPosition()
        views = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.lineage)) {
            views.append(try LineageView(reading: &reader))
        }
        buried = try reader.readAscendingTags(limit: ConsensusLimits.tombstones)
        estranged = try reader.readProcesses(limit: ConsensusLimits.estranged)
        origins = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.origins)) {
            let record = try Origins.Record(reading: &reader)
            if let last = origins.last, !(last.origin < record.origin) {
                throw .invalid(at: reader.offset)
            }
            origins.append(record)
        }
        commands = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.mergedCommands)) {
            commands.append(try MergedCommand(reading: &reader))
        }
        let start = reader.offset
        let flag: UInt8 = try reader.read()
        guard flag <= 1 else { throw .reserved(at: start) }
        isComplete = flag == 1
        patch = try reader.readBlob(limit: ConsensusLimits.mergeBytes)
    }
}

extension MergedCommand {
    func encode(into writer: inout ByteWriter) {
        writer.write(position)
        writer.write(outcome.rawValue)
        command.encode(into: &writer)
    }

    init(reading reader: inout ByteReader) throws(WireError) {
        position = try reader.readPosition()
        let start = reader.offset
        guard let outcome = MergeOutcome(rawValue: try reader.read()) else {
            throw .invalid(at: start)
        }
        self.outcome = outcome
        command = try Command(reading: &reader)
    }
}
