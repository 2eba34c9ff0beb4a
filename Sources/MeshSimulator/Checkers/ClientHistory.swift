import MeshConsensus
package import MeshWire

/// What clients asked and heard is linearizable along every branch (`30-consensus.md` §15, 20, 21).
///
/// The log is a witness: an operation's position says when it took effect, so one pass over a branch
/// in order of its positions decides, in time linear in the operations. Only where that order does
/// not fit is another one searched for, with ``Linearizability``.
package struct ClientHistory: Sendable {
    package static let invariant =
        "along each branch every operation takes effect once between its call and its answer"

    /// An operation of a client.
    private struct Record: Sendable {
        var client: Life
        var register: UInt64
        var action: Linearizability.Action
        var outcome = Linearizability.Outcome.unknown
        var called: Int
        var returned: Int?
        /// Where the answer says that it took effect, for a read what its reader had applied.
        var answered: Position?
        /// Where else it was seen to take effect: on other branches, or without an answer.
        var applied: [Position] = []
        var isVoid = false

        var isRead: Bool { action == .read }
    }

    /// The effect of an operation at a place of the log.
    private struct Effect {
        var index: UInt64
        var record: Int
        /// Whether the answer that the client heard tells of this effect.
        var isAnswered: Bool
    }

    /// What a merge put into a register.
    private struct Assignment: Hashable, Sendable {
        var register: UInt64
        var number: UInt64
        var position: Position
        var seen: Int
    }

    private var assignments: [Epoch: [Assignment]] = [:]
    private var records: [Record] = []
    private var places: [UInt64: Int] = [:]
    private var clock = 0

    /// The views that the operations' positions belong to.
    package var branches = Branches()
    /// How often the log's order did not fit, and how often the search gave up.
    package private(set) var searches = (made: 0, undecided: 0)

    package init() {}

    /// How many operations were called.
    package var count: Int { records.count }
    /// The registers that anything was done to, ascending.
    package private(set) var registers: [UInt64] = []

    /// A client calls an operation; `id` is unique in the run.
    package mutating func call(
        _ id: UInt64,
        _ action: Linearizability.Action,
        on register: UInt64,
        by client: Life
    ) {
        clock += 1
        places[id] = records.count
        let place = registers.firstIndex { $0 >= register } ?? registers.count
        if place == registers.count || registers[place] != register {
            registers.insert(register, at: place)
        }
        records.append(
            Record(client: client, register: register, action: action, called: clock)
        )
    }

    /// The client heard that its operation took effect at `position`.
    package mutating func answer(
        _ id: UInt64,
        _ outcome: Linearizability.Outcome,
        at position: Position
    ) {
        guard let place = places[id], records[place].returned == nil else { return }
        clock += 1
        records[place].returned = clock
        records[place].outcome = outcome
        records[place].answered = position
    }

    /// The operation surely has no effect.
    package mutating func void(_ id: UInt64) {
        if let place = places[id] { records[place].isVoid = true }
    }

    /// The log shows the operation's effect at `position`, whatever its client hears.
    package mutating func apply(_ id: UInt64, at position: Position) {
        guard let place = places[id], !records[place].applied.contains(position) else { return }
        records[place].applied.append(position)
    }

    /// A merge put `number` into a register at `position`; the branch that was taken in had it.
    package mutating func assign(_ number: UInt64, to register: UInt64, at position: Position) {
        let known = assignments[position.epoch] ?? []
        guard !known.contains(where: { $0.register == register && $0.position == position }) else {
            return
        }
        clock += 1
        assignments[position.epoch] =
            known + [.init(register: register, number: number, position: position, seen: clock)]
    }

    /// Somebody saw all registers at once: a read that was called and answered now.
    package mutating func look(
        _ id: UInt64,
        _ number: UInt64,
        in register: UInt64,
        by client: Life,
        at position: Position
    ) {
        call(id, .read, on: register, by: client)
        answer(id, .held(number), at: position)
    }

    /// Checks everything that was heard so far.
    package mutating func check() throws(Violation) {
        let effects = self.effects()
        var pending = branches.children(of: .zero).map { ($0.epoch, Registers()) }
        while let (epoch, before) = pending.popLast() {
            var registers = before
            registers.reads.removeAll(keepingCapacity: true)
            var children = branches.children(of: epoch)[...]
            // A merge entry stands right behind its view entry, before any command.
            for merged in assignments[epoch] ?? [] {
                registers.numbers[merged.register] = merged.number
            }
            for effect in effects[epoch] ?? [] {
                while let child = children.first, child.after < effect.index {
                    pending.append((child.epoch, registers))
                    children.removeFirst()
                }
                apply(effect, to: &registers)
            }
            for child in children { pending.append((child.epoch, registers)) }
            for register in registers.doubtful.sorted() { try search(register, epoch) }
        }
    }

    /// All that took effect, for each view in order.
    private func effects() -> [Epoch: [Effect]] {
        var effects: [Epoch: [Effect]] = [:]
        for (place, record) in records.enumerated() where !record.isVoid {
            if let position = record.answered {
                effects[position.epoch, default: []].append(
                    Effect(index: position.index, record: place, isAnswered: true)
                )
            }
            for position in record.applied where position != record.answered {
                effects[position.epoch, default: []].append(
                    Effect(index: position.index, record: place, isAnswered: false)
                )
            }
        }
        // order: each is sorted alone
        for epoch in effects.keys {
            effects[epoch]?.sort { left, right in
                let leftReads = records[left.record].isRead
                if left.index != right.index { return left.index < right.index }
                // A read sees what stands at its position.
                if leftReads != records[right.record].isRead { return !leftReads }
                return records[left.record].called < records[right.record].called
            }
        }
        return effects
    }

    // MARK: The log's order

    /// The registers at one place of a branch.
    private struct Registers {
        var numbers: [UInt64: UInt64] = [:]
        /// The latest call of what took effect so far: nothing that comes after may have returned
        /// before it.
        var called: [UInt64: Int] = [:]
        /// The same of the reads in the present view.
        ///
        /// A read at a position that a later branch keeps may have been served after that branch
        /// began: it binds its own view alone.
        var reads: [UInt64: Int] = [:]
        var doubtful: Set<UInt64> = []
    }

    private func apply(_ effect: Effect, to registers: inout Registers) {
        let record = records[effect.record]
        let register = record.register
        let operation = Linearizability.Operation(
            record.action,
            effect.isAnswered ? record.outcome : .unknown,
            called: record.called,
            returned: effect.isAnswered ? record.returned : nil
        )
        let latest = max(registers.called[register] ?? 0, registers.reads[register] ?? 0)
        if let returned = operation.returned, returned < latest {
            registers.doubtful.insert(register)
        }
        guard let number = operation.apply(to: registers.numbers[register] ?? 0) else {
            registers.doubtful.insert(register)
            return
        }
        registers.numbers[register] = number
        if record.isRead {
            registers.reads[register] = max(registers.reads[register] ?? 0, record.called)
        } else {
            registers.called[register] = max(registers.called[register] ?? 0, record.called)
        }
    }

    // MARK: Any other order

    /// Searches the branch that ends with `epoch` for an order of the operations on `register`.
    private mutating func search(_ register: UInt64, _ epoch: Epoch) throws(Violation) {
        searches.made += 1
        let history = Linearizability.relevant(self.history(of: register, to: epoch))
        switch Linearizability.search(history) {
        case .linearizable: break
        case .undecided: searches.undecided += 1
        case .broken(let longest, let stuckAt):
            let near = history.sorted { $0.called < $1.called }.filter {
                $0.called <= history[stuckAt].returned ?? .max
            }
            throw Violation(
                Self.invariant,
                "register \(register), branch of \(epoch): no order of its \(history.count) "
                    + "operations lets \(history[stuckAt]) return; \(longest) fit; the last: "
                    + near.suffix(6).map(\.description).joined(separator: ", ")
            )
        }
    }

    private func history(
        of register: UInt64,
        to epoch: Epoch
    ) -> [Linearizability.Operation] {
        let path = branches.path(to: epoch)
        func isOnPath(_ position: Position) -> Bool {
            path[position.epoch].map { position.index <= $0 } ?? false
        }
        // order: a filter of what is searched; the search sorts
        let merged = assignments.values.joined().filter {
            $0.register == register && isOnPath($0.position)
        }.sorted { $0.position < $1.position }.map {
            // When it took effect is not known to any client.
            Linearizability.Operation(.write($0.number), .unknown, called: $0.seen, returned: nil)
        }
        return merged
            + records.compactMap { record in
                guard record.register == register, !record.isVoid else { return nil }
                var operation = Linearizability.Operation(
                    record.action,
                    record.outcome,
                    called: record.called,
                    returned: record.returned
                )
                if record.isRead {
                    // Served by another branch it tells nothing of this one.
                    guard record.answered?.epoch == epoch else { return nil }
                } else if !(record.answered.map(isOnPath) ?? false) {
                    operation.outcome = .unknown
                    operation.returned = nil
                }
                return operation
            }
    }
}
