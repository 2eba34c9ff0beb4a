import MeshFaults
import MeshSimulator
import MeshWire
import Testing

@Suite("The simulated world") struct WorldTests {
    typealias Step = World<ToyProcess>.Step

    /// A world of toys that never tick, so that only what the test does happens.
    static func quiet(_ count: Int, seed: UInt64 = 1) -> World<ToyProcess> {
        let world = World<ToyProcess>(seed: seed)
        for _ in 0..<count {
            let index = world.addNode()
            world.start(ToyProcess(period: .seconds(3600)), on: index)
        }
        return world
    }

    static func steps(_ world: World<ToyProcess>, until limit: Instant) -> [Step] {
        var steps: [Step] = []
        while let step = world.step(until: limit) { steps.append(step) }
        return steps
    }

    static func heard(_ steps: [Step], by node: Int) -> [[UInt8]] {
        steps.filter { $0.node == node }.flatMap(\.events).compactMap {
            guard case .heard(let bytes, _, _) = $0 else { return nil }
            return bytes
        }
    }

    /// Three toys under all faults for 20 s, with a crash, a restart, a pause and a partition.
    static func stormy(seed: UInt64) throws -> World<ToyProcess> {
        let world = World<ToyProcess>(seed: seed)
        world.faults.setAll(
            try LinkConditions(parsing: "loss 20% duplicate 10% delay 5ms jitter 5ms corrupt 5%")
        )
        for drift in [0, 300, -300] {
            let clock = VirtualClock(
                offset: .seconds(drift + 400),
                driftPartsPerMillion: Int64(drift)
            )
            world.start(ToyProcess(), on: world.addNode(clock: clock))
        }
        _ = steps(world, until: .zero + .seconds(5))
        world.crash(1)
        world.pause(0, for: .seconds(2))
        _ = steps(world, until: .zero + .seconds(10))
        world.start(ToyProcess(), on: 1)
        world.faults.partition = .isolating(2)
        _ = steps(world, until: .zero + .seconds(15))
        world.faults.clear()
        _ = steps(world, until: .zero + .seconds(20))
        return world
    }

    @Test("the same seed gives the same trace hash, another seed another")
    func determinism() throws {
        let first = try Self.stormy(seed: 7).trace
        let second = try Self.stormy(seed: 7).trace
        let other = try Self.stormy(seed: 8).trace
        #expect(first.count > 1000)
        #expect(first.digest == second.digest)
        #expect(first.digest != other.digest)
    }

    @Test("a seed's trace hash is the same in every process and build")
    func golden() throws {
        let digest = try Self.stormy(seed: 7).trace.digest
        #expect(digest == 5_632_185_720_871_488_303)
    }

    @Test("a datagram to the discovery groups reaches everybody else, an answer only its asker")
    func discovery() {
        let world = Self.quiet(3)
        world.submit([0, 9], to: 0, at: .zero)
        let steps = Self.steps(world, until: .zero + .seconds(1))
        #expect(Self.heard(steps, by: 1) == [[0, 9]])
        #expect(Self.heard(steps, by: 2) == [[0, 9]])
        #expect(Self.heard(steps, by: 0) == [[1, 9], [1, 9]])
        #expect(world.time == .zero + .seconds(1))
    }

    @Test("the links' conditions delay and cut")
    func conditions() throws {
        let world = Self.quiet(2)
        world.faults.setAll(try LinkConditions(parsing: "delay 20ms"))
        world.submit([5], to: 0, at: .zero)
        let arrival = Self.steps(world, until: .zero + .seconds(1)).last
        #expect(arrival?.node == 1)
        #expect(arrival?.time == Instant.zero + .milliseconds(20) + world.baseDelay)
        world.faults.partition = .isolating(0)
        world.submit([5], to: 0, at: world.time)
        #expect(Self.heard(Self.steps(world, until: .zero + .seconds(2)), by: 1) == [])
    }

    @Test("a crashed node hears nothing; what is in flight reaches the next process")
    func crash() throws {
        let world = Self.quiet(2)
        world.faults.setAll(try LinkConditions(parsing: "delay 20ms"))
        _ = world.perform([5], on: 0)
        world.crash(1)
        _ = Self.steps(world, until: .zero + .milliseconds(10))
        world.start(ToyProcess(period: .seconds(3600)), on: 1)
        #expect(world.nodes[1].incarnation == 2)
        #expect(Self.heard(Self.steps(world, until: .zero + .milliseconds(30)), by: 1) == [[5]])
        world.crash(1)
        _ = world.perform([6], on: 0)
        #expect(Self.heard(Self.steps(world, until: .zero + .seconds(1)), by: 1) == [])
    }

    @Test("a stopped process hears late what waited in its socket, and its timer fires late, once")
    func pause() {
        let world = Self.quiet(1)
        let index = world.addNode()
        world.start(ToyProcess(period: .milliseconds(100)), on: index)
        world.pause(index, for: .milliseconds(950))
        world.submit([5], to: 0, at: .zero + .milliseconds(10))
        let steps = Self.steps(world, until: .zero + .seconds(1)).filter { $0.node == index }
        #expect(steps.first?.time == Instant.zero + .milliseconds(950))
        #expect(
            steps.flatMap(\.events) == [
                .heard([5], from: world.nodes[0].address, at: .zero + .milliseconds(950)),
                .ticked(at: .zero + .milliseconds(950)),
            ]
        )
    }

    @Test("a node's clock has its offset and drift, and a deadline comes no earlier than it shows")
    func clocks() {
        let clock = VirtualClock(offset: .seconds(1000), driftPartsPerMillion: 500)
        #expect(clock.local(.zero + .seconds(2)) == .zero + .seconds(1002) + .milliseconds(1))
        for nanoseconds in [1, 999, 1_000_001, 123_456_789, 98_765_432_123] as [Int64] {
            let deadline = Instant(nanoseconds: nanoseconds) + .seconds(1000)
            let wake = clock.world(deadline)
            #expect(clock.local(wake) >= deadline)
            #expect(clock.local(wake - .nanoseconds(2)) < deadline)
        }
    }

    @Test("a process that arms a passed deadline again and again is noticed")
    func spinning() {
        let world = Self.quiet(0)
        let index = world.addNode()
        world.start(ToyProcess(period: .zero), on: index)
        for _ in 0..<10 { _ = world.step(until: .zero) }
        #expect(world.nodes[index].spins >= 8)
    }

    @Test("things planned for one instant come in an order drawn from the seed")
    func ties() {
        func order(_ seed: UInt64) -> [Int] {
            var schedule = Schedule<Int>(ties: SeededGenerator(seed: seed))
            for number in 0..<20 { schedule.plan(number, at: .zero) }
            return (0..<20).compactMap { _ in schedule.pop(until: .zero)?.action }
        }
        #expect(order(1) == order(1))
        #expect(order(1) != order(2))
        #expect(order(1).sorted() == Array(0..<20))
    }
}
