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
