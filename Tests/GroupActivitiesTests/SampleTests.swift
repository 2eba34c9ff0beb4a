import Foundation
import Testing

/// The samples run, two processes each (`40-groupactivities.md` §13, G2).
@Suite(.serialized)
struct SampleTests {
    /// Two processes of a sample in the room of one user's node.
    private func withSample(
        _ program: String,
        _ arguments: [[String]] = [[], []],
        _ body: (Peer, Peer) async throws -> Void
    ) async throws {
        try await withUser { environment in
            let programs = try zip(["ada", "bob"], arguments).map {
                try Peer($0, program, $1, environment: environment)
            }
            defer { for program in programs { program.stop() } }
            for program in programs { try await program.hears("ready") }
            try await body(programs[0], programs[1])
        }
    }

    @Test("seed 000: shared, joined, counted, messages, stopped for all")
    func seed000() async throws {
        try await withSample("Seed000") { ada, bob in
            ada.tell("start")
            try await ada.expect("start sharePlay")
            for program in [ada, bob] {
                try await program.hears("state joined")
                try await program.hears("count 2")
            }
            ada.tell("tea")
            try await bob.expect("Received message: tea")
            try await ada.expect("sent tea")
            ada.tell("stop")
            try await ada.hears("active false")
            for program in [ada, bob] { try await program.hears("state invalidated: ") }
        }
    }

    @Test("seed 000: a manager made over a session that is joined already ends in no recursion")
    func seed000Late() async throws {
        try await withSample("Seed000", [[], ["late"]]) { ada, bob in
            ada.tell("start")
            try await bob.expect("session ")
            bob.tell("join")
            try await bob.hears("state joined")
            // Its `sink` is told of `.joined` at once, and subscribes again from inside.
            bob.tell("make")
            try await bob.hears("count 2")
            ada.tell("tea")
            try await bob.expect("Received message: tea")
            bob.tell("stop")
            for program in [ada, bob] { try await program.hears("state invalidated: ") }
        }
    }

    @Test("seed 001: observed, joined, state for newcomers, messages, left and ended")
    func seed001() async throws {
        try await withSample("SeedSamples") { ada, bob in
            ada.tell("start")
            for program in [ada, bob] {
                try await program.expect("Joined session")
                try await program.expect("Loaded Great Movie")
                try await program.hears("Active participants: 2")
                program.tell("listen")
            }
            ada.tell("play")
            try await bob.expect("Received play [(key: \"a\", value: \"1\")] at 2023-03-08")
            bob.tell("leave")
            try await bob.expect("Session ended: this node left the session")
            ada.tell("end")
            try await ada.expect("Session ended:")
        }
    }

    @Test("seed 002: a campaign's film comes to both; dismissed, it is left; ended, it is over")
    func seed002() async throws {
        let campaign = ["video_url=https://example.com/a.mp4?b=c", "video_title=Feature"]
        try await withSample("Seed002", [campaign, ["video_title=nothing"]]) { ada, bob in
            #expect(ada.lines.contains("item Feature https://example.com/a.mp4?b=c"))
            #expect(bob.lines.contains("item none"))
            for program in [ada, bob] { try await program.hears("button shown") }
            ada.tell("play")
            for program in [ada, bob] {
                try await program.hears("event SharePlay Event")
                try await program.hears("state joined")
            }
            bob.tell("dismiss")
            try await bob.hears("enqueued none")
            try await bob.hears("state invalidated: this node left the session")
            #expect(!ada.lines.contains { $0.hasPrefix("state invalidated") })
            ada.tell("end")
            try await ada.hears("state invalidated: ")
        }
    }

    @Test("seed 003: started, joined, commands to the player of the other, ended")
    func seed003() async throws {
        try await withSample("Seed003") { ada, bob in
            ada.tell("start")
            for program in [ada, bob] {
                try await program.hears("state joined")
                // A `sink` that nobody keeps hears what is so now, and nothing after it.
                #expect(program.lines.filter { $0.hasPrefix("当前参与者") } == ["当前参与者: 0 人"])
            }
            ada.tell("play")
            try await bob.expect("player plays")
            ada.tell("seek")
            try await bob.expect("player seeks 12.5")
            bob.tell("change")
            try await ada.expect("movie b7")
            bob.tell("end")
            for program in [ada, bob] { try await program.hears("state invalidated: ") }
        }
    }

    @Test("seed 004: the view model follows what PipeWire is recorded to have said")
    func seed004() async throws {
        var template = Array("/tmp/huddle-sample-XXXXXX".utf8CString)
        _ = try #require(mkdtemp(&template))
        let folder = String(
            decoding: template.dropLast().map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
        // What is left in a temporary folder does no harm.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Self.recording.write(toFile: "\(folder)/dump", atomically: false, encoding: .utf8)
        try #require(mkfifo("\(folder)/end", 0o600) == 0)
        // Opened in both directions nobody waits; closed, it ends the child that reads it.
        let end = open("\(folder)/end", O_RDWR | O_CLOEXEC)
        defer { close(end) }
        let program = try Peer(
            "ada",
            "Seed004",
            ["sh", "-c", "cat '\(folder)/dump'; exec cat '\(folder)/end'"]
        )
        defer { program.stop() }
        try await program.expect("captured false")
        try await program.expect("captured true")
        try await program.expect("captured false")
    }

    /// A compositor's picture, a reader, their link, and its end.
    private static let recording = """
        [ { "id": 33, "type": "PipeWire:Interface:Node", "info": { "state": "running", "props": {
            "media.class": "Video/Source", "node.name": "gnome-shell", "object.id": 33 } } },
          { "id": 34, "type": "PipeWire:Interface:Node", "info": { "state": "running", "props": {
            "media.class": "Stream/Input/Video", "node.name": "obs", "object.id": 34 } } } ]
        [ { "id": 39, "type": "PipeWire:Interface:Link", "info": { "output-node-id": 33,
            "input-node-id": 34, "state": "active", "error": null } } ]
        [ { "id": 39, "info": null } ]

        """

    private static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources").path

    @Test("who depends on 'Huddle' alone sees no Combine (G2)", arguments: [false, true])
    func consumer(_ isWhole: Bool) throws {
        var template = Array("/tmp/huddle-consumer-XXXXXX".utf8CString)
        _ = try #require(mkdtemp(&template))
        let folder = String(
            decoding: template.dropLast().map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // What a clean build of such a package has: the modules below Huddle. A build that went on to the
        // product GroupActivities has all in one folder, and there the question finds ours.
        let modules = Peer.products.appendingPathComponent("Modules").path
        for name in try FileManager.default.contentsOfDirectory(atPath: modules) {
            let isBelow = name.hasPrefix("Mesh") || name.hasPrefix("Huddle.")
            guard isWhole || isBelow else { continue }
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/\(name)",
                withDestinationPath: "\(modules)/\(name)"
            )
        }
        let client = """
            import Huddle
            let policy = PartitionPolicy.available
            #if canImport(Combine)
            #error("there is a Combine")
            #endif
            """
        try client.write(toFile: "\(folder)/client.swift", atomically: false, encoding: .utf8)
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "swiftc", "-typecheck", "-I", folder, "-I", "\(Self.sources)/CSodium", "-Xcc",
            "-fmodule-map-file=\(Peer.products.path)/CLinux.build/module.modulemap",
            "\(folder)/client.swift",
        ]
        let output = Pipe()
        compiler.standardError = output
        try compiler.run()
        let said = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        compiler.waitUntilExit()
        #expect(said.contains("there is a Combine") == isWhole, "\(said)")
        #expect((compiler.terminationStatus == 0) != isWhole, "\(said)")
    }
}
