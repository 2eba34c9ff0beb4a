/// A command line that was read without a mistake.
struct Invocation: Sendable {
    /// The command it names.
    var command: CommandSpecification
    /// What stands beside the options, in order.
    var operands: [String] = []
    /// The values of each option given; a flag has one empty value.
    private(set) var values: [String: [String]] = [:]

    init(command: CommandSpecification) {
        self.command = command
    }

    mutating func add(_ option: OptionSpecification, _ value: String) {
        values[option.name, default: []].append(value)
    }

    /// Whether the option `name` was given.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The last value given to the option `name`.
    func value(_ name: String) -> String? { values[name]?.last }

    /// All values given to the option `name`, in order.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The options given, as words of a command line for another process.
    func words(except left: Set<String>) -> [String] {
        command.allOptions.filter { !left.contains($0.name) && !$0.isHidden }.flatMap { option in
            all(option.name).flatMap { option.value == nil ? [option.name] : [option.name, $0] }
        }
    }

    /// The option's value as a whole number within `range`, or `nil` if it was not given.
    func number<T: FixedWidthInteger & Sendable>(
        _ name: String,
        in range: ClosedRange<T>
    ) throws(Failure) -> T? {
        guard let text = value(name) else { return nil }
        guard let number = T(text), range.contains(number) else {
            throw .usage(
                "\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), "
                    + "not '\(text)'",
                command: command.name
            )
        }
        return number
    }

    /// Whether the answer is wanted as JSON.
    var wantsJSON: Bool { has("--json") }
}

extension Invocation {
    /// Reads the words behind `huddle COMMAND`.
    ///
    /// `--name value` and `--name=value` are the same; `--` ends the options. A mistake is a
    /// ``Failure`` of exit code 2 that names what was probably meant.
    static func read(
        _ words: [String],
        for command: CommandSpecification
    ) throws(Failure) -> Invocation {
        var invocation = Invocation(command: command)
        guard !command.isOpaque else {
            invocation.operands = words
            return invocation
        }
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                invocation.operands += rest
                break
            }
            guard word.hasPrefix("-"), word.count > 1, Double(word) == nil else {
                invocation.operands.append(word)
                continue
            }
            try invocation.take(word, rest: &rest)
        }
        guard !invocation.has("--help") else { return invocation }
        try invocation.checkOperands()
        return invocation
    }

    private mutating func take(_ word: String, rest: inout ArraySlice<String>) throws(Failure) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0] == "-h" ? "--help" : String(parts[0])
        guard let option = command.allOptions.first(where: { $0.name == name }) else {
            let known = command.allOptions.filter { !$0.isHidden }.map(\.name)
            throw .usage(
                "'huddle \(command.name)' has no option '\(name)'",
                hint: suggestion(for: name, among: known).map { "did you mean '\($0)'?" }
                    ?? (command.operandCount.upperBound > 0
                        ? "what begins with a hyphen and is no option stands behind '--'" : nil),
                command: command.name
            )
        }
        guard option.isRepeatable || !has(name) else {
            throw .usage("'\(name)' was given twice", command: command.name)
        }
        guard let placeholder = option.value else {
            guard parts.count == 1 else {
                throw .usage("'\(name)' takes no value", command: command.name)
            }
            return add(option, "")
        }
        if parts.count == 2 {
            add(option, String(parts[1]))
        } else if let value = rest.popFirst() {
            add(option, value)
        } else {
            throw .usage("'\(name)' needs a value: \(name) \(placeholder)", command: command.name)
        }
    }

    private func checkOperands() throws(Failure) {
        if let verb = operands.first, !command.verbs.isEmpty, !command.verbs.contains(verb) {
            let near = suggestion(for: verb, among: command.verbs)
            throw .usage(
                "'huddle \(command.name)' has no '\(verb)'",
                hint: near.map { "did you mean 'huddle \(command.name) \($0)'?" }
                    ?? "it has: \(command.verbs.joined(separator: ", "))",
                command: command.name
            )
        }
        guard operands.count >= command.operandCount.lowerBound else {
            throw .usage(
                "'huddle \(command.name)' needs \(command.operands)",
                command: command.name
            )
        }
        guard operands.count <= command.operandCount.upperBound else {
            let first = operands[command.operandCount.upperBound]
            throw .usage(
                "'huddle \(command.name)' takes nothing more: '\(first)'",
                hint: command.name == "chat" ? "put the text in quotation marks" : nil,
                command: command.name
            )
        }
    }
}
