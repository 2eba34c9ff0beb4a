import MeshFaults
import MeshWire

extension SeededGenerator {
    /// A percentage from a stream of its own.
    func mixed(_ name: String) -> UInt64 {
        var stream = stream(name)
        return stream.next() % 100
    }
}

// The classes of faults that only consensus alone is put through (`30-consensus.md` §13).
extension Swarm {
    /// Each kind of message that a network may hate, by its codes.
    static let hatedCodes: [[UInt8]] = [
        [0x01], [0x02], [0x03], [0x04], [0x05], [0x07], [0x08], [0x09, 0x0a, 0x0b, 0x0c],
        [0x10, 0x11],
        [0x12], [0x13], [0x14], [0x15, 0x16], [0x17], [0x18], [0x19], [0x1a, 0x1b], [0x20, 0x21],
        [0x22, 0x23], [0x28], [0x2a], [0x28, 0x2a, 0x2b], [0x30, 0x31],
    ]

    /// What befalls the network as a whole: outages, clogs, hated messages, floods, churn.
    static func storms(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        var draw = seed.stream("swarm.storms")
        var script: [PlannedFault] = []
        func plan(_ time: Instant, _ action: FaultAction) {
            script.append(PlannedFault(time: time, action: action))
        }
        func node() -> Int { Int(draw.next() % UInt64(swarm.nodes)) }
        if swarm.has(.outages) {
            for time in swarm.times(.seconds(10), &draw) {
                let mean: Duration = draw.happens(0.5) ? .milliseconds(100) : .milliseconds(300)
                plan(time, .outages(.init(percent: 2 + Int(draw.next() % 29), mean: mean)))
                plan(time + draw.duration(in: .seconds(1)...(.seconds(8))), .outages(nil))
            }
        }
        if swarm.has(.clog) {
            for time in swarm.times(.seconds(4), &draw) {
                let length = draw.duration(in: .zero...(.seconds(5)))
                let (from, to) = (node(), node())
                if from != to { plan(time, .clog(from: from, to: to, for: length)) }
            }
        }
        if swarm.has(.drops) {
            for time in swarm.times(.seconds(6), &draw) {
                let codes = hatedCodes[Int(draw.next() % UInt64(hatedCodes.count))]
                let percent = draw.happens(0.5) ? 100 : 30 + Int(draw.next() % 70)
                plan(time, .drop(codes: codes, percent: percent))
                plan(
                    time + draw.duration(in: .milliseconds(200)...(.seconds(5))),
                    .drop(codes: [], percent: 0)
                )
            }
        }
        if swarm.has(.floods) {
            for time in swarm.times(.seconds(8), &draw) {
                let count = 50 + Int(draw.next() % 450)
                plan(time, .flood(node(), count, isReplay: draw.happens(0.6)))
            }
        }
        guard swarm.has(.churn), swarm.nodes > 1 else { return script }
        for time in swarm.times(.seconds(15), &draw) {
            // Many leave within 100 ms, or just die, and all of them come back within 100 ms.
            let leaves = draw.happens(0.5)
            let back = time + draw.duration(in: .milliseconds(300)...(.seconds(3)))
            let share = 0.3 + draw.unit() * 0.7
            for node in 0..<swarm.nodes where node != swarm.anchor && draw.happens(share) {
                let late = draw.duration(in: .zero...(.milliseconds(100)))
                plan(time + late, leaves ? .leave(node) : .crash(node))
                plan(back + draw.duration(in: .zero...(.milliseconds(100))), .restart(node))
            }
        }
        return script
    }

    /// What befalls a single node: it falls mute or deaf, slow, asleep, or dies between two steps.
    static func ailments(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        var draw = seed.stream("swarm.ailments")
        var script: [PlannedFault] = []
        func ail(
            _ kind: Class,
            every mean: Duration,
            _ lengths: ClosedRange<Duration>,
            _ actions: (Int) -> (FaultAction, FaultAction)
        ) {
            guard swarm.has(kind) else { return }
            for time in swarm.times(mean, &draw) {
                let (begin, end) = actions(Int(draw.next() % UInt64(swarm.nodes)))
                script.append(PlannedFault(time: time, action: begin))
                let length = draw.duration(in: lengths)
                // What begins ends, be it at the end of the phase.
                let over = min(time + length, swarm.safety.upperBound)
                script.append(PlannedFault(time: over, action: end))
            }
        }
        ail(.mute, every: .seconds(10), .milliseconds(100)...(.seconds(8))) {
            (.mute($0, true), .mute($0, false))
        }
        ail(.deaf, every: .seconds(10), .milliseconds(100)...(.seconds(8))) {
            (.deaf($0, true), .deaf($0, false))
        }
        var factor = seed.stream("swarm.slow")
        ail(.slow, every: .seconds(8), .seconds(1)...(.seconds(10))) {
            // Two to fifty times the 0.2 ms that a busy machine takes.
            (.slow($0, .microseconds(200) * Int(2 + factor.next() % 49)), .slow($0, .zero))
        }
        if swarm.has(.longPause) {
            for time in swarm.times(.seconds(25), &draw) {
                let node = Int(draw.next() % UInt64(swarm.nodes))
                let length = draw.duration(in: .seconds(3)...(.seconds(60)))
                let rest = swarm.safety.upperBound - time
                script.append(
                    PlannedFault(time: time, action: .pause(node, for: min(length, rest)))
                )
            }
        }
        guard swarm.has(.crashBeforeSend), swarm.nodes > 1 else { return script }
        for time in swarm.times(.seconds(6), &draw) {
            let node = Int(draw.next() % UInt64(swarm.nodes))
            let back = draw.duration(in: .milliseconds(100)...(.seconds(3)))
            guard node != swarm.anchor else { continue }
            script.append(PlannedFault(time: time, action: .crashBeforeSending(node)))
            script.append(PlannedFault(time: time + back, action: .restart(node)))
        }
        return script
    }

    /// Clocks that jump ahead, and such that stand still while their machine sleeps.
    static func clocks(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        var draw = seed.stream("swarm.jumps")
        var script: [PlannedFault] = []
        if swarm.has(.jump) {
            for time in swarm.times(.seconds(12), &draw) {
                let node = Int(draw.next() % UInt64(swarm.nodes))
                let far = draw.happens(0.3)
                let offset = draw.duration(
                    in: far ? .seconds(60)...(.seconds(90_000)) : .milliseconds(10)...(.seconds(5))
                )
                script.append(PlannedFault(time: time, action: .jump(node, offset)))
            }
        }
        if swarm.has(.sleep) {
            for time in swarm.times(.seconds(10), &draw) {
                let node = Int(draw.next() % UInt64(swarm.nodes))
                let length = draw.duration(in: .milliseconds(10)...(.seconds(10)))
                script.append(PlannedFault(time: time, action: .sleep(node, for: length)))
            }
        }
        return script
    }

    /// Nodes that move to another address, and identities that appear twice.
    static func identities(_ swarm: Swarm, _ seed: SeededGenerator) -> [PlannedFault] {
        var draw = seed.stream("swarm.identities")
        var script: [PlannedFault] = []
        if swarm.has(.move) {
            for time in swarm.times(.seconds(8), &draw) {
                let node = Int(draw.next() % UInt64(swarm.nodes))
                script.append(PlannedFault(time: time, action: .move(node)))
            }
        }
        guard swarm.has(.clone), swarm.nodes > 1 else { return script }
        for time in swarm.times(.seconds(20), &draw) {
            let node = Int(draw.next() % UInt64(swarm.nodes))
            guard node != swarm.anchor else { continue }
            let length = draw.duration(in: .milliseconds(200)...(.seconds(10)))
            let over = min(time + length, swarm.safety.upperBound)
            script.append(PlannedFault(time: time, action: .clone(node)))
            script.append(PlannedFault(time: over, action: .endClone(node)))
        }
        return script
    }
}
