import Foundation
import Glibc
import Huddle
import MeshNet
import MeshWire

/// One node of the demo: a real process of this same program, with a home of its own.
final class DemoNode {
    /// What the others see.
    let name: String
    private let folder: String
    private let command: String
    private var process: ChildProcess?
    private var connection: ControlClient?
    private let readiness: Int32
    /// The UDP port, once it is ready.
    private(set) var port: UInt16 = 0

    /// Starts the process below `folder`; ``awaitReady(within:)`` waits for it.
    ///
    /// It is part of what `command` does, and goes back to its room if `resumes`.
    init(
        name: String,
        below parent: String,
        fault: String,
        command: String = "demo",
        resumes: Bool = false
    ) throws(Failure) {
        self.name = name
        self.command = command
        folder = "\(parent)/\(name)"
        makeDirectories("\(folder)/run/huddle")
        let (reading, writing) = try makePipe()
        readiness = reading
        defer { close(writing) }
        var arguments = ["up", "--name", name, "--loopback"]
        if !resumes { arguments.append("--no-room") }
        if !fault.isEmpty { arguments += ["--fault", fault] }
        arguments += ["--ready-descriptor", "3", "--parent", "\(getpid())"]
        process = try ChildProcess.start(
            arguments,
            environment: Self.environment(below: folder),
            output: .nothing,
            errors: .file("\(folder)/log"),
            passing: writing
        )
    }

    deinit {
        close(readiness)
    }

    private static func environment(below folder: String) -> [String] {
        let own = ["HOME", "NO_COLOR", "HUDDLE_", "XDG_"]
        let inherited = wholeEnvironment().filter { entry in !own.contains { entry.hasPrefix($0) } }
        let homes = ["DATA": "data", "STATE": "state", "CACHE": "cache", "CONFIG": "config"]
        return inherited + homes.map { "XDG_\($0)_HOME=\(folder)/\($1)" }
            + ["XDG_RUNTIME_DIR=\(folder)/run", "HOME=\(folder)", "NO_COLOR=1"]
    }

    /// Waits until the node serves its control socket.
    func awaitReady(within timeout: Duration) throws(Failure) {
        let deadline = SystemClock.now() + timeout
        var line: [UInt8] = []
        while !line.contains(UInt8(ascii: "\n")) {
            try DemoStage.checkSignals()
            guard SystemClock.now() < deadline else {
                throw Failure(
                    command,
                    "\(name) was not ready within \(timeout.components.seconds) s"
                )
            }
            guard waitReadable([readiness], within: .milliseconds(50))[0] else { continue }
            guard let bytes = readSome(readiness), !bytes.isEmpty else {
                throw Failure(command, "\(name)'s process ended: \(lastLogLine)")
            }
            line += bytes
        }
        let greeting: JSON
        do {
            greeting = try JSONReader.read(line.filter { $0 != UInt8(ascii: "\n") })
        } catch {
            throw Failure(command, "\(name) said what nobody understands")
        }
        if let error = greeting["error"] { throw Failure(ControlFailure(json: error)) }
        port = UInt16(clamping: greeting["port"]?.whole ?? 0)
        do {
            let client = try ControlClient(path: "\(folder)/run/huddle/node.sock")
            client.isInterrupted = { Signals.isPending }
            connection = client
        } catch {
            throw Failure(error)
        }
    }

    /// The process id.
    var pid: Int32 { process?.id ?? 0 }

    /// The connection to the node's control socket.
    var control: ControlClient {
        get throws(Failure) {
            guard let connection else { throw Failure(command, "\(name) is gone") }
            return connection
        }
    }

    /// Asks the node once.
    @discardableResult
    func ask(
        _ op: String,
        _ members: [JSON.Member] = [],
        within timeout: Duration = .seconds(15)
    ) throws(Failure) -> JSON {
        do {
            return try control.request(op, members, within: timeout)
        } catch let error as ControlFailure {
            var failure = Failure(error)
            if failure.code != "stopped" { failure.message = "\(name): \(error.message)" }
            throw failure
        } catch let error as Failure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    /// Ends the process as a crash does, without waiting until it is gone.
    func kill() {
        process?.signalGroup(SIGKILL)
        connection = nil
    }

    /// Ends the process as a crash does, and waits until it is gone.
    func crash() {
        kill()
        reap(within: .seconds(2))
    }

    /// Asks the process to end.
    func askToEnd() {
        connection = nil
        process?.signal(SIGTERM)
    }

    /// Waits for the process's end, and ends it by force if it takes longer.
    func reap(within timeout: Duration) {
        guard let process else { return }
        let deadline = SystemClock.now() + timeout
        var isForced = false
        while process.reap() == nil {
            if SystemClock.now() > deadline, !isForced {
                process.signalGroup(SIGKILL)
                isForced = true
            }
            usleep(5000)
        }
        self.process = nil
    }

    private var lastLogLine: String {
        // Without a log the error says less, which is all there is.
        let text = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").last.map(String.init) ?? "it left no word"
    }
}
