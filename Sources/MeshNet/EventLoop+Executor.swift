// The loop as an executor: of actors (SE-0392) and of tasks that prefer it (SE-0417).

extension EventLoop: SerialExecutor, TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        core.enqueue(UnownedJob(job))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        unsafe UnownedTaskExecutor(ordinary: self)
    }

    /// Whether the caller may touch what belongs to actors of this loop: the thread decides.
    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    package func checkIsolated() {
        precondition(isCurrent, "only the loop's thread is isolated to its actors")
    }
}

/// How the thread of a loop runs a job in the name of its loop.
///
/// The references are unowned, which is safe because they are used while a job runs, and the job's
/// actor or task keeps the loop.
@safe package struct JobRunner: Sendable {
    private let serial: UnownedSerialExecutor
    private let task: UnownedTaskExecutor

    init(_ loop: EventLoop) {
        unsafe serial = loop.asUnownedSerialExecutor()
        unsafe task = loop.asUnownedTaskExecutor()
    }

    package func run(_ job: UnownedJob) {
        unsafe job.runSynchronously(isolatedTo: serial, taskExecutor: task)
    }
}
