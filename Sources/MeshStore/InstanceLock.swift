import CLinux
import MeshWire

/// The right to be the one node of an identity, held until it dies or the process ends.
///
/// It is a lock (`flock`) on a file beside the key file, which holds the process id of its holder.
/// The kernel frees it whatever way a process ends, so a file left over means nothing.
package final class InstanceLock: Sendable {
    // Closing it frees the lock. The file stays: removing it would let two processes lock two files.
    private let file: FileDescriptor

    /// Takes the lock of the key file at `keyPath`; its directory is there.
    ///
    /// Throws ``InstanceLockError/held(process:path:)`` if a process has it.
    package init(keyFile keyPath: String) throws(InstanceLockError) {
        let (parent, name) = split(keyPath)
        do {
            let directory = try Directory(parent)
            let file = try directory.openLock("\(name).lock")
            let result = linux_lock(file.number)
            guard -result != FileError.Code.wouldBlock else {
                let text = try file.read(limit: 32)
                let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                throw InstanceLockError.held(
                    process: Int32(String(decoding: digits, as: UTF8.self)) ?? 0,
                    path: file.path
                )
            }
            try checked("flock", file.path, result)
            let line = Array("\(processID())\n".utf8)
            try checked("ftruncate", file.path, linux_truncate(file.number, 0))
            try file.write(line.raw)
            self.file = file
        } catch let error as InstanceLockError {
            throw error
        } catch let error as FileError {
            throw .system(error)
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    /// The file that is locked.
    package var path: String { file.path }
}

/// Why a node may not run for an identity.
package enum InstanceLockError: Error, Hashable, Sendable {
    /// A process runs for it; its id is 0 if it has not said it yet.
    case held(process: Int32, path: String)
    /// The system refused.
    case system(FileError)
}

extension InstanceLockError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .held(let process, _) where process > 0:
            "process \(process) already runs a node with this identity: stop it ('huddle down'), "
                + "or give this one a key file of its own"
        case .held(_, let path):
            "another process already runs a node with this identity (it holds '\(path)')"
        case .system(let error):
            "the identity cannot be locked: \(error)"
        }
    }
}
