import MeshWire
import Testing

@testable import MeshTransport

@Suite("The largest datagrams of a path — RFC 8899, 20-transport §1")
struct PathSearchTests {
    /// A search with eight full datagrams behind it, and the path that answers it.
    private final class Path {
        var search = PathSearch()
        var now = Instant(nanoseconds: 1_000_000_000)

        init(full count: Int = PathSearch.patience) {
            for _ in 0..<count { search.left(full: true) }
        }

        var datagramBytes: Int { search.datagramBytes }

        func probe(maximum: Int = 65_507) -> Int? {
            search.probe(maximum: maximum, rate: 1e9, now: now)
        }

        /// Answers probes as a path of this size does, until none is left; the sizes tried.
        func explore(carrying limit: Int, rate: Double = 1e9) -> [Int] {
            var tried: [Int] = []
            while let size = search.probe(maximum: 65_507, rate: rate, now: now) {
                tried.append(size)
                if size <= limit {
                    search.probeArrived(size)
                } else {
                    search.probeLost(size, loss: 0, now: now)
                }
                _ = search.fit(rate: rate)
            }
            return tried
        }

        func fit(rate: Double) -> Bool { search.fit(rate: rate) }

        /// Whether losing so many packets is a black hole.
        func lose(_ count: Int, of bytes: Int = 1472) -> Bool {
            (0..<count).contains { _ in search.lost(bytes, sent: now, loss: 0.15) }
        }
    }

    @Test(
        "what a link carries is found in a few steps",
        arguments: [
            (1200, 1200), (1280, 1232), (1392, 1392), (1452, 1452), (1472, 1472), (8952, 8952),
            (9000, 8972), (65_507, 65_488),
        ]
    )
    func found(limit: Int, expected: Int) {
        let path = Path()
        let tried = path.explore(carrying: limit)
        #expect(path.datagramBytes == expected)
        #expect(Set(tried).count <= 4, "\(tried)")
        #expect(tried.count <= 12, "\(tried)")
    }

    @Test("who fills no packets probes nothing")
    func thin() {
        let path = Path(full: PathSearch.patience - 1)
        for _ in 0..<1000 { path.search.left(full: false) }
        #expect(path.probe() == nil)
        path.search.left(full: true)
        #expect(path.probe() == 1472)
        // One at a time.
        #expect(path.probe() == nil)
    }

    @Test("a datagram is no longer than a millisecond of the rate, but an Ethernet frame")
    func rates() {
        let path = Path()
        _ = path.explore(carrying: 65_507, rate: 125_000)
        #expect(path.datagramBytes == 1472)
        _ = path.explore(carrying: 65_507, rate: 12_500_000)
        #expect(path.datagramBytes == 8972)
        _ = path.explore(carrying: 65_507, rate: 200_000_000)
        #expect(path.datagramBytes == 65_488)
        // A rate that wavers changes nothing; one that fell does.
        #expect(!path.fit(rate: 40_000_000))
        #expect(path.fit(rate: 12_500_000))
        #expect(path.datagramBytes == 8972)
    }

    @Test("three lost probes are a size that fails; where much is lost, more")
    func misses() {
        func probes(loss: Double) -> Int {
            let path = Path()
            var count = 0
            while path.probe() == 1472 {
                count += 1
                path.search.probeLost(1472, loss: loss, now: path.now)
            }
            return count
        }
        #expect(probes(loss: 0) == 3)
        #expect(probes(loss: 0.05) == 3)
        #expect(probes(loss: 0.2) == 5)
        #expect(probes(loss: 0.6) == 10)
    }

    @Test("a size that failed is tried again after ten minutes")
    func raised() {
        let path = Path()
        _ = path.explore(carrying: 1472)
        path.now += .seconds(599)
        #expect(path.probe() == nil)
        path.now += .seconds(1)
        #expect(path.probe() == 8952)
    }

    @Test("a row of vanished large packets is a black hole; one that arrived ends the row")
    func blackHole() {
        let path = Path()
        _ = path.explore(carrying: 1472)
        #expect(!path.lose(7))
        path.search.arrived(1472, sent: path.now + .milliseconds(1))
        // Sent before the one that arrived: no evidence, however many.
        #expect(!path.lose(100))
        // Small ones say nothing.
        path.now += .milliseconds(2)
        #expect(!path.lose(100, of: 1200))
        #expect(!path.lose(7))
        #expect(path.lose(1))
        #expect(path.datagramBytes == 1200)
        // What had worked comes first: a silence that is over costs one round trip.
        #expect(path.probe() == 1472)
        path.search.probeArrived(1472)
        #expect(path.fit(rate: 1e9))
        #expect(path.datagramBytes == 1472)
    }

    @Test("what the peer takes bounds the search")
    func peer() {
        let path = Path()
        #expect(path.probe(maximum: 1400) == 1392)
        path.search.probeArrived(1392)
        #expect(path.probe(maximum: 1400) == nil)
    }
}
