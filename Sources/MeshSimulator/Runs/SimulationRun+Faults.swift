import MeshFaults
import MeshWire

/// What the swarm's script does to a run.
extension SimulationRun {
    func perform(_ fault: FaultAction) throws(Violation) {
        world.note("\(fault)")
        switch fault {
        case .conditions(let conditions): world.faults.setAll(conditions)
        case .link(let from, let to, let conditions):
            world.faults.set(conditions, from: from, to: to)
        case .partition(let partition): world.faults.partition = partition
        case .heal: world.faults.partition = Partition()
        case .outages(let outages): world.faults.outages = outages
        case .clog(let from, let to, let duration):
            world.faults.clog(from: from, to: to, until: world.time + duration)
        case .drop(let codes, let percent):
            world.drops =
                codes.isEmpty ? nil : .init(codes: codes, probability: Double(percent) / 100)
        case .mute(let node, true): world.faults.mute.insert(node)
        case .mute(let node, false): world.faults.mute.remove(node)
        case .deaf(let node, true): world.faults.deaf.insert(node)
        case .deaf(let node, false): world.faults.deaf.remove(node)
        case .flood(let node, let count, let isReplay):
            world.flood(node, count: count, isReplay: isReplay)
        case .crash, .restart, .pause, .leave, .crashBeforeSending, .slow, .jump, .sleep, .move,
            .clone, .endClone:
            try performOnNode(fault)
        }
    }

    private func performOnNode(_ fault: FaultAction) throws(Violation) {
        switch fault {
        case .crash(let node): crash(node)
        case .restart(let node): try restart(node)
        case .pause(let node, let duration): world.pause(node, for: duration)
        case .leave(let node):
            guard world.nodes[node].process != nil else { return }
            try leave(node)
        case .crashBeforeSending(let node): world.crashBeforeSending(node)
        case .slow(let node, let cost): world.slow(node, cost: cost)
        case .jump(let node, let offset): world.moveClock(node, by: offset)
        case .sleep(let node, let duration):
            guard world.nodes[node].process != nil, !world.nodes[node].isPaused else { return }
            world.pause(node, for: duration)
            world.moveClock(node, by: .zero - duration)
        case .move(let node): world.move(node)
        case .clone(let node): try clone(node)
        case .endClone(let node):
            if let index = clones[node], world.nodes[index].process != nil { crash(index) }
        default: break
        }
    }

    /// Starts a second machine with the identity of `node`, which joins the room.
    private func clone(_ node: Int) throws(Violation) {
        let index = clones[node] ?? world.addNode(clock: swarm.clocks[node])
        clones[node] = index
        guard world.nodes[index].process == nil else { return }
        try restart(index)
    }

    /// The node whose identity the machine `index` has.
    func identity(_ index: Int) -> Int {
        guard index >= swarm.nodes else { return index }
        // order: each machine has one identity, so at most one entry fits
        return clones.first { $0.value == index }?.key ?? index
    }
}
