import Huddle

/// The program `huddle`: finds the command, runs it, and turns failures into words and exit codes.
@main
struct Main {
    @MainActor
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        // A simulation leaves nothing behind, so a signal may end it where it stands.
        if words.first != "sim" { Signals.hold() }
        Hardening.apply()
        let code = await run(words)
        exitProcess(code)
    }

    /// Runs the command that `words` name and answers with the exit code.
    @MainActor
    private static func run(_ words: [String]) async -> Int32 {
        // Known before parsing, so that a mistake in the command line is JSON too.
        let wantsJSON = words.prefix { $0 != "--" }.contains("--json")
        do {
            guard let invocation = try read(words) else { return ExitCode.success }
            return try await invocation.command.body(invocation)
        } catch {
            report(error, asJSON: wantsJSON)
            return error.exit
        }
    }

    private static func read(_ words: [String]) throws(Failure) -> Invocation? {
        guard let first = words.first else {
            Terminal.print(Usage.firstSteps(isRunning: ControlSocketPath.isServed))
            return nil
        }
        if first == "--version" || first == "-V" {
            Terminal.print("huddle \(Usage.version)")
            return nil
        }
        if first == "--help" || first == "-h" {
            Terminal.print(Usage.overview(commandTable))
            return nil
        }
        guard let command = commandTable.first(where: { $0.name == first }) else {
            let near = suggestion(for: first, among: commandTable.map(\.name))
            throw .usage(
                "there is no command '\(first.printable)'",
                hint: near.map { "did you mean 'huddle \($0)'?" }
            )
        }
        let invocation = try Invocation.read(Array(words.dropFirst()), for: command)
        if invocation.has("--help") {
            Terminal.print(Usage.help(command))
            return nil
        }
        return invocation
    }

    private static func report(_ failure: Failure, asJSON: Bool) {
        guard failure.code != "stopped" else { return }
        if asJSON { Terminal.print(failure.json.description) }
        Terminal.log("huddle: \(failure.message)")
        if let hint = failure.hint { Terminal.log("        \(hint)") }
    }
}

/// `huddle help [COMMAND]`.
enum HelpCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        guard let name = invocation.operands.first else {
            Terminal.print(Usage.overview(commandTable))
            return ExitCode.success
        }
        guard let command = commandTable.first(where: { $0.name == name }) else {
            let near = suggestion(for: name, among: commandTable.map(\.name))
            throw .usage(
                "there is no command '\(name.printable)'",
                hint: near.map { "did you mean 'huddle help \($0)'?" }
            )
        }
        Terminal.print(Usage.help(command))
        return ExitCode.success
    }
}
