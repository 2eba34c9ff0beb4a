package import MeshConsensus
package import MeshWire

/// A small state machine for simulating consensus alone: numbered registers of numbers.
///
/// Payloads: kind u8 · register u64 · two numbers u64. 0 writes the second number, 1 does if the
/// register holds the first, 2 adds the second. The result is the register's number before.
///
/// A merge joins the sums of registers that are ``counters``; of others the winner's number stays
/// where both branches changed it.
package struct RegisterMachine: StateMachine {
    /// What a command does to its register.
    package enum Operation: Hashable, Sendable {
        case write(UInt64)
        case compareAndSet(expected: UInt64, UInt64)
        case add(UInt64)
    }

    /// The registers that were ever written, sorted by their number.
    package private(set) var registers: [(register: UInt64, value: UInt64)] = []
    private var view = Epoch.zero
    private var members: [UInt64] = []
    private var planted: PlantedBug?
    /// What the last merges put into registers, for those who watch a run; no part of the state.
    package private(set) var merged: [(position: Position, register: UInt64, number: UInt64)] = []

    /// Registers from this number on are only added to.
    package static let counters: UInt64 = 1 << 63

    /// Registers that hold zero; `planted` makes them err.
    ///
    /// `filled` of the last ones hold one instead, in every process alike: a state of some size.
    package init(planted: PlantedBug? = nil, filled: Int = 0) {
        self.planted = planted
        registers = (0..<filled).map { (UInt64.max - UInt64(filled - 1 - $0), 1) }
    }

    /// The number in a register; zero if it was never written.
    package func value(_ register: UInt64) -> UInt64 {
        let place = place(register)
        return place < registers.count && registers[place].register == register
            ? registers[place].value : 0
    }

    /// The payload of a command that does `operation` to `register`.
    package static func payload(_ operation: Operation, register: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        let (kind, first, second): (UInt8, UInt64, UInt64) =
            switch operation {
            case .write(let value): (0, 0, value)
            case .compareAndSet(let expected, let value): (1, expected, value)
            case .add(let amount): (2, 0, amount)
            }
        writer.write(kind)
        writer.write(register)
        writer.write(first)
        writer.write(second)
        return writer.bytes
    }

    /// The operation and register of a payload.
    package static func operation(
        _ payload: [UInt8]
    ) throws(WireError) -> (Operation, register: UInt64) {
        var reader = ByteReader(payload.raw)
        let kind: UInt8 = try reader.read()
        let register: UInt64 = try reader.read()
        let first: UInt64 = try reader.read()
        let second: UInt64 = try reader.read()
        switch kind {
        case 0: return (.write(second), register)
        case 1: return (.compareAndSet(expected: first, second), register)
        case 2: return (.add(second), register)
        default: throw .unknownType(kind, at: 0)
        }
    }

    package mutating func apply(
        _ command: MeshConsensus.Command,
        at position: Position
    ) -> [UInt8] {
        guard let (operation, register) = try? Self.operation(command.payload) else {
            // A payload that is no operation changes nothing on every replica alike.
            return []
        }
        let before = value(register)
        switch operation {
        case .write(let value): set(register, kept(value, over: before))
        case .compareAndSet(let expected, let value):
            if before == expected {
                set(register, planted == .divergentState ? kept(value, over: before) : value)
            }
        case .add(let amount):
            let isDoubled = planted == .doubleAdditions && amount % 8 == 0
            set(register, before &+ amount &* (isDoubled ? 2 : 1))
        }
        var writer = ByteWriter()
        writer.write(before)
        return writer.bytes
    }

    package mutating func install(_ view: View, departed: [ProcessID], at position: Position) {
        self.view = view.epoch
        members = view.tags.sorted()
    }

    package func isSameOutcome(
        of command: MeshConsensus.Command,
        _ left: [UInt8]?,
        _ right: [UInt8]?
    ) -> Bool {
        guard case .compareAndSet(let expected, _)? = try? Self.operation(command.payload).0 else {
            return true
        }
        guard let left, let right else { return false }
        func succeeded(_ result: [UInt8]) -> Bool {
            var reader = ByteReader(result.raw)
            return (try? reader.read(UInt64.self)) == expected
        }
        return succeeded(left) == succeeded(right)
    }

    package func plan(_ branch: LosingBranch) -> MergePlan {
        guard let theirs = branch.state as? RegisterMachine else {
            return MergePlan(outcomes: branch.commands.map { _ in .superseded }, patch: [])
        }
        let base = branch.base as? RegisterMachine
        var fates: [UInt64: MergeOutcome] = [:]
        var writer = ByteWriter()
        for (register, value) in theirs.registers {
            let ours = self.value(register)
            let old = base?.value(register)
            guard value != old, value != ours else { continue }
            if let old, ours == old {
                fates[register] = .applied
                writer.write(register)
                writer.write(value)
            } else if register >= Self.counters, let old {
                fates[register] = .joined
                writer.write(register)
                writer.write(ours &+ value &- old)
            } else if ours == 0 {
                fates[register] = .applied
                writer.write(register)
                writer.write(value)
            } else {
                fates[register] = .conflict
            }
        }
        var last: [UInt64: Int] = [:]
        let operations = branch.commands.map { try? Self.operation($0.command.payload) }
        for (place, operation) in operations.enumerated() {
            if let operation { last[operation.register] = place }
        }
        let outcomes = operations.enumerated().map { place, operation -> MergeOutcome in
            guard let operation else { return .superseded }
            if case .add = operation.0 { return fates[operation.register] ?? .joined }
            if last[operation.register] != place { return .superseded }
            return fates[operation.register] ?? .applied
        }
        return MergePlan(outcomes: outcomes, patch: writer.bytes)
    }

    package mutating func merge(_ patch: [UInt8], buried: [UInt64], at position: Position) {
        var reader = ByteReader(patch.raw)
        while let register: UInt64 = try? reader.read(), let value: UInt64 = try? reader.read() {
            set(register, value)
            merged.append((position, register, value))
        }
        if merged.count > 512 { merged.removeFirst(merged.count - 512) }
    }

    package func snapshot() -> [UInt8] {
        var writer = ByteWriter()
        writer.write(view)
        writer.writeCount(members.count)
        for tag in members { writer.write(tag) }
        writer.writeCount(registers.count)
        for (register, value) in registers {
            writer.write(register)
            writer.write(value)
        }
        return writer.bytes
    }

    package mutating func restore(from bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(bytes)
        view = Epoch(counter: try reader.read(), proposer: try reader.read())
        members = []
        for _ in 0..<(try reader.readCount(limit: Limits.members)) {
            members.append(try reader.read())
        }
        registers = []
        for _ in 0..<(try reader.readCount(limit: 1 << 20)) {
            registers.append((try reader.read(), try reader.read()))
        }
        try reader.finish()
    }

    private func kept(_ value: UInt64, over before: UInt64) -> UInt64 {
        switch planted {
        case .lostWrites where value % 8 == 0: before
        case .divergentState where value % 8 == 0: value + 1
        default: value
        }
    }

    private mutating func set(_ register: UInt64, _ value: UInt64) {
        let place = place(register)
        if place < registers.count, registers[place].register == register {
            registers[place].value = value
        } else {
            registers.insert((register, value), at: place)
        }
    }

    private func place(_ register: UInt64) -> Int {
        registers.firstIndex { $0.register >= register } ?? registers.count
    }
}
