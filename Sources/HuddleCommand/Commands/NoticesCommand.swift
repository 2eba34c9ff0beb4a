import Huddle

/// `huddle notices`: what others told the room, and the answers to their invitations.
enum NoticesCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        guard let verb = invocation.operands.first else { return try list(invocation) }
        var members = [JSON.Member("isAccepted", .bool(verb == "accept"))]
        if let number = invocation.operands.dropFirst().first {
            guard let number = Int64(number), number > 0 else {
                throw .usage("'\(number.printable)' is no number of a notice", command: "notices")
            }
            members.append(JSON.Member("number", .integer(number)))
        }
        let answer = try invocation.ask("notices.answer", members)
        let word = verb == "accept" ? "accepted" : "declined"
        invocation.show(
            answer,
            "\(word): \(answer.shown("text")); \(answer.shown("who")) was told"
        )
        return ExitCode.success
    }

    private static func list(_ invocation: Invocation) throws(Failure) -> Int32 {
        let answer = try invocation.ask("notices.list")
        let notices = answer["notices"]?.elements ?? []
        let lines = notices.map { notice in
            let number = "\(notice["number"]?.whole ?? 0)".leading(4)
            return "\(number)  \(NoticeLog.words(notice))"
        }
        invocation.show(
            answer,
            lines.isEmpty ? "nobody has told the room anything" : lines.joined(separator: "\n")
        )
        return ExitCode.success
    }
}
