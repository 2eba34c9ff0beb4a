import Foundation
import GroupActivities
import Huddle

/// `huddle open`: shows the address that an activity names for those who lack its program, and opens it.
enum OpenCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let session = try choose(
            try invocation.ask("sessions")["sessions"]?.elements ?? [],
            invocation.operands.first
        )
        let url = try check(session["fallbackURL"]?.text ?? "")
        if !invocation.wantsJSON {
            Terminal.print("\(session.shown("activity")): \(Style.bold(url))")
        }
        let isOpened = invocation.has("--yes") || !invocation.wantsJSON && asks()
        if isOpened { try open(url) }
        if !invocation.wantsJSON { Terminal.print(isOpened ? "opened" : "not opened") }
        if invocation.wantsJSON {
            let answer: JSON = [
                "activity": .string(session["activity"]?.text ?? ""), "url": .string(url),
                "isOpened": .bool(isOpened),
            ]
            Terminal.print(answer.description)
        }
        return ExitCode.success
    }

    /// The session that is meant: the one named, or the only one that has an address.
    private static func choose(_ sessions: [JSON], _ name: String?) throws(Failure) -> JSON {
        let named = sessions.filter { session in
            guard let name else { return session["fallbackURL"] != nil }
            return session["activity"]?.text == name || session["id"]?.text?.hasPrefix(name) == true
        }
        guard let first = named.first else {
            throw Failure(
                name == nil ? "noAddress" : "noSession",
                name.map { "there is no session '\($0.printable)'" }
                    ?? "no session that runs names an address",
                hint: "'huddle sessions' lists what runs"
            )
        }
        guard named.count == 1 else {
            throw .usage(
                "\(named.count) sessions could be meant",
                hint: "name one: " + named.map { $0.shown("id").prefix(8) }.joined(separator: ", "),
                command: "open"
            )
        }
        guard first["fallbackURL"] != nil else {
            throw Failure("noAddress", "'\(first.shown("activity"))' names no address")
        }
        return first
    }

    /// An address of another member is opened only if it is plain to read where it leads.
    private static func check(_ text: String) throws(Failure) -> String {
        var rules = CampaignRules()
        // A person looks at it and says yes; the program of a room may well be of its own network.
        rules.allowLocal = true
        do {
            return try rules.url(text).absoluteString
        } catch .rejected(let url, let reason) {
            throw Failure("unsafeAddress", "'\(url.printable)' is not opened: \(reason)")
        } catch {
            throw Failure("unsafeAddress", "the address is not opened: \(error)")
        }
    }

    private static func asks() -> Bool {
        Terminal.show("open it? [y/N] ")
        Signals.release()
        let line = readLine()?.trimmed.lowercased()
        if !Terminal.isInteractive { Terminal.print() }
        return line == "y" || line == "yes"
    }

    private static func open(_ url: String) throws(Failure) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["xdg-open", url]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let isOver = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in isOver.signal() }
        do {
            try process.run()
        } catch {
            throw Failure("system", "xdg-open cannot be started: \(error.localizedDescription)")
        }
        // Some browsers end with their last window only.
        guard isOver.wait(timeout: .now() + 3) == .success, process.terminationStatus != 0 else {
            return
        }
        throw Failure(
            "notOpened",
            process.terminationStatus == 127
                ? "there is no xdg-open on this machine"
                : "xdg-open ended with \(process.terminationStatus)",
            hint: "the address is \(url)",
            exit: process.terminationStatus == 127 ? ExitCode.unsupported : ExitCode.failure
        )
    }
}
