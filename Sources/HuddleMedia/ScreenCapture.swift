import Foundation
public import Huddle
public import Observation
import Synchronization

/// Tells whether others see this screen, so that a program can hide what is for this person alone.
///
/// It watches the streams of PipeWire, by which desktops on Wayland hand out the picture of the screen:
/// in a call, to a recorder, to somebody at a distance. `notCaptured` is said only where there is no other
/// way, on GNOME and KDE; elsewhere it is `unknown` as long as nothing is seen. Needs `pw-dump`, which the
/// package `pipewire-bin` has; without it the state is `unknown`.
public final class ScreenCapture: Observable, Sendable {
    /// The screen of this process's desktop, watched from the first use on.
    public static let shared = ScreenCapture()

    private struct State {
        var told = CaptureState.unknown
        var readers: [Mailbox<CaptureState>] = []
    }

    private let state = Mutex(State())
    private let registrar = ObservationRegistrar()
    private let watching = Mutex<Task<Void, Never>?>(nil)

    /// What prints all of PipeWire's objects, and each change of them.
    package static let dump = ["pw-dump", "--monitor", "--no-colors"]

    /// Watches what `command` prints, in the form of `pw-dump --monitor`.
    package init(
        reading command: [String] = ScreenCapture.dump,
        session: DesktopSession = .current
    ) {
        let task = Task { [weak self] in
            await Self.watch(command, session) { self?.tell($0) }
        }
        watching.withLock { $0 = task }
    }

    deinit {
        watching.withLock { $0?.cancel() }
    }

    /// Whether others see this screen; `unknown` until the first answer, which takes less than a second.
    public var isCaptured: CaptureState {
        registrar.access(self, keyPath: \.isCaptured)
        return state.withLock { $0.told }
    }

    /// What ``isCaptured`` is now, and each change of it; each call is a reader of its own.
    public var states: MailboxSequence<CaptureState> {
        let mailbox = Mailbox<CaptureState>(.newest(64))
        state.withLock { state in
            mailbox.send(state.told)
            state.readers.append(mailbox)
        }
        return mailbox.makeSequence()
    }

    private func tell(_ new: CaptureState) {
        guard state.withLock({ $0.told != new }) else { return }
        registrar.withMutation(of: self, keyPath: \.isCaptured) {
            state.withLock { state in
                state.told = new
                state.readers.removeAll { $0.isAbandoned }
                for reader in state.readers { reader.send(new) }
            }
        }
    }

    // MARK: The child

    private enum News: Sendable {
        case output(Data)
        case ended
        /// The watch wanted to be looked at.
        case due
    }

    /// Keeps a child running until the task is cancelled.
    private static func watch(
        _ command: [String],
        _ session: DesktopSession,
        _ tell: (CaptureState) -> Void
    ) async {
        var watch = CaptureWatch(session: session, now: .now)
        // The child prints what changes, which people cause; it is read as fast as it prints.
        let (news, feed) = AsyncStream.makeStream(of: (child: Int, what: News).self)
        var number = 0
        var child: DumpChild?
        var reader = DumpReader()
        var alarm: Task<Void, Never>?
        defer { alarm?.cancel() }

        func start() {
            number += 1
            reader = DumpReader()
            let current = number
            do {
                child = try DumpChild(command) { data in
                    feed.yield((current, data.map { .output($0) } ?? .ended))
                }
                watch.started()
            } catch {
                // Without the program there is nothing to read, now; it may come.
                watch.ended(now: .now)
            }
        }

        feed.yield((0, .due))
        for await (sender, what) in news {
            switch what {
            case .output(let data) where sender == number:
                do {
                    for objects in try reader.read(data) { watch.read(objects, now: .now) }
                } catch {
                    child = nil
                    number += 1
                    watch.ended(now: .now)
                }
            case .ended where sender == number:
                child = nil
                watch.ended(now: .now)
            case .due: watch.advance(to: .now)
            case .output, .ended: break  // of a child that was given up
            }
            if let due = watch.startDue, due <= .now { start() }
            tell(watch.state)
            alarm?.cancel()
            alarm = watch.deadline.map { deadline in
                Task {
                    // A cancelled alarm has a successor.
                    if (try? await Task.sleep(until: deadline, clock: .continuous)) != nil {
                        feed.yield((0, .due))
                    }
                }
            }
        }
        withExtendedLifetime(child) {}
    }
}
