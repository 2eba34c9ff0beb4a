import MeshWire

/// The replicated memory of what every origin's commands did, so that a retry never runs twice.
///
/// RIFL (Lee and others, 2015); `30-consensus.md` §8.
struct Origins: Hashable, Sendable {
    /// The result of one command.
    struct Outcome: Hashable, Sendable {
        var sequence: UInt64
        var position: Position
        var result: [UInt8]
        /// It had no effect and never will: its branch lost before a primary leader confirmed it.
        var isRefused = false
    }

    /// What is known of one origin.
    struct Record: Hashable, Sendable {
        var origin: Origin
        /// Results up to here are trimmed: the origin has its answers.
        var acknowledgedUpTo: UInt64 = 0
        /// Ascending by sequence.
        var outcomes: [Outcome] = []
        /// The last command's position; the oldest absent origins go first.
        var touched: Position = .zero
    }

    /// Ascending by origin.
    private(set) var records: [Record] = []

    /// What the room knows of a command.
    enum Answer: Hashable, Sendable {
        case unknown
        case done(Outcome)
        /// It required the primary and its branch lost; it has no effect.
        case refused
        case expired
    }

    func answer(_ origin: Origin, _ sequence: UInt64) -> Answer {
        record(of: origin)?.answer(sequence) ?? .unknown
    }

    /// Notes an outcome and trims what the command says is answered.
    mutating func note(_ outcome: Outcome, of command: Command) {
        let place = insert(command.origin)
        let known = records[place].acknowledgedUpTo
        let upTo = min(max(known, command.acknowledgedUpTo), command.sequence &- 1)
        records[place].acknowledgedUpTo = max(known, upTo)
        records[place].touched = outcome.position
        if upTo > known {
            records[place].outcomes.removeAll { $0.sequence <= upTo }
        }
        let index =
            records[place].outcomes.lastIndex { $0.sequence < outcome.sequence }.map { $0 + 1 } ?? 0
        records[place].outcomes.insert(outcome, at: index)
        if records[place].outcomes.count > ConsensusLimits.results {
            let trimmed = records[place].outcomes.removeFirst()
            records[place].acknowledgedUpTo = max(
                records[place].acknowledgedUpTo,
                trimmed.sequence
            )
        }
    }

    /// Forgets an origin that is gone for good.
    mutating func remove(_ origin: Origin) {
        records.removeAll { $0.origin == origin }
    }

    /// Keeps at most ``ConsensusLimits/absentOrigins`` records of processes that `view` lacks.
    mutating func trimAbsent(_ view: View) {
        var absent = records.filter { view.member(origin: $0.origin) == nil }
        guard absent.count > ConsensusLimits.absentOrigins else { return }
        absent.sort { ($0.touched, $0.origin) < ($1.touched, $1.origin) }
        for record in absent.prefix(absent.count - ConsensusLimits.absentOrigins) {
            remove(record.origin)
        }
    }

    private func lowerBound(_ origin: Origin) -> Int {
        var low = 0
        var high = records.count
        while low < high {
            let middle = (low + high) / 2
            if records[middle].origin < origin { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func record(of origin: Origin) -> Record? {
        let place = lowerBound(origin)
        return place < records.count && records[place].origin == origin ? records[place] : nil
    }

    private mutating func insert(_ origin: Origin) -> Int {
        let place = lowerBound(origin)
        if place == records.count || records[place].origin != origin {
            records.insert(Record(origin: origin), at: place)
        }
        return place
    }

    func encode(into writer: inout ByteWriter) {
        writer.writeCount(records.count)
        for record in records { record.encode(into: &writer) }
    }

    init() {}

    init(reading reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.origins)) {
            let start = reader.offset
            let record = try Record(reading: &reader)
            if let last = records.last, !(last.origin < record.origin) {
                throw .invalid(at: start)
            }
            records.append(record)
        }
    }
}

extension Origins {
    /// Takes over what another branch knows of an origin: the results that are missing here.
    ///
    /// What either branch knows to be answered is answered.
    mutating func merge(_ theirs: Record) {
        let place = insert(theirs.origin)
        var mine = records[place]
        mine.acknowledgedUpTo = max(mine.acknowledgedUpTo, theirs.acknowledgedUpTo)
        mine.touched = max(mine.touched, theirs.touched)
        for outcome in theirs.outcomes
        where !mine.outcomes.contains(where: { $0.sequence == outcome.sequence }) {
            mine.outcomes.append(outcome)
        }
        mine.outcomes.sort { $0.sequence < $1.sequence }
        let answered = mine.acknowledgedUpTo
        mine.outcomes.removeAll { $0.sequence <= answered }
        while mine.outcomes.count > ConsensusLimits.results {
            mine.acknowledgedUpTo = mine.outcomes.removeFirst().sequence
        }
        records[place] = mine
    }
}

extension Origins.Record {
    /// What is known of a command of this origin.
    func answer(_ sequence: UInt64) -> Origins.Answer {
        if let outcome = outcomes.last(where: { $0.sequence == sequence }) {
            return outcome.isRefused ? .refused : .done(outcome)
        }
        return sequence <= acknowledgedUpTo ? .expired : .unknown
    }

    func encode(into writer: inout ByteWriter) {
        writer.write(origin.nodeID)
        writer.write(origin.incarnation)
        writer.write(acknowledgedUpTo)
        writer.write(touched)
        writer.writeCount(outcomes.count)
        for outcome in outcomes {
            writer.write(outcome.sequence)
            writer.write(outcome.position)
            writer.write(UInt8(outcome.isRefused ? 1 : 0))
            writer.writeBlob(outcome.result)
        }
    }

    init(reading reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        self.init(
            origin: Origin(nodeID: try reader.read(), incarnation: try reader.read()),
            acknowledgedUpTo: try reader.read(),
            touched: try reader.readPosition()
        )
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.results)) {
            let sequence: UInt64 = try reader.read()
            let position = try reader.readPosition()
            let flag: UInt8 = try reader.read()
            guard flag <= 1 else { throw .reserved(at: start) }
            let outcome = Origins.Outcome(
                sequence: sequence,
                position: position,
                result: try reader.readBlob(limit: ConsensusLimits.resultBytes),
                isRefused: flag == 1
            )
            if let last = outcomes.last, last.sequence >= outcome.sequence {
                throw .invalid(at: start)
            }
            outcomes.append(outcome)
        }
    }
}

extension Origins.Record {
    init(origin: Origin, acknowledgedUpTo: UInt64, touched: Position) {
        self.init(origin: origin)
        self.acknowledgedUpTo = acknowledgedUpTo
        self.touched = touched
    }
}
