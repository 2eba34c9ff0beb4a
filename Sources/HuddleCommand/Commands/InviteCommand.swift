import Huddle

/// `huddle invite`: a code and a link for one guest.
enum InviteCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let client = try invocation.connect()
        if invocation.has("--close") {
            _ = try client.ask("invite.close")
            if invocation.wantsJSON {
                Terminal.print(JSON.object([]).description)
            } else {
                Terminal.print("no invitation is open any more")
            }
            return ExitCode.success
        }
        guard !(invocation.has("--code") && invocation.has("--link")) else {
            throw .usage("--code and --link exclude each other", command: "invite")
        }
        let waits = invocation.has("--wait")
        if waits { _ = try client.ask("subscribe", [.text("topic", "invites")]) }
        let answer = try client.ask("invite.open")
        let code = answer.shown("code")
        let link = answer.shown("link")
        if invocation.wantsJSON {
            Terminal.print(answer.report.description)
        } else if invocation.has("--link") {
            Terminal.print(link)
        } else if invocation.has("--code") {
            Terminal.print(code)
        } else {
            let minutes = ((answer["secondsLeft"]?.whole ?? 600) + 59) / 60
            Terminal.print("On the other machine, within \(minutes) minutes:")
            Terminal.print()
            Terminal.print("    huddle join \(Style.bold(code))")
            Terminal.print()
            Terminal.print("It admits one guest. The same as a link:")
            Terminal.print(link)
            if Terminal.hasColor, let code = QRCode(encoding: link) {
                Terminal.print()
                Terminal.print(code.halfBlocks)
            }
        }
        guard waits else { return ExitCode.success }
        return try wait(client, code: code, asJSON: invocation.wantsJSON)
    }

    private static func wait(
        _ client: ControlClient,
        code: String,
        asJSON: Bool
    ) throws(Failure) -> Int32 {
        let slot = Int64(code.prefix(2))
        while true {
            if let signal = Signals.take() { return Signals.exitCode(signal) }
            guard let event = try client.event(within: .milliseconds(100)),
                event["slot"]?.whole == slot
            else { continue }
            if asJSON { Terminal.print(event.description) }
            if event["event"]?.text == "inviteUsed" {
                if !asJSON { Terminal.print("\(Style.green("✓")) \(event.shown("name")) came in") }
                return ExitCode.success
            }
            throw Failure(
                "inviteBurned",
                event.shown("reason"),
                hint: "'huddle invite' makes a new one"
            )
        }
    }
}
