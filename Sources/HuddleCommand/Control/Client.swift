import Huddle

/// Where the node's control socket is, and whether a node listens there.
enum ControlSocketPath {
    /// The path that an invocation speaks of: `--socket`, `HUDDLE_SOCKET`, or the user's own.
    static func path(_ invocation: Invocation) throws(Failure) -> String {
        if let path = invocation.value("--socket") ?? environment("HUDDLE_SOCKET") { return path }
        return try places().controlSocket
    }

    /// The places of this user.
    static func places() throws(Failure) -> Places {
        guard let places = Places.ofUser else {
            throw Failure(
                "noHome",
                "it is not known where your files are: HOME is not set",
                hint: "set HOME, or XDG_DATA_HOME, XDG_STATE_HOME and XDG_CACHE_HOME",
                exit: ExitCode.unsupported
            )
        }
        return places
    }

    /// Whether somebody answers at the user's own socket.
    static var isServed: Bool {
        guard let path = environment("HUDDLE_SOCKET") ?? Places.ofUser?.controlSocket else {
            return false
        }
        // Why nobody answers does not matter here: the first steps are shown then.
        return (try? ControlClient(path: path)) != nil
    }
}

extension Invocation {
    /// A connection to the node that this invocation speaks of.
    func connect() throws(Failure) -> ControlClient {
        let path = try ControlSocketPath.path(self)
        do {
            let client = try ControlClient(path: path)
            client.isInterrupted = { Signals.isPending }
            return client
        } catch {
            throw Failure(error)
        }
    }

    /// Prints the answer, in words or as the report that `--json` wants.
    func show(_ answer: JSON, _ words: @autoclosure () -> String) {
        Terminal.print(wantsJSON ? answer.report.description : words())
    }

    /// Asks the node once.
    func ask(
        _ op: String,
        _ members: [JSON.Member] = [],
        within timeout: Duration = .seconds(15)
    ) throws(Failure) -> JSON {
        try connect().ask(op, members, within: timeout)
    }
}

extension ControlClient {
    /// ``request(_:_:within:)`` with the failure as a command's.
    func ask(
        _ op: String,
        _ members: [JSON.Member] = [],
        within timeout: Duration = .seconds(15)
    ) throws(Failure) -> JSON {
        do {
            return try request(op, members, within: timeout)
        } catch {
            throw Failure(error)
        }
    }

    /// ``nextEvent(within:)`` with the failure as a command's.
    func event(within timeout: Duration) throws(Failure) -> JSON? {
        do {
            return try nextEvent(within: timeout)
        } catch {
            throw Failure(error)
        }
    }
}

extension JSON.Member {
    /// A member whose value is a text.
    static func text(_ key: String, _ value: String) -> JSON.Member {
        JSON.Member(key, .string(value))
    }
}

extension JSON {
    /// An answer as `--json` prints it: without the protocol's own members.
    var report: JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.key != "ok" && $0.key != "id" })
    }

    /// The text of a member, made safe for a terminal; `-` if there is none.
    func shown(_ key: String) -> String {
        self[key]?.text?.printable ?? "-"
    }
}
