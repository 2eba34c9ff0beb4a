import Glibc
import Synchronization

/// The signals that ask the process to end, taken as values instead of interrupting anything.
enum Signals {
    private static let blocked = Atomic(false)

    /// Holds SIGINT, SIGTERM and SIGHUP back until they are taken, and ignores SIGPIPE.
    ///
    /// Called once, before the first thread is made, so that every thread inherits it.
    static func hold() {
        signal(SIGPIPE, SIG_IGN)
        var set = held
        _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        blocked.store(true, ordering: .relaxed)
    }

    /// Lets the signals interrupt the process again, for commands that have nothing to clean up.
    static func release() {
        var set = held
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Takes a held signal, waiting for at most `timeout`; `nil` if none came.
    static func take(within timeout: Duration = .zero) -> Int32? {
        var set = held
        let (seconds, attoseconds) = timeout.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        let number = unsafe sigtimedwait(&set, nil, &time)
        return number > 0 ? number : nil
    }

    /// The first signal, awaited without holding a thread of the pool.
    static func next() async -> Int32 {
        await withCheckedContinuation { continuation in
            onThread {
                while true {
                    if let number = take(within: .seconds(3600)) {
                        return continuation.resume(returning: number)
                    }
                }
            }
        }
    }

    /// The exit code of a process that ended because of the signal `number`.
    static func exitCode(_ number: Int32) -> Int32 { 128 + number }

    private static var held: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        unsafe sigaddset(&set, SIGHUP)
        return set
    }
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
