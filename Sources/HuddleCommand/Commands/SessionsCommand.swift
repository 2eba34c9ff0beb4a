import Huddle

/// `huddle sessions`: what the room does together.
enum SessionsCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let answer = try invocation.ask("sessions")
        guard !invocation.wantsJSON else {
            Terminal.print(answer.report.description)
            return ExitCode.success
        }
        let sessions = answer["sessions"]?.elements ?? []
        guard !sessions.isEmpty else {
            Terminal.print("nothing is done together; 'huddle start IDENTIFIER' starts an activity")
            return ExitCode.success
        }
        var grid = Grid(["activity", "title", "lead", "participants", "session"])
        for session in sessions {
            let participants = (session["participants"]?.elements ?? []).map { who in
                who.shown("name") + (who["isPresent"]?.flag == false ? " (away)" : "")
            }
            grid.add([
                session.shown("activity"), session.shown("title"),
                session.shown("lead"),
                participants.isEmpty ? "nobody yet" : participants.joined(separator: ", "),
                String(session.shown("id").prefix(8)),
            ])
        }
        Terminal.print(grid.text)
        return ExitCode.success
    }
}

/// `huddle start`: starts an activity for the programs that know it.
enum StartCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        var members = [JSON.Member.text("activity", invocation.operands[0])]
        if let title = invocation.value("--title") { members.append(.text("title", title)) }
        var fields: [JSON.Member] = []
        for operand in invocation.operands.dropFirst() {
            let parts = operand.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .usage("'\(operand)' is no KEY=VALUE", command: "start")
            }
            fields.append(.text(String(parts[0]), String(parts[1])))
        }
        members.append(JSON.Member("fields", .object(fields)))
        let answer = try invocation.connect().ask("activity.start", members)
        invocation.show(
            answer,
            answer["isNew"]?.flag == false
                ? "the same runs already: \(answer.shown("activity"))"
                : "started \(answer.shown("activity")); programs that know it are offered the session"
        )
        return ExitCode.success
    }
}
