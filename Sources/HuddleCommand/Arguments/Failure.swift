import Huddle

/// Why a command ends without having done its work: what, why, what to try, and the exit code.
struct Failure: Error, Sendable {
    /// A stable word for programs.
    var code: String
    /// What went wrong and why, in one sentence without a stop.
    var message: String
    /// What to try next.
    var hint: String?
    /// The process's exit code.
    var exit: Int32
    /// Facts for programs.
    var details: JSON?

    init(
        _ code: String,
        _ message: String,
        hint: String? = nil,
        exit: Int32 = ExitCode.failure,
        details: JSON? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.exit = exit
        self.details = details
    }

    /// The failure that a node answered with.
    init(_ failure: ControlFailure) {
        guard failure.code != "stopped" else {
            self.init("stopped", "stopped", exit: Signals.exitCode(Signals.take() ?? 2))
            return
        }
        self.init(
            failure.code,
            failure.message,
            hint: failure.hint,
            exit: failure.exit,
            details: failure.details
        )
    }

    /// A command line that cannot be understood; `command` is whose help is named.
    static func usage(_ message: String, hint: String? = nil, command: String? = nil) -> Failure {
        let help = command.map { "huddle \($0) --help" } ?? "huddle help"
        return Failure(
            "usage",
            message,
            hint: hint.map { "\($0)\($0.hasSuffix("?") ? "" : ";") see '\(help)'" }
                ?? "see '\(help)'",
            exit: ExitCode.usage
        )
    }

    /// The failure as an answer under `--json`.
    var json: JSON {
        [
            "error": .record([
                "code": .string(code),
                "message": .string(message),
                "hint": hint.map(JSON.string),
                "details": details,
            ])
        ]
    }
}

/// The exit codes of `huddle` (`00-overview.md`, "The command line").
enum ExitCode {
    static let success: Int32 = 0
    static let failure: Int32 = 1
    /// A command line or a file that cannot be understood.
    static let usage: Int32 = 2
    /// An expectation did not hold.
    static let expectation: Int32 = 3
    /// Nobody answered in time.
    static let unreachable: Int32 = 4
    /// This machine cannot run it.
    static let unsupported: Int32 = 77
    static let interrupted: Int32 = 130
    static let terminated: Int32 = 143
}
