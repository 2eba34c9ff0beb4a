import Foundation
import Huddle
import Testing

/// The README's program, compiled and run; the test beside it holds the two texts together.
private enum Sample {
    static func greet(_ places: Places) async throws {
        let node = try await Node.start(NodeConfiguration(name: "ada", places: places))
        let room = try await node.createRoom(named: "den")
        let code = try await room.invite().code  // say it to a guest: `node.join(Invitation(code))`

        let session = try await room.start("org.example.draw")
        let strokes = await session.messages(on: "strokes")
        let drawing = Task {
            for await stroke in strokes { print("\(stroke.from): \(stroke.payload.count) bytes") }
        }

        try await session.send([1, 2, 3], on: "strokes")  // once, in order, to everybody who stays
        try await session.sendFast([9], key: 1, latest: true)  // newest first; the last arrives
        let revision = try await session.values.set("turn", to: Array("ada".utf8), if: .absent)
        print("a room with code \(code) is at revision \(revision)")

        drawing.cancel()
        await node.stop()
    }
}

@Suite("README")
struct ReadmeTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("its program runs as it stands")
    func runs() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "huddle-readme-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await Sample.greet(Places(below: folder.path))
    }

    @Test("its program is the one that was compiled")
    func isCompiled() throws {
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let block = try #require(readme.components(separatedBy: "```swift\n").dropFirst().first)
        let sample = try #require(block.components(separatedBy: "```").first)
        let lines = sample.split(separator: "\n").filter { !$0.hasPrefix("import") }
        for line in lines {
            #expect(source.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)")
        }
        #expect(lines.count > 15)
    }
}
