package import MeshWire

/// What an ``EventLoop`` runs on: a thread that waits for the system, or a simulation.
///
/// The loop asks it some times a turn and never for a single datagram.
package protocol LoopBackend: AnyObject, Sendable {
    /// Whether the caller is where the loop's handlers and jobs run.
    var isCurrent: Bool { get }
    /// The clock as read at the start of this turn.
    var turnInstant: Instant { get }
    /// The clock, from anywhere.
    var now: Instant { get }
    /// Ends `duration` later by the loop's clock, or when the task is cancelled.
    func sleep(for duration: Duration) async
    /// The application was told something in this turn.
    func spoke()

    /// Takes what runs the jobs, before the first comes.
    func adopt(_ runner: JobRunner)
    func enqueue(_ job: UnownedJob)
    func register(
        _ descriptor: Int32,
        readable: Bool,
        writable: Bool,
        handler: @escaping @Sendable (Readiness) -> Void
    ) throws(SystemError) -> LoopRegistration
    func modify(
        _ registration: LoopRegistration,
        readable: Bool,
        writable: Bool
    ) throws(SystemError)
    func remove(_ registration: LoopRegistration)
    func makeTimer(_ handler: @escaping @Sendable () -> Void) -> LoopTimer
    func arm(_ timer: LoopTimer, at deadline: Instant?)
    func remove(_ timer: LoopTimer)
    func addTurnHandler(_ handler: @escaping @Sendable () -> Void) -> LoopTurnHandler
    func remove(_ handler: LoopTurnHandler)
    /// Drops every handler and timer; jobs still run.
    func stop()
    /// The loop is gone.
    func end()
}
