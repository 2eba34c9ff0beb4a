import CLinux
package import MeshWire
import Synchronization

/// One thread that waits for sockets, timers and work, and runs them in turns: an executor.
///
/// `actor Node` names the loop as its executor, so sockets, timers and the engine share this thread
/// without a lock, and the application enters by `await` (`70-style.md` §10). A turn is:
///
/// 1. wait for readiness, a deadline or work;
/// 2. read the clock once (``turnInstant``);
/// 3. call the handlers of ready descriptors, then of due timers, then run the jobs that wait;
/// 4. call the handlers of the turn's end, where a node drains its engine, sends and arms its timer.
///
/// Handlers run on the loop's thread, so they may enter an actor of this loop by `assumeIsolated`.
/// They keep what they capture until they are removed. All methods may be called from any thread.
/// ``stop()`` drops every handler and closes nothing; jobs still run, so that no `await` hangs. The
/// thread ends when the last reference to the loop goes.
package final class EventLoop: Sendable {
    let core: any LoopBackend

    /// A loop on a thread of its own called `name` (15 bytes at most); it runs at once.
    package init(name: String = "huddle-loop") throws(SystemError) {
        let core = try LoopCore()
        self.core = core
        core.adopt(JobRunner(self))
        try startThread(name: name) { core.run() }
    }

    /// A loop without a thread of its own, which `backend` drives.
    package init(backend: any LoopBackend) {
        core = backend
        backend.adopt(JobRunner(self))
    }

    deinit {
        core.end()
    }

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool { core.isCurrent }

    /// The clock as read at the start of this turn; only on the loop's thread.
    package var turnInstant: Instant {
        precondition(isCurrent, "the turn's clock belongs to the loop's thread")
        return core.turnInstant
    }

    /// The loop's clock; from any thread.
    package var now: Instant { core.now }

    /// Ends `duration` later by the loop's clock, or when the task is cancelled.
    package func sleep(for duration: Duration) async {
        await core.sleep(for: duration)
    }

    /// Says that the application was told something in this turn.
    package func spoke() {
        core.spoke()
    }

    /// Calls `handler` in each turn in which `descriptor` is ready (level-triggered).
    ///
    /// The caller keeps the descriptor open until it has removed the registration.
    /// Throws what `epoll_ctl` says, as for a descriptor registered already.
    package func register(
        _ descriptor: Int32,
        readable: Bool = true,
        writable: Bool = false,
        handler: @escaping @Sendable (Readiness) -> Void
    ) throws(SystemError) -> LoopRegistration {
        try core.register(descriptor, readable: readable, writable: writable, handler: handler)
    }

    /// Changes what a registration waits for; nothing if it was removed.
    package func modify(
        _ registration: LoopRegistration,
        readable: Bool,
        writable: Bool
    ) throws(SystemError) {
        try core.modify(registration, readable: readable, writable: writable)
    }

    /// Removes a registration; its handler is not called again once this returns on the loop.
    package func remove(_ registration: LoopRegistration) {
        core.remove(registration)
    }

    /// A timer, not armed, that calls `handler` when its deadline has come.
    package func makeTimer(_ handler: @escaping @Sendable () -> Void) -> LoopTimer {
        core.makeTimer(handler)
    }

    /// Arms a timer in place of its former deadline, or disarms it with `nil`.
    package func arm(_ timer: LoopTimer, at deadline: Instant?) {
        core.arm(timer, at: deadline)
    }

    /// Removes a timer with its handler.
    package func remove(_ timer: LoopTimer) {
        core.remove(timer)
    }

    /// Calls `handler` at the end of every turn, in the order of addition.
    package func addTurnHandler(_ handler: @escaping @Sendable () -> Void) -> LoopTurnHandler {
        core.addTurnHandler(handler)
    }

    /// Removes a handler of the turn's end.
    package func remove(_ handler: LoopTurnHandler) {
        core.remove(handler)
    }

    /// Drops every handler and timer; the thread goes on to run jobs while the loop is referenced.
    package func stop() {
        core.stop()
    }
}

/// What a descriptor is ready for.
package struct Readiness: Hashable, Sendable {
    /// A read returns at once: bytes, the end or an error.
    package var isReadable: Bool
    /// A write returns at once.
    package var isWritable: Bool
    /// The other end closed; bytes may still wait.
    package var isClosed: Bool
}

/// A descriptor the loop watches.
package struct LoopRegistration: Hashable, Sendable {
    let token: UInt64

    package init(token: UInt64) {
        self.token = token
    }
}

/// A timer of the loop.
package struct LoopTimer: Hashable, Sendable {
    package let token: UInt64

    package init(token: UInt64) {
        self.token = token
    }
}

/// A handler the loop calls at the end of each turn.
package struct LoopTurnHandler: Hashable, Sendable {
    package let token: UInt64

    package init(token: UInt64) {
        self.token = token
    }
}
