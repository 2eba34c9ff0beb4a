import Foundation
import Huddle
import Observation
import Testing

@testable import HuddleMedia

/// The same with a child that prints what was recorded (`40-groupactivities.md` §9.8, G26).
@Suite("Screen capture by a child")
struct ScreenCaptureTests {
    /// A pipe that a child prints from, and where it writes its own number.
    private struct Stage {
        let folder: String

        init() throws {
            var template = Array("/tmp/huddle-screen-XXXXXX".utf8CString)
            _ = try #require(mkdtemp(&template))
            folder = String(
                decoding: template.dropLast().map(UInt8.init(bitPattern:)),
                as: UTF8.self
            )
            try #require(mkfifo("\(folder)/pipe", 0o600) == 0)
        }

        var command: [String] {
            ["sh", "-c", "echo $$ >> '\(folder)/children'; exec cat '\(folder)/pipe'"]
        }

        /// The other end of the pipe, once the child has opened its own.
        func open() async throws -> FileHandle {
            let path = URL(fileURLWithPath: "\(folder)/pipe")
            // The call waits for the child, and so it has a thread of its own.
            return try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(with: Result { try FileHandle(forWritingTo: path) })
                }
            }
        }

        func killChild() throws {
            let numbers = try String(contentsOfFile: "\(folder)/children", encoding: .utf8)
            let last = try #require(numbers.split(separator: "\n").last.flatMap { Int32($0) })
            kill(last, SIGKILL)
        }

        func close() {
            // What is left in a temporary folder does no harm.
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    @Test(
        "states follow what the child prints; its death makes them unknown; the next child goes on"
    )
    func life() async throws {
        let stage = try Stage()
        defer { stage.close() }
        let screen = ScreenCapture(
            reading: stage.command,
            session: DesktopSession(hasNoOtherWay: true)
        )
        var states = screen.states.makeAsyncIterator()
        #expect(await states.next() == .unknown)
        var pipe = try await stage.open()
        pipe.write(Data(Recordings.idle.utf8))
        #expect(await states.next() == .notCaptured)
        pipe.write(Data(Recordings.screenLink.utf8))
        #expect(await states.next() == .captured)
        #expect(screen.isCaptured == .captured)
        pipe.write(Data(Recordings.removed.utf8))
        #expect(await states.next() == .notCaptured)
        try stage.killChild()
        #expect(await states.next() == .unknown)
        pipe = try await stage.open()
        pipe.write(Data((Recordings.idle + Recordings.screenLink).utf8))
        #expect(await states.next() == .captured)
        // Nonsense ends the child, too.
        pipe.write(Data("nonsense".utf8))
        #expect(await states.next() == .unknown)
    }

    @Test("a change is observed")
    func observed() async throws {
        let stage = try Stage()
        defer { stage.close() }
        let screen = ScreenCapture(
            reading: stage.command,
            session: DesktopSession(hasNoOtherWay: true)
        )
        let pipe = try await stage.open()
        await confirmation { changed in
            let (changes, feed) = AsyncStream.makeStream(of: Void.self)
            withObservationTracking {
                #expect(screen.isCaptured == .unknown)
            } onChange: {
                feed.yield()
            }
            pipe.write(Data(Recordings.idle.utf8))
            for await _ in changes {
                changed()
                break
            }
        }
    }

    @Test("without the program nothing is known")
    func noProgram() async {
        let screen = ScreenCapture(
            reading: ["huddle-no-such-program"],
            session: DesktopSession(hasNoOtherWay: true)
        )
        var states = screen.states.makeAsyncIterator()
        #expect(await states.next() == .unknown)
        #expect(screen.isCaptured == .unknown)
    }

    @Test("a screen that nobody asks about any more leaves no child behind")
    func released() async throws {
        let stage = try Stage()
        defer { stage.close() }
        var screen: ScreenCapture? = ScreenCapture(
            reading: stage.command,
            session: DesktopSession(hasNoOtherWay: true)
        )
        let pipe = try await stage.open()
        pipe.write(Data(Recordings.idle.utf8))
        var states = screen?.states.makeAsyncIterator()
        while let state = await states?.next(), state == .unknown {}
        states = nil
        screen = nil
        // The child was the only reader; once it is gone, writing fails.
        signal(SIGPIPE, SIG_IGN)
        var isGone = false
        while !isGone {
            do {
                try pipe.write(contentsOf: Data("\n".utf8))
                await Task.yield()
            } catch {
                isGone = true
            }
        }
        #expect(isGone)
    }
}
