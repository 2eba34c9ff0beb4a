import CLinux
package import MeshCrypto
import MeshWire

/// The file that holds a node's identity: 64 bytes, 0600, in a directory of 0700.
///
/// Its bytes are those of `KeyFileFormat`. It is loaded only if nobody else could have read or
/// changed it, and never written over: whatever is wrong is said, with what to do (`10-security.md`
/// §9).
package enum KeyFile {
    /// Loads the identity of the file at `path`.
    ///
    /// Throws ``KeyFileError``, and ``KeyFileError/missing(path:)`` if there is no file. Nothing is
    /// changed in any case.
    package static func load(_ path: String) throws(KeyFileError) -> Identity {
        let (parent, name) = split(path)
        let directory: Directory
        do {
            directory = try Directory(parent)
        } catch  where error.code == FileError.Code.noEntry {
            throw .missing(path: path)
        } catch {
            throw .system(error)
        }
        return try load(name, in: directory)
    }

    /// Loads the identity at `path`, or makes one if there is no file; answers whether it is new.
    ///
    /// Two processes that start at once end with the same identity. Directories are made (0700).
    package static func loadOrCreate(
        _ path: String,
        from source: inout some SecretSource
    ) throws(KeyFileError) -> (identity: Identity, isNew: Bool) {
        do {
            return (try load(path), false)
        } catch .missing {
            do {
                return (try create(path, from: &source), true)
            } catch .exists {
                // Another process was first between our look and our rename.
                return (try load(path), false)
            }
        }
    }

    /// Makes a new identity and its file.
    ///
    /// Throws ``KeyFileError/exists(path:)`` if anything has the name; it stays as it was.
    package static func create(
        _ path: String,
        from source: inout some SecretSource
    ) throws(KeyFileError) -> Identity {
        let (parent, name) = split(path)
        let identity = Identity(from: &source)
        do {
            let directory = try Directory(making: parent)
            try requirePrivate(directory)
            let bytes = KeyFileFormat.encode(identity)
            try directory.write(bytes.bytes, to: name, replace: false)
            return identity
        } catch let error as KeyFileError {
            throw error
        } catch let error as FileError {
            throw error.code == FileError.Code.exists ? .exists(path: path) : .system(error)
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    private static func load(
        _ name: String,
        in directory: borrowing Directory
    ) throws(KeyFileError) -> Identity {
        let path = directory.full(name)
        do {
            let file = try directory.open(name)
            try requirePrivate(directory)
            let status = try file.status()
            guard status.regular else { throw KeyFileError.notRegular(path: path) }
            guard status.owner == linux_effective_user() else {
                throw KeyFileError.foreignOwner(path: path, owner: status.owner)
            }
            guard status.mode & 0o077 == 0 else {
                throw KeyFileError.permissions(path: path, mode: status.mode)
            }
            guard status.byte_count == KeyFileFormat.byteCount else {
                throw KeyFileError.size(path: path, bytes: status.byte_count)
            }
            var bytes = SecretBytes(count: KeyFileFormat.byteCount)
            var room = bytes.mutableBytes
            let count = try file.read(into: &room)
            guard count == KeyFileFormat.byteCount else {
                throw KeyFileError.size(path: path, bytes: Int64(count))
            }
            guard let identity = KeyFileFormat.decode(bytes.bytes) else {
                throw KeyFileError.damaged(path: path)
            }
            return identity
        } catch let error as KeyFileError {
            throw error
        } catch let error as FileError {
            switch error.code {
            case FileError.Code.noEntry: throw .missing(path: path)
            case FileError.Code.tooManyLinks: throw .notRegular(path: path)
            default: throw .system(error)
            }
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    private static func requirePrivate(_ directory: borrowing Directory) throws {
        switch try directory.intruders() {
        case nil: return
        case .owner(let owner):
            throw KeyFileError.foreignOwner(path: directory.path, owner: owner)
        case .mode(let mode):
            throw KeyFileError.directoryPermissions(path: directory.path, mode: mode)
        }
    }
}

/// Why a key file is not used; each says how to repair it.
package enum KeyFileError: Error, Hashable, Sendable {
    /// There is none.
    case missing(path: String)
    /// There is one, and a new one was asked for.
    case exists(path: String)
    /// It is a link, a directory, a pipe or a device.
    case notRegular(path: String)
    /// It, or its directory, belongs to another user.
    case foreignOwner(path: String, owner: UInt32)
    /// The group or everybody may read or write it.
    case permissions(path: String, mode: UInt32)
    /// The group or everybody may read or write its directory.
    case directoryPermissions(path: String, mode: UInt32)
    /// It has not 64 bytes.
    case size(path: String, bytes: Int64)
    /// Its head or its check is wrong.
    case damaged(path: String)
    /// The system refused.
    case system(FileError)
}

extension KeyFileError: CustomStringConvertible {
    /// One sentence that a user can act on.
    package var description: String {
        switch self {
        case .missing(let path):
            "there is no key file at '\(path)': 'huddle keys new' makes one"
        case .exists(let path):
            "a key file is at '\(path)' already and is never written over: move it away first"
        case .notRegular(let path):
            "the key file '\(path)' is a link or no regular file: put the file itself there"
        case .foreignOwner(let path, let owner):
            "'\(path)' belongs to user \(owner), not to you: use your own copy, or chown it"
        case .permissions(let path, let mode):
            "others may read or write the key file (mode \(octal(mode))): chmod 600 '\(path)'; "
                + "if they may have read it, make a new identity"
        case .directoryPermissions(let path, let mode):
            "others may reach into the key file's directory (mode \(octal(mode))): "
                + "chmod 700 '\(path)'"
        case .size(let path, let bytes):
            "the key file '\(path)' has \(bytes) bytes instead of 64: restore it from a copy, "
                + "or move it away to start with a new identity"
        case .damaged(let path):
            "the key file '\(path)' is damaged or of another version: restore it from a copy, "
                + "or move it away to start with a new identity"
        case .system(let error):
            "the key file cannot be used: \(error)"
        }
    }

    private func octal(_ mode: UInt32) -> String {
        "0" + String(mode, radix: 8)
    }
}
