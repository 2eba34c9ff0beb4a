import MeshConsensus
import MeshWire

/// One state of a small room: its nodes, what is in flight, and what the checkers remember.
struct ExploredState {
    /// What can happen next.
    enum Choice: CustomStringConvertible {
        case deliver(Int, Message)
        case drop(Message)
        case timer(Int)
        case command(Int)
        case crash(Int)

        var description: String {
            switch self {
            case .deliver(_, let message): "deliver \(message)"
            case .drop(let message): "drop \(message)"
            case .timer(let node): "timer n\(node)"
            case .command(let node): "command n\(node)"
            case .crash(let node): "crash n\(node)"
            }
        }
    }

    /// A message in flight.
    struct Message: CustomStringConvertible {
        var from: Int
        var to: Int
        var bytes: [UInt8]
        var hash: UInt64

        /// The code of the message, as the chapter's table has it.
        var code: UInt8 { bytes.first ?? 0 }

        var description: String {
            "n\(from)->n\(to) \(Self.names[code] ?? "message \(code)")"
        }

        private static let names: [UInt8: String] = [
            0x01: "BEACON", 0x02: "HB", 0x03: "HBACK", 0x04: "APPEND", 0x05: "ACK", 0x06: "NACK",
            0x07: "PROPOSE", 0x08: "REPLY", 0x09: "PROBE", 0x0a: "PROBEREQ", 0x0b: "PROBEACK",
            0x0c: "PROBENACK", 0x0d: "HEAD", 0x0e: "RELAY", 0x10: "PREVOTE", 0x11: "WOULD",
            0x12: "PREPARE", 0x13: "PROMISE",
            0x14: "REJECT", 0x15: "FETCH", 0x16: "ENTRIES", 0x17: "INSTALL", 0x18: "INSTALLED",
            0x19: "HANDOVER", 0x20: "JOIN", 0x21: "OFFER", 0x28: "MERGEOFFER", 0x2a: "BRANCH",
            0x2b: "MERGEEND",
        ]
    }

    /// Holds what cannot be copied by itself.
    private final class Holder {
        var consensus: Consensus<RegisterMachine>

        init(_ consensus: consuming Consensus<RegisterMachine>) { self.consensus = consensus }
    }

    private struct Node {
        /// Shared with the states this one came from until ``ExploredState/own(_:)``.
        var holder: Holder
        var process: ProcessID
        var now: Instant
        /// A hash of everything it was given.
        var inputs: UInt64 = 0
        var sequence: UInt64 = 0
        /// The compare-and-set that waits for its answer.
        var waiting: [Ticket: (expected: UInt64, value: UInt64)] = [:]
        var applied = Position.zero
    }

    /// `nil` once crashed.
    private var nodes: [Node?] = []
    private var flight: [Message] = []
    private var crashes = 0
    private var commands = 0
    private var epochs = EpochUniqueness()
    private var monotonicity = Monotonicity()
    private var prefix = AgreedPrefix()
    private var registers = RegisterHistory()

    private static let register: UInt64 = 1

    /// A room that has formed; `nil` if it does not within a second.
    init?(_ options: Explorer.Options) {
        let zero = Instant.zero + .seconds(1)
        for index in 0..<options.nodes {
            nodes.append(Self.node(index, options.planted, zero))
        }
        let processes = nodes.compactMap { $0?.process }
        for index in nodes.indices {
            for process in processes where process != processes[index] {
                nodes[index]?.holder.consensus.reachable(process, now: zero)
            }
        }
        nodes[0]?.holder.consensus.create(now: zero)
        for index in nodes.indices.dropFirst() {
            nodes[index]?.holder.consensus.join(via: processes[0], now: zero)
        }
        var time = zero
        let end = zero + .seconds(1)
        while !isFormed {
            guard time < end else { return nil }
            time += .milliseconds(5)
            for index in nodes.indices {
                nodes[index]?.now = time
                nodes[index]?.holder.consensus.advance(to: time)
            }
            for index in nodes.indices { _ = try? drain(index) }
            while let message = flight.first {
                flight.removeFirst()
                receive(message)
                guard (try? drain(message.to)) != nil else { return nil }
            }
        }
    }

    private var isFormed: Bool {
        nodes.allSatisfy { node in
            guard let holder = node?.holder else { return false }
            return holder.consensus.isUsable && holder.consensus.view?.members.count == nodes.count
                && holder.consensus.applied == nodes[0]?.holder.consensus.applied
        }
    }

    /// Parts a node from the states this one came from, before it is given anything.
    private mutating func own(_ index: Int) {
        guard let holder = nodes[index]?.holder else { return }
        nodes[index]?.holder = Holder(holder.consensus.copy())
    }

    private static func node(_ index: Int, _ planted: PlantedBug?, _ now: Instant) -> Node {
        let process = process(index)
        var configuration = ConsensusConfiguration(room: .zero)
        configuration.heartbeat = .milliseconds(200)
        configuration.detection = .milliseconds(450)
        configuration.detectionPair = .milliseconds(450)
        let isSound = planted == .divergentState && index > 0
        let consensus = Consensus(
            configuration: configuration,
            process: process,
            ability: 0,
            machine: RegisterMachine(planted: isSound ? nil : planted),
            digest: ConsensusProcess.digest,
            verify: { _ in true },
            seed: 1,
            now: now
        )
        return Node(holder: Holder(consensus), process: process, now: now)
    }

    // MARK: Choices

    /// Names the state: equal names, equal futures.
    var name: UInt64 {
        var hash = SipHash()
        for node in nodes { hash.update(node?.inputs ?? 0) }
        for message in flight { hash.update(message.hash) }
        return hash.finish()
    }

    func choices(_ options: Explorer.Options) -> [Choice] {
        var choices: [Choice] = []
        for (place, message) in flight.prefix(4).enumerated() {
            choices.append(.deliver(place, message))
        }
        let live = nodes.indices.filter { nodes[$0] != nil }
        for index in live { choices.append(.timer(index)) }
        if commands < options.commands {
            for index in live { choices.append(.command(index)) }
        }
        if crashes < options.crashes, live.count > 1 {
            for index in live { choices.append(.crash(index)) }
        }
        // Never delivered is as good as lost, but for those that stand behind in the window.
        if flight.count > 4 { choices.append(.drop(flight[0])) }
        return choices
    }

    /// Does one thing, checks the node that it concerned, and answers what was seen of it.
    mutating func take(_ choice: Choice) throws(Violation) -> [Observation] {
        switch choice {
        case .deliver(let place, let message):
            own(message.to)
            flight.remove(at: place)
            receive(message)
            return try drain(message.to)
        case .drop:
            flight.removeFirst()
            return []
        case .timer(let index):
            own(index)
            fire(index)
            return try drain(index)
        case .command(let index):
            own(index)
            commands += 1
            submit(index)
            return try drain(index)
        case .crash(let index):
            crashes += 1
            nodes[index] = nil
            flight.removeAll { $0.to == index }
            return []
        }
    }

    private mutating func receive(_ message: Message) {
        guard let now = nodes[message.to]?.now else { return }
        note(message.hash, to: message.to)
        let from = Self.process(message.from)
        nodes[message.to]?.holder.consensus.receive(message.bytes.raw, from: from, now: now)
    }

    private static func process(_ index: Int) -> ProcessID {
        var identity = [UInt8](repeating: 0, count: 32)
        identity[31] = UInt8(index + 1)
        return ProcessID(
            nodeID: NodeID(identity) ?? .zero,
            incarnation: 1,
            tag: UInt64(index + 1) << 56
        )
    }

    private mutating func fire(_ index: Int) {
        note(1, to: index)
        guard let now = nodes[index]?.now else { return }
        nodes[index]?.now = now + Explorer.step
        nodes[index]?.holder.consensus.advance(to: now + Explorer.step)
    }

    /// Every node expects the present number: at most one of those in a view can have its way.
    private mutating func submit(_ index: Int) {
        note(2, to: index)
        guard var node = nodes[index] else { return }
        node.sequence += 1
        let expected = node.holder.consensus.machine.value(Self.register)
        let value = UInt64(commands * 64 + (index + 1) * 8)
        let command = MeshConsensus.Command(
            type: 1,
            origin: Origin(node.process),
            sequence: node.sequence,
            payload: RegisterMachine.payload(
                .compareAndSet(expected: expected, value),
                register: Self.register
            )
        )
        if let ticket = try? node.holder.consensus.submit(command, now: node.now) {
            node.waiting[ticket] = (expected, value)
        }
        nodes[index] = node
    }

    private mutating func note(_ input: UInt64, to index: Int) {
        var hash = SipHash()
        hash.update(nodes[index]?.inputs ?? 0)
        hash.update(input)
        nodes[index]?.inputs = hash.finish()
    }

    // MARK: What a node says

    private mutating func drain(_ index: Int) throws(Violation) -> [Observation] {
        guard var node = nodes[index] else { return [] }
        var output = ConsensusOutput()
        _ = node.holder.consensus.poll(into: &output)
        let misacknowledged = output.messages.lazy
            .compactMap { Acknowledgments.epoch(of: $0.bytes) }
            .first { $0 < node.holder.consensus.promised }
        for message in output.messages { send(message, from: index) }
        for case .completed(let ticket, .success(let completion)) in output.events {
            guard let (expected, value) = node.waiting.removeValue(forKey: ticket) else { continue }
            var reader = ByteReader(completion.result.raw)
            guard let before = try? reader.read(UInt64.self), before == expected else { continue }
            try registers.succeed(
                expected: expected,
                value: value,
                at: completion.position,
                holders: []
            )
        }
        let isNew = node.applied != node.holder.consensus.applied
        node.applied = node.holder.consensus.applied
        nodes[index] = node
        let seen = Observation(
            node.holder.consensus,
            tag: node.process.tag,
            life: Life(node: index, incarnation: 1),
            hashingState: isNew
        )
        if let misacknowledged {
            try Acknowledgments().check(
                misacknowledged,
                promised: seen.promised,
                by: seen.life
            )
        }
        try epochs.check(seen)
        try monotonicity.check(seen)
        try prefix.check(seen)
        return [seen]
    }

    /// What is sent anew takes the place of what it repeats: the older one is lost.
    private mutating func send(_ message: OutgoingMessage, from index: Int) {
        let to = Int(message.to.tag >> 56) - 1
        guard nodes.indices.contains(to), nodes[to] != nil else { return }
        var hash = SipHash()
        hash.update(UInt64(index))
        hash.update(UInt64(to))
        hash.update(message.bytes.raw)
        let sent = Message(from: index, to: to, bytes: message.bytes, hash: hash.finish())
        flight.removeAll { $0.from == index && $0.to == to && $0.code == sent.code }
        flight.append(sent)
    }
}
