import MeshFaults
import MeshWire
import Testing

@Suite("The faults of a link") struct LinkFaultsTests {
    static func link(_ text: String, seed: UInt64 = 7) throws -> LinkFaults {
        LinkFaults(try LinkConditions(parsing: text), seed: seed, from: "n1", to: "n2")
    }

    /// Submits `count` datagrams, 1 ms apart, and gathers what happens to each.
    static func run(_ link: inout LinkFaults, _ count: Int, byteCount: Int = 100) -> [[Delivery]] {
        (0..<count).map {
            link.submit(byteCount: byteCount, now: .zero + .milliseconds($0))
        }
    }

    @Test("the draws are those of the published definition — 60-lab §2.6")
    func draws() {
        #expect(SipHash.hash((0..<15).map { UInt8($0) }) == 0xa129_ca61_49be_45e5)
        #expect(DrawStream(key: 0).draw(0) == 0xe220_a839_7b1d_cdaf)
        let stream = DrawStream(seed: 7, from: "n1", to: "n2", incarnation: 0, name: "loss")
        #expect(stream.key == 0x3093_c14f_7f9d_ce80)
        #expect(
            (0..<3).map(stream.draw)
                == [0xa02f_11c3_70d1_af64, 0xdcff_f2a5_aea5_1445, 0xbdb3_dd89_20fc_ff22]
        )
    }

    @Test("independent loss of 2 % drops exactly these of the first thousand — 60-lab §2.6")
    func golden() throws {
        var link = try Self.link("loss 2%")
        let lost = Self.run(&link, 1000).enumerated().filter(\.element.isEmpty).map {
            $0.offset + 1
        }
        #expect(lost == [15, 35, 42, 341, 354, 425, 477, 489, 548, 631, 669, 728, 860, 918])
    }

    @Test("the realised loss lies within four widened deviations of the mean — 60-lab §2.3")
    func lossStatistics() throws {
        let rows: [(text: String, mean: Double, correlation: Double)] = [
            ("loss 1%", 0.01, 0), ("loss 30%", 0.3, 0),
            ("loss 10% loss_burst 8", 0.1, 1 - 0.1 / 0.9 / 8 - 1.0 / 8),
            ("preset wifi-busy", 0.038_46, 1 - 0.01 - 0.25),
            ("preset lte-handover", 0.0196, 1 - 0.001 - 0.05),
        ]
        let count = 100_000
        for row in rows {
            var link = try Self.link(row.text)
            let lost = Self.run(&link, count).count(where: \.isEmpty)
            let widening = (1 + row.correlation) / (1 - row.correlation)
            let deviation = (row.mean * (1 - row.mean) / Double(count) * widening).squareRoot()
            let realised = Double(lost) / Double(count)
            #expect(abs(realised - row.mean) < 4 * deviation, "\(row.text): \(realised)")
        }
    }

    @Test("bursts have the asked mean length")
    func burstLength() throws {
        var link = try Self.link("loss 10% loss_burst 8")
        let fates = Self.run(&link, 100_000).map(\.isEmpty)
        let starts = zip(fates.dropFirst(), fates).count { $0 && !$1 }
        let length = Double(fates.count { $0 }) / Double(starts)
        #expect(abs(length - 8) < 0.8, "\(length)")
    }

    @Test("all is lost at 100 %, when down and above the MTU; nothing on a perfect link")
    func extremes() throws {
        for (text, lost) in [("loss 100%", 100), ("down", 100), ("mtu 99B", 100), ("mtu 100B", 0)] {
            var link = try Self.link(text)
            #expect(Self.run(&link, 100).count(where: \.isEmpty) == lost, "\(text)")
        }
        var perfect = try Self.link("")
        #expect(Self.run(&perfect, 100).allSatisfy { $0 == [Delivery(delay: .zero)] })
    }

    @Test("duplicates, corruption and reordering happen as often as asked")
    func rates() throws {
        var link = try Self.link("duplicate 5% copies 2 corrupt 10% bits 3 reorder 20% by 7ms")
        let fates = Self.run(&link, 20_000)
        let doubled = Double(fates.count { $0.count == 3 }) / 20_000
        let copies = fates.flatMap { $0 }
        let corrupted = Double(copies.count { !$0.flippedBits.isEmpty }) / Double(copies.count)
        let late = Double(copies.count { $0.delay == .milliseconds(7) }) / Double(copies.count)
        #expect(abs(doubled - 0.05) < 0.01)
        #expect(abs(corrupted - 0.1) < 0.01)
        #expect(abs(late - 0.2) < 0.02)
        #expect(copies.allSatisfy { Set($0.flippedBits).count == $0.flippedBits.count })
        #expect(copies.allSatisfy { $0.flippedBits.allSatisfy { (0..<800).contains($0) } })
    }

    @Test("corruption flips exactly the bits it names")
    func corruption() {
        var bytes = [UInt8](repeating: 0, count: 3)
        Delivery(delay: .zero, flippedBits: [0, 9, 23, 24]).corrupt(&bytes)
        #expect(bytes == [1, 2, 128])
    }

    @Test("jitter keeps the mean, stays in its bounds and never goes below zero")
    func jitter() throws {
        for (distribution, bound) in [("uniform", 8.0), ("normal", 19), ("pareto", 1e6)] {
            var link = try Self.link("delay 40ms jitter 8ms dist \(distribution)")
            let delays = Self.run(&link, 50_000).flatMap { $0 }.map { $0.delay.milliseconds }
            let mean = delays.reduce(0, +) / Double(delays.count)
            #expect(abs(mean - 40) < 0.4, "\(distribution): \(mean)")
            #expect(delays.allSatisfy { $0 >= 0 && $0 <= 40 + bound }, "\(distribution)")
            if distribution == "normal" {
                let squares = delays.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
                let deviation = (squares / Double(delays.count)).squareRoot()
                #expect(abs(deviation - 8) < 0.3, "\(deviation)")
            }
        }
        var link = try Self.link("delay 1ms jitter 8ms")
        #expect(Self.run(&link, 1000).flatMap { $0 }.allSatisfy { $0.delay >= .zero })
    }

    @Test("with keep_order nothing departs before its predecessor")
    func order() throws {
        var link = try Self.link("delay 20ms jitter 20ms keep_order")
        let arrivals = Self.run(&link, 1000).enumerated().map {
            Duration.milliseconds($0.offset) + $0.element[0].delay
        }
        #expect(arrivals == arrivals.sorted())
    }

    @Test("a rate spaces datagrams and a full queue drops at the tail, counted apart")
    func rate() throws {
        // 972 + 28 bytes at 8 Mbit/s take 1 ms each.
        var link = try Self.link("rate 8Mbit/s queue 5pkt")
        let fates = (0..<8).map { _ in link.submit(byteCount: 972, now: .zero) }
        #expect(
            fates.map { $0.first?.delay.milliseconds } == [1, 2, 3, 4, 5, nil, nil, nil]
        )
        #expect(link.counters.overflowed == 3)
        #expect(link.counters.lost == 0)
        let later = link.submit(byteCount: 972, now: .zero + .milliseconds(10))
        #expect(later == [Delivery(delay: .milliseconds(1))])

        var sized = try Self.link("rate 8Mbit/s")
        let accepted = (0..<100).count { _ in !sized.submit(byteCount: 972, now: .zero).isEmpty }
        #expect(accepted == 50)  // 50 ms of the rate
    }

    @Test("a stage that is switched on shifts no other stage's draws")
    func independence() throws {
        var plain = try Self.link("loss 10%")
        var busy = try Self.link("loss 10% duplicate 50% corrupt 50% jitter 3ms delay 3ms")
        let first = Self.run(&plain, 1000).map(\.isEmpty)
        let second = Self.run(&busy, 1000).map(\.isEmpty)
        #expect(first == second)
    }
}
