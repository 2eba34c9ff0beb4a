import MeshWire

/// A committed command that requires the primary and that no primary leader has confirmed yet.
///
/// It has no effect and no answer before a ``EntryBody/noop`` of a primary view stands behind it
/// (`30-consensus.md` §8): until then it may be in a part that the primary knows nothing of.
struct Unconfirmed: Hashable, Sendable {
    /// Where the command stands.
    var position: Position
    /// The process that signed it.
    var tag: UInt64
    var command: Command
}

extension Unconfirmed {
    func encode(into writer: inout ByteWriter) {
        writer.write(position)
        writer.write(tag)
        command.encode(into: &writer)
    }

    init(reading reader: inout ByteReader) throws(WireError) {
        position = try reader.readPosition()
        tag = try reader.read()
        let start = reader.offset
        command = try Command(reading: &reader)
        guard command.requiresPrimary else { throw .invalid(at: start) }
    }
}

extension Replica {
    /// Whether a command waits to be confirmed.
    func isUnconfirmed(_ origin: Origin, _ sequence: UInt64) -> Bool {
        unconfirmed.contains { $0.command.sequence == sequence && $0.command.origin == origin }
    }

    /// Whether a command stands in the history, with its effect or before it.
    func knows(_ origin: Origin, _ sequence: UInt64) -> Bool {
        origins.answer(origin, sequence) != .unknown || isUnconfirmed(origin, sequence)
    }

    /// Lets a genuine command wait; one beyond the bound changes nothing, alike on every replica.
    mutating func keepUnconfirmed(_ command: Command, tag: UInt64, at position: Position) -> Bool {
        guard unconfirmed.count < ConsensusLimits.unconfirmed else { return false }
        unconfirmed.append(.init(position: position, tag: tag, command: command))
        return true
    }

    /// The oldest that waits takes effect at a primary leader's `noop`.
    mutating func confirm(at position: Position) -> Effect {
        guard view?.primary == true, !unconfirmed.isEmpty else { return .none }
        return .command(
            unconfirmed[0].command,
            perform(unconfirmed.removeFirst().command, at: position)
        )
    }

    /// What became of those that wait, and of those of the branch that a merge took in.
    ///
    /// The winner's stay, but for what the other branch had confirmed. The loser's are refused for
    /// good: a retry must not do what its origin hears was given up.
    mutating func settleUnconfirmed(
        _ record: MergeRecord,
        known: Origins,
        at position: Position
    ) {
        unconfirmed = unconfirmed.filter { waiting in
            let (origin, sequence) = (waiting.command.origin, waiting.command.sequence)
            // Later results of its origin may have trimmed the record beyond it.
            return !isBuried(waiting.tag)
                && (origins.answer(origin, sequence) == .unknown
                    || known.answer(origin, sequence) != .unknown)
        }
        for merged in record.commands
        where merged.outcome == .superseded && merged.command.requiresPrimary
            && !knows(merged.command.origin, merged.command.sequence)
        {
            origins.note(
                .init(
                    sequence: merged.command.sequence,
                    position: position,
                    result: [],
                    isRefused: true
                ),
                of: merged.command
            )
        }
    }
}
