import CLinux

/// What keeps a process's memory, and so its keys, from others of the same user.
package enum ProcessHardening {
    /// Forbids core files, and in release builds also `ptrace` and `/proc/PID/mem`.
    ///
    /// A debug build stays open to debuggers. Answers whether the kernel agreed.
    @discardableResult
    package static func apply() -> Bool {
        let isCoreForbidden = linux_forbid_core() >= 0
        #if DEBUG
        return isCoreForbidden
        #else
        return linux_forbid_ptrace() >= 0 && isCoreForbidden
        #endif
    }

    /// Has the kernel kill this process when `parent` ends, for the nodes of an experiment.
    ///
    /// Answers `false` if `parent` is not the parent, or is gone already. It goes by the thread that
    /// started this process, so that thread must live as long as its process.
    package static func endWithParent(_ parent: Int32) -> Bool {
        linux_end_with_parent(parent) >= 0
    }
}
