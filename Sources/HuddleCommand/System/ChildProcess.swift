import Glibc

/// A process that this one started and owns.
struct ChildProcess: Sendable {
    /// Its process id, which is its process group too.
    let id: pid_t

    /// Where one of the child's standard streams goes.
    enum Stream: Sendable {
        /// Nowhere: `/dev/null`.
        case nothing
        /// Appended to this file, made with mode 0600.
        case file(String)
        /// To this descriptor of ours.
        case descriptor(Int32)
    }

    /// Starts this same program with other arguments, in a process group of its own.
    ///
    /// Every descriptor but the three streams and `passing`, which becomes descriptor 3, is closed. `newSession` also
    /// cuts it off from the terminal. Throws the system's reason.
    static func start(
        _ arguments: [String],
        environment: [String],
        output: Stream,
        errors: Stream,
        passing: Int32? = nil,
        newSession: Bool = false
    ) throws(Failure) -> ChildProcess {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (number, stream) in [(Int32(1), output), (2, errors)] {
            switch stream {
            case .nothing:
                unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
            case .file(let path):
                let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW
                unsafe posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            case .descriptor(let descriptor):
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            }
        }
        if let passing { unsafe posix_spawn_file_actions_adddup2(&actions, passing, 3) }
        // What we inherited ourselves: a background process must not hold other programs' pipes.
        for descriptor in Int32(passing == nil ? 3 : 4)..<256 {
            unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        let group = newSession ? 0x80 : Int32(POSIX_SPAWN_SETPGROUP)  // POSIX_SPAWN_SETSID
        unsafe posix_spawnattr_setflags(&attributes, Int16(group | Int32(POSIX_SPAWN_SETSIGMASK)))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)

        var id = pid_t()
        let code = unsafe withCStrings([executable] + arguments) { words in
            unsafe withCStrings(environment) { variables in
                unsafe posix_spawn(&id, executable, &actions, &attributes, words, variables)
            }
        }
        guard code == 0 else {
            throw Failure("system", "cannot start \(executable): \(systemMessage(code))")
        }
        return ChildProcess(id: id)
    }

    /// Sends the signal to the process alone.
    func signal(_ number: Int32) {
        kill(id, number)
    }

    /// Sends the signal to the process and what it started.
    func signalGroup(_ number: Int32) {
        kill(-id, number)
    }

    /// The exit code (128 + signal for a killed one) if the process has ended; it is reaped then.
    func reap() -> Int32? {
        var status: Int32 = 0
        guard unsafe waitpid(id, &status, WNOHANG) == id else { return nil }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }
}

private func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers = unsafe strings.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("it holds a nil at least") }
        return unsafe body(base)
    }
}
