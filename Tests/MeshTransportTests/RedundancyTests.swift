import MeshWire
import Testing

@testable import MeshTransport

@Suite("Copies of the messages of thin streams — 20-transport §3")
struct RedundancyTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func losing(_ percent: Int) -> Redundancy {
        var redundancy = Redundancy()
        for number in 0..<4000 {
            let isLost = number * percent % 100 < percent
            redundancy.note(arrived: isLost ? 0 : 1, lost: isLost ? 1 : 0, cameAfterAll: 0)
        }
        return redundancy
    }

    @Test(
        "so many copies that fewer than 0.8 % of the messages lose all of them, at most four",
        arguments: [(0, 1), (1, 2), (5, 2), (10, 3), (20, 3), (40, 4)]
    )
    func copies(percent: Int, count: Int) {
        #expect(Self.losing(percent).copies == count)
    }

    @Test("losses that came after all are none, and a link that has healed costs nothing any more")
    func healing() {
        var redundancy = Redundancy()
        redundancy.note(arrived: 100, lost: 5, cameAfterAll: 0)
        #expect(redundancy.isActive)
        redundancy.note(arrived: 0, lost: 0, cameAfterAll: 5)
        #expect(!redundancy.isActive)
        redundancy = Self.losing(5)
        for _ in 0..<30 { redundancy.note(arrived: 100, lost: 0, cameAfterAll: 0) }
        #expect(!redundancy.isActive && redundancy.copies == 1)
    }

    @Test(
        "copies come a tenth of a round trip apart, 1 to 4 ms",
        arguments: [(2, 1), (20, 2), (30, 3), (200, 4)]
    )
    func spacing(roundTrip: Int, spacing: Int) {
        let redundancy = Self.losing(5)
        #expect(redundancy.spacing(roundTrip: .milliseconds(roundTrip)) == .milliseconds(spacing))
    }

    @Test("where losses come in gaps, the copies stand further apart, 8 ms at most")
    func gaps() {
        var redundancy = Self.losing(5)
        for _ in 0..<40 { redundancy.note(gap: .milliseconds(6)) }
        let spacing = redundancy.spacing(roundTrip: .milliseconds(20))
        #expect(spacing > .milliseconds(5) && spacing <= .milliseconds(6))
        for _ in 0..<40 { redundancy.note(gap: .milliseconds(50)) }
        #expect(redundancy.spacing(roundTrip: .milliseconds(20)) == .milliseconds(8))
    }

    @Test("a message rides at 2 ms, then twice after 9/8 of a round trip, three times in all")
    func schedule() throws {
        var redundancy = Self.losing(5)
        let roundTrip = Duration.milliseconds(20)
        redundancy.sent(2, 9, byteCount: 200, roundTrip: roundTrip, now: Self.start)
        var times: [Double] = []
        while let due = redundancy.deadline, times.count < 20 {
            let place = try #require(redundancy.next(by: due))
            times.append(Double((due - Self.start).wholeNanoseconds) / 1e6)
            redundancy.rode(at: place, roundTrip: roundTrip, now: due)
        }
        #expect(times == [2, 23.5, 25.5, 47, 49, 70.5, 72.5])
        #expect(redundancy.pending.isEmpty)
    }

    @Test("copies take a quarter of the rate, saved up for 100 ms, and 64 messages wait at most")
    func bounds() {
        var redundancy = Self.losing(5)
        for number in 0..<100 {
            redundancy.sent(
                2,
                UInt64(number),
                byteCount: 200,
                roundTrip: .milliseconds(20),
                now: Self.start
            )
        }
        #expect(redundancy.pending.count == Redundancy.pendingMaximum)
        redundancy.refill(rate: 1_000_000, now: Self.start)
        var ridden = 0
        while redundancy.mayRide {
            redundancy.spend(1000)
            ridden += 1
        }
        #expect(ridden == 25)
        redundancy.refill(rate: 1_000_000, now: Self.start + .milliseconds(8))
        #expect(redundancy.mayRide)
    }

    @Test(
        "a copy that arrives ends its message; copies that come late are dropped, and repaired by nobody"
    )
    func duplicates() throws {
        var link = ConnectionPair.Link()
        link.loss = 0.1
        var pair = ConnectionPair(seed: 4, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for number in 0..<1500 {
            _ = try pair.left.send(pattern(number, 200), on: channel, now: pair.now)
            pair.run(for: .milliseconds(10))
        }
        pair.run(for: .seconds(2))
        #expect(pair.received(.right).map(\.bytes) == (0..<1500).map { pattern($0, 200) })
        let figures = pair.left.statistics
        #expect(figures.redundantBytes > 1500 * 200)
        #expect(figures.redundantBytes < 4 * 1500 * 200)
        // Copies repair almost all; what is repaired once more is little.
        #expect(figures.retransmittedBytes < 1500 * 200 / 4)
    }

    @Test("a bulk transfer is no thin stream: nothing of it rides again")
    func bulk() throws {
        var link = ConnectionPair.Link()
        link.loss = 0.05
        var pair = ConnectionPair(seed: 5, link: link)
        let channel = try pair.left.openChannel(name: [1], class: .normal)
        for number in 0..<400 {
            _ = try pair.left.send(pattern(number, 1000), on: channel, now: pair.now)
        }
        pair.run(for: .seconds(5))
        #expect(pair.received(.right).count == 400)
        let figures = pair.left.statistics
        #expect(figures.redundantBytes < 20_000, "\(figures.redundantBytes)")
    }
}
