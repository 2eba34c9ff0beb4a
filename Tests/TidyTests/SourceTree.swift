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
        // An unreadable file has no text, and the tests that need it say so.
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
    private let codeText: String

    init(path: String, text: String) {
        self.path = path
        lines = text.components(separatedBy: "\n")
        var blanker = Blanker()
        code = lines.map { blanker.blank($0) }
        codeText = code.joined(separator: "\n")
    }

    /// Whether the code holds any of `words`; quick, so that patterns are tried where they may match.
    func mentions(_ words: [String]) -> Bool {
        words.contains(where: codeText.holds)
    }

    /// The folder under Sources or Tests.
    var module: String { path.components(separatedBy: "/").dropFirst().first ?? "" }

    /// The modules it imports.
    var imports: [String] {
        code.lazy.filter { $0.holds("import") }.compactMap { line in
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
        // Most lines have nothing to blank, and the tests run unoptimized.
        guard isInComment || isInString || ["\"", "//", "/*"].contains(where: line.holds) else {
            return line
        }
        let bytes = Array(line.utf8)
        var out: [UInt8] = []
        var index = 0
        func isNext(_ a: UInt8, _ b: UInt8) -> Bool {
            bytes[index] == a && index + 1 < bytes.count && bytes[index + 1] == b
        }
        func isLongQuote() -> Bool {
            isNext(Self.quote, Self.quote) && index + 2 < bytes.count
                && bytes[index + 2] == Self.quote
        }
        while index < bytes.count {
            if isInComment {
                isInComment = !isNext(Self.star, Self.slash)
                index += isInComment ? 1 : 2
            } else if isInString {
                isInString = !isLongQuote()
                index += isInString ? 1 : 3
            } else if isNext(Self.slash, Self.slash) {
                break
            } else if isNext(Self.slash, Self.star) {
                isInComment = true
                index += 2
            } else if isLongQuote() {
                isInString = true
                index += 3
            } else {
                out.append(bytes[index])
                index += 1
                guard bytes[index - 1] == Self.quote else { continue }
                out.append(Self.quote)
                index = Self.afterString(bytes, index)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The index behind the string whose inside begins at `start`; interpolations may hold strings.
    private static func afterString(_ bytes: [UInt8], _ start: Int) -> Int {
        var index = start
        var depth = 0
        while index < bytes.count {
            let next = bytes[index]
            index += 1
            switch next {
            case UInt8(ascii: "\\"):
                if index < bytes.count, bytes[index] == UInt8(ascii: "(") { depth += 1 }
                index += 1
            case UInt8(ascii: "(") where depth > 0: depth += 1
            case UInt8(ascii: ")") where depth > 0: depth -= 1
            case quote where depth > 0: index = afterString(bytes, index)
            case quote: return index
            default: break
            }
        }
        return index
    }

    private static let quote = UInt8(ascii: "\"")
    private static let slash = UInt8(ascii: "/")
    private static let star = UInt8(ascii: "*")
}

extension String {
    /// Whether the text holds `word`, byte by byte; quick even where nothing is optimized.
    func holds(_ word: String) -> Bool {
        strstr(self, word) != nil
    }
}
