import Foundation

/// A child process whose output is read; ended with this object.
///
/// `@unchecked`: the process is touched by `init` and `deinit` alone, and what it calls is `@Sendable`.
final class DumpChild: @unchecked Sendable {
    private let process = Process()
    private let output = Pipe()

    /// Starts `command`, which is looked for along `PATH`; `hear` gets each piece of the output, and `nil` once
    /// at its end.
    init(_ command: [String], hear: @escaping @Sendable (Data?) -> Void) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard data.isEmpty else { return hear(data) }
            handle.readabilityHandler = nil
            hear(nil)
        }
        try process.run()
    }

    deinit {
        output.fileHandleForReading.readabilityHandler = nil
        // The threads of the runtime have signals blocked, and a child inherits that: asked in any other way it
        // would stay.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}
