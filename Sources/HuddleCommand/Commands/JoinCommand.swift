import Glibc
import Huddle

/// `huddle join`: enters a room with a code or a link.
enum JoinCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let target = try secret(invocation)
        overwriteArguments()
        // A typing error needs no node, and sends nothing.
        do {
            _ = try Invitation(target)
        } catch {
            throw Failure(ControlFailure(error))
        }
        var members: [JSON.Member] = [.text("target", target)]
        if let near = invocation.value("--at") { members.append(.text("at", near)) }
        let client: ControlClient
        do {
            client = try invocation.connect()
        } catch {
            guard error.code == "notRunning" else { throw error }
            throw Failure(
                "notRunning",
                "no node is running here that could join",
                hint:
                    "start one first: 'huddle up --detach --no-room', then join again; the code is "
                    + "not used up",
                exit: ExitCode.unreachable
            )
        }
        if !invocation.wantsJSON { Terminal.log("looking for the room…") }
        let answer = try client.ask("room.join", members, within: .seconds(60))
        let names = (answer["members"]?.elements ?? []).map { $0.text?.printable ?? "-" }
        invocation.show(
            answer,
            "\(Style.green("✓")) in room \(Style.bold(answer.shown("room"))) with "
                + names.joined(separator: ", ")
        )
        return ExitCode.success
    }

    /// What was typed: an operand, a file's content, a descriptor's, or the answer to the prompt.
    private static func secret(_ invocation: Invocation) throws(Failure) -> String {
        let sources = [
            invocation.operands.first, invocation.value("--link-file"),
            invocation.value("--link-fd"),
        ].compactMap { $0 }
        guard sources.count <= 1 else {
            throw .usage("give one of CODE, --link-file and --link-fd", command: "join")
        }
        if let word = invocation.operands.first {
            guard !isReusableLink(word) else {
                overwriteArguments()
                throw .usage(
                    "a reusable link is a lasting secret and must not stand in the argument list, "
                        + "which others can read",
                    hint: "use --link-file FILE, --link-fd N, or 'huddle join' alone and paste it",
                    command: "join"
                )
            }
            return word
        }
        if let path = invocation.value("--link-file") { return try readFile(path) }
        if let number: Int32 = try invocation.number("--link-fd", in: 0...1023) {
            return try read(number, name: "descriptor \(number)")
        }
        return try prompt()
    }

    private static func prompt() throws(Failure) -> String {
        guard Terminal.isInteractive else {
            throw .usage("'huddle join' needs CODE or LINK", command: "join")
        }
        Terminal.show("code or link: ")
        Signals.release()
        let line = withoutEcho { readLine() }
        Terminal.print()
        guard let line, !line.isEmpty else {
            throw .usage("nothing was typed", command: "join")
        }
        return line
    }

    private static func readFile(_ path: String) throws(Failure) -> String {
        guard let descriptor = openForReading(path) else {
            throw Failure(
                "file",
                "cannot read \(path.printable): \(systemMessage(errno))",
                exit: ExitCode.usage
            )
        }
        defer { close(descriptor) }
        return try read(descriptor, name: path.printable)
    }

    private static func read(_ descriptor: Int32, name: String) throws(Failure) -> String {
        // A link with all its hints has less than 400 bytes.
        guard let bytes = readSome(descriptor), !bytes.isEmpty else {
            throw Failure("file", "there is nothing to read in \(name)", exit: ExitCode.usage)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        return line.trimmed
    }

    private static func isReusableLink(_ word: String) -> Bool {
        word.hasPrefix("huddle:") && (word.contains("?u=0") || word.contains("&u=0"))
    }
}

extension String {
    /// The text without spaces at its ends.
    var trimmed: String {
        let head = drop { $0.isWhitespace }
        return String(head.reversed().drop { $0.isWhitespace }.reversed())
    }
}
