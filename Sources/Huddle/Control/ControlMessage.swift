/// The control socket's language: one JSON object a line, in both directions.
///
/// A request is `{"op": "status", …}`. Each gets exactly one answer: `{"ok": true, …}` or
/// `{"error": {"code", "message", "hint"}}`. A request that subscribes gets its answer first and
/// then lines `{"event": …}` until the connection closes. Requests of one connection are answered in the
/// order in which they finish; `"id"`, if given, comes back in the answer (`60-lab.md` §3).
package enum ControlMessage {
    /// The longest line, its newline included: an activity of 64 KiB has a place in it as JSON.
    package static let lineBytesMaximum = 1 << 17
    /// Connections a node serves at a time.
    package static let connectionsMaximum = 32
    /// Requests of one connection that may wait for their answers.
    package static let pendingMaximum = 256

    /// An answer that carries `members`.
    package static func success(id: JSON?, _ members: [JSON.Member] = []) -> JSON {
        var all = [JSON.Member("ok", true)] + members
        if let id { all.append(JSON.Member("id", id)) }
        return .object(all)
    }

    /// An answer that says why not.
    package static func failure(id: JSON?, _ failure: ControlFailure) -> JSON {
        var all = [JSON.Member("error", failure.json)]
        if let id { all.append(JSON.Member("id", id)) }
        return .object(all)
    }

    /// A line of a subscription.
    package static func event(_ kind: String, _ members: [JSON.Member]) -> JSON {
        .object([JSON.Member("event", .string(kind))] + members)
    }
}

/// Why a request failed, in words for a person and a code for a program.
package struct ControlFailure: Error, Hashable, Sendable {
    /// A stable word, such as `noRoom`.
    package var code: String
    /// What went wrong and why, in one sentence without a stop.
    package var message: String
    /// What to try next.
    package var hint: String?
    /// The exit code of the command that asked (`00-overview.md`, "The command line").
    package var exit: Int32
    /// Further facts, such as the current revision of a value.
    package var details: JSON?

    package init(
        _ code: String,
        _ message: String,
        hint: String? = nil,
        exit: Int32 = 1,
        details: JSON? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.exit = exit
        self.details = details
    }

    /// The failure as the member `error` of an answer.
    package var json: JSON {
        .record([
            "code": .string(code),
            "message": .string(message),
            "hint": hint.map(JSON.string),
            "exit": .count(exit),
            "details": details,
        ])
    }

    /// The failure that an answer's member `error` tells of.
    package init(json: JSON) {
        self.init(
            json["code"]?.text ?? "unknown",
            json["message"]?.text ?? "the node refused without a reason",
            hint: json["hint"]?.text,
            exit: Int32(clamping: json["exit"]?.whole ?? 1),
            details: json["details"]
        )
    }
}
