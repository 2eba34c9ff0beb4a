import Glibc
import Huddle

/// `huddle start`: starts an activity for the programs that know it.
enum StartCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        var members = [JSON.Member.text("activity", invocation.operands[0])]
        if let title = invocation.value("--title") { members.append(.text("title", title)) }
        members.append(JSON.Member("payload", try payload(invocation)))
        let answer = try invocation.connect().ask("activity.start", members)
        invocation.show(
            answer,
            answer["isNew"]?.flag == false
                ? "the same runs already: \(answer.shown("activity"))"
                : "started \(answer.shown("activity")); programs that know it are offered the session"
        )
        return ExitCode.success
    }

    /// The activity's value: the file's, or an object of the texts given.
    private static func payload(_ invocation: Invocation) throws(Failure) -> JSON {
        let fields = invocation.operands.dropFirst()
        guard let path = invocation.value("--payload") else {
            var members: [JSON.Member] = []
            for field in fields { members.append(try pair(field)) }
            return .object(members)
        }
        if let field = fields.first {
            throw .usage(
                "--payload has the whole value: '\(field.printable)' has no place beside it",
                command: "start"
            )
        }
        return try read(path)
    }

    private static func pair(_ field: String) throws(Failure) -> JSON.Member {
        let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw .usage("'\(field.printable)' is no KEY=VALUE", command: "start")
        }
        return .text(String(parts[0]), String(parts[1]))
    }

    /// The JSON of a file; `-` is the standard input.
    private static func read(_ path: String) throws(Failure) -> JSON {
        let name = path == "-" ? "the standard input" : path.printable
        let descriptor = path == "-" ? 0 : openForReading(path)
        guard let descriptor else {
            throw Failure(
                "file",
                "cannot read \(name): \(systemMessage(errno))",
                exit: ExitCode.usage
            )
        }
        defer { if path != "-" { close(descriptor) } }
        // What is longer has no place in a request; one byte more tells that it is.
        let limit = ControlMessage.lineBytesMaximum
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard let more = readSome(descriptor, limit: limit + 1 - bytes.count) else {
                throw Failure("file", "cannot read \(name)", exit: ExitCode.usage)
            }
            if more.isEmpty { break }
            bytes += more
        }
        guard bytes.count <= limit else {
            throw Failure("file", "\(name) has more than \(limit) bytes", exit: ExitCode.usage)
        }
        do {
            return try JSONReader.read(bytes)
        } catch {
            let reason =
                switch error {
                case .unexpected(let offset): "something else was expected at byte \(offset)"
                case .tooDeep(let offset):
                    "it nests more than \(JSONReader.depthMaximum) deep at byte \(offset)"
                }
            throw Failure("file", "\(name) is no JSON: \(reason)", exit: ExitCode.usage)
        }
    }
}
