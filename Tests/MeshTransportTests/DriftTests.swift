import MeshWire
import Testing

@testable import MeshTransport

@Suite("The controller, rule by rule, by scripted acknowledgments — 20-transport §5")
struct DriftTests {
    /// A controller and the time of the script.
    struct Script {
        var drift: Drift
        var now = Instant(nanoseconds: 1_000_000_000)
        static let packet = 1_200

        init(share: Double = 1) {
            drift = Drift(packetBytes: Self.packet, share: share, now: now)
        }

        /// One round of acknowledgments of a window, two packets each, evenly over the round trip.
        mutating func round(
            rtt: Double,
            rate: Double? = nil,
            lost: Int = 0,
            isFull: Bool = true,
            packets: Int? = nil
        ) {
            let count = packets ?? max(drift.window / Self.packet - lost, 2)
            let acks = max(count / 2, 1)
            for number in 0..<acks {
                now = now + .nanoseconds(Int64(rtt / Double(acks) * 1e9))
                var sample = AckSample()
                sample.acknowledged = 2 * Self.packet
                sample.acknowledgedOfTag = 2 * Self.packet
                sample.packets = .init(all: 2, tagged: 2)
                sample.roundTrip = .nanoseconds(Int64(rtt * 1e9))
                sample.rate = rate ?? Double(count * Self.packet) / rtt
                sample.isFull = isFull
                sample.inFlight = drift.window
                sample.roundEnded = number == acks - 1
                if number == 0, lost > 0 {
                    sample.lost = lost * Self.packet
                    sample.lostPackets = .init(all: lost, tagged: lost)
                    sample.lossRuns = lost
                }
                drift.take(sample, now: now)
            }
        }

        /// Cruises at a rate, with no queue.
        static func cruising(rtt: Double, rate: Double) -> Script {
            var script = Script()
            script.round(rtt: rtt)
            while script.drift.mode == .start { script.round(rtt: rtt, rate: rate) }
            return script
        }
    }

    @Test("the start doubles the window a round; a lost packet left the path too")
    func start() {
        var script = Script()
        #expect(script.drift.window == 32 * Script.packet)
        script.round(rtt: 0.02)
        #expect(script.drift.window == 64 * Script.packet)
        script.round(rtt: 0.02, lost: 10)
        #expect(script.drift.window == 128 * Script.packet)
        #expect(script.drift.rate(smoothed: .milliseconds(20)) == 2 * 128 * 1200 / 0.02)
    }

    @Test("nobody's window grows while the application has nothing to send")
    func applicationLimited() {
        var script = Script()
        for _ in 0..<5 { script.round(rtt: 0.02, isFull: false, packets: 4) }
        #expect(script.drift.window == 32 * Script.packet)
        // Ten seconds later half of a large one is forgotten, never below 32 packets.
        script.round(rtt: 0.02)
        script.round(rtt: 0.02)
        let before = script.drift.window
        for _ in 0..<600 { script.round(rtt: 0.02, isFull: false, packets: 2) }
        #expect(script.drift.window == max(before / 2, 32 * Script.packet))
    }

    @Test("the start ends at a queue of a quarter of the base, or when three rounds bring no more")
    func startEnds() {
        var script = Script()
        script.round(rtt: 0.02)
        script.round(rtt: 0.02)
        script.round(rtt: 0.0255)
        #expect(script.drift.mode == .cruise)
        script = Script()
        for _ in 0..<2 { script.round(rtt: 0.02, rate: 4e6) }
        for _ in 0..<2 { script.round(rtt: 0.02, rate: 4e6) }
        #expect(script.drift.mode == .cruise)
        // The window is what the path carries in a base, and a burst.
        #expect(script.drift.size <= 4e6 * 0.02 * 1.3)
    }

    @Test("the target falls with the window, and is a quarter for what yields to all")
    func target() {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        script.drift.jitter = 0
        script.drift.size = Double(16 * Script.packet)
        let small = script.drift.target - 1200 / 4e6
        script.drift.size = Double(4096 * Script.packet)
        let large = script.drift.target - 1200 / 4e6
        #expect(abs(small - 0.15 * 0.02) < 1e-9)
        #expect(abs(large - 0.3 / 8 * 0.02) < 1e-9)
        var background = Script(share: 0.25)
        background.round(rtt: 0.02, rate: 4e6)
        background.drift.jitter = 0
        background.drift.size = Double(16 * Script.packet)
        #expect(abs(background.drift.target - (small + 1200 / 4e6) / 4) < 1e-9)
    }

    @Test(
        "above the target the window shrinks, below it grows, and faster if the queue stays empty"
    )
    func cruise() {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        var before = script.drift.size
        for _ in 0..<3 { script.round(rtt: 0.03, rate: 4e6) }
        #expect(script.drift.size < before)
        script = Script.cruising(rtt: 0.02, rate: 4e6)
        script.drift.sinceDrain = 2
        before = script.drift.size
        script.round(rtt: 0.02, rate: 40e6)
        let slow = script.drift.size - before
        for _ in 0..<6 { script.round(rtt: 0.02, rate: 40e6) }
        #expect(script.drift.speed > 2)
        before = script.drift.size
        script.round(rtt: 0.02, rate: 40e6)
        #expect(script.drift.size - before > 2 * slow)
        // No more than 1.25 times what the path delivers.
        script = Script.cruising(rtt: 0.02, rate: 4e6)
        for _ in 0..<40 { script.round(rtt: 0.02, rate: 4e6) }
        #expect(script.drift.size <= 1.25 * 4e6 * (0.02 + script.drift.target) + 8 * 1200)
    }

    @Test("every 5 s and 20 bases the queue is emptied, for two rounds, and the window stays")
    func drain() throws {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        var windows: [Int] = []
        for _ in 0..<300 {
            let size = script.drift.size
            script.round(rtt: 0.02, rate: 4e6)
            if let drain = script.drift.drain {
                windows.append(script.drift.window)
                #expect(script.drift.size <= size && script.drift.size > drain.window)
            }
        }
        // 6 s, and one drain after 5.4 s of it.
        #expect((2...4).contains(windows.count), "\(windows.count)")
        let smallest = try #require(windows.min())
        #expect(Double(smallest) <= 0.75 * script.drift.size + 1200)
    }

    @Test("losses that a cut cures are congestion: the window stays below, and grows slowly above")
    func congestion() {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        let before = script.drift.size
        while script.drift.test == nil { script.round(rtt: 0.02, rate: 4e6, lost: 8) }
        #expect(script.drift.size <= 0.8 * before * 1.3)
        while script.drift.test != nil { script.round(rtt: 0.02, rate: 4e6, packets: 66) }
        #expect(script.drift.ceiling < .infinity)
        #expect(script.drift.randomLoss < 0.02)
    }

    @Test(
        "losses that a cut does not cure are the link's: the window is back, and they are allowed"
    )
    func randomLoss() {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        while script.drift.test == nil { script.round(rtt: 0.02, rate: 4e6, lost: 8) }
        let old = script.drift.test?.oldWindow ?? 0
        while script.drift.test != nil {
            let window = script.drift.window / Script.packet
            script.round(rtt: 0.02, rate: 3e6, lost: max(window / 8, 1))
        }
        #expect(script.drift.randomLoss > 0.03)
        #expect(script.drift.ceiling == .infinity)
        #expect(script.drift.size >= 0.8 * old)
    }

    @Test("what is believed of the link's losses beside a queue is looked at again")
    func unlearning() {
        var script = Script.cruising(rtt: 0.002, rate: 40e6)
        script.drift.randomLoss = 0.5
        for _ in 0..<400 where script.drift.test == nil {
            script.round(rtt: 0.0026, rate: 40e6, lost: script.drift.window / Script.packet / 2)
        }
        #expect(script.drift.test != nil)
    }

    @Test("the fourth silent probe halves the window once, and it grows back as in the start")
    func outage() {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        let before = script.drift.size
        for count in 1...8 { script.drift.probeTimedOut(consecutive: count, now: script.now) }
        #expect(script.drift.size == before / 2)
        #expect(script.drift.regrowth == 0.9 * before)
        script.round(rtt: 0.02, rate: 4e6)
        #expect(script.drift.size >= 0.85 * before)
    }

    @Test("a link that became slower is followed at once, beside a queue only")
    func slowerLink() {
        var script = Script.cruising(rtt: 0.02, rate: 8e6)
        for _ in 0..<5 { script.round(rtt: 0.02, rate: 8e6) }
        // No queue: the application said less.
        script.round(rtt: 0.02, rate: 1e6, packets: 16)
        script.round(rtt: 0.02, rate: 1e6, packets: 16)
        #expect(script.drift.bandwidth.value == 8e6)
        for _ in 0..<4 { script.round(rtt: 0.1, rate: 0.8e6, packets: 60) }
        #expect(script.drift.bandwidth.value < 2e6)
        #expect(script.drift.size < 0.6 * 8e6 * 0.02)
    }

    @Test(
        "a queue that stays although we yield is a rival's: losses count, until the queue is gone"
    )
    func compete() {
        var script = Script.cruising(rtt: 0.02, rate: 4e6)
        for _ in 0..<40 where script.drift.mode == .cruise { script.round(rtt: 0.05, rate: 2e6) }
        #expect(script.drift.mode == .compete)
        let before = script.drift.size
        for _ in 0..<40 { script.round(rtt: 0.05, rate: 2e6) }
        #expect(script.drift.size > before)
        let full = script.drift.size
        script.round(rtt: 0.05, rate: 2e6, lost: 1)
        #expect(script.drift.size < 0.75 * full)
        for _ in 0..<20 where script.drift.mode == .compete { script.round(rtt: 0.02, rate: 4e6) }
        #expect(script.drift.mode == .cruise)
        // What yields to all never does that.
        var background = Script(share: 0.25)
        for _ in 0..<60 { background.round(rtt: 0.02, rate: 4e6) }
        for _ in 0..<60 { background.round(rtt: 0.05, rate: 2e6) }
        #expect(background.drift.mode != .compete)
    }

    @Test("the cube root that CUBIC needs")
    func cubeRoot() {
        for value in [0.0, 1e-6, 0.3, 1, 27, 1e9] {
            let root = Drift.Cubic.cubeRoot(value)
            #expect(abs(root * root * root - value) <= 1e-9 * max(value, 1))
        }
    }
}
