import Glibc
import MeshCrypto
import MeshStore
import MeshWire

/// What keeps this process's secrets from others on the machine (`10-security.md` §7, §9).
enum Hardening {
    /// Forbids core files, and in release builds also looking into the process.
    static func apply() {
        // A kernel that refuses leaves us as safe as any other program.
        ProcessHardening.apply()
    }
}

/// Ends the process at once, without destructors that could wait for a thread.
func exitProcess(_ code: Int32) -> Never {
    fflush(nil)
    _exit(code)
}

/// A node's fingerprint in full.
func fingerprintText(_ node: NodeID) -> String { node.fingerprint }
