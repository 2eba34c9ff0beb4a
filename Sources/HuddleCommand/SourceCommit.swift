import Foundation

/// Which commit of its sources this program comes from, as far as can be known.
enum SourceCommit {
    /// The commit's hash: `HUDDLE_COMMIT` if that is set, else what is checked out above the program.
    static var name: String {
        if let name = ProcessInfo.processInfo.environment["HUDDLE_COMMIT"], !name.isEmpty {
            return name
        }
        guard let program = Bundle.main.executableURL?.resolvingSymlinksInPath() else {
            return "unknown"
        }
        var folder = program.deletingLastPathComponent()
        while folder.path != "/" {
            if let commit = commit(ofRepository: folder) { return commit }
            folder.deleteLastPathComponent()
        }
        return "unknown"
    }

    private static func commit(ofRepository folder: URL) -> String? {
        var git = folder.appending(path: ".git")
        // In a further working tree `.git` is a file that names the folder.
        if let text = read(git), text.hasPrefix("gitdir: ") {
            git = URL(fileURLWithPath: String(text.dropFirst(8)), relativeTo: folder)
        }
        guard let head = read(git.appending(path: "HEAD")) else { return nil }
        guard head.hasPrefix("ref: ") else { return head }
        let name = String(head.dropFirst(5))
        var roots = [git]
        if let common = read(git.appending(path: "commondir")) {
            roots.append(git.appending(path: common).standardizedFileURL)
        }
        for root in roots {
            if let commit = read(root.appending(path: name)) { return commit }
            let packed = read(root.appending(path: "packed-refs")) ?? ""
            for line in packed.split(separator: "\n") where line.hasSuffix(" \(name)") {
                return String(line.prefix { $0 != " " })
            }
        }
        return nil
    }

    private static func read(_ file: URL) -> String? {
        (try? String(contentsOf: file, encoding: .utf8))?
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
