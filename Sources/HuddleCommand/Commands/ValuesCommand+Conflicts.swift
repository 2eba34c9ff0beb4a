import Huddle

// `huddle values conflicts`: what a merge could not join, and the word that settles it.
extension ValuesCommand {
    static func conflicts(_ invocation: Invocation) throws(Failure) -> Int32 {
        let words = invocation.operands.dropFirst()
        let about = invocation.value("--about") ?? "value"
        guard ["value", "activity", "ending", "session"].contains(about) else {
            throw .usage(
                "'\(about.printable)' is no subject of a conflict",
                hint: "it is value, activity, ending or session",
                command: "values"
            )
        }
        let options = ["--if-revision", "--expect", "--if-absent"].filter(invocation.has)
        if let name = options.first {
            throw .usage("\(name) has no meaning for 'values conflicts'", command: "values")
        }
        var members: [JSON.Member] = []
        if let session = invocation.value("--session") { members.append(.text("session", session)) }
        if invocation.has("--local") { members.append(JSON.Member("local", true)) }
        guard words.first != nil else {
            guard !invocation.has("--about") else {
                throw .usage("--about needs 'huddle values conflicts ack'", command: "values")
            }
            let answer = try invocation.ask("values.conflicts", members)
            invocation.show(answer, text(answer))
            return ExitCode.success
        }
        guard words.first == "ack", words.count == (about == "value" ? 2 : 1) else {
            let form = about == "value" ? "ack KEY" : "ack --about \(about)"
            throw .usage("it is 'huddle values conflicts \(form)'", command: "values")
        }
        members += [.text("about", about), .text("key", words.dropFirst().first ?? "")]
        let answer = try invocation.ask("values.acknowledge", members)
        invocation.show(answer, "settled")
        return ExitCode.success
    }

    /// The conflicts as a person reads them: one paragraph each.
    static func text(_ answer: JSON) -> String {
        let conflicts = answer["conflicts"]?.elements ?? []
        let unlisted = answer["unlisted"]?.whole ?? 0
        var paragraphs = conflicts.map(paragraph)
        if paragraphs.isEmpty { paragraphs.append("no conflicts") }
        if unlisted > 0 {
            paragraphs.append(Style.yellow("\(unlisted) more found no place and are not kept"))
        }
        return paragraphs.joined(separator: "\n")
    }

    private static func paragraph(_ conflict: JSON) -> String {
        let about = conflict.shown("about")
        let session = conflict.shown("activity")
        var head = Style.bold(about == "value" ? conflict.shown("key") : about)
        if about != "value" || session != "huddle.room" {
            let name = session.replacing("huddle.", with: "", maxReplacements: 1)
            head += Style.dim("  session \(name)")
        }
        var grid = Grid()
        grid.add([
            Style.dim("  before"),
            value(conflict["base"]?["value"], nothing: "nothing, or not known"),
        ])
        grid.add(line("kept", conflict["kept"] ?? .null, about))
        for side in conflict["lost"]?.elements ?? [] { grid.add(line("lost", side, about)) }
        return about == "ending"
            ? "\(head)\n  one side had ended it; it goes on, since the other side went on with it"
            : "\(head)\n\(grid.text)"
    }

    private static func line(_ word: String, _ side: JSON, _ about: String) -> [String] {
        let author = side["author"]?.text.map { "by \($0.printable)" } ?? ""
        let nothing = about == "value" ? "(deleted)" : "-"
        return [Style.dim("  \(word)"), value(side["value"], nothing: nothing), Style.dim(author)]
    }

    private static func value(_ content: JSON?, nothing: String) -> String {
        switch content {
        case .string(let text)?: text.printable
        case .integer(let sum)?: String(sum)
        case .array(let elements)?:
            "{\(elements.map { $0.text?.printable ?? "-" }.joined(separator: ", "))}"
        default: Style.dim(nothing)
        }
    }
}
