import Huddle
import MeshWire

/// `huddle values`: the room's shared values.
enum ValuesCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let words = invocation.operands
        let verb = words[0]
        guard verb != "conflicts" else { return try conflicts(invocation) }
        guard !invocation.has("--about") else {
            throw .usage("--about has no meaning for 'values \(verb)'", command: "values")
        }
        let needs = ["get": 2...2, "set": 3...3, "list": 1...1, "delete": 2...2, "watch": 1...2]
        guard let count = needs[verb], count.contains(words.count) else {
            let forms = [
                "get": "get KEY", "set": "set KEY VALUE", "list": "list", "delete": "delete KEY",
                "watch": "watch [KEY]",
            ]
            throw .usage("it is 'huddle values \(forms[verb] ?? verb)'", command: "values")
        }
        if words.count > 1, !(1...Limits.keyBytes).contains(words[1].utf8.count) {
            throw .usage("a key has 1 to \(Limits.keyBytes) bytes", command: "values")
        }
        var members: [JSON.Member] = [.text("session", invocation.value("--session") ?? "room")]
        if words.count > 1 { members.append(.text("key", words[1])) }
        if words.count > 2 { members.append(.text("value", words[2])) }
        members += try expectation(invocation, verb: verb)
        if invocation.has("--local") { members.append(JSON.Member("local", true)) }
        guard verb != "watch" else { return try watch(invocation, members) }
        let answer = try invocation.ask("values.\(verb)", members)
        guard !invocation.wantsJSON else {
            Terminal.print(answer.report.description)
            return ExitCode.success
        }
        switch verb {
        case "get": Terminal.print(answer.shown("value"))
        case "list": list(answer)
        case "set":
            Terminal.print(Style.dim("revision ") + answer.shown("revision"))
        default: Terminal.print("deleted")
        }
        return ExitCode.success
    }

    private static func expectation(
        _ invocation: Invocation,
        verb: String
    ) throws(Failure) -> [JSON.Member] {
        let names = ["--if-revision", "--expect", "--if-absent"].filter(invocation.has)
        guard let name = names.first else { return [] }
        guard names.count == 1 else {
            throw .usage("give one of \(names.joined(separator: " and "))", command: "values")
        }
        guard verb == "set" || verb == "delete" && name != "--if-absent" else {
            throw .usage("\(name) has no meaning for 'values \(verb)'", command: "values")
        }
        switch name {
        case "--if-revision":
            let text = invocation.value(name) ?? ""
            guard Revision(text) != nil else {
                throw .usage(
                    "'\(text.printable)' is no revision",
                    hint: "'huddle values get KEY --json' shows it",
                    command: "values"
                )
            }
            return [.text("ifRevision", text)]
        case "--expect": return [.text("expect", invocation.value(name) ?? "")]
        default: return [JSON.Member("ifAbsent", true)]
        }
    }

    private static func list(_ answer: JSON) {
        let values = answer["values"]?.elements ?? []
        guard !values.isEmpty else {
            return Terminal.print("no values yet; 'huddle values set KEY VALUE' writes one")
        }
        var grid = Grid()
        for value in values {
            grid.add([
                Style.bold(value.shown("key")), value.shown("value"),
                Style.dim(value.shown("revision")),
            ])
        }
        Terminal.print(grid.text)
    }

    /// Prints each change as it comes, until a signal or the node's end.
    private static func watch(
        _ invocation: Invocation,
        _ members: [JSON.Member]
    ) throws(Failure) -> Int32 {
        let client = try invocation.connect()
        _ = try client.ask("subscribe", [.text("topic", "values")] + members)
        while true {
            if let signal = Signals.take() { return Signals.exitCode(signal) }
            guard let event = try client.event(within: .milliseconds(100)) else { continue }
            if invocation.wantsJSON {
                Terminal.print(event.description)
            } else if event["value"] == .null {
                Terminal.print("\(Style.bold(event.shown("key"))) \(Style.dim("deleted"))")
            } else {
                Terminal.print(
                    "\(Style.bold(event.shown("key"))) \(event.shown("value"))  "
                        + Style.dim(event.shown("revision"))
                )
            }
        }
    }
}
