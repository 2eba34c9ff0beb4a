/// One option of a command, as the table of commands describes it.
struct OptionSpecification: Sendable {
    /// The option's name with its two hyphens.
    var name: String
    /// What stands for the value in usage texts; `nil` if the option takes none.
    var value: String?
    /// What the option does, in half a line.
    var summary: String
    /// Whether the option may be given more than once.
    var isRepeatable = false
    /// Whether usage texts leave the option out.
    var isHidden = false

    static func flag(_ name: String, _ summary: String, hidden: Bool = false) -> Self {
        Self(name: name, summary: summary, isHidden: hidden)
    }

    static func value(
        _ name: String,
        _ value: String,
        _ summary: String,
        repeatable: Bool = false,
        hidden: Bool = false
    ) -> Self {
        Self(
            name: name,
            value: value,
            summary: summary,
            isRepeatable: repeatable,
            isHidden: hidden
        )
    }
}

/// One command of `huddle`, as the table describes it; usage, help and parsing come from here.
struct CommandSpecification: Sendable {
    /// What runs the command; its result is the exit code.
    typealias Body = @MainActor @Sendable (Invocation) async throws(Failure) -> Int32

    /// The word that names the command.
    var name: String
    /// The operands in usage texts, such as `CODE|LINK`.
    var operands = ""
    /// What the command does, in half a line.
    var summary: String
    /// The paragraphs below the options in the command's help.
    var discussion: [String] = []
    /// Lines to copy from the command's help.
    var examples: [String] = []
    /// The number of operands it takes.
    var operandCount: ClosedRange<Int> = 0...0
    /// The first operand, where it is a word out of a list: `values get`, `keys path`.
    var verbs: [String] = []
    /// Its options, beside those every command has.
    var options: [OptionSpecification] = []
    /// Whether it talks to a running node, or runs one.
    var isOfNode = true
    /// Whether everything behind the command's name is handed on unread.
    var isOpaque = false
    /// Runs the command.
    var body: Body

    /// Its own options, then those every command has.
    var allOptions: [OptionSpecification] {
        options + [.flag("--help", "show this help")] + (isOfNode ? [Self.socketOption] : [])
    }

    private static let socketOption = OptionSpecification.value(
        "--socket",
        "PATH",
        "the node's control socket, instead of the usual one"
    )
}

/// The option that every reporting command has.
let jsonOption = OptionSpecification.flag("--json", "print one JSON object instead of text")
