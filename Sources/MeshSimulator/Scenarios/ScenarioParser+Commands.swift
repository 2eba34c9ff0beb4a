import MeshConsensus
import MeshSession
import MeshWire

// What applications ask, and how they are answered.
extension ScenarioParser {
    /// How long a command may take unless the text says.
    static let patience = Duration.seconds(1)

    func command(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> Scenario.Action {
        let who = Scenario.Who.nodes(try nodes(&words))
        let verb = try verb(&words)
        let label: String? = words.take("as") ? try words.next("a label") : nil
        let answer: Scenario.AnswerPattern? = words.take("->") ? try answer(&words) : nil
        return .command(who: who, verb, label: label, answer: answer)
    }

    private func verb(_ words: inout ScenarioWords) throws(ScenarioSyntaxError) -> Scenario.Verb {
        if words.take("create") {
            _ = words.take("room")
            return .create
        }
        if words.take("join") {
            if words.take("via") { return .join(via: try node(&words)) }
            guard let word = words.first, !isEnd(word) else { return .join(via: nil) }
            let session = try words.next("a session")
            _ = words.take("in") && words.take("order")
            return .joinSession(session)
        }
        if words.take("leave") {
            guard let word = words.first, !isEnd(word) else { return .leave }
            return .leaveSession(try words.next("a session"))
        }
        if words.take("adopt") { return .adoptPrimary }
        if words.take("kick") { return .kick(try process(&words)) }
        if words.take("put") {
            let key = try words.next("a key")
            let value = Self.repeated(try words.next("a value"))
            return .put(key: key, value: value, try demands(&words))
        }
        if words.take("add") {
            let key = try words.next("a key")
            let amount: Int64 = try words.number("a number")
            return .add(key: key, amount: amount, try demands(&words))
        }
        if words.take("cas") {
            let key = try words.next("a key")
            let expected = try words.next("the value expected")
            let value = try words.next("a value")
            return .compareAndSet(
                key: key,
                expected: expected,
                value: value,
                try demands(&words)
            )
        }
        if words.take("read") {
            let key = try words.next("a key")
            let isLocal = words.take("local")
            if !isLocal { _ = words.take("linearizable") }
            return .read(key: key, isLocal: isLocal)
        }
        if let verb = try sessionVerb(&words) { return verb }
        throw words.expected(
            "a verb: create, join, leave, adopt, kick, put, add, cas, read, start, end, take, give, "
                + "ack"
        )
    }

    private func sessionVerb(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Verb? {
        if words.take("start") {
            let session = try words.next("a session")
            let activity = words.take("activity") ? try words.next("an activity") : "activity"
            let slot = words.take("slot") ? try words.next("a slot") : ""
            var mode = LeadMode.fixed
            if words.take("lead") {
                switch try words.next("fixed, switchable or none") {
                case "fixed": mode = .fixed
                case "switchable": mode = .switchable
                case "none": mode = .none
                default: throw words.expected("fixed, switchable or none before this")
                }
            }
            return .startSession(
                session,
                activity: activity,
                slot: slot,
                mode,
                try demands(&words)
            )
        }
        if words.take("end") {
            let session = try words.next("a session")
            return .endSession(session, try demands(&words))
        }
        if words.take("take") { return .takeLead(try words.next("a session")) }
        if words.take("ack") { return .acknowledgeConflict(key: try words.next("a key")) }
        if words.take("give") {
            let session = try words.next("a session")
            guard words.take("to") else { throw words.expected("`to PROCESS`") }
            return .giveLead(session, to: try process(&words))
        }
        return nil
    }

    /// `x*1000` stands for a thousand times x.
    private static func repeated(_ word: String) -> String {
        guard let star = word.lastIndex(of: "*"), star > word.startIndex,
            let count = Int(word[star...].dropFirst()), (1...Limits.valueBytes).contains(count)
        else { return word }
        return String(repeating: String(word[..<star]), count: count)
    }

    private func isEnd(_ word: String) -> Bool { word == "->" || word == "as" }

    private func demands(
        _ words: inout ScenarioWords
    ) throws(ScenarioSyntaxError) -> Scenario.Demands {
        var demands = Scenario.Demands()
        while let word = words.first, !isEnd(word) {
            if words.take("level") {
                switch words.first {
                case "sequenced": demands.level = .sequenced
                case "majority": demands.level = .majority
                case "all": demands.level = .all
                case "durable": demands.level = .durable
                default: throw words.expected("sequenced, majority, all or durable")
                }
                _ = try words.next("a level")
            } else if words.take("require") {
                guard words.take("primary") else { throw words.expected("`primary`") }
                demands.requiresPrimary = true
            } else {
                throw words.expected("`level LEVEL`, `require primary`, `as LABEL` or `->`")
            }
        }
        return demands
    }

    /// `ok [POSITION] [within T]`, `refused [REASON] [within T]`,
    /// `value V [primary|nonprimary] [within T]` or `unanswered for T`.
    ///
    /// A fact has a time of its own and no `within` here.
    func answer(
        _ words: inout ScenarioWords,
        isFact: Bool = false
    ) throws(ScenarioSyntaxError) -> Scenario.AnswerPattern {
        func detail() throws(ScenarioSyntaxError) -> String? {
            guard let word = words.first, word != "within", word != "in" else { return nil }
            return try words.next("a word")
        }
        func within() throws(ScenarioSyntaxError) -> Duration {
            !isFact && words.take("within") ? try words.time() : Self.patience
        }
        if words.take("ok") {
            let position = try detail()
            return .ok(position, within: try within())
        }
        if words.take("refused") {
            let reason = try detail()
            return .refused(reason, within: try within())
        }
        if words.take("value") {
            let value = try words.next("a value or none")
            var isPrimary: Bool?
            if words.take("primary") { isPrimary = true }
            if words.take("nonprimary") { isPrimary = false }
            return .value(
                value == "none" ? nil : value,
                isPrimary: isPrimary,
                within: try within()
            )
        }
        if words.take("unanswered") {
            guard words.take("for") else { throw words.expected("`for TIME`") }
            return .unanswered(try words.time())
        }
        throw words.expected("ok, refused, value or unanswered")
    }
}
