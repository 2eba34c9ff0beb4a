import Foundation

/// The scenarios beside this file.
enum ScenarioFiles {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Scenarios")

    /// The names of all files, in order.
    static let all: [String] = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).filter { $0.hasSuffix(".txt") }.sorted()
    }()

    static func text(_ name: String) -> String {
        let data = FileManager.default.contents(atPath: folder.appending(path: name).path)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}
