import Foundation
import Testing

@Suite("Links") struct LinkTests {
    static let articles = SourceTree.paths(under: "Sources") { $0 == "md" || $0 == "tutorial" }
    static let documents =
        articles
        + ["README.md"].filter { !SourceTree.text($0).isEmpty }
        + SourceTree.paths(under: "Tools") { $0 == "md" }

    @Test("every relative link of a document leads to a file") func relativeLinks() {
        for path in Self.documents {
            let folder = SourceTree.root.appending(path: path).deletingLastPathComponent()
            for match in Self.prose(of: path).matches(of: /\]\(([^)\s]+)\)/) {
                let target = match.1.split(separator: "#", omittingEmptySubsequences: false)[0]
                guard !target.isEmpty, !target.contains(/^[a-z]+:/) else { continue }
                let file = folder.appending(path: String(target)).standardizedFileURL.path
                #expect(FileManager.default.fileExists(atPath: file), "\(path) links \(target)")
            }
        }
    }

    @Test("every article that a document names is there") func articleLinks() {
        let names = Set(
            Self.articles.map { path in
                let name = path.components(separatedBy: "/").last ?? ""
                return name.components(separatedBy: ".").first ?? ""
            }
        )
        let files =
            Self.articles.map { ($0, Self.prose(of: $0)) }
            + SourceTree.sources.map { ($0.path, $0.lines.joined(separator: "\n")) }
        for (path, text) in files where text.holds("<doc:") {
            for match in text.matches(of: /<doc:([^>#]+)[^>]*>/) {
                let name = match.1.components(separatedBy: "/").last ?? ""
                #expect(names.contains(name), "\(path) names \(match.1)")
            }
        }
    }

    @Test("every article is reached from the front page") func orphans() {
        let texts = Self.articles.map { Self.prose(of: $0) }.joined()
        for path in Self.articles {
            let name = path.components(separatedBy: "/").last?.components(separatedBy: ".").first
            guard let name, name != "Huddle" else { continue }
            #expect(texts.contains("doc:\(name)>"), "nobody links \(path)")
        }
    }

    @Test("comments cite chapters by their names") func chapters() {
        let chapters = [
            "00-overview", "10-security", "20-transport", "30-consensus", "40-groupactivities",
            "50-journal-and-playback", "60-lab", "70-style",
        ]
        let all = SourceTree.sources + SourceTree.tests.filter { $0.module != "TidyTests" }
        for file in all {
            for (index, line) in file.lines.enumerated() where line.holds("0-") {
                for match in line.matches(of: /\b([0-9]0-[a-z][a-z-]+)(\.md)?/)
                where line.contains("§") || match.2 != nil {
                    #expect(chapters.contains(String(match.1)), "\(file.hit(index))")
                }
            }
        }
    }

    /// The text of a document without its code blocks.
    static func prose(of path: String) -> String {
        SourceTree.text(path).components(separatedBy: "```").enumerated()
            .filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined()
    }
}
