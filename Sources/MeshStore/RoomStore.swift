import CLinux
import MeshCrypto
package import MeshWire

/// The rooms a node can come back to, a file (0600) each in a directory of 0700.
///
/// A file's name is a digest of its RoomID, so that a listing tells nothing. Every write is atomic.
/// The calls wait for the disk: not for the loop's thread, unless rarely.
package struct RoomStore: Sendable {
    /// The directory, as in ``Directories/rooms``.
    package let path: String

    /// What ``load()`` found.
    package struct Contents: Sendable {
        /// The records that are whole, the latest saved first.
        package var records: [RoomRecord] = []
        /// The files that are not, with the reason.
        package var failures: [RoomStoreError] = []
    }

    /// The store in the directory at `path`, which need not be there yet.
    package init(path: String) {
        self.path = path
    }

    private static let suffix = ".room"

    /// Saves a record in place of the room's former one; makes the directory if need be.
    package func save(_ record: RoomRecord) throws(RoomStoreError) {
        do {
            let directory = try Directory(making: path)
            try requirePrivate(directory)
            var bytes = record.encoded()
            defer { wipe(&bytes) }
            try directory.write(bytes.raw, to: fileName(record.room), replace: true)
        } catch {
            throw RoomStoreError(error)
        }
    }

    /// All records, the latest saved first; none if there is no directory.
    package func load() throws(RoomStoreError) -> Contents {
        var contents = Contents()
        do {
            let directory = try Directory(path)
            try requirePrivate(directory)
            for name in try directory.names() where name.hasSuffix(Self.suffix) {
                do {
                    contents.records.append(try read(name, in: directory))
                } catch {
                    contents.failures.append(RoomStoreError(error))
                }
            }
        } catch let error as FileError where error.code == FileError.Code.noEntry {
            return contents
        } catch {
            throw RoomStoreError(error)
        }
        contents.records.sort { ($0.savedSeconds, $1.room) > ($1.savedSeconds, $0.room) }
        return contents
    }

    /// The record saved last, or the last one of the rooms called `name`; `nil` if there is none.
    package func latest(named name: String? = nil) throws(RoomStoreError) -> RoomRecord? {
        try load().records.first { name == nil || $0.name == name }
    }

    /// Forgets a room; answers whether it was there.
    @discardableResult
    package func delete(_ room: RoomID) throws(RoomStoreError) -> Bool {
        do {
            return try Directory(path).remove(fileName(room))
        } catch let error where error.code == FileError.Code.noEntry {
            return false
        } catch {
            throw RoomStoreError(error)
        }
    }

    private func fileName(_ room: RoomID) -> String {
        hexadecimal(Hash.plain(room.bytes.raw, outputBytes: 16)) + Self.suffix
    }

    private func read(_ name: String, in directory: borrowing Directory) throws -> RoomRecord {
        let file = try directory.open(name)
        let status = try file.status()
        guard status.regular, status.owner == linux_effective_user(), status.mode & 0o077 == 0
        else {
            throw RoomStoreError.notPrivate(path: file.path)
        }
        var bytes = try file.read(limit: RoomRecord.fileBytes)
        defer { wipe(&bytes) }
        do {
            return try RoomRecord(decoding: bytes)
        } catch {
            throw RoomStoreError.damaged(path: file.path, error)
        }
    }

    private func requirePrivate(_ directory: borrowing Directory) throws {
        guard try directory.intruders() == nil else {
            throw RoomStoreError.notPrivate(path: directory.path)
        }
    }
}

/// Why a room's record is not used.
package enum RoomStoreError: Error, Hashable, Sendable {
    /// Others may read or change the file or the directory.
    case notPrivate(path: String)
    /// The bytes are no record.
    case damaged(path: String, WireError)
    /// The system refused.
    case system(FileError)

    /// The error of a block that throws these and ``FileError`` only.
    fileprivate init(_ error: any Error) {
        switch error {
        case let error as RoomStoreError: self = error
        case let error as FileError: self = .system(error)
        default: preconditionFailure("no other error is thrown: \(error)")
        }
    }
}

extension RoomStoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notPrivate(let path):
            "others may reach '\(path)', which holds room secrets: chmod -R go= '\(path)'"
        case .damaged(let path, _):
            "'\(path)' is damaged: remove it and join the room again"
        case .system(let error):
            "a room cannot be kept: \(error)"
        }
    }
}
