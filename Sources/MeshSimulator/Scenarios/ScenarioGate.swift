import MeshFaults
import MeshWire

/// What a scenario does to single messages between the sender and the links.
struct ScenarioGate {
    /// Messages that vanish or wait.
    struct Rule {
        var types: [MessageType]
        var pattern: Scenario.LinkPattern
        var isHold: Bool
    }

    /// Something to do once a node sends a message.
    struct Armed {
        var node: Int
        var trigger: Scenario.Trigger
        var action: Scenario.NetworkAction
    }

    /// A datagram that waits for its release.
    struct Held {
        var bytes: [UInt8]
        var from: Int
        var to: Int
    }

    /// A message of which the newest is kept, so that it can be forged.
    struct Kept: Hashable {
        var type: MessageType
        var from: Int
    }

    var rules: [Rule] = []
    var armed: [Armed] = []
    var held: [Held] = []
    var newest: [Kept: [UInt8]] = [:]
    /// Whether anybody will ask for ``newest``.
    var keepsNewest = false
    /// What was armed and has come; carried out when the step is over.
    var fired: Scenario.NetworkAction?
    /// The node that stopped in the middle of a step, so that the rest of it is not sent.
    var muted: Int?
}

extension ScenarioRun {
    /// Whether a datagram reaches the links.
    func permits(_ bytes: [UInt8], from: Int, to: Int) -> Bool {
        if gate.muted == from, gate.fired != nil { return false }
        guard !gate.rules.isEmpty || !gate.armed.isEmpty || gate.keepsNewest,
            let code = Process.messageCode(in: bytes), let type = MessageType(rawValue: code)
        else { return true }
        if gate.keepsNewest { gate.newest[.init(type: type, from: from)] = bytes }
        if let place = gate.armed.firstIndex(where: {
            $0.node == from && $0.trigger.type == type && $0.trigger.to ?? to == to
        }), gate.fired == nil {
            let armed = gate.armed.remove(at: place)
            gate.fired = armed.action
            note(from, "\(armed.trigger.isAfter ? "sends" : "is about to send") \(type.name)")
            if !armed.trigger.isAfter {
                gate.muted = from
                return false
            }
        }
        for rule in gate.rules
        where rule.types.contains(type) && rule.pattern.matches(from, to) {
            if rule.isHold { gate.held.append(.init(bytes: bytes, from: from, to: to)) }
            return false
        }
        return true
    }

    // MARK: - Machines and links

    func perform(_ action: Scenario.NetworkAction) throws(ScenarioFailure) {
        switch action {
        case .cut(let groups):
            world.faults.partition = .init(groups: groups, cuts: world.faults.partition.cuts)
        case .cutLinks(let links):
            let old = world.faults.partition
            let cuts = links.map { Partition<Int>.Cut(from: $0.from, to: $0.to) }
            world.faults.partition = .init(
                groups: old.groups,
                cuts: old.cuts + cuts.filter { !old.cuts.contains($0) }
            )
        case .heal: world.faults.partition = Partition()
        case .link(let rule): apply(rule)
        case .crash(let nodes, nil):
            for index in nodes where world.nodes[index].process != nil { crash(index) }
        case .pause(let nodes, let time, nil):
            for index in nodes { world.pause(index, for: time) }
        case .crash(let nodes, let trigger?):
            try arm(trigger, nodes) { .crash([$0], nil) }
        case .pause(let nodes, let time, let trigger?):
            try arm(trigger, nodes) { .pause([$0], time, nil) }
        case .restart(let nodes):
            for index in nodes {
                if world.nodes[index].process != nil { crash(index) }
                try start(index)
            }
        case .move(let index): world.move(index)
        case .clock(let index, let jump): world.nodes[index].clock.offset += jump
        case .drop(let types, let pattern):
            try requireMessages()
            gate.rules.append(.init(types: types, pattern: pattern, isHold: false))
        case .hold(let types, let pattern):
            try requireMessages()
            gate.rules.append(.init(types: types, pattern: pattern, isHold: true))
        case .release:
            gate.rules = []
            let held = gate.held
            gate.held = []
            for message in held { world.inject(message.bytes, from: message.from, to: message.to) }
        case .forge(let forgery): try forge(forgery)
        }
    }

    func apply(_ rule: Scenario.LinkRule) {
        let pattern = rule.pattern
        if pattern.from == nil, pattern.to == nil { return world.faults.setAll(rule.conditions) }
        for from in scenario.nodes.indices {
            for to in scenario.nodes.indices where from != to && pattern.matches(from, to) {
                world.faults.set(rule.conditions, from: from, to: to)
            }
        }
    }

    private func arm(
        _ trigger: Scenario.Trigger,
        _ nodes: [Int],
        _ action: (Int) -> Scenario.NetworkAction
    ) throws(ScenarioFailure) {
        try requireMessages()
        for index in nodes {
            gate.armed.append(.init(node: index, trigger: trigger, action: action(index)))
        }
    }

    private func requireMessages() throws(ScenarioFailure) {
        guard scenario.layer == .consensus else {
            throw failure("messages are sealed on the engine layer: write `layer consensus`")
        }
    }

    private func forge(_ forgery: Scenario.Forgery) throws(ScenarioFailure) {
        try requireMessages()
        let key = ScenarioGate.Kept(type: forgery.type, from: forgery.link.from)
        guard let original = gate.newest[key] else {
            throw failure("\(scenario.nodes[forgery.link.from]) sent no \(forgery.type.name) yet")
        }
        guard let receiver = world.nodes[forgery.link.to].process?.process.tag else {
            throw failure("\(scenario.nodes[forgery.link.to]) runs no process")
        }
        let bytes = ConsensusProcess.forged(original, forgery, receiver: receiver)
        world.inject(bytes, from: forgery.link.from, to: forgery.link.to)
    }
}
