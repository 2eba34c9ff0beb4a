import MeshConsensus
import MeshWire

// What must hold.
extension ScenarioParser {
    static let factWords = [
        "view", "view-change", "views", "counter", "leader", "role", "value", "same-hash",
        "primaries", "count", "relay", "answer", "event", "merge", "outcome", "conflict",
        "conflicts",
        "session",
        "participants", "away", "lead",
    ]

    /// Facts with `, ` between them; one that begins with no fact word goes on with the last.
    func claims(
        _ words: inout ScenarioWords,
        mayWait: Bool
    ) throws(ScenarioSyntaxError) -> (claims: [Scenario.Claim], within: Duration) {
        var parts: [[String]] = [[]]
        while !words.isEmpty {
            let word = try words.next("a fact")
            guard word.hasSuffix(",") else {
                parts[parts.count - 1].append(word)
                continue
            }
            parts[parts.count - 1].append(String(word.dropLast()))
            parts.append([])
        }
        var claims: [Scenario.Claim] = []
        var within = Duration.zero
        var head = ""
        for (index, part) in parts.enumerated() {
            var fact = ScenarioWords(part[...], line: words.line)
            if let first = fact.first, Self.factWords.contains(first) {
                head = first
                _ = try fact.next("a fact")
            }
            guard !head.isEmpty, !part.isEmpty else {
                throw fact.expected("a fact: \(Self.factWords.joined(separator: ", "))")
            }
            var claim = Scenario.Claim(fact: try self.fact(head, &fact))
            if !mayWait, fact.take("in") { claim.range = try range(&fact) }
            if mayWait, index == parts.count - 1, fact.take("within") { within = try fact.time() }
            try fact.finish(mayWait ? "`within TIME` or nothing more" : "`in A..B` or nothing more")
            claims.append(claim)
        }
        return (claims, within)
    }

    private func range(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> ClosedRange<Instant> {
        let word = words.first ?? ""
        var low = ""
        var high = ""
        if let dots = word.firstIndex(of: "."), word[dots...].hasPrefix("..") {
            low = String(word[..<dots])
            high = String(word[dots...].dropFirst(2))
        }
        guard let first = ScenarioWords.time(low), let last = ScenarioWords.time(high),
            first <= last
        else { throw words.expected("a range such as 5s..65s") }
        _ = try words.next("a range")
        return (.zero + first)...(.zero + last)
    }

    private func fact(
        _ head: String,
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Fact {
        switch head {
        case "view": return .view(try viewPattern(&words))
        case "view-change": return .viewChange(try viewPattern(&words))
        case "views":
            let comparison = try words.comparison()
            let since: Instant? = words.take("since") ? .zero + (try words.time()) : nil
            return .views(comparison, since: since)
        case "counter": return .counter(try words.comparison())
        case "leader":
            var pattern = Scenario.ViewPattern()
            pattern.leader = try process(&words)
            return .view(pattern)
        case "role": return .role(try role(&words))
        case "value":
            let key = try words.next("a key")
            let value = try words.next("a value or none")
            return .value(key: key, value == "none" ? nil : value)
        case "same-hash": return .sameHash
        case "primaries": return .primaries(try words.comparison())
        case "count":
            let name = try words.next("a counter")
            guard ScenarioCounters.names.contains(name) else {
                throw ScenarioSyntaxError(
                    line: words.line,
                    reason: "expected a counter of "
                        + "\(ScenarioCounters.names.joined(separator: ", ")), found `\(name)`"
                )
            }
            return .count(name, try words.comparison())
        case "relay":
            let target = try process(&words)
            if words.take("none") { return .relay(to: target, via: nil) }
            guard words.take("via") else { throw words.expected("`via` and a process, or `none`") }
            return .relay(to: target, via: try process(&words))
        case "answer":
            let label = try words.next("a label")
            return .answer(label: label, try answer(&words, isFact: true))
        case "event": return .event(try words.next("an event"))
        case "merge", "outcome", "conflict", "conflicts": return try mergeFact(head, &words)
        default: return try sessionFact(head, &words)
        }
    }

    private func mergeFact(
        _ head: String,
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Fact {
        switch head {
        case "merge":
            var pattern = Scenario.MergePattern()
            if words.take("winner") { pattern.winner = try epoch(&words) }
            if words.take("loser") { pattern.loser = try epoch(&words) }
            if words.take("fork") {
                pattern.fork = words.take("none") ? "none" : try position(&words)
            }
            return .merge(pattern)
        case "outcome":
            let position = try position(&words)
            guard let outcome = MergeOutcome.allCases.first(where: { "\($0)" == words.first })
            else {
                throw words.expected("applied, joined, superseded, conflict or duplicate")
            }
            _ = try words.next("an outcome")
            return .outcome(position, outcome)
        case "conflict":
            let key = try words.next("a key")
            guard words.take("kept") else { throw words.expected("`kept VALUE`") }
            let kept = try words.next("a value or none")
            guard words.take("lost") else { throw words.expected("`lost VALUE`") }
            let lost = try words.next("a value or none")
            return .conflict(
                key: key,
                kept: kept == "none" ? nil : kept,
                lost: lost == "none" ? nil : lost
            )
        default:
            guard words.take("none") else { throw words.expected("`none`") }
            return .noConflicts
        }
    }

    private func epoch(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> String {
        guard let word = words.first, isEpoch(word) else {
            throw words.expected("an epoch such as 2@A")
        }
        return try words.next("an epoch")
    }

    private func position(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> String {
        let parts = words.first?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        guard parts.count == 2, isEpoch(String(parts[0])), UInt64(parts[1]) != nil else {
            throw words.expected("a position such as 2@A:7")
        }
        return try words.next("a position")
    }

    private func sessionFact(
        _ head: String,
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Fact {
        let session = try words.next("a session")
        switch head {
        case "session":
            if words.take("ended") { return .session(session, isThere: false) }
            return .session(session, isThere: true)
        case "participants":
            let names = try processes(&words)
            let lead: String? = words.take("lead") ? try process(&words) : nil
            return .participants(session: session, names, lead: lead)
        case "away": return .away(session: session, try processes(&words))
        default:
            if words.take("nobody") { return .lead(session: session, nil) }
            return .lead(session: session, try process(&words))
        }
    }

    private func role(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> Role {
        if words.take("joining") { return .joining }
        if words.take("member") { return .member }
        if words.take("leader") { return .leader }
        if words.take("suspended") { return .suspended }
        if words.take("left") { return .left }
        throw words.expected("joining, member, leader, suspended or left")
    }

    private func viewPattern(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.ViewPattern {
        var pattern = Scenario.ViewPattern()
        while let word = words.first, word != "within", word != "in" {
            if words.take("members") {
                pattern.members = try processes(&words).sorted()
            } else if words.take("parents") {
                pattern.parents = try words.list("epochs such as 2@A").sorted()
            } else if words.take("leader") {
                pattern.leader = try process(&words)
            } else if words.take("primary") {
                pattern.isPrimary = true
            } else if words.take("nonprimary") {
                pattern.isPrimary = false
            } else if words.take("usable") {
                pattern.isUsable = true
            } else if isEpoch(word) {
                pattern.epoch = try words.next("an epoch")
            } else {
                throw words.expected(
                    "an epoch such as 2@A, or members, parents, leader, primary, nonprimary, usable"
                )
            }
        }
        return pattern
    }

    private func isEpoch(_ word: String) -> Bool {
        let parts = word.split(separator: "@").map(String.init)
        return parts.count == 2 && UInt64(parts[0]) != nil && isProcess(parts[1])
    }
}
