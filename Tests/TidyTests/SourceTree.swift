import Foundation

/// The files of the package, as the tidy tests read them.
enum SourceTree {
    /// The package's folder.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Every Swift file under Sources, sorted by path.
    static let sources = swiftFiles(under: "Sources")

    /// Every Swift file under Tests, sorted by path.
    static let tests = swiftFiles(under: "Tests")

    /// The sources of the modules where equal inputs give equal outputs.
    static let core = sources.filter { Layers.sansIO.contains($0.module) }

    /// The paths of all files under `folder` that `isWanted` by their extension, sorted.
    static func paths(under folder: String, where isWanted: (String) -> Bool) -> [String] {
        let start = root.appending(path: folder)
        guard let walk = FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil)
        else { return [] }
        return walk.compactMap { $0 as? URL }
            .filter { !$0.hasDirectoryPath && isWanted($0.pathExtension) }
            .map { String($0.standardizedFileURL.path.dropFirst(root.path.count)) }
            .map { $0.hasPrefix("/") ? String($0.dropFirst()) : $0 }
            .sorted()
    }

    /// The text of the file at `path` from the root.
    static func text(_ path: String) -> String {
        (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
    }

    private static func swiftFiles(under folder: String) -> [SourceFile] {
        paths(under: folder) { $0 == "swift" }.map { SourceFile(path: $0, text: text($0)) }
    }
}

/// One Swift file.
struct SourceFile: Sendable {
    /// From the package's folder.
    let path: String
    /// As it stands.
    let lines: [String]
    /// The same lines with comments and the contents of strings blanked.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.components(separatedBy: "\n")
        var blanker = Blanker()
        code = lines.map { blanker.blank($0) }
    }

    /// The folder under Sources or Tests.
    var module: String { path.components(separatedBy: "/").dropFirst().first ?? "" }

    /// The modules it imports.
    var imports: [String] {
        code.compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
                words[..<place].allSatisfy({ Self.importModifiers.contains($0) })
            else { return nil }
            // `import struct Module.Name` names the module last.
            let name = words[words.count - 1]
            return name.components(separatedBy: ".").first
        }
    }

    private static let importModifiers = [
        "public", "package", "internal", "private", "fileprivate", "@testable", "@_exported",
        "@preconcurrency",
    ]

    /// The lines of code that `pattern` matches, as `path:line: text`.
    func hits<Output>(of pattern: Regex<Output>) -> [String] {
        let pattern = pattern.wordBoundaryKind(.simple)
        return code.indices.filter { code[$0].firstMatch(of: pattern) != nil }.map(hit)
    }

    /// How a finding names a line.
    func hit(_ index: Int) -> String {
        "\(path):\(index + 1): \(lines[index].trimmingCharacters(in: .whitespaces))"
    }
}

/// Blanks comments and the contents of strings, line by line.
private struct Blanker {
    private var isInComment = false
    private var isInString = false

    mutating func blank(_ line: String) -> String {
        var out = ""
        var rest = Substring(line)
        while !rest.isEmpty {
            if isInComment {
                guard let end = rest.range(of: "*/") else { return out }
                isInComment = false
                rest = rest[end.upperBound...]
            } else if isInString {
                guard let end = rest.range(of: "\"\"\"") else { return out }
                isInString = false
                rest = rest[end.upperBound...]
            } else if rest.hasPrefix("//") {
                return out
            } else if rest.hasPrefix("/*") {
                isInComment = true
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("\"\"\"") {
                isInString = true
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("\"") {
                out += "\"\""
                rest = Self.afterString(rest.dropFirst())
            } else {
                out.append(rest.removeFirst())
            }
        }
        return out
    }

    /// What follows the string that `text` is the inside of; interpolations may hold strings.
    private static func afterString(_ text: Substring) -> Substring {
        var rest = text
        var depth = 0
        while let next = rest.popFirst() {
            switch next {
            case "\\":
                if rest.first == "(" { depth += 1 }
                rest = rest.dropFirst()
            case "(" where depth > 0: depth += 1
            case ")" where depth > 0: depth -= 1
            case "\"" where depth > 0: rest = afterString(rest)
            case "\"": return rest
            default: break
            }
        }
        return rest
    }
}
