import Foundation
import Glibc
import Testing

/// The program under test: the binary that the package builds beside the tests.
enum Program {
    /// What a run left.
    struct Outcome {
        var code: Int32
        var output: String
        var errors: String

        /// stdout as one JSON object.
        var json: [String: Any] {
            let value = try? JSONSerialization.jsonObject(with: Data(output.utf8))
            return value as? [String: Any] ?? [:]
        }
    }

    /// The path of the binary.
    static let path: String = {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = own.split(separator: "/").dropLast().joined(separator: "/")
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let candidates = ["/\(beside)/huddle", "/\(root)/.build/debug/huddle"]
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
            ?? candidates[1]
    }()

    /// Runs the program to its end.
    static func run(
        _ arguments: [String],
        home: Home? = nil,
        input: String = "",
        prefix: [String] = []
    ) throws -> Outcome {
        let process = try start(arguments, home: home, input: input, prefix: prefix)
        return process.finish()
    }

    /// Starts the program.
    static func start(
        _ arguments: [String],
        home: Home? = nil,
        input: String = "",
        prefix: [String] = []
    ) throws -> Running {
        let words = prefix + [path] + arguments
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: words[0].hasPrefix("/") ? words[0] : "/usr/bin/env"
        )
        process.arguments = words[0].hasPrefix("/") ? Array(words.dropFirst()) : words
        process.environment = home?.environment ?? Home.nowhere
        let running = Running(process)
        try process.run()
        running.write(input)
        return running
    }

    /// A run under way.
    final class Running {
        private let process: Process
        private let output = Pipe()
        private let errors = Pipe()
        private let input = Pipe()

        fileprivate init(_ process: Process) {
            self.process = process
            process.standardOutput = output
            process.standardError = errors
            process.standardInput = input
        }

        fileprivate func write(_ text: String) {
            input.fileHandleForWriting.write(Data(text.utf8))
            try? input.fileHandleForWriting.close()
        }

        var id: Int32 { process.processIdentifier }

        func signal(_ number: Int32) { kill(id, number) }

        private var earlyOutput = Data()
        private var earlyErrors = Data()

        /// Waits for the next line of stdout; `nil` at its end.
        func outputLine() -> String? { Self.line(of: output, into: &earlyOutput) }

        /// Waits for the next line of stderr; `nil` at its end.
        func errorLine() -> String? { Self.line(of: errors, into: &earlyErrors) }

        private static func line(of pipe: Pipe, into all: inout Data) -> String? {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while read(pipe.fileHandleForReading.fileDescriptor, &byte, 1) == 1 {
                all.append(byte)
                guard byte != UInt8(ascii: "\n") else {
                    return String(decoding: line, as: UTF8.self)
                }
                line.append(byte)
            }
            return nil
        }

        /// Waits for the end; the outcome has also the lines that were read before.
        func finish() -> Outcome {
            let output = earlyOutput + self.output.fileHandleForReading.readDataToEndOfFile()
            let errors = earlyErrors + self.errors.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return Outcome(
                code: process.terminationReason == .exit
                    ? process.terminationStatus : 128 + process.terminationStatus,
                output: String(decoding: output, as: UTF8.self),
                errors: String(decoding: errors, as: UTF8.self)
            )
        }
    }
}

/// A folder with the XDG directories of one user; removed by ``remove()``.
struct Home {
    let folder: String

    init() throws {
        var template = Array("/tmp/huddle-test-XXXXXX".utf8CString)
        _ = try #require(mkdtemp(&template))
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try FileManager.default.createDirectory(
            atPath: "\(folder)/run",
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    var socket: String { "\(folder)/run/huddle/node.sock" }
    var keyFile: String { "\(folder)/data/huddle/identity.key" }

    var environment: [String: String] {
        [
            "HOME": folder, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "NO_COLOR": "1",
            "XDG_DATA_HOME": "\(folder)/data", "XDG_STATE_HOME": "\(folder)/state",
            "XDG_CACHE_HOME": "\(folder)/cache", "XDG_CONFIG_HOME": "\(folder)/config",
            "XDG_RUNTIME_DIR": "\(folder)/run",
        ]
    }

    /// The environment of somebody who never started a node.
    static let nowhere = [
        "HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "NO_COLOR": "1",
        "XDG_RUNTIME_DIR": "/nonexistent/run",
    ]

    /// Runs the program in this home.
    func run(_ arguments: String..., input: String = "") throws -> Program.Outcome {
        try Program.run(arguments, home: self, input: input)
    }

    /// Starts a node on loopback in the background; `words` are further options.
    func up(_ words: String...) throws -> Program.Outcome {
        try Program.run(["up", "--loopback", "--detach", "--json"] + words, home: self)
    }

    /// Stops what runs here and removes the folder.
    func remove() {
        _ = try? Program.run(["down"], home: self)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
