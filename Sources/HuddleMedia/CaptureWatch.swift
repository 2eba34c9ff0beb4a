/// What is told of the screen, from what a child that reads PipeWire says and when it says it.
///
/// A value: time comes in by its arguments, the child is somebody else's affair. Towards `captured` a
/// change is told at once, back from it after 200 ms, since streams are linked anew when a window
/// changes its size. A child that has ended makes the state unknown, and is started again after 1 s,
/// then twice as long each time up to 30 s, until one has read everything there is.
package struct CaptureWatch: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// What is told.
    package private(set) var state = CaptureState.unknown
    /// When to start the child; `nil` while it runs.
    package private(set) var startDue: Instant?

    private let session: DesktopSession
    private var graph = StreamGraph()
    /// Whether the child has told everything there is.
    private var isComplete = false
    /// Since when nothing is captured, while the opposite is told.
    private var freeSince: Instant?
    private var delay = Self.firstDelay

    private static let calm = Duration.milliseconds(200)
    private static let firstDelay = Duration.seconds(1)
    private static let longestDelay = Duration.seconds(30)

    /// A watch whose child is to be started at once.
    package init(session: DesktopSession, now: Instant) {
        self.session = session
        startDue = now
    }

    /// When ``advance(to:)`` should be called next.
    package var deadline: Instant? {
        [startDue, freeSince.map { $0 + Self.calm }].compactMap(\.self).min()
    }

    /// The child runs.
    package mutating func started() {
        startDue = nil
    }

    /// The child told of these objects.
    package mutating func read(_ objects: [DumpReader.Object], now: Instant) {
        graph.apply(objects)
        isComplete = true
        delay = Self.firstDelay
        update(now)
    }

    /// The child has ended, or could not be started.
    package mutating func ended(now: Instant) {
        graph = StreamGraph()
        isComplete = false
        startDue = now + delay
        delay = min(delay * 2, Self.longestDelay)
        update(now)
    }

    /// Time has passed.
    package mutating func advance(to now: Instant) {
        update(now)
    }

    private mutating func update(_ now: Instant) {
        let seen: CaptureState =
            if graph.isCaptured { .captured } else if isComplete, session.hasNoOtherWay {
                .notCaptured
            } else { .unknown }
        guard state == .captured, seen != .captured, isComplete else {
            freeSince = nil
            state = seen
            return
        }
        let since = freeSince ?? now
        freeSince = since
        guard now - since >= Self.calm else { return }
        freeSince = nil
        state = seen
    }
}
