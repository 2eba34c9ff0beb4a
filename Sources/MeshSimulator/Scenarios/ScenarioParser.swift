import MeshConsensus
import MeshFaults
import MeshSession
import MeshWire

extension Scenario {
    /// Reads a scenario; throws at the first line that says nothing known.
    package init(parsing text: String) throws(ScenarioSyntaxError) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if let ruler = lines.firstIndex(of: "----") {
            var golden = lines[(ruler + 1)...]
            while golden.last == "" { golden.removeLast() }
            transcript = golden.joined(separator: "\n")
            lines.removeSubrange(ruler...)
        }
        while lines.last == "" { lines.removeLast() }
        source = lines.joined(separator: "\n")
        var parser = ScenarioParser(scenario: self)
        for (index, line) in lines.enumerated() { try parser.read(line, number: index + 1) }
        self = try parser.finish(line: lines.count)
    }

    /// The scenario's text with this transcript below it.
    package func text(transcript: [String]) -> String {
        ([source, "----"] + transcript).joined(separator: "\n") + "\n"
    }

    /// The first line of a run's transcript that is not the one below the scenario, if it has one there.
    package func difference(from lines: [String]) -> ScenarioFailure? {
        guard let transcript else { return nil }
        let golden = transcript.split(separator: "\n", omittingEmptySubsequences: false)
        let count = max(golden.count, lines.count)
        guard
            let index = (0..<count).first(where: { index in
                index >= golden.count || index >= lines.count || golden[index] != lines[index]
            })
        else { return nil }
        // The ruler stands between the two.
        let above = source.split(separator: "\n", omittingEmptySubsequences: false).count + 1
        return ScenarioFailure(
            line: above + index + 1,
            statement: index < golden.count ? String(golden[index]) : "the transcript's end",
            reason: index < lines.count ? "the run says `\(lines[index])`" : "the run ends sooner"
        )
    }
}

/// Reads lines into a scenario.
struct ScenarioParser {
    var scenario: Scenario
    private var isHeader = true
    private var hasEnded = false
    /// The bodies being read: that of the scenario, then those of open `repeat`s.
    private var bodies: [(head: Scenario.Statement?, statements: [Scenario.Statement])] = [
        (nil, [])
    ]

    init(scenario: Scenario) { self.scenario = scenario }

    mutating func finish(line: Int) throws(ScenarioSyntaxError) -> Scenario {
        guard bodies.count == 1 else {
            let head = bodies.last?.head?.line ?? line
            throw ScenarioSyntaxError(line: head, reason: "this `repeat` has no `done`")
        }
        guard !scenario.nodes.isEmpty else {
            throw ScenarioSyntaxError(line: line, reason: "expected `nodes A B …` in the header")
        }
        guard !scenario.name.isEmpty else {
            throw ScenarioSyntaxError(line: 1, reason: "expected `scenario NAME` in the header")
        }
        scenario.body = bodies[0].statements
        return scenario
    }

    /// Reads one line: a remark, settings, or statements with `;` between them.
    mutating func read(_ line: String, number: Int) throws(ScenarioSyntaxError) {
        for part in Self.withoutRemark(line).split(separator: ";") {
            var words = ScenarioWords(part, line: number)
            guard let first = words.first else { continue }
            if isHeader, try readSettings(&words, first) { continue }
            isHeader = false
            try readStatement(&words)
        }
    }

    /// What stands before a `#` that begins a word: `B#2` names a process.
    private static func withoutRemark(_ line: String) -> Substring {
        var before: Character = " "
        for index in line.indices {
            if line[index] == "#", before.isWhitespace { return line[..<index] }
            before = line[index]
        }
        return line[...]
    }

    // MARK: - Settings

    private static let settings = [
        "scenario", "seed", "policy", "layer", "nodes", "down", "clone", "clock", "ability", "link",
        "long",
    ]

    private mutating func readSettings(
        _ words: inout ScenarioWords,
        _ first: String
    ) throws(ScenarioSyntaxError) -> Bool {
        guard Self.settings.contains(first) else { return false }
        while !words.isEmpty { try readSetting(&words) }
        return true
    }

    private mutating func readSetting(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) {
        switch words.first {
        case "scenario":
            _ = try words.next("scenario")
            scenario.name = try words.next("a name")
        case "seed":
            _ = try words.next("seed")
            scenario.seed = try words.number("a number")
        case "policy":
            _ = try words.next("policy")
            if words.take("available") {
                scenario.policy = .available
            } else if words.take("majority") {
                scenario.policy = .majority(
                    survivor: words.take("survivor") ? try words.time() : nil
                )
            } else {
                throw words.expected("`available` or `majority`")
            }
        case "layer":
            _ = try words.next("layer")
            switch words.first {
            case "consensus": scenario.layer = .consensus
            case "engine": scenario.layer = .engine
            default: throw words.expected("`consensus` or `engine`")
            }
            _ = try words.next("a layer")
        case "long":
            _ = try words.next("long")
            scenario.isLong = true
        case "nodes":
            _ = try words.next("nodes")
            try readNodes(&words)
        case "down":
            _ = try words.next("down")
            scenario.down += try nodes(&words)
        case "clone":
            _ = try words.next("clone")
            let clone = try node(&words)
            guard words.take("of") else { throw words.expected("`of`") }
            scenario.clones[clone] = try node(&words)
        case "clock":
            _ = try words.next("clock")
            let node = try node(&words)
            scenario.clocks[node] = try clock(&words)
        case "ability":
            _ = try words.next("ability")
            let node = try node(&words)
            scenario.abilities[node] = try words.number("a number from 0 to 255")
        case "link":
            _ = try words.next("link")
            scenario.links.append(try linkRule(&words))
        default:
            throw words.expected("a setting: \(Self.settings.joined(separator: ", "))")
        }
    }

    private mutating func readNodes(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) {
        while let word = words.first, !Self.settings.contains(word) {
            for name in Self.expanded(word) {
                let isName =
                    name.first?.isUppercase == true
                    && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
                guard isName else { throw words.expected("a node's name such as A or B2") }
                guard !scenario.nodes.contains(name) else { throw words.expected("another name") }
                scenario.nodes.append(name)
            }
            _ = try words.next("a name")
        }
        guard scenario.nodes.count <= Limits.members else {
            throw ScenarioSyntaxError(
                line: words.line,
                reason: "expected at most \(Limits.members) nodes"
            )
        }
    }

    /// The names of a list without spaces: `A,B`, and `N1..N3` for N1, N2 and N3.
    static func expanded(_ list: String) -> [String] {
        list.split(separator: ",").flatMap { part -> [String] in
            guard let dots = part.firstIndex(of: "."), part[dots...].hasPrefix("..") else {
                return [String(part)]
            }
            let first = part[..<dots]
            let last = part[dots...].dropFirst(2)
            let stem = first.prefix { !$0.isNumber }
            guard last.hasPrefix(stem), let low = Int(first.dropFirst(stem.count)),
                let high = Int(last.dropFirst(stem.count)), low <= high, high - low < 1000
            else { return [String(part)] }
            return (low...high).map { "\(stem)\($0)" }
        }
    }

    private func clock(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> VirtualClock {
        var clock = VirtualClock()
        while !words.isEmpty {
            if words.take("offset") {
                clock.offset = try words.time()
            } else if words.take("drift") {
                clock.driftPartsPerMillion = try words.number("parts per million")
                guard abs(clock.driftPartsPerMillion) <= 100_000 else {
                    throw words.expected("a drift of at most 100000")
                }
            } else {
                throw words.expected("`offset TIME` or `drift PPM`")
            }
        }
        return clock
    }

    // MARK: - Statements

    private mutating func add(_ action: Scenario.Action, _ text: String, line: Int) {
        let statement = Scenario.Statement(line: line, text: text, action: action)
        bodies[bodies.count - 1].statements.append(statement)
    }

    private mutating func readStatement(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) {
        guard !hasEnded || bodies.count > 1 || words.first == "expect" else {
            throw words.expected("`expect` after `end`")
        }
        if words.take("end") {
            hasEnded = true
            guard !words.isEmpty else { return }
            return try readStatement(&words)
        }
        if words.take("at") {
            let word = words.first ?? ""
            if word.hasPrefix("+"), let time = ScenarioWords.time(word.dropFirst()) {
                _ = try words.next("a time")
                add(.after(time), "at \(word)", line: words.line)
            } else {
                add(.at(try words.time()), "at \(word)", line: words.line)
            }
            guard !words.isEmpty else { return }
        }
        if words.take("repeat") { return try openRepeat(&words) }
        if words.take("done") { return try closeRepeat(words) }
        let text = words.rest.joined(separator: " ")
        let line = words.line
        let action = try action(&words)
        try words.finish()
        add(action, text, line: line)
    }

    private mutating func openRepeat(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) {
        let text = "repeat " + words.rest.joined(separator: " ")
        let count: Int = try words.number("how often")
        var every = Duration.zero
        if words.take("every") { every = try words.time() }
        try words.finish()
        let head = Scenario.Statement(
            line: words.line,
            text: text,
            action: .repeated(count, every: every, [])
        )
        bodies.append((head, []))
    }

    private mutating func closeRepeat(_ words: ScenarioWords) throws(ScenarioSyntaxError) {
        try words.finish()
        guard bodies.count > 1, let body = bodies.popLast(), let head = body.head,
            case .repeated(let count, let every, _) = head.action
        else { throw ScenarioSyntaxError(line: words.line, reason: "`done` without a `repeat`") }
        add(.repeated(count, every: every, body.statements), head.text, line: head.line)
    }

    private mutating func action(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Action {
        if words.take("expect") {
            let who = try who(&words)
            let (claims, within) = try claims(&words, mayWait: true)
            return .expect(who, claims, within: within)
        }
        if words.take("never") {
            let isNamed = words.first.map { $0 == "all" || isList($0) } ?? false
            let who: Scenario.Who = isNamed ? try who(&words) : .all
            return .never(who, try claims(&words, mayWait: false).claims)
        }
        if let network = try networkAction(&words) {
            if case .forge = network { scenario.forges = true }
            return .network(network)
        }
        guard let first = words.first, isList(first) else {
            throw words.expected(
                "a node, or one of expect, never, repeat, \(Self.networkWords)"
            )
        }
        return try command(&words)
    }

    // MARK: - Names

    func isList(_ word: String) -> Bool {
        Self.expanded(word).allSatisfy(scenario.nodes.contains)
    }

    func who(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> Scenario.Who {
        words.take("all") ? .all : .nodes(try nodes(&words))
    }

    func nodes(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> [Int] {
        guard let word = words.first, isList(word) else { throw words.expected(known) }
        return Self.expanded(try words.next("nodes")).compactMap(scenario.nodes.firstIndex)
    }

    func node(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> Int {
        guard let word = words.first, let index = scenario.nodes.firstIndex(of: word) else {
            throw words.expected(known)
        }
        _ = try words.next("a node")
        return index
    }

    private var known: String { "one of the nodes \(scenario.nodes.joined(separator: " "))" }

    /// The names of processes: `B`, or `B#2` for B's second.
    func processes(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> [String] {
        guard let word = words.first else { throw words.expected("processes such as A,B#2") }
        let names = Self.expanded(word)
        if names == ["none"] {
            _ = try words.next("none")
            return []
        }
        guard names.allSatisfy(isProcess) else { throw words.expected("processes such as A,B#2") }
        _ = try words.next("processes")
        return names
    }

    func isProcess(_ name: String) -> Bool {
        let parts = name.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, scenario.nodes.contains(parts[0]) else { return false }
        return parts.count == 1 || (UInt32(parts[1]) ?? 0) > 1
    }

    func process(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> String {
        let names = try processes(&words)
        guard names.count == 1 else {
            throw ScenarioSyntaxError(line: words.line, reason: "expected one process")
        }
        return names[0]
    }
}
