import Testing

@testable import HuddleMedia

/// What is told of the screen (`40-groupactivities.md` §9.8, G26).
@Suite("Screen capture")
struct CaptureWatchTests {
    /// A watch, its child's output, and a time that only this test moves.
    private struct Screen {
        var now = ContinuousClock.now
        var watch: CaptureWatch
        var reader = DumpReader()

        init(_ hasNoOtherWay: Bool = true) {
            watch = CaptureWatch(session: DesktopSession(hasNoOtherWay: hasNoOtherWay), now: now)
            watch.started()
        }

        mutating func hear(_ texts: String...) throws {
            for objects in try reader.read(texts.joined().utf8) { watch.read(objects, now: now) }
        }

        mutating func wait(_ duration: Duration) {
            now = now + duration
            watch.advance(to: now)
        }
    }

    @Test("nothing is known before the child has spoken; then nobody reads the screen")
    func idle() throws {
        var screen = Screen()
        #expect(screen.watch.state == .unknown)
        try screen.hear(Recordings.idle)
        #expect(screen.watch.state == .notCaptured)
    }

    @Test("a link from the compositor's picture to a reader is told at once")
    func portalLink() throws {
        var screen = Screen()
        try screen.hear(Recordings.idle, Recordings.screenLink)
        #expect(screen.watch.state == .captured)
    }

    @Test("a camera is no screen")
    func camera() throws {
        var screen = Screen()
        try screen.hear(Recordings.idle, Recordings.cameraLink)
        #expect(screen.watch.state == .notCaptured)
    }

    @Test("a link that is gone, or rests, is told after 200 ms", arguments: [true, false])
    func linkRemoved(_ isGone: Bool) throws {
        var screen = Screen()
        try screen.hear(Recordings.idle, Recordings.screenLink)
        try screen.hear(isGone ? Recordings.removed : Recordings.pausedLink)
        #expect(screen.watch.state == .captured)
        #expect(screen.watch.deadline == screen.now + .milliseconds(200))
        screen.wait(.milliseconds(199))
        #expect(screen.watch.state == .captured)
        screen.wait(.milliseconds(1))
        #expect(screen.watch.state == .notCaptured)
        #expect(screen.watch.deadline == nil)
    }

    @Test("a link that comes anew within 200 ms is one all along")
    func relinked() throws {
        var screen = Screen()
        try screen.hear(Recordings.idle, Recordings.screenLink, Recordings.removed)
        screen.wait(.milliseconds(150))
        try screen.hear(Recordings.screenLink)
        screen.wait(.milliseconds(150))
        try screen.hear(Recordings.removed)
        screen.wait(.milliseconds(150))
        #expect(screen.watch.state == .captured)
    }

    @Test("a child that ends makes it unknown at once; the next starts after 1, 2, 4 … 30 s")
    func childKilled() throws {
        var screen = Screen()
        try screen.hear(Recordings.idle, Recordings.screenLink)
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            screen.watch.ended(now: screen.now)
            #expect(screen.watch.state == .unknown)
            #expect(screen.watch.startDue == screen.now + .seconds(seconds))
            screen.wait(.seconds(seconds))
            screen.watch.started()
            #expect(screen.watch.state == .unknown)
        }
        screen.reader = DumpReader()
        try screen.hear(Recordings.idle)
        #expect(screen.watch.state == .notCaptured)
        screen.watch.ended(now: screen.now)
        #expect(screen.watch.startDue == screen.now + .seconds(1))
    }

    @Test("where there are other ways, as on X11, silence says nothing; a link says all the same")
    func otherWays() throws {
        var screen = Screen(false)
        try screen.hear(Recordings.idle)
        #expect(screen.watch.state == .unknown)
        try screen.hear(Recordings.screenLink)
        #expect(screen.watch.state == .captured)
        try screen.hear(Recordings.removed)
        screen.wait(.milliseconds(200))
        #expect(screen.watch.state == .unknown)
    }

    struct Desktop: CustomTestStringConvertible, Sendable {
        var variables: [String: String]
        var isSandboxed = false
        var hasNoOtherWay: Bool
        var testDescription: String { "\(variables) \(hasNoOtherWay)" }
    }

    @Test(
        "desktops whose only way is PipeWire",
        arguments: [
            Desktop(
                variables: ["XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"],
                hasNoOtherWay: true
            ),
            Desktop(
                variables: ["XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "KDE"],
                hasNoOtherWay: true
            ),
            Desktop(
                variables: ["XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "KDE"],
                isSandboxed: true,
                hasNoOtherWay: false
            ),
            Desktop(
                variables: [
                    "XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "GNOME",
                    "SNAP": "/snap/a",
                ],
                hasNoOtherWay: false
            ),
            Desktop(
                variables: ["XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "sway"],
                hasNoOtherWay: false
            ),
            Desktop(
                variables: ["XDG_SESSION_TYPE": "x11", "XDG_CURRENT_DESKTOP": "GNOME"],
                hasNoOtherWay: false
            ),
            Desktop(variables: [:], hasNoOtherWay: false),
        ]
    )
    func desktops(_ row: Desktop) {
        let session = DesktopSession(environment: row.variables, isSandboxed: row.isSandboxed)
        #expect(session.hasNoOtherWay == row.hasNoOtherWay)
    }

    @Test("output is read the same in whatever pieces it comes")
    func pieces() throws {
        let bytes = Array((Recordings.idle + Recordings.screenLink + Recordings.removed).utf8)
        for size in [1, 7, 64, 1000] {
            var reader = DumpReader()
            var ids: [[UInt32]] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = bytes[start..<min(start + size, bytes.count)]
                ids += try reader.read(piece).map { $0.map(\.id) }
            }
            #expect(ids == [[28, 33, 34, 40], [39], [39]])
        }
    }

    @Test(
        "what is no output of the program is refused",
        arguments: ["{}", "x", "[1]", "[{}]", "]", "[}", String(repeating: "[", count: 65)]
    )
    func malformed(_ text: String) {
        var reader = DumpReader()
        #expect(throws: DumpReader.Malformed.self) { try reader.read(text.utf8) }
    }

    @Test("hidden while captured, and where nobody knows if the program says so")
    func hiding() {
        for answer in [true, false] {
            #expect(CaptureState.captured.hidesContent(whenUnknown: answer))
            #expect(!CaptureState.notCaptured.hidesContent(whenUnknown: answer))
            #expect(CaptureState.unknown.hidesContent(whenUnknown: answer) == answer)
        }
    }
}
