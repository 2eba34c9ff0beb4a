import Huddle

/// `huddle leave`: out of the room for good; the node stays up.
enum LeaveCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let answer = try invocation.ask("room.leave")
        invocation.show(answer, words(answer))
        return ExitCode.success
    }

    private static func words(_ answer: JSON) -> String {
        let room = Style.bold(answer.shown("room"))
        return switch answer["stopped"]?.text {
        case "joining": "stopped looking for the room; this node is in no room"
        case "resuming": "stopped looking for room \(room), and left it; its keys are forgotten"
        default: "left room \(room); its keys are forgotten"
        }
    }
}

/// `huddle adopt`: makes this side of a split the room's primary one.
enum AdoptCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let answer = try invocation.ask("room.adopt")
        invocation.show(
            answer,
            answer["wasPrimary"]?.flag == true
                ? "this side is the room's primary one already; nothing to do"
                : "this side is the room from now on: 'huddle status' shows its view"
        )
        return ExitCode.success
    }
}

/// `huddle down`: stops the node.
enum DownCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let client = try invocation.connect()
        let answer = try client.ask("down")
        // The node closes the connection as its last deed.
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            do {
                _ = try client.nextEvent(within: .milliseconds(200))
            } catch {
                break
            }
        }
        let brings = answer["resumes"]?.text == nil ? "it" : "it and its room"
        invocation.show(answer, "the node is down; 'huddle up' brings \(brings) back")
        return ExitCode.success
    }
}

/// `huddle fault`: impairs the running node's own links.
enum FaultCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let verb = invocation.operands[0]
        let text = invocation.operands.count > 1 ? invocation.operands[1] : nil
        let cuts = invocation.all("--cut")
        var members: [JSON.Member] = []
        switch verb {
        case "set":
            guard text != nil || !cuts.isEmpty else {
                throw .usage(
                    "'huddle fault set' needs a text such as 'loss 5% delay 20ms', or --cut PEER",
                    command: "fault"
                )
            }
            if let text { members.append(.text("conditions", text)) }
            let peers = invocation.all("--to")
            if !peers.isEmpty { members.append(JSON.Member("to", .array(peers.map(JSON.string)))) }
            if !cuts.isEmpty { members.append(JSON.Member("cut", .array(cuts.map(JSON.string)))) }
        default:
            guard text == nil, cuts.isEmpty, !invocation.has("--to") else {
                throw .usage("'huddle fault \(verb)' takes nothing more", command: "fault")
            }
        }
        let answer = try invocation.ask("fault.\(verb)", members)
        invocation.show(answer, words(answer))
        return ExitCode.success
    }

    private static func words(_ answer: JSON) -> String {
        let conditions = answer["conditions"]?.text ?? ""
        let cuts = (answer["cuts"]?.elements ?? []).compactMap(\.text)
        let rules = answer["rules"]?.elements ?? []
        guard !conditions.isEmpty || !cuts.isEmpty || !rules.isEmpty else {
            return "no fault: every datagram passes"
        }
        var lines: [String] = []
        if !conditions.isEmpty { lines.append("every link: \(conditions)") }
        for rule in rules { lines.append("to \(rule.shown("to")): \(conditionsText(rule))") }
        for cut in cuts { lines.append("cut off: \(cut)") }
        lines.append(Style.dim("'huddle fault clear' heals everything"))
        return lines.joined(separator: "\n")
    }

    /// The conditions of a rule for one peer; a rule can also say that this link has none.
    static func conditionsText(_ rule: JSON) -> String {
        let text = rule.shown("conditions")
        return text.isEmpty ? "no fault" : text
    }
}
