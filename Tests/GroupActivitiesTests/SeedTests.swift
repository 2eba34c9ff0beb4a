import Foundation
import Testing

/// The samples stand as the documents have them (`40-groupactivities.md` §13).
@Suite struct SeedTests {
    /// The code of one document: where it stands, and in what it differs.
    struct Sample: CustomTestStringConvertible, Sendable {
        var document: String
        var file: String
        /// The fewest lines that are the document's.
        var lines: Int
        /// Lines that only hold the document's fragments together, in a file of their own.
        var joints: Set<String> = []
        var edits: [Edit] = []
        /// Lines of the document that need playback, and wait for it.
        var waiting: [String] = []
        var testDescription: String { file }
    }

    /// A line of the document that cannot stand, what stands in its place, and why.
    struct Edit: Sendable {
        var document: [String]
        var sample: [String]
        var reason: String
    }

    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let seeds = root.deletingLastPathComponent().appendingPathComponent(
        "shared/seeds"
    )

    private static let formatter = "// swift-format-ignore-file"

    static let samples = [
        Sample(
            document: "000_b64684903afaf8b0",
            file: "Seed000/Seed000.swift",
            lines: 90,
            joints: [formatter],
            edits: [
                Edit(
                    document: ["var messenger: GroupSessionMessenger<DemoAppActivity>?"],
                    sample: ["var messenger: GroupSessionMessenger?"],
                    reason: "the class is not generic"
                )
            ]
        ),
        Sample(
            document: "001_63d154f3f65227ca",
            file: "Seed001.swift",
            lines: 100,
            joints: [
                "handleNewcomers(participants)",
                "func handleNewcomers(_ participants: Set<Participant>) {", "func finish() {",
                "private func handleParticipants(_ participants: Set<Participant>) {",
            ],
            waiting: [
                "import AVFoundation", "func configurePlayback(", "player: AVPlayer",
                "let coordinator = player.playbackCoordinator",
                "coordinator.coordinateWithSession(session)",
                "player.playbackCoordinator.coordinateWithSession(session)",
                "player.play()  // Automatically synced to all participants",
            ]
        ),
        Sample(
            document: "002_2c1e1154a604f6b0",
            file: "Seed002/Seed002.swift",
            lines: 65,
            joints: [
                formatter, "import Foundation", "import GroupActivities",
                "class ModalVideoViewController: ModalViewController {",
                "launchVideoPlayerIfNecessary()",
            ],
            edits: [
                Edit(
                    document: ["class CoordinationManager() {", "..."],
                    sample: ["class CoordinationManager {"],
                    reason: "a class has no parameters; what the document leaves out is a fill-in"
                )
            ],
            waiting: [
                "let asset = AVAsset(url: url)", "let playerItem = AVPlayerItem(asset: asset)",
                "player.replaceCurrentItem(with: playerItem)",
                "playerViewController.player = player",
            ]
        ),
        Sample(
            document: "003_64f535e5a5ded345",
            file: "Seed003/Seed003.swift",
            lines: 60,
            joints: [formatter, "import Foundation", "import GroupActivities"],
            edits: [
                Edit(
                    document: [
                        "GroupActivityMetadata()", ".$title.set(\"一起看电影\")",
                        ".$subtitle.set(movie.title)", ".$previewImageUrl.set(movie.posterURL)",
                        ".$type.set(.watchTogether)",
                    ],
                    sample: [
                        "var metadata = GroupActivityMetadata()", "metadata.title = \"一起看电影\"",
                        "metadata.subtitle = movie.title", "metadata.fallbackURL = movie.posterURL",
                        "metadata.type = .watchTogether", "return metadata",
                    ],
                    reason: "there are no such setters, and no address of a preview"
                ),
                Edit(
                    document: [
                        "for await (message, _) in session.messages(of: PlaybackMessage.self) {"
                    ],
                    sample: [
                        "for await (message, _) in self.messenger!.messages(of: PlaybackMessage.self) {"
                    ],
                    reason: "messages are the messenger's"
                ),
                Edit(
                    document: [
                        "player.coordinatedPlaybackPolicy = .groupSession",
                        "if reason == .coordinatedPlaybackNotEstablished {",
                    ],
                    sample: [],
                    reason: "there is no such policy, and no such reason"
                ),
            ],
            waiting: [
                "func setupPlayerForSharePlay(player: AVPlayer) {",
                "player.publisher(for: \\.reasonForWaitingToPlay)",
            ]
        ),
        Sample(
            document: "004_bc4ebbed8b6c9640",
            file: "Seed004/Seed004.swift",
            lines: 25,
            joints: [formatter],
            edits: [
                Edit(
                    document: ["import UIKit"],
                    sample: ["import Foundation"],
                    reason: "there is no UIKit, which brings Foundation with it"
                )
            ]
        ),
    ]

    private static func lines(_ url: URL) throws -> [String] {
        try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    @Test(
        "every line of the sample stands in its document, or is a listed edit",
        .enabled(
            if: FileManager.default.fileExists(atPath: seeds.path),
            "skipped: ../shared/seeds is not there"
        ),
        arguments: samples
    )
    func lines(_ sample: Sample) throws {
        let document = Set(
            try Self.lines(Self.seeds.appendingPathComponent("\(sample.document).txt"))
        )
        let lines = try Self.lines(
            Self.root.appendingPathComponent("Tests/SeedSamples/\(sample.file)")
        )
        #expect(lines.count { document.contains($0) } >= sample.lines)
        let written = sample.joints.union(sample.edits.flatMap(\.sample))
        for line in lines where !document.contains(line) && !written.contains(line) {
            Issue.record("'\(line)' is not the document's")
        }
        // What is listed is needed, and is what the document has.
        for line in written where !lines.contains(line) {
            Issue.record("'\(line)' is listed and does not stand in the sample")
        }
        for line in sample.edits.flatMap(\.document) + sample.waiting {
            #expect(document.contains(line), "'\(line)' is listed and not in the document")
        }
        for line in sample.edits.flatMap(\.document) {
            let isKept = lines.contains(line)
            #expect(!isKept, "'\(line)' is wrong and stands in the sample")
        }
        for line in sample.waiting {
            let isKept = lines.contains(line)
            #expect(!isKept, "'\(line)' waits for playback and stands in the sample")
        }
    }
}
