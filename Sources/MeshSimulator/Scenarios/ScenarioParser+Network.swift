import MeshFaults
import MeshWire

// What happens to machines and links.
extension ScenarioParser {
    static let networkWords =
        "cut, heal, link, crash, restart, pause, move, clock, drop, hold, release, forge, replay"

    mutating func networkAction(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.NetworkAction? {
        if words.take("cut") { return try cut(&words) }
        if words.take("heal") { return .heal }
        if words.take("link") { return .link(try linkRule(&words)) }
        if words.take("crash") { return .crash(try nodes(&words), try trigger(&words)) }
        if words.take("restart") { return .restart(try nodes(&words)) }
        if words.take("pause") {
            let nodes = try nodes(&words)
            guard words.take("for") else { throw words.expected("`for TIME`") }
            let time = try words.time()
            return .pause(nodes, time, try trigger(&words))
        }
        if words.take("move") { return .move(try node(&words)) }
        if words.take("clock") {
            let node = try node(&words)
            guard words.take("jump") else { throw words.expected("`jump TIME`") }
            return .clock(node, jump: try words.time())
        }
        if words.take("drop") {
            let types = try types(&words)
            return .drop(types, try optionalPattern(&words))
        }
        if words.take("hold") {
            let types = try types(&words)
            return .hold(types, try optionalPattern(&words))
        }
        if words.take("release") { return .release }
        if words.take("forge") { return .forge(try forgery(&words, readdresses: true)) }
        if words.take("replay") { return .forge(try forgery(&words, readdresses: false)) }
        return nil
    }

    /// `A,B | C,D`, or directions `A->B,C<->D`.
    private func cut(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.NetworkAction {
        guard let word = words.first else { throw words.expected("`A | B` or `A->B`") }
        if word.contains("->") {
            var links: [Scenario.Link] = []
            for text in try words.list("links") {
                guard let ends = ends(text), let from = ends.from, let to = ends.to else {
                    throw ScenarioSyntaxError(
                        line: words.line,
                        reason: "expected a direction such as A->B or A<->B, found `\(text)`"
                    )
                }
                links.append(Scenario.Link(from: from, to: to))
                if ends.isBoth { links.append(Scenario.Link(from: to, to: from)) }
            }
            return .cutLinks(links)
        }
        var groups = [try nodes(&words)]
        while words.take("|") { groups.append(try nodes(&words)) }
        return .cut(groups)
    }

    private func ends(_ text: String) -> (from: Int?, to: Int?, isBoth: Bool)? {
        guard let arrow = text.firstIndex(of: "-") else { return nil }
        var left = text[..<arrow]
        let right = text[arrow...]
        guard right.hasPrefix("->") else { return nil }
        let isBoth = left.last == "<"
        if isBoth { left.removeLast() }
        func end(_ name: Substring) -> Int?? {
            if name == "*" { return .some(nil) }
            return scenario.nodes.firstIndex(of: String(name)).map { .some($0) }
        }
        guard let from = end(left), let to = end(right.dropFirst(2)) else { return nil }
        return (from, to, isBoth)
    }

    private func pattern(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.LinkPattern {
        if words.take("*") { return Scenario.LinkPattern() }
        guard let word = words.first, let ends = ends(word), !ends.isBoth else {
            throw words.expected("a link such as A->B, A->* or *")
        }
        _ = try words.next("a link")
        return Scenario.LinkPattern(from: ends.from, to: ends.to)
    }

    private func optionalPattern(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.LinkPattern {
        words.isEmpty ? Scenario.LinkPattern() : try pattern(&words)
    }

    func linkRule(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.LinkRule {
        let pattern = try pattern(&words)
        let text = words.takeRest()
        do {
            return Scenario.LinkRule(
                pattern: pattern,
                conditions: try LinkConditions(parsing: text)
            )
        } catch {
            throw ScenarioSyntaxError(line: words.line, reason: error.description)
        }
    }

    private func type(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> MessageType {
        guard let word = words.first, let type = MessageType(name: word) else {
            throw words.expected(Self.typeNames)
        }
        _ = try words.next("a message type")
        return type
    }

    private func types(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> [MessageType] {
        if words.first == "all" {
            _ = try words.next("all")
            return MessageType.allCases
        }
        let names = (words.first ?? "").split(separator: ",").map { MessageType(name: String($0)) }
        let types = names.compactMap { $0 }
        guard !types.isEmpty, types.count == names.count else {
            throw words.expected(Self.typeNames)
        }
        _ = try words.next("message types")
        return types
    }

    private static let typeNames =
        "message types such as HB,APPEND of "
        + MessageType.allCases.map(\.name).joined(separator: " ")

    /// `before TYPE [to NODE]` or `after TYPE [to NODE]`, or nothing.
    private func trigger(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Trigger? {
        let isAfter = words.first == "after"
        guard words.take("before") || words.take("after") else { return nil }
        let type = try type(&words)
        let to: Int? = words.take("to") ? try node(&words) : nil
        return Scenario.Trigger(type: type, to: to, isAfter: isAfter)
    }

    private func forgery(
        _ words: inout ScenarioWords,
        readdresses: Bool
    ) throws(ScenarioSyntaxError) -> Scenario.Forgery {
        let type = try type(&words)
        let pattern = try pattern(&words)
        guard let from = pattern.from, let to = pattern.to else {
            throw ScenarioSyntaxError(line: words.line, reason: "expected a link such as A->B")
        }
        var forgery = Scenario.Forgery(type: type, link: Scenario.Link(from: from, to: to))
        forgery.readdresses = readdresses
        while !words.isEmpty {
            if words.take("commit") {
                guard type == .hb || type == .hback else { throw words.expected("no commit") }
                forgery.commit = try words.number("a number")
            } else if words.take("sender") {
                if words.take("nobody") {
                    forgery.sender = .nobody
                } else if words.take("receiver") {
                    forgery.sender = .receiver
                } else {
                    throw words.expected("`nobody` or `receiver`")
                }
            } else {
                throw words.expected("`commit NUMBER` or `sender nobody|receiver`")
            }
        }
        return forgery
    }
}
