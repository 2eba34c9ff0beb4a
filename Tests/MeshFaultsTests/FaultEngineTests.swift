import MeshFaults
import MeshWire
import Testing

@Suite("The faults of many links") struct FaultEngineTests {
    static func fates(_ engine: inout FaultEngine<Int>, _ links: [(Int, Int)]) -> [[Delivery]] {
        links.map { engine.submit(byteCount: 100, from: $0.0, to: $0.1, now: .zero) }
    }

    @Test("another link in use changes nobody else's draws")
    func independence() throws {
        let conditions = try LinkConditions(parsing: "loss 30% delay 5ms jitter 5ms")
        var alone = FaultEngine<Int>(seed: 3, conditions: conditions)
        var busy = FaultEngine<Int>(seed: 3, conditions: conditions)
        let first = Self.fates(&alone, Array(repeating: (1, 2), count: 200))
        let second = (0..<200).map { _ in Self.fates(&busy, [(2, 1), (1, 2), (3, 2)])[1] }
        #expect(first == second)
    }

    @Test("another seed gives other draws")
    func seeds() throws {
        let conditions = try LinkConditions(parsing: "loss 30%")
        var left = FaultEngine<Int>(seed: 3, conditions: conditions)
        var right = FaultEngine<Int>(seed: 4, conditions: conditions)
        let links = Array(repeating: (1, 2), count: 100)
        #expect(Self.fates(&left, links) != Self.fates(&right, links))
    }

    @Test("one direction can have conditions of its own, and loses them when cleared")
    func overrides() throws {
        var engine = FaultEngine<Int>(seed: 1)
        engine.set(try LinkConditions(parsing: "down"), from: 1, to: 2)
        #expect(!engine.isIdle)
        #expect(Self.fates(&engine, [(1, 2), (2, 1)]).map(\.count) == [0, 1])
        engine.clear()
        #expect(engine.isIdle)
        #expect(Self.fates(&engine, [(1, 2), (2, 1)]).map(\.count) == [1, 1])
        #expect(engine.counters.map(\.link.from) == [1, 2])
        #expect(engine.counters.map(\.counters.delivered) == [1, 2])
    }

    @Test("partitions cut what they say and nothing else")
    func partitions() {
        typealias Cut = Partition<Int>.Cut
        let rows: [(Partition<Int>, open: [(Int, Int)], cut: [(Int, Int)])] = [
            (Partition(), [(1, 2), (2, 1)], []),
            (Partition(groups: [[1, 2]]), [(1, 2), (3, 4)], [(1, 3), (4, 2)]),
            (.isolating(1), [(2, 3), (1, 1)], [(1, 2), (3, 1)]),
            (Partition(cuts: [Cut(from: 1, to: 2)]), [(2, 1), (1, 3)], [(1, 2)]),
            (.bridge(3, between: ([1, 2], [4, 5])), [(1, 3), (3, 5), (1, 2)], [(1, 4), (5, 2)]),
            (.chain([1, 2, 3]), [(1, 2), (3, 2)], [(1, 3), (3, 1)]),
            (.chain([1, 2, 3, 4], isClosed: true), [(4, 1), (1, 2)], [(1, 3), (2, 4)]),
        ]
        for row in rows {
            for link in row.open { #expect(row.0.permits(from: link.0, to: link.1), "\(link)") }
            for link in row.cut { #expect(!row.0.permits(from: link.0, to: link.1), "\(link)") }
        }
    }

    @Test("held datagrams come out when due, in order, with their bits flipped")
    func held() {
        var held = HeldDatagrams()
        let address = SocketAddress(10, 0, 0, 1, port: 1)
        let deliveries = [
            Delivery(delay: .milliseconds(5)), Delivery(delay: .milliseconds(2), flippedBits: [0]),
        ]
        held.hold([0, 0], address: address, deliveries: deliveries, now: .zero)
        #expect(held.deadline == .zero + .milliseconds(2))
        let early = held.popDue(now: .zero + .milliseconds(1))
        let first = held.popDue(now: .zero + .milliseconds(2))
        let second = held.popDue(now: .zero + .milliseconds(9))
        #expect(early == nil)
        #expect(first?.bytes == [1, 0])
        #expect(second?.bytes == [0, 0])
        #expect(held.deadline == nil)
    }
}
