import Foundation
import Synchronization
import Testing

/// One process of the small SharePlay program, as a test drives it.
final class Peer: Sendable {
    private struct State {
        var lines: [String] = []
        var partial = Data()
        var read = 0
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let name: String
    private let process: Process
    private let input: FileHandle
    private let state = Mutex(State())

    convenience init(
        _ name: String,
        in folder: String,
        program: String = "SharePlayPeer",
        _ arguments: [String]
    ) throws {
        try self.init(name, program, ["\(folder)/\(name)"] + arguments)
    }

    /// Any product of this package, such as `huddle`, with more in its environment.
    init(
        _ name: String,
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        hearsErrors: Bool = false
    ) throws {
        self.name = name
        process = Process()
        process.executableURL = Self.products.appendingPathComponent(program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(environment) { $1 }
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        if hearsErrors { process.standardError = stdout }
        input = stdin.fileHandleForWriting
        stdout.fileHandleForReading.readabilityHandler = { [weak self] handle in
            self?.take(handle.availableData)
        }
        try process.run()
    }

    /// Where the tests' own products stand.
    static let products = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    private func take(_ data: Data) {
        if data.isEmpty { return wake { $0.isClosed = true } }
        wake { state in
            state.partial.append(data)
            while let end = state.partial.firstIndex(of: 10) {
                let line = state.partial[state.partial.startIndex..<end]
                state.lines.append(String(decoding: line, as: UTF8.self))
                state.partial.removeSubrange(state.partial.startIndex...end)
            }
        }
    }

    /// Changes the state, and wakes who waits for a line.
    private func wake(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func tell(_ line: String) {
        input.write(Data((line + "\n").utf8))
    }

    /// All lines so far.
    var lines: [String] { state.withLock { $0.lines } }

    /// Waits for a line that begins so, behind those that were waited for before; answers its rest.
    @discardableResult
    func expect(
        _ beginning: String,
        within seconds: Double = 20,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let end = DispatchTime.now() + seconds
        DispatchQueue.global().asyncAfter(deadline: end) { [weak self] in self?.wake { _ in } }
        var found: String?
        var isOver = false
        while found == nil, !isOver {
            isOver = DispatchTime.now() >= end
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    let rest = state.lines[state.read...]
                    if let place = rest.firstIndex(where: { $0.hasPrefix(beginning) }) {
                        state.read = place + 1
                        found = String(state.lines[place].dropFirst(beginning.count))
                        return true
                    }
                    isOver = isOver || state.isClosed
                    if isOver { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        }
        if let found { return found.trimmingCharacters(in: .whitespaces) }
        let said = lines.suffix(12).joined(separator: "\n  ")
        Issue.record(
            "\(name) did not say '\(beginning)' within \(seconds) s; it said\n  \(said)",
            sourceLocation: location
        )
        throw Silence(what: beginning)
    }

    /// The rest of the last line that begins so, or of the next one.
    @discardableResult
    func hears(_ beginning: String) async throws -> String {
        if let line = lines.last(where: { $0.hasPrefix(beginning) }) {
            return String(line.dropFirst(beginning.count))
        }
        return try await expect(beginning)
    }

    struct Silence: Error { let what: String }

    var processIdentifier: Int32 { process.processIdentifier }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    func kill9() {
        signal(SIGKILL)
        process.waitUntilExit()
    }

    func stop() {
        guard process.isRunning else { return }
        signal(SIGCONT)
        signal(SIGKILL)
        process.waitUntilExit()
    }
}
