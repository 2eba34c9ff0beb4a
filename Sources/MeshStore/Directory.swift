import CLinux
import MeshWire

/// An open directory: everything in it is reached relative to its descriptor, and no link is followed.
struct Directory: ~Copyable {
    private let descriptor: FileDescriptor

    /// The path it was opened by.
    var path: String { descriptor.path }

    /// Opens the directory at `path`, which may itself be reached through links.
    init(_ path: String) throws(FileError) {
        descriptor = try FileDescriptor(
            "open",
            path,
            FileCalls.openDirectory(FileCalls.workingDirectory, path)
        )
    }

    /// Opens the directory at `path`; it and its parents are made (0700) where they are missing.
    init(making path: String) throws(FileError) {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            prefix += component
            let result = FileCalls.makeDirectory(FileCalls.workingDirectory, prefix)
            // A parent that is there, or on a file system one may not write, shows below.
            if result < 0, prefix == path, -result != FileError.Code.exists {
                try checked("mkdir", path, result)
            }
            prefix += "/"
        }
        try self.init(path)
    }

    /// Why others could change what is in here, or `nil` if only this user can.
    func intruders() throws(FileError) -> Intruders? {
        let status = try descriptor.status()
        guard status.owner == linux_effective_user() else { return .owner(status.owner) }
        return status.mode & 0o077 == 0 ? nil : .mode(status.mode)
    }

    /// Opens a file for reading; a link is refused with `ELOOP`.
    func open(_ name: String) throws(FileError) -> FileDescriptor {
        try FileDescriptor("open", full(name), FileCalls.openForReading(descriptor.number, name))
    }

    /// Opens or makes a file to lock.
    func openLock(_ name: String) throws(FileError) -> FileDescriptor {
        try FileDescriptor("open", full(name), FileCalls.openLock(descriptor.number, name))
    }

    /// Writes a file (0600) such that it is there completely or not at all, also after a crash.
    ///
    /// Throws `EEXIST` if a file of the name is there and `replace` is false; it stays as it was.
    func write(_ bytes: RawSpan, to name: String, replace: Bool) throws(FileError) {
        var generator = SystemRandomNumberGenerator()
        let temporary = ".\(name).\(String(generator.next(), radix: 16)).tmp"
        do {
            let file = try FileDescriptor(
                "open",
                full(temporary),
                FileCalls.create(descriptor.number, temporary)
            )
            try file.write(bytes)
            try checked("fsync", file.path, linux_sync(file.number))
            try checked(
                "rename",
                full(name),
                FileCalls.rename(descriptor.number, temporary, name, replace: replace)
            )
        } catch {
            // Not there if it was never made: then there is nothing to remove.
            _ = FileCalls.remove(descriptor.number, temporary)
            throw error
        }
        try checked("fsync", path, linux_sync(descriptor.number))
    }

    /// Removes a file; answers whether it was there.
    @discardableResult
    func remove(_ name: String) throws(FileError) -> Bool {
        let result = FileCalls.remove(descriptor.number, name)
        guard -result != FileError.Code.noEntry else { return false }
        try checked("unlink", full(name), result)
        return true
    }

    /// The names of what is in it, sorted.
    func names() throws(FileError) -> [String] {
        try FileCalls.list(descriptor)
    }

    func full(_ name: String) -> String { "\(path)/\(name)" }
}

/// Who else than this user could change a file or directory, or read it.
enum Intruders: Hashable, Sendable {
    /// Its owner, another user.
    case owner(UInt32)
    /// The group or everybody, by these permissions.
    case mode(UInt32)
}

/// The directory and the name in it of a path.
func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let directory = path[..<slash]
    return (directory.isEmpty ? "/" : String(directory), String(path[path.index(after: slash)...]))
}
