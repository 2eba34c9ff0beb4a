import MeshFaults
import MeshWire
import Testing

@Suite("Fault texts") struct LinkConditionsTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var text: String
        var conditions: LinkConditions
        var testDescription: String { text }

        init(_ text: String, _ change: (inout LinkConditions) -> Void) {
            self.text = text
            conditions = LinkConditions()
            change(&conditions)
        }
    }

    static let rows = [
        Row("") { _ in },
        Row("loss 5% delay 20ms") {
            $0.loss = .independent(0.05)
            $0.delay = .milliseconds(20)
        },
        Row("ge 1%/25%/100%/0%") {
            $0.loss = .gilbertElliott(GilbertElliott(enterBad: 0.01, leaveBad: 0.25))
        },
        Row("down mtu 1280B") {
            $0.isDown = true
            $0.mtuBytes = 1280
        },
        Row("duplicate 5% copies 2 corrupt 0.5% bits 3") {
            $0.duplicate = 0.05
            $0.copies = 2
            $0.corrupt = 0.005
            $0.corruptedBits = 3
        },
        Row("rate 10000000bit/s queue 25pkt") {
            $0.rateBitsPerSecond = 10_000_000
            $0.queue = .packets(25)
        },
        Row("queue 50ms delay 1500us jitter 8ms dist normal keep_order") {
            $0.queue = .time(.milliseconds(50))
            $0.delay = .microseconds(1500)
            $0.jitter = .milliseconds(8)
            $0.distribution = .normal
            $0.keepsOrder = true
        },
        Row("reorder 10% by 20ms") {
            $0.reorder = 0.1
            $0.reorderBy = .milliseconds(20)
        },
    ]

    @Test("a text gives these conditions and they give the text back", arguments: rows)
    func roundTrip(row: Row) throws {
        #expect(try LinkConditions(parsing: row.text) == row.conditions)
        #expect(row.conditions.description == row.text)
    }

    @Test("commas, equals signs and other units mean the same")
    func variants() throws {
        let plain = try LinkConditions(parsing: "loss 5% delay 20ms rate 1Mbit/s")
        let other = try LinkConditions(parsing: "loss=5%, delay=0.02s,rate=125kB/s")
        let halved = try LinkConditions(parsing: "rtt 40ms loss 5.0% rate 1000kbit/s")
        #expect(plain == other)
        #expect(plain == halved)
    }

    @Test("loss with a burst length becomes a chain that keeps the mean")
    func bursts() throws {
        let conditions = try LinkConditions(parsing: "loss 10% loss_burst 8")
        #expect(abs(conditions.loss.mean - 0.1) < 1e-12)
        guard case .gilbertElliott(let chain) = conditions.loss else {
            Issue.record("no chain")
            return
        }
        #expect(chain.leaveBad == 1.0 / 8)
    }

    @Test(
        "a bad text is refused with a hint",
        arguments: [
            ("loss 0.02", "2%"), ("loss 101%", "over 100%"), ("delay 20", "40ms"),
            ("delay -1ms", "40ms"), ("delay 25h", "24h"), ("los 5%", "did you mean loss?"),
            ("loss_corr 25%", "loss_burst"), ("loss", "loss 5%"), ("rate 0bit/s", "down"),
            ("loss 5% loss 6%", "twice"), ("loss 60% loss_burst 1", "burst / (1 + burst)"),
            ("loss_burst 3", "needs `loss`"), ("bits 65", "64"), ("queue infinite", "40ms"),
            ("delay nanms", "40ms"), ("delay 1e9s", "40ms"), ("dist gamma", "pareto"),
            ("ge 1%", "p/r/h/k"), ("ge 0%/0%", "p/r/h/k"), ("banana", "known are"),
        ]
    )
    func refused(text: String, hint: String) {
        let error = #expect(throws: FaultSyntaxError.self) { try LinkConditions(parsing: text) }
        #expect(error?.description.contains(hint) == true, "\(error?.description ?? "no error")")
    }
}
