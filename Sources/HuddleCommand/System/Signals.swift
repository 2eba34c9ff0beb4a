import Glibc
import Synchronization

/// The signals that ask the process to end, taken as values instead of interrupting anything.
///
/// A handler writes the number into a pipe. Blocking them would not do: the main thread of an
/// `async` program waits with an empty mask.
enum Signals {
    /// The writing end of the pipe; a handler may touch nothing but atomics and `write`.
    private static let entrance = Atomic<Int32>(-1)
    private static let exit = Atomic<Int32>(-1)
    private static let count = Atomic<Int>(0)

    /// Takes SIGINT, SIGTERM and SIGHUP over from here on, and ignores SIGPIPE.
    ///
    /// Whoever presses Ctrl-C a third time wants out at once, and gets it.
    static func hold() {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { return }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        // Whoever started us may have blocked them, and a mask is inherited.
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in [SIGINT, SIGTERM, SIGHUP] { unsafe sigaddset(&set, number) }
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        exit.store(ends[0], ordering: .relaxed)
        entrance.store(ends[1], ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                let count = Signals.count.add(1, ordering: .relaxed).newValue
                if count >= 3 { _exit(128 + number) }
                var byte = UInt8(truncatingIfNeeded: number)
                _ = unsafe write(Signals.entrance.load(ordering: .relaxed), &byte, 1)
            }
        }
    }

    /// Lets the signals interrupt the process again, for commands that have nothing to clean up.
    static func release() {
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
    }

    /// Takes a signal that came, waiting for at most `timeout`; `nil` if none did.
    static func take(within timeout: Duration = .zero) -> Int32? {
        let descriptor = exit.load(ordering: .relaxed)
        guard waitReadable([descriptor], within: timeout)[0] else { return nil }
        return readSome(descriptor, limit: 1)?.first.map(Int32.init)
    }

    /// Whether a signal came that nobody has taken.
    static var isPending: Bool {
        waitReadable([exit.load(ordering: .relaxed)], within: .zero)[0]
    }

    /// The exit code of a process that ended because of the signal `number`.
    static func exitCode(_ number: Int32) -> Int32 { 128 + number }
}

/// Runs `body` on a thread of its own, for calls that block.
func onThread(_ body: @escaping @Sendable () -> Void) {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread,
        nil,
        { pointer in
            guard let pointer = unsafe pointer else { return nil }
            unsafe Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().body()
            return nil
        },
        box
    )
    precondition(code == 0, "a thread can be made: error \(code)")
    pthread_detach(thread)
}
