import CLinux

/// Why a control socket cannot be opened.
package enum UnixSocketError: Error, Hashable, Sendable {
    /// A process listens at the path already; its id is 0 if it could not be learned.
    case inUse(path: String, process: Int32)
    /// The directory is not one of this user's with mode 0700.
    case directoryNotPrivate(path: String)
    /// Something that is no socket stands at the path.
    case notSocket(path: String)
    /// The system refused.
    case system(SystemError, path: String)
}

extension UnixSocketError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let path, let process):
            process > 0
                ? "process \(process) already listens at \(path)"
                : "another process already listens at \(path)"
        case .directoryNotPrivate(let path):
            "the directory \(path) must belong to you alone: chmod 700 '\(path)'"
        case .notSocket(let path):
            "\(path) is in the way and no socket: move it elsewhere"
        case .system(let error, let path):
            "\(path): \(error)"
        }
    }
}

/// A Unix stream socket that listens at a path (0600, in a directory of 0700).
///
/// Only processes of the same user or of root are let in (`SO_PEERCRED`, `10-security.md` §9).
package final class UnixListener {
    /// Where it listens.
    package let path: String
    private let socket: Descriptor
    private var isOpen = true
    /// Device, inode: what ``close()`` may remove.
    private let identity: (UInt64, UInt64)
    /// Connections of other users that were turned away.
    package private(set) var refused = 0

    /// Listens at `path`; makes its directory if need be and takes the place of a dead socket.
    ///
    /// Throws ``UnixSocketError/inUse(path:process:)`` if somebody answers there.
    package init(path: String) throws(UnixSocketError) {
        self.path = path
        do {
            let directory = try Self.prepareDirectory(of: path)
            // Two processes that find the same dead socket must not both remove it: the second
            // would remove the first one's. The lock ends with the descriptor, a moment later.
            try checked("flock", linux_lock_waiting(directory.number))
            var number = listenUnix(path)
            if -number == SystemError.Code.addressInUse {
                try Self.removeDead(path)
                number = listenUnix(path)
            }
            socket = try Descriptor("bind", number)
            let status = try status(path)
            identity = (status.device, status.inode)
        } catch let error as SystemError {
            throw .system(error, path: path)
        } catch let error as UnixSocketError {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    deinit {
        close()
    }

    /// Makes the directory of `path` if need be, and opens it if it is this user's alone.
    private static func prepareDirectory(of path: String) throws -> Descriptor {
        let slash = path.lastIndex(of: "/")
        let name = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let made = makeDirectory(name)
        if made < 0, -made != SystemError.Code.exists { try checked("mkdir", made) }
        let directory = try Descriptor("open", openDirectory(name))
        let found = try status(directory.number)
        guard found.owner == linux_effective_user(), found.mode & 0o077 == 0 else {
            throw UnixSocketError.directoryNotPrivate(path: name)
        }
        return directory
    }

    /// Removes a socket file that nobody listens at.
    private static func removeDead(_ path: String) throws {
        let found = try status(path)
        guard !found.regular, !found.directory, !found.link else {
            throw UnixSocketError.notSocket(path: path)
        }
        let attempt = connectUnix(path)
        if attempt >= 0 {
            let process = linux_peer_process(attempt)
            linux_close(attempt)
            throw UnixSocketError.inUse(path: path, process: max(0, process))
        }
        guard -attempt == SystemError.Code.connectionRefused else {
            throw SystemError(call: "connect", code: -attempt)
        }
        try checked("unlink", unlink(path))
    }

    /// The descriptor, for ``EventLoop/register(_:readable:writable:handler:)``.
    package var descriptor: Int32 { socket.number }

    /// The next waiting connection of an allowed user, or `nil` if none waits.
    ///
    /// Throws when this process has too many files open; then close some before the next turn, since
    /// the listener stays readable.
    package func accept() throws(SystemError) -> UnixConnection? {
        while true {
            let number = linux_unix_accept(socket.number)
            guard -number != SystemError.Code.again else { return nil }
            // The other end gave up before we came.
            if -number == SystemError.Code.connectionAborted { continue }
            let connection = try Descriptor("accept4", number)
            let user = linux_peer_user(connection.number)
            guard user == Int64(linux_effective_user()) || user == 0 else {
                refused += 1
                continue
            }
            return UnixConnection(connection)
        }
    }

    /// Removes the socket's file, if it is still this one; connections stay.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        // A file that is gone or foreign is left alone.
        guard let found = try? status(path), (found.device, found.inode) == identity else { return }
        _ = unlink(path)
    }
}
