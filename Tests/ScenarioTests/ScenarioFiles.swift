import Foundation

/// The scenarios beside this file, and what the environment asks of their tests.
enum ScenarioFiles {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Scenarios")

    /// The names of all files, in order.
    static let all: [String] = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).filter { $0.hasSuffix(".txt") }.sorted()
    }()

    static let long = all.filter { text($0).contains("\nlong\n") }
    static let short = all.filter { !text($0).contains("\nlong\n") }

    static func text(_ name: String) -> String {
        let data = FileManager.default.contents(atPath: folder.appending(path: name).path)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    /// Whether `HUDDLE_REWRITE=1` asks to write the transcripts anew instead of comparing them.
    static var isRewriting: Bool { variable("HUDDLE_REWRITE") }

    /// Whether `HUDDLE_LONG=1` asks for the runs that take a minute.
    static var isLong: Bool { variable("HUDDLE_LONG") }

    private static func variable(_ name: String) -> Bool {
        ProcessInfo.processInfo.environment[name] == "1"
    }
}
