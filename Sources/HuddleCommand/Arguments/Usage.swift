/// The texts of help, all made from the table of commands.
enum Usage {
    /// The version that `--version` and the control socket tell.
    static let version = "0.2.0"

    /// What `huddle help` prints.
    static func overview(_ commands: [CommandSpecification]) -> String {
        let lines = commands.map { ([$0.name, $0.operands].joined(separator: " "), $0.summary) }
        return """
            Huddle: nearby machines, one shared session; no server, no account.

            usage: huddle COMMAND [OPTION…]

            \(table(lines))

            'huddle COMMAND --help' says more about one; 'huddle --version' tells the version.
            Data goes to stdout, the log to stderr; --json on every command that reports.
            exit: 0 ok, 1 failure, 2 usage, 3 expectation failed, 4 nobody answered, 77 cannot run here
            """
    }

    /// What `huddle` alone prints: what to do next.
    static func firstSteps(isRunning: Bool) -> String {
        guard !isRunning else {
            return """
                A node is running here. Next:

                  huddle status            who is here, who leads
                  huddle invite            a short code for one guest
                  huddle chat              talk
                  huddle down              stop the node

                'huddle help' lists all commands.
                """
        }
        return """
            Huddle: nearby machines, one shared session; no server, no account.

              huddle demo              the whole story on this machine, in 12 seconds
              huddle up --detach       start your node; it makes a room, or resumes the last one
              huddle invite            a short code for one guest
              huddle join CODE         enter a room with the code you were told

            'huddle help' lists all commands.
            """
    }

    /// What `huddle COMMAND --help` prints.
    static func help(_ command: CommandSpecification) -> String {
        let visible = command.allOptions.filter { !$0.isHidden }
        var head = "usage: huddle \(command.name)"
        if !command.operands.isEmpty { head += " \(command.operands)" }
        if !command.isOpaque { head += " [OPTION…]" }
        var parts = [command.summary.prefix(1).uppercased() + command.summary.dropFirst() + "."]
        parts.append(head)
        if !command.isOpaque {
            let lines = visible.map { option in
                ([option.name, option.value ?? ""].joined(separator: " "), option.summary)
            }
            parts.append("options:\n" + table(lines))
        }
        parts += command.discussion.map(wrapped)
        if !command.examples.isEmpty {
            parts.append("examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        }
        return parts.joined(separator: "\n\n")
    }

    private static func table(_ lines: [(String, String)]) -> String {
        let widths = lines.map { $0.0.count }
        let width = min(32, widths.max() ?? 0)
        return lines.map { left, right in
            let gap = String(repeating: " ", count: max(0, width - left.count))
            return left.count > width
                ? "  \(left)\n  \(String(repeating: " ", count: width))  \(right)"
                : "  \(left)\(gap)  \(right)"
        }.map(trimmed).joined(separator: "\n")
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }

    /// A paragraph broken at 78 columns.
    static func wrapped(_ text: String) -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if last.count + 1 + word.count > 78 {
                lines.append(String(word))
            } else {
                lines[lines.count - 1] = last + " " + word
            }
        }
        return lines.joined(separator: "\n")
    }
}
