import CLinux
package import MeshContent
import MeshCrypto
package import MeshWire

/// The bytes of one content, in a file (0600) that has no name and goes when nobody has it open.
///
/// Every call waits for the disk; none belongs on the loop's thread. Different chunks may be read and
/// written at once.
package final class ContentFile: Sendable {
    private let file: FileDescriptor
    /// Chunks, and their sizes.
    package let shape: ContentShape

    /// An empty file for a content of this shape; makes the directory if need be.
    ///
    /// Without a directory, as in a simulation, it is in memory.
    package init(in directory: String, shape: ContentShape) throws(FileError) {
        if directory.isEmpty {
            file = try FileDescriptor("memfd_create", "memory", FileCalls.memoryFile())
        } else {
            _ = try Directory(making: directory)
            file = try FileDescriptor("open", directory, FileCalls.temporaryFile(directory))
        }
        self.shape = shape
        // Sparse: the size is right from the beginning, the disk is used as chunks come.
        let size = Int64(shape.size)
        try checked("ftruncate", directory, linux_truncate(file.number, size))
    }

    /// A path by which this process can open the file while this value lives.
    package var path: String { "/proc/self/fd/\(file.number)" }

    /// Writes a chunk.
    package func write(_ bytes: [UInt8], chunk: Int) throws(FileError) {
        try file.write(bytes.raw, at: Self.offset(chunk))
    }

    /// Reads a chunk, whole.
    package func read(chunk: Int) throws(FileError) -> [UInt8] {
        try file.read(shape.byteCount(ofChunk: chunk), at: Self.offset(chunk))
    }

    /// Reads `count` bytes at `offset`; fewer only at the end.
    package func read(_ count: Int, at offset: UInt64) throws(FileError) -> [UInt8] {
        guard offset < shape.size else { return [] }
        return try file.read(min(count, Int(shape.size - offset)), at: Int64(offset))
    }

    /// Bytes that this user may still write to the file system at `path`; 0 if that is not known.
    package static func freeBytes(at path: String) -> UInt64 {
        UInt64(max(FileCalls.freeBytes(path), 0))
    }

    private static func offset(_ chunk: Int) -> Int64 {
        Int64(chunk) * Int64(ContentLimits.chunkBytes)
    }
}

/// Why a source was not taken over.
package enum ContentSourceError: Error, Hashable, Sendable {
    /// It has more bytes than it may have.
    case tooLarge(size: UInt64, limit: UInt64)
    /// It changed while it was read.
    case changedWhileReading
    /// The task was cancelled.
    case cancelled
    /// The system refused.
    case system(FileError)
}

/// A content that was hashed and is on this machine.
package struct StoredContent: Sendable {
    package let id: ContentID
    package let tree: ContentTree
    package let file: ContentFile

    /// The hash that contents are named by.
    package static func hash(_ kind: ContentHash, _ bytes: [UInt8]) -> Digest {
        Hash.personal(kind.personal, bytes.raw)
    }

    /// Copies `size` bytes, as `read` gives them chunk by chunk, into a file in `directory`.
    package init(
        size: UInt64,
        limit: UInt64,
        in directory: String,
        read: (_ offset: UInt64, _ count: Int) throws(ContentSourceError) -> [UInt8]
    ) throws(ContentSourceError) {
        guard size <= limit, let shape = ContentShape(size: size) else {
            throw .tooLarge(size: size, limit: limit)
        }
        do {
            file = try ContentFile(in: directory, shape: shape)
        } catch {
            throw .system(error)
        }
        var leaves: [Digest] = []
        leaves.reserveCapacity(shape.chunks)
        for chunk in 0..<shape.chunks {
            if chunk % 16 == 0, Task.isCancelled { throw .cancelled }
            let count = shape.byteCount(ofChunk: chunk)
            let bytes = try read(UInt64(chunk) * UInt64(ContentLimits.chunkBytes), count)
            guard bytes.count == count else { throw .changedWhileReading }
            leaves.append(Self.hash(.leaf, bytes))
            do {
                try file.write(bytes, chunk: chunk)
            } catch {
                throw .system(error)
            }
        }
        guard let tree = ContentTree(shape: shape, leaves: leaves, hash: Self.hash) else {
            preconditionFailure("there is a leaf of each chunk")
        }
        self.tree = tree
        id = ContentID(words: Self.hash(.root, tree.record).words)
    }

    /// Copies the regular file at `path`, which may be no link, into a file in `directory`.
    ///
    /// The size is looked at before anything is read. A file that changes meanwhile is refused.
    package init(
        path: String,
        limit: UInt64,
        in directory: String
    ) throws(ContentSourceError) {
        let source = try Self.attempt { () throws(FileError) in
            try FileDescriptor(
                "open",
                path,
                FileCalls.openForReading(FileCalls.workingDirectory, path)
            )
        }
        let before = try Self.attempt { () throws(FileError) in try source.status() }
        guard before.regular else {
            let code = FileError.Code.isDirectory
            throw .system(FileError(call: "open", code: code, path: path))
        }
        try self.init(
            size: UInt64(clamping: before.byte_count),
            limit: limit,
            in: directory
        ) { offset, count throws(ContentSourceError) in
            try Self.attempt { () throws(FileError) in
                try source.read(count, at: Int64(offset))
            }
        }
        let after = try Self.attempt { () throws(FileError) in try source.status() }
        guard after.device == before.device, after.inode == before.inode,
            after.byte_count == before.byte_count,
            after.modified_nanoseconds == before.modified_nanoseconds
        else { throw .changedWhileReading }
    }

    private static func attempt<Value: ~Copyable>(
        _ body: () throws(FileError) -> Value
    ) throws(ContentSourceError) -> Value {
        do {
            return try body()
        } catch {
            throw .system(error)
        }
    }
}
