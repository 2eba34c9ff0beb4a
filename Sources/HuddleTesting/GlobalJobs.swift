import CConcurrency

/// The jobs that Swift would give to its global pool, where a simulation runs them instead.
///
/// A program's own tasks and actors run on the pool's threads in no order, and nobody can tell when they
/// are through. The runtime offers each of their jobs here as it is enqueued; those that belong to a
/// simulation go into its queue. A job belongs to the simulation of the task that enqueues it, or else
/// of the queue, if that is the main queue in a simulation's turn.
enum GlobalJobs {
    /// The simulation that the running task is a part of.
    @TaskLocal static var simulation: SimulationCore?

    /// Asks the runtime for the jobs, once in a process.
    static func begin() { _ = offered }

    private static let offered: Void = unsafe concurrency_offer_jobs { pointer in
        guard let pointer = unsafe pointer else { return false }
        return GlobalJobs.take(unsafe GlobalJob(pointer))
    }

    private static func take(_ job: GlobalJob) -> Bool {
        let owner = simulation ?? (MainTurns.isMain ? MainTurns.active : nil)
        return owner?.take(job) ?? false
    }
}

/// A job of the global executor; it is run once, or handed on once.
///
/// The pointer is the runtime's own word for the job, which lives until it has run.
@safe struct GlobalJob: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer

    fileprivate init(_ pointer: UnsafeMutableRawPointer) {
        unsafe self.pointer = pointer
    }

    /// Runs it here, in nobody's isolation, as a thread of the pool would.
    func run() {
        // An `UnownedJob` is this pointer, and two zero words name the global executor.
        let job = unsafe unsafeBitCast(pointer, to: UnownedJob.self)
        let pool = unsafe unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
        unsafe job.runSynchronously(on: pool)
    }

    /// Gives it to the pool.
    func passOn() {
        unsafe concurrency_enqueue(pointer)
    }
}
