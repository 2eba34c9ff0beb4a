import Foundation
import GroupActivities
import HuddleTesting
import Testing

// The programs of the article 'From SharePlay to Huddle', compiled and run; the test below holds the two
// texts together.

struct Sketch: GroupActivity {
    let title: String

    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = title
        metadata.type = .createTogether
        return metadata
    }
}

private enum Sample {
    struct Stroke: Codable {
        var points: [Double]
    }

    @MainActor
    final class SketchManager {
        private var messenger: GroupSessionMessenger?
        private var subscriptions = Set<AnyCancellable>()
        private(set) var present = 0

        func observe() async {
            for await session in Sketch.sessions() {
                messenger = GroupSessionMessenger(session: session)
                session.$activeParticipants
                    .sink { [weak self] in self?.present = $0.count }
                    .store(in: &subscriptions)
                session.join()
            }
        }

        func draw(_ stroke: Stroke) async throws {
            try await messenger?.send(stroke)
        }
    }

    @MainActor
    static func everybodyDraws() async throws -> [Int] {
        let simulation = Simulation(seed: 7)
        let a = try await simulation.participant("A")
        let b = try await simulation.participant("B")
        let managers = [SketchManager(), SketchManager()]
        try await a.run { Task { await managers[0].observe() } }
        try await b.run { Task { await managers[1].observe() } }

        try await a.run { _ = try await Sketch(title: "den").activate() }
        try await simulation.settle(within: .seconds(2))  // of virtual time

        simulation.network.set(loss: 0.05, delay: .milliseconds(30))
        simulation.network.partition([b])
        await simulation.advance(by: .seconds(10))
        simulation.network.heal()
        try await a.run { try await managers[0].draw(Stroke(points: [1, 2])) }
        try await simulation.settle(within: .seconds(10))
        return managers.map(\.present)  // [2, 2]
    }
}

@Suite("From SharePlay to Huddle")
struct ArticleTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("its test runs as it stands")
    func runs() async throws {
        #expect(try await Sample.everybodyDraws() == [2, 2])
    }

    @Test("its programs are those that were compiled")
    func isCompiled() throws {
        let path = "Sources/Huddle/Huddle.docc/FromSharePlayToHuddle.md"
        let article = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let blocks = article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { $0.hasPrefix("import GroupActivities\n") }
        #expect(blocks.count == 2)
        for line in blocks.flatMap({ $0.split(separator: "\n") }) where !line.hasPrefix("import") {
            let words = line.trimmingCharacters(in: .whitespaces)
                .replacing("func everybodyDraws", with: "static func everybodyDraws")
            #expect(source.contains(words), "\(line)")
        }
    }
}
