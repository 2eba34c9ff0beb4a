import Glibc
import Huddle

/// `huddle chat`: one line, or a conversation.
enum ChatCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        guard let text = invocation.operands.first else { return try converse(invocation) }
        guard !text.trimmed.isEmpty else {
            throw .usage("there is nothing to say in an empty text", command: "chat")
        }
        let answer = try invocation.ask("chat.send", [.text("text", text)], within: .seconds(45))
        invocation.show(answer, Style.dim(receipt(answer)))
        return ExitCode.success
    }

    /// Who got a message, in words.
    private static func receipt(_ answer: JSON) -> String {
        let delivered = (answer["delivered"]?.elements ?? []).map { $0.text?.printable ?? "-" }
        let missed = (answer["missed"]?.elements ?? []).map { $0.text?.printable ?? "-" }
        var parts: [String] = []
        if !delivered.isEmpty { parts.append("delivered to \(delivered.joined(separator: ", "))") }
        if !missed.isEmpty { parts.append("not to \(missed.joined(separator: ", "))") }
        return parts.isEmpty
            ? "nobody else is in the room to hear it" : parts.joined(separator: "; ")
    }

    private static func converse(_ invocation: Invocation) throws(Failure) -> Int32 {
        let client = try invocation.connect()
        _ = try client.ask("subscribe", [.text("topic", "chat")], within: .seconds(30))
        if !invocation.wantsJSON, Terminal.isInteractive {
            Terminal.print(Style.dim("you are in the chat; type a line to send it, Ctrl-D to end"))
        }
        var typed: [UInt8] = []
        var isOpen = true
        while true {
            if let signal = Signals.take() { return Signals.exitCode(signal) }
            while let event = try client.event(within: .zero) { show(event, invocation) }
            guard isOpen else { return ExitCode.success }
            let ready = waitReadable([client.descriptor, 0], within: .milliseconds(200))
            guard ready[1] else { continue }
            isOpen = fill(&typed)
            while let end = typed.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: typed[..<end], as: UTF8.self).trimmed
                typed.removeSubrange(...end)
                guard !line.isEmpty else { continue }
                do {
                    _ = try client.ask("chat.send", [.text("text", line)], within: .seconds(45))
                } catch {
                    // A conversation goes on after one line that did not get through.
                    Terminal.log(Style.red(error.message))
                    if error.code == "closed" { throw error }
                }
            }
        }
    }

    private static func show(_ event: JSON, _ invocation: Invocation) {
        guard !invocation.wantsJSON else { return Terminal.print(event.description) }
        let name = event.shown("from")
        switch event["event"]?.text {
        case "chat":
            let mine = event["isLocal"]?.flag == true
            guard !mine || event["isHistory"]?.flag == true || !Terminal.isInteractive else {
                return
            }
            Terminal.print("\(Style.cyan(name)): \(event.shown("text"))")
        case "joined": Terminal.print(Style.dim("\(name) joined"))
        case "left": Terminal.print(Style.dim("\(name) left"))
        case "away": Terminal.print(Style.dim("\(name) is away"))
        case "returned": Terminal.print(Style.dim("\(name) is back"))
        case "view": Terminal.print(Style.dim(event.shown("text")))
        default: break
        }
    }

    /// Reads what was typed; `false` at the end of input.
    private static func fill(_ typed: inout [UInt8]) -> Bool {
        guard let bytes = readSome(0) else { return errno == EAGAIN }
        guard !bytes.isEmpty else {
            if !typed.isEmpty { typed.append(UInt8(ascii: "\n")) }
            return false
        }
        typed += bytes
        return true
    }
}
