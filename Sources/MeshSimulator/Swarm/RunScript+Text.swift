import MeshConsensus
import MeshFaults
import MeshWire

/// Why a text is no script: which line, and what is wrong with it.
package struct ScriptSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    package var line: Int
    /// What is wrong.
    package var reason: String

    package var description: String { "line \(line): \(reason)" }
}

private struct Trouble: Error { var reason: String }

// The text of a script: first what holds for the whole run, then one line for each thing that happens.
//
//     huddle sim script 1
//     layer consensus
//     seed 42
//     faults 3s to 15200ms
//     healed loss 3% delay 2ms
//     returns yes
//     node n0 offset 1s drift 0ppm
//     at 3s conditions loss 12%
//     at 3120ms n0 work 17                 # write n0#1/k2=5
//
// What stands behind `#` is a remark.
extension RunScript {
    private static let head = "huddle sim script 1"

    /// The script as text that ``init(parsing:)`` reads back.
    package var text: String {
        var lines = [
            Self.head, "layer \(layer.rawValue)", "seed \(seed)",
            "faults \(Self.text(safety.lowerBound)) to \(Self.text(safety.upperBound))",
            healed.isPerfect ? "healed" : "healed \(healed)", "returns \(returns ? "yes" : "no")",
        ]
        if policy != .available { lines.append("policy \(policy)") }
        if let planted { lines.append("planted \(planted.rawValue)") }
        for (node, clock) in clocks.enumerated() {
            let offset = FaultUnits.text(clock.offset)
            lines.append("node n\(node) offset \(offset) drift \(clock.driftPartsPerMillion)ppm")
        }
        for line in self.lines {
            switch line {
            case .fault(let fault): lines.append("at \(Self.text(fault.time)) \(fault.action)")
            case .work(let time, let node, let ordinal, let remark):
                lines.append(
                    "at \(Self.text(time)) n\(node) work \(ordinal)"
                        + (remark.isEmpty ? "" : "  # \(remark)")
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Reads a script; empty lines and remarks may stand anywhere.
    package init(parsing text: String) throws(ScriptSyntaxError) {
        self.init(
            layer: .consensus,
            seed: 0,
            clocks: [],
            safety: .zero ... .zero,
            healed: LinkConditions(),
            returns: false,
            lines: []
        )
        var hasHead = false
        for (place, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let parts = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let words = (parts.first ?? "").split(whereSeparator: { " \t\r".contains($0) })
                .map(String.init)
            guard !words.isEmpty else { continue }
            do {
                if hasHead {
                    let remark = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
                    try read(words, remark: String(remark))
                } else if words.joined(separator: " ") == Self.head {
                    hasHead = true
                } else {
                    throw Trouble(reason: "a script begins with `\(Self.head)`")
                }
            } catch let trouble as Trouble {
                throw ScriptSyntaxError(line: place + 1, reason: trouble.reason)
            } catch {
                throw ScriptSyntaxError(line: place + 1, reason: "\(error)")
            }
        }
        guard hasHead, !clocks.isEmpty else {
            throw ScriptSyntaxError(line: 1, reason: "a script has a head and names its nodes")
        }
        guard namesItsNodes else {
            throw ScriptSyntaxError(line: 1, reason: "a line is about a node that is not there")
        }
    }

    private var namesItsNodes: Bool {
        lines.allSatisfy { line in
            switch line {
            case .work(_, let node, _, _): clocks.indices.contains(node)
            case .fault(let fault):
                fault.action.renamed { clocks.indices.contains($0) ? $0 : nil } == fault.action
            }
        }
    }

    private mutating func read(_ words: [String], remark: String) throws {
        let rest = Array(words.dropFirst())
        switch words[0] {
        case "layer": layer = try Self.value(rest, SimulatedLayer.init(rawValue:), "a layer")
        case "seed": seed = try Self.value(rest, { UInt64($0) }, "a number")
        case "policy":
            guard let named = PartitionPolicy(rest) else {
                throw Trouble(reason: "write `policy majority` or `policy majority survivor 5000`")
            }
            policy = named
        case "planted": planted = try Self.value(rest, PlantedBug.init(rawValue:), "a bug")
        case "returns":
            returns = try Self.value(rest, { ["yes": true, "no": false][$0] }, "yes or no")
        case "healed": healed = try LinkConditions(parsing: rest.joined(separator: " "))
        case "faults":
            guard rest.count == 3, rest[1] == "to", let from = Self.time(rest[0]),
                let to = Self.time(rest[2]), from <= to
            else { throw Trouble(reason: "write `faults 3s to 15s`") }
            safety = from...to
        case "node":
            guard rest.count == 5, Self.node(rest[0]) == clocks.count, rest[1] == "offset",
                let offset = Self.time(rest[2]), rest[3] == "drift", rest[4].hasSuffix("ppm"),
                let drift = Int64(rest[4].dropLast(3)), abs(drift) < 100_000, clocks.count < 64
            else { throw Trouble(reason: "write `node n0 offset 1s drift 0ppm`, in order") }
            clocks.append(VirtualClock(offset: offset - .zero, driftPartsPerMillion: drift))
        case "at":
            guard let word = rest.first, let time = Self.time(word), rest.count > 1 else {
                throw Trouble(reason: "write `at 3s` and what happens then")
            }
            guard time >= lines.last?.time ?? .zero else {
                throw Trouble(reason: "`\(word)` is before the line above")
            }
            lines.append(try Self.line(at: time, Array(rest.dropFirst()), remark))
        default: throw Trouble(reason: "unknown word `\(words[0])`")
        }
    }

    private static func line(
        at time: Instant,
        _ words: [String],
        _ remark: String
    ) throws -> Line {
        guard let node = node(words[0]) else {
            let action = try FaultAction(parsing: words)
            return .fault(PlannedFault(time: time, action: action))
        }
        guard words.count == 3, words[1] == "work", let ordinal = UInt64(words[2]) else {
            throw Trouble(reason: "write `n\(node) work` and a number")
        }
        return .work(time: time, node: node, ordinal: ordinal, remark: remark)
    }

    private static func value<Value>(
        _ words: [String],
        _ read: (String) -> Value?,
        _ wanted: String
    ) throws -> Value {
        guard words.count == 1, let value = read(words[0]) else {
            throw Trouble(reason: "`\(words.joined(separator: " "))` is not \(wanted)")
        }
        return value
    }

    fileprivate static func node(_ word: some StringProtocol) -> Int? {
        guard word.first == "n", let number = Int(word.dropFirst()), (0..<64).contains(number)
        else { return nil }
        return number
    }

    private static func text(_ time: Instant) -> String { FaultUnits.text(time - .zero) }

    /// A time since the beginning; at most about 30 years.
    fileprivate static func time(_ word: String) -> Instant? {
        let digits = word.prefix { "0123456789".contains($0) }
        let units: [String: Int64] = ["ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000]
        guard let number = Int64(digits), let unit = units[String(word.dropFirst(digits.count))],
            number <= 1_000_000_000_000_000_000 / unit
        else { return nil }
        return Instant(nanoseconds: number * unit)
    }
}

extension FaultAction {
    /// Reads what ``description`` writes, word by word.
    init(parsing words: [String]) throws {
        let rest = Array(words.dropFirst())
        switch words.first ?? "" {
        case "conditions": self = .conditions(try Self.conditions(rest))
        case "link":
            guard let cut = rest.first.flatMap(Self.cut) else { throw Self.trouble(words) }
            self = .link(from: cut.from, to: cut.to, try Self.conditions(rest.dropFirst()))
        case "partition":
            var groups: [[Int]] = []
            var cuts: [Partition<Int>.Cut] = []
            for word in rest {
                if let cut = Self.cut(word) {
                    cuts.append(cut)
                    continue
                }
                for part in word.split(separator: "|") {
                    let nodes = part.split(separator: ",").map { RunScript.node($0) }
                    guard !nodes.contains(nil) else { throw Self.trouble(words) }
                    groups.append(nodes.compactMap { $0 })
                }
            }
            self = .partition(Partition(groups: groups, cuts: cuts))
        case "heal" where rest.isEmpty: self = .heal
        case "crash": self = .crash(try Self.node(words, count: 2))
        case "restart": self = .restart(try Self.node(words, count: 2))
        case "leave": self = .leave(try Self.node(words, count: 2))
        case "pause":
            self = .pause(try Self.node(words, count: 3), for: try Self.duration(words))
        default: self = try Self.wide(words, rest)
        }
    }

    /// The actions of the classes that only consensus alone is put through.
    private static func wide(_ words: [String], _ rest: [String]) throws -> FaultAction {
        switch words.first ?? "" {
        case "outages" where rest == ["none"]: return .outages(nil)
        case "outages" where rest.count == 2:
            let mean = try duration(words)
            return .outages(.init(percent: try percent(words, rest[0]), mean: mean))
        case "drop" where rest == ["none"]: return .drop(codes: [], percent: 0)
        case "drop" where rest.count == 2:
            let codes = rest[0].split(separator: ",").map { UInt8($0) }
            guard !codes.contains(nil) else { throw trouble(words) }
            return .drop(codes: codes.compactMap { $0 }, percent: try percent(words, rest[1]))
        case "clog" where rest.count == 2:
            guard let cut = cut(rest[0]) else { throw trouble(words) }
            return .clog(from: cut.from, to: cut.to, for: try duration(words))
        case "slow": return .slow(try node(words, count: 3), try duration(words))
        case "jump": return .jump(try node(words, count: 3), try duration(words))
        case "sleep": return .sleep(try node(words, count: 3), for: try duration(words))
        case "flood":
            let node = try node(words, count: 4)
            guard let count = Int(rest[1]), (0...10_000).contains(count),
                let isReplay = ["replay": true, "garbage": false][rest[2]]
            else { throw trouble(words) }
            return .flood(node, count, isReplay: isReplay)
        case "abort": return .crashBeforeSending(try node(words, count: 2))
        case "mute": return .mute(try node(words, count: 2), true)
        case "unmute": return .mute(try node(words, count: 2), false)
        case "deafen": return .deaf(try node(words, count: 2), true)
        case "undeafen": return .deaf(try node(words, count: 2), false)
        case "move": return .move(try node(words, count: 2))
        case "clone": return .clone(try node(words, count: 2))
        case "unclone": return .endClone(try node(words, count: 2))
        default: throw trouble(words)
        }
    }

    /// The last word as a time.
    private static func duration(_ words: [String]) throws -> Duration {
        guard let end = words.last.flatMap(RunScript.time) else { throw trouble(words) }
        return end - .zero
    }

    private static func percent(_ words: [String], _ word: String) throws -> Int {
        guard word.hasSuffix("%"), let number = Int(word.dropLast()), (0...100).contains(number)
        else { throw trouble(words) }
        return number
    }

    private static func trouble(_ words: [String]) -> Trouble {
        Trouble(
            reason: "`\(words.joined(separator: " "))`: write crash n0, restart n0, leave n0, "
                + "pause n0 40ms, heal, partition n0,n1|n2 n0->n1, link n0->n1 or conditions "
                + "with the words of --fault"
        )
    }

    private static func conditions(_ words: some Sequence<String>) throws -> LinkConditions {
        try LinkConditions(parsing: words.joined(separator: " "))
    }

    private static func node(_ words: [String], count: Int) throws -> Int {
        guard words.count == count, let node = RunScript.node(words[1]) else {
            throw trouble(words)
        }
        return node
    }

    private static func cut(_ word: String) -> Partition<Int>.Cut? {
        guard let arrow = word.firstRange(of: "->"),
            let from = RunScript.node(word[..<arrow.lowerBound]),
            let to = RunScript.node(word[arrow.upperBound...]), from != to
        else { return nil }
        return Partition<Int>.Cut(from: from, to: to)
    }
}

extension LinkConditions {
    /// The same as they are written: the last bits of a probability have no text.
    var written: LinkConditions { (try? LinkConditions(parsing: description)) ?? self }
}
