import Glibc
import Huddle
import MeshNet
import MeshWire

/// Everybody sends to everybody on both lanes at once, and what came is held against what was sent.
@MainActor
struct DemoTraffic {
    /// What the traffic amounted to.
    struct Word {
        var reliable = 0
        var reliableMedian = Duration.zero
        var reliableMaximum = Duration.zero
        var fastSent = 0
        var fastPercent = 0.0
        var fastMedian = Duration.zero
    }

    let stage: DemoStage
    let nodes: [DemoNode]

    /// Reliable messages of each node.
    private let reliableCount = 40
    /// Fast messages of the first node, 60 a second.
    private let fastCount = 120

    /// Starts the session at the first node and joins it at the others.
    func open() throws(Failure) {
        try nodes[0].ask("session.start", [.text("activity", "demo")])
        for node in nodes.dropFirst() {
            try stage.wait("\(node.name) sees the session", within: .seconds(5)) {
                () throws(Failure) in try join(node)
            }
        }
        // A message goes to those whom its sender knows, so everybody must know everybody.
        try stage.wait("everybody sees everybody in the session", within: .seconds(5)) {
            () throws(Failure) in try areAllKnown() ? true : nil
        }
        for node in nodes {
            try node.ask("messages.open", channel("news"))
            try node.ask("messages.open", channel("cursor", lane: "fast"))
        }
    }

    private func areAllKnown() throws(Failure) -> Bool {
        for node in nodes {
            let sessions = try node.ask("status")["sessions"]?.elements ?? []
            let demo = sessions.first { $0["activity"]?.text == "demo" }
            guard demo?["participants"]?.elements?.count == nodes.count else { return false }
        }
        return true
    }

    /// Joins the session; `nil` if the node has not heard of it yet.
    private func join(_ node: DemoNode) throws(Failure) -> JSON? {
        do {
            return try node.ask("session.join", [.text("session", "demo")])
        } catch {
            guard error.code == "noSession" else { throw error }
            return nil
        }
    }

    /// Sends, waits for every confirmation, collects and checks.
    func run() throws(Failure) -> Word {
        var requests: [(DemoNode, Int64)] = []
        var sent = 0
        let began = SystemClock.now()
        // 2 s: a fast message each sixtieth of a second, the reliable ones spread between them.
        for tick in 0..<fastCount {
            try DemoStage.checkSignals()
            let due = began + .nanoseconds(Int64(tick) * 16_666_667)
            while SystemClock.now() < due { usleep(500) }
            let fast = channel("cursor", lane: "fast") + [stamp(tick), JSON.Member("key", 1)]
            requests.append((nodes[0], try Self.send(nodes[0], "message.send", fast)))
            while sent < reliableCount * (tick + 1) / fastCount {
                for node in nodes {
                    let message = channel("news") + [stamp(sent)]
                    requests.append((node, try Self.send(node, "message.send", message)))
                }
                sent += 1
            }
        }
        // A reliable send answers when every recipient has acknowledged.
        for (node, request) in requests { _ = try Self.answer(node, request, "message.send") }
        usleep(200_000)
        return try check()
    }

    private func check() throws(Failure) -> Word {
        var word = Word()
        var ages: [Duration] = []
        for node in nodes {
            let bySender = try received(by: node, channel("news"))
            guard bySender.count == nodes.count - 1 else {
                throw Failure(
                    "claim",
                    "\(node.name) heard \(bySender.count) senders, not \(nodes.count - 1)"
                )
            }
            for messages in bySender.values {
                guard messages.map(\.ordinal) == Array(0..<reliableCount) else {
                    throw Failure(
                        "claim",
                        "\(node.name) got reliable messages twice, out of order, or not at all: "
                            + "\(messages.map(\.ordinal))"
                    )
                }
                ages += messages.map(\.age)
            }
        }
        word.reliable = ages.count
        word.reliableMedian = median(ages)
        word.reliableMaximum = ages.max() ?? .zero

        var fastAges: [Duration] = []
        for node in nodes.dropFirst() {
            let messages =
                try received(by: node, channel("cursor", lane: "fast")).values.first ?? []
            let ordinals = messages.map(\.ordinal)
            guard zip(ordinals, ordinals.dropFirst()).allSatisfy({ $0 < $1 }) else {
                throw Failure("claim", "\(node.name) got an old fast message after a newer one")
            }
            fastAges += messages.map(\.age)
        }
        let expected = fastCount * (nodes.count - 1)
        word.fastSent = fastCount
        word.fastPercent = Double(fastAges.count) / Double(expected) * 100
        word.fastMedian = median(fastAges)
        guard word.fastPercent > 50 else {
            throw Failure(
                "claim",
                "only \(decimals(word.fastPercent, 0)) % of the fast messages came"
            )
        }
        return word
    }

    /// One message as it came.
    private struct Received {
        var ordinal: Int
        var age: Duration
    }

    private func received(
        by node: DemoNode,
        _ channel: [JSON.Member]
    ) throws(Failure) -> [String: [Received]] {
        let answer = try node.ask("messages.list", channel)
        var bySender: [String: [Received]] = [:]
        for message in answer["messages"]?.elements ?? [] {
            let parts = (message["text"]?.text ?? "").split(separator: "@")
            guard parts.count == 2, let ordinal = Int(parts[0]), let sent = Int64(parts[1]),
                let at = message["at"]?.whole
            else { throw Failure("claim", "\(node.name) got a message that nobody sent") }
            bySender[message.shown("from"), default: []].append(
                Received(ordinal: ordinal, age: .nanoseconds(at - sent))
            )
        }
        return bySender
    }

    private func channel(_ name: String, lane: String = "reliable") -> [JSON.Member] {
        [.text("session", "demo"), .text("channel", name), .text("lane", lane)]
    }

    /// What a message says: its ordinal and when it was sent, by the machine's one clock.
    private func stamp(_ ordinal: Int) -> JSON.Member {
        .text("text", "\(ordinal)@\(SystemClock.now().nanoseconds)")
    }

    // MARK: Requests that do not wait

    static func send(
        _ node: DemoNode,
        _ op: String,
        _ members: [JSON.Member]
    ) throws(Failure) -> Int64 {
        do {
            return try node.control.send(op, members)
        } catch let error as ControlFailure {
            throw Failure(error)
        } catch let error as Failure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    static func answer(_ node: DemoNode, _ id: Int64, _ op: String) throws(Failure) -> JSON {
        do {
            return try node.control.answer(to: id, op, within: .seconds(20))
        } catch let error as ControlFailure {
            throw Failure(error)
        } catch let error as Failure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }
}
