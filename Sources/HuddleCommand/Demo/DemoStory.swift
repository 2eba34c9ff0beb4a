import Huddle
import MeshNet
import MeshWire

/// The scenes of the demo, in their order; each checks what it claims.
@MainActor
struct DemoStory {
    let stage: DemoStage
    let report: DemoReport
    let conditions: String

    func play() throws(Failure) {
        report.open([
            Style.bold("Huddle: nearby machines, one shared session; no server, no account."),
            "Here five nodes run as five processes on this machine. Each impairs its own",
            "links as a bad network would: \(Style.yellow(conditions)). Every ✓ was checked.",
        ])
        try meet()
        try talk()
        try loseTheLeader()
        try comeLate()
        try fallApart()
    }

    // MARK: 1

    private func meet() throws(Failure) {
        report.begin("anna makes a room and invites three guests, a code for each")
        let began = SystemClock.now()
        try stage.start(["anna", "ben", "cleo", "dan", "emil"])
        let ports = stage.nodes.map { "\($0.name) \($0.port)" }.joined(separator: ", ")
        report.tell("five processes on UDP \(ports): \(shown(SystemClock.now() - began))")
        let anna = try stage.node("anna")
        try anna.ask("room.create", [.text("name", "living room")])
        var times: [Duration] = []
        for name in ["ben", "cleo", "dan"] {
            times.append(try join(stage.node(name), by: anna))
        }
        let word = try stage.waitForOneView(of: present, within: .seconds(10))
        report.holds("four members in one view; \(word.leader) leads", "view \(word.epoch)")
        try checkMistypedCode()
        report.figure("joinMedian", "joining by short code, median", median(times))
    }

    /// Joins with a fresh code of `host`; the time from typing it to being a member.
    private func join(_ guest: DemoNode, by host: DemoNode) throws(Failure) -> Duration {
        let invite = try host.ask("invite.open")
        let code = invite.shown("code")
        let began = SystemClock.now()
        var how = ""
        do {
            try guest.ask("room.join", [.text("target", code)], within: .seconds(30))
        } catch {
            guard error.code == "notFound" else { throw error }
            // Where loopback carries no multicast the address must be said.
            let address = "127.0.0.1:\(host.port)"
            try guest.ask(
                "room.join",
                [.text("target", code), .text("at", address)],
                within: .seconds(30)
            )
            how = " (no multicast here, so with --at \(address))"
        }
        let took = SystemClock.now() - began
        report.holds("\(guest.name) joins with \(code)\(how)", shown(took))
        return took
    }

    /// A typing error in a code is noticed before anything is sent.
    private func checkMistypedCode() throws(Failure) {
        let guest = try stage.node("emil")
        do {
            try guest.ask("room.join", [.text("target", "00-0000001")])
        } catch {
            guard error.code == "mistyped" else { throw error }
            return report.holds("a mistyped code dies on the spot and costs no guess")
        }
        throw Failure("claim", "a mistyped code was not noticed")
    }

    /// The nodes that are in the room.
    private var present: [DemoNode] {
        stage.nodes.filter { $0.name != "emil" || hasEmilJoined.value }
    }

    private let hasEmilJoined = Flag()

    // MARK: 2

    private func talk() throws(Failure) {
        report.begin("They start a session and all talk at once")
        let traffic = DemoTraffic(stage: stage, nodes: present)
        try traffic.open()
        let word = try traffic.run()
        report.holds(
            "\(word.reliable) reliable messages: each once, in order, to everybody",
            "median \(shown(word.reliableMedian))"
        )
        report.holds(
            "\(word.fastSent) fast ones at 60 Hz: never an old one after a newer one",
            "median \(shown(word.fastMedian))"
        )
        report.figure("reliableMedian", "reliable message, median", word.reliableMedian)
        report.figure("reliableMaximum", "reliable message, slowest", word.reliableMaximum)
        report.figure("fastMedian", "fast message, median age", word.fastMedian)
        report.figure("fastArrived", "fast messages that arrived", percent: word.fastPercent)
        try raceForASeat()
    }

    /// Two writers want the same free value; the log gives it to one.
    private func raceForASeat() throws(Failure) {
        let rivals = [try stage.node("cleo"), try stage.node("dan")]
        var requests: [Int64] = []
        for rival in rivals {
            let members: [JSON.Member] = [
                .text("key", "seat"), .text("value", rival.name), JSON.Member("ifAbsent", true),
            ]
            requests.append(try send(rival, "values.set", members))
        }
        var winners: [String] = []
        for (rival, request) in zip(rivals, requests) {
            do {
                _ = try answer(rival, request, "values.set")
                winners.append(rival.name)
            } catch {
                guard error.code == "conflict" else { throw error }
            }
        }
        guard winners.count == 1 else {
            throw Failure("claim", "\(winners.count) of two rivals got the same seat")
        }
        for node in present {
            let value = try node.ask("values.get", [.text("key", "seat")])["value"]?.text
            guard value == winners[0] else {
                throw Failure(
                    "claim",
                    "\(node.name) reads another holder of the seat: \(value ?? "-")"
                )
            }
        }
        report.holds("two want the same free seat: \(winners[0]) got it, everybody reads so")
    }

    // MARK: 3

    private func loseTheLeader() throws(Failure) {
        let before = try stage.waitForOneView(of: present, within: .seconds(5))
        let leader = try stage.node(before.leader)
        report.begin("The leader, \(leader.name), is killed (SIGKILL)")
        let survivors = present.filter { $0 !== leader }
        guard let writer = survivors.first else { throw Failure("demo", "nobody is left") }
        for node in survivors { try node.ask("subscribe", [.text("topic", "room")]) }
        let killed = SystemClock.now()
        leader.crash()
        stage.remove(leader)
        let write = try send(
            writer,
            "values.set",
            [.text("key", "after"), .text("value", "go on")]
        )
        _ = try answer(writer, write, "values.set")
        let gap = SystemClock.now() - killed
        let after = try stage.waitForOneView(of: survivors, within: .seconds(10))
        guard after.leader != leader.name else {
            throw Failure("claim", "the dead \(leader.name) is still said to lead")
        }
        report.holds("\(after.leader) leads; the next write was accepted after", shown(gap))
        for node in survivors {
            let seat = try node.ask("values.get", [.text("key", "seat")])["value"]?.text
            guard seat == "cleo" || seat == "dan" else {
                throw Failure("claim", "\(node.name) lost a write that was acknowledged")
            }
        }
        report.holds("no acknowledged write is lost")
        report.figure("failover", "from the kill to the next accepted write", gap)
    }

    // MARK: 4

    private func comeLate() throws(Failure) {
        report.begin("emil comes late")
        let emil = try stage.node("emil")
        guard let host = present.first else { throw Failure("demo", "nobody is left") }
        let began = SystemClock.now()
        _ = try join(emil, by: host)
        hasEmilJoined.value = true
        try emil.ask("session.join", [.text("session", "demo")])
        let word = try stage.waitForOneView(of: present, within: .seconds(10), sameState: true)
        let took = SystemClock.now() - began
        let value = try emil.ask("values.get", [.text("key", "after")])["value"]?.text
        guard value == "go on" else {
            throw Failure("claim", "emil did not get what was written before he came")
        }
        report.holds("he has it all: state \(word.state.prefix(8)) on every member", shown(took))
        report.figure("lateJoin", "late joiner caught up", took)
    }

    // MARK: 5

    private func fallApart() throws(Failure) {
        let nodes = present
        let sides = [Array(nodes.prefix(nodes.count / 2)), Array(nodes.dropFirst(nodes.count / 2))]
        let names = sides.map { $0.map(\.name).joined(separator: " ") }
        report.begin("The network is cut in two: \(names[0]) | \(names[1])")
        for (side, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
            let ports = JSON.array(other.map { .string("\($0.port)") })
            for node in side { try node.ask("fault.set", [JSON.Member("cut", ports)]) }
        }
        let cut = SystemClock.now()
        var primary = 0
        for (index, side) in sides.enumerated() {
            let word = try stage.waitForOneView(of: side, within: .seconds(15))
            guard side.contains(where: { $0.name == word.leader }) else {
                throw Failure("claim", "\(names[index]) follows a leader it cannot reach")
            }
            if word.isPrimary { primary = index }
            try side[0].ask(
                "values.set",
                [.text("key", "side \(index)"), .text("value", names[index])]
            )
        }
        report.holds(
            "each side goes on with a leader of its own and takes writes",
            shown(SystemClock.now() - cut)
        )
        for node in nodes { try node.ask("fault.clear", [JSON.Member("cutsOnly", true)]) }
        let healed = SystemClock.now()
        let word = try stage.waitForOneView(of: nodes, within: .seconds(25), sameState: true)
        let took = SystemClock.now() - healed
        report.holds("healed: one view of \(nodes.count), \(word.leader) leads", shown(took))
        for node in nodes {
            let key = "side \(primary)"
            let value = try node.ask("values.get", [.text("key", key)])["value"]?.text
            guard value == names[primary] else {
                throw Failure("claim", "\(node.name) lost a write of the primary side")
            }
        }
        report.holds(
            "all states are equal (\(word.state.prefix(8))), with the primary side's writes"
        )
        report.figure("heal", "from healing to one view and equal states", took)
    }

    // MARK: Requests that do not wait

    private func send(
        _ node: DemoNode,
        _ op: String,
        _ members: [JSON.Member]
    ) throws(Failure) -> Int64 {
        try DemoTraffic.send(node, op, members)
    }

    private func answer(_ node: DemoNode, _ id: Int64, _ op: String) throws(Failure) -> JSON {
        try DemoTraffic.answer(node, id, op)
    }
}

/// A truth value that the scenes share.
@MainActor
final class Flag {
    var value = false
}

/// The middle of the durations, or zero if there are none.
func median(_ durations: [Duration]) -> Duration {
    guard !durations.isEmpty else { return .zero }
    return durations.sorted()[durations.count / 2]
}
