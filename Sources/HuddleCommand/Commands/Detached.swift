import Glibc
import Huddle

/// `huddle up --detach`: starts the node as a process of its own and waits until it is ready.
enum Detached {
    static func start(_ invocation: Invocation) throws(Failure) -> Int32 {
        let arguments =
            ["up", "--ready-descriptor", "3"] + invocation.words(except: ["--detach", "--json"])
        let places = try ControlSocketPath.places()
        makeDirectories(places.state)
        if let reason = whyNotWritable(places.state) {
            throw Failure(
                "file",
                "the node's log cannot be kept in \(places.state): \(reason)",
                exit: ExitCode.usage
            )
        }
        let (reading, writing) = try makePipe()
        defer { close(reading) }
        let child: ChildProcess
        do {
            child = try ChildProcess.start(
                arguments,
                environment: wholeEnvironment(),
                output: .nothing,
                errors: .file(places.log),
                passing: writing,
                newSession: true
            )
        } catch {
            close(writing)
            throw error
        }
        close(writing)
        return try wait(for: child, on: reading, log: places.log, asJSON: invocation.wantsJSON)
    }

    private static func wait(
        for child: ChildProcess,
        on descriptor: Int32,
        log: String,
        asJSON: Bool
    ) throws(Failure) -> Int32 {
        let line = readLine(descriptor, within: .seconds(30), child: child)
        guard let line, let answer = parse(line) else {
            child.signal(SIGTERM)
            throw Failure(
                "notReady",
                "the node did not become ready",
                hint: "its log is \(log)"
            )
        }
        if let error = answer["error"] {
            var failure = Failure(ControlFailure(json: error))
            failure.exit = waitForExit(child) ?? failure.exit
            throw failure
        }
        if asJSON {
            Terminal.print(answer.description)
        } else {
            let greeting = Greeting(json: answer)
            Terminal.print(greeting.text(isForeground: false, pid: answer["pid"]?.whole))
        }
        return ExitCode.success
    }

    private static func parse(_ line: [UInt8]) -> JSON? {
        // What is no JSON is no answer; the caller says so.
        try? JSONReader.read(line)
    }

    private static func waitForExit(_ child: ChildProcess) -> Int32? {
        for _ in 0..<100 {
            if let code = child.reap() { return code }
            usleep(20_000)
        }
        return nil
    }

    /// The line that the child writes; `nil` at its end, after the time, or on a signal.
    private static func readLine(
        _ descriptor: Int32,
        within timeout: Duration,
        child: ChildProcess
    ) -> [UInt8]? {
        let deadline = ContinuousClock.now + timeout
        var line: [UInt8] = []
        while ContinuousClock.now < deadline {
            if Signals.take() != nil { return nil }
            guard waitReadable([descriptor], within: .milliseconds(100))[0] else { continue }
            guard let bytes = readSome(descriptor), !bytes.isEmpty else { return nil }
            line += bytes
            if let end = line.firstIndex(of: UInt8(ascii: "\n")) { return Array(line[..<end]) }
        }
        return nil
    }
}

/// The descriptor on which a detached node says that it is ready, or why not.
struct Readiness {
    let descriptor: Int32

    init?(_ invocation: Invocation) throws(Failure) {
        let number: Int32? = try invocation.number("--ready-descriptor", in: 3...1023)
        guard let number else { return nil }
        descriptor = number
    }

    /// Writes one line and closes the descriptor.
    func tell(_ json: JSON) {
        writeAll((json.description + "\n").utf8, to: descriptor)
        close(descriptor)
    }
}
