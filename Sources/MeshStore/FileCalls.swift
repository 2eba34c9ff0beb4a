// The one file of this module that hands memory to C; everything else calls it safely.

import CLinux
import Glibc
import MeshWire

/// The system's text for an `errno`.
func errorText(_ code: Int32) -> String {
    let text = unsafe [UInt8](unsafeUninitializedCapacity: 128) { buffer, count in
        let length = unsafe buffer.withMemoryRebound(to: CChar.self) { room in
            unsafe room.baseAddress.map { unsafe linux_error_text(code, $0, 128) } ?? 0
        }
        count = Int(length)
    }
    return String(decoding: text, as: UTF8.self)
}

/// The value of an environment variable; `nil` if it is absent or empty.
func environmentVariable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
}

/// An open file or directory with one owner; closed when it dies.
struct FileDescriptor: ~Copyable, Sendable {
    let number: Int32
    let path: String

    init(_ call: String, _ path: String, _ number: Int32) throws(FileError) {
        self.number = try checked(call, path, number)
        self.path = path
    }

    deinit {
        // What must not be lost was synced before, so a failure here says nothing new.
        _ = linux_close(number)
    }

    /// `fstat`.
    func status() throws(FileError) -> linux_status {
        var status = linux_status()
        try checked("fstat", path, unsafe linux_status_of(number, &status))
        return status
    }

    /// Reads to the end, at most `limit` bytes, into `bytes`; answers the number.
    func read(into bytes: inout MutableRawSpan) throws(FileError) -> Int {
        var done = 0
        while done < bytes.byteCount {
            let start = done
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
                let place = unsafe rest.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe linux_read(number, place, Int64(rest.count))
            }
            guard try checked("read", path, count) > 0 else { break }
            done += Int(count)
        }
        return done
    }

    /// Reads to the end, at most `limit` bytes.
    func read(limit: Int) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        let count = try read(into: &raw)
        return Array(bytes.prefix(count))
    }

    /// Reads `count` bytes at `offset`; fewer only at the end of the file.
    func read(_ count: Int, at offset: Int64) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let start = done
            let result = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
                let place = unsafe buffer.baseAddress.map { unsafe $0 + start }
                let rest = Int64(count - start)
                return unsafe linux_read_at(number, place, rest, offset + Int64(start))
            }
            guard try checked("read", path, result) > 0 else { break }
            done += Int(result)
        }
        if done < count { bytes.removeLast(count - done) }
        return bytes
    }

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: RawSpan, at offset: Int64) throws(FileError) {
        var done = 0
        while done < bytes.byteCount {
            let start = done
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[start...])
                let place = unsafe rest.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let length = Int64(rest.count)
                return unsafe linux_write_at(number, place, length, offset + Int64(start))
            }
            done += Int(try checked("write", path, count))
        }
    }

    /// Writes all of `bytes`.
    func write(_ bytes: RawSpan) throws(FileError) {
        var done = 0
        while done < bytes.byteCount {
            let start = done
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[start...])
                let place = unsafe rest.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe linux_file_write(number, place, Int64(rest.count))
            }
            done += Int(try checked("write", path, count))
        }
    }
}

/// The id of this process.
func processID() -> Int32 { getpid() }

/// Overwrites bytes that held a secret.
func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
        // `explicit_bzero` is not optimised away.
        if let start = buffer.baseAddress { unsafe explicit_bzero(start, buffer.count) }
    }
}

/// The calls relative to a directory, `LINUX_AT_CWD` for the working directory.
enum FileCalls {
    static let workingDirectory = Int32(LINUX_AT_CWD)

    static func openDirectory(_ directory: Int32, _ path: String) -> Int32 {
        unsafe linux_open_directory(directory, path)
    }
    static func openForReading(_ directory: Int32, _ path: String) -> Int32 {
        unsafe linux_open_read(directory, path)
    }
    static func create(_ directory: Int32, _ path: String) -> Int32 {
        unsafe linux_create_file(directory, path)
    }
    static func openLock(_ directory: Int32, _ path: String) -> Int32 {
        unsafe linux_open_lock(directory, path)
    }
    static func memoryFile() -> Int32 { linux_memory_file() }
    static func temporaryFile(_ directory: String) -> Int32 {
        unsafe linux_temporary_file(directory)
    }
    static func freeBytes(_ path: String) -> Int64 {
        unsafe linux_free_bytes(path)
    }
    static func makeDirectory(_ directory: Int32, _ path: String) -> Int32 {
        unsafe linux_make_directory(directory, path)
    }
    static func rename(_ directory: Int32, _ old: String, _ new: String, replace: Bool) -> Int32 {
        unsafe linux_rename(directory, old, new, replace)
    }
    static func remove(_ directory: Int32, _ path: String) -> Int32 {
        unsafe linux_unlink(directory, path)
    }

    /// The names in an open directory, sorted.
    static func list(_ directory: borrowing FileDescriptor) throws(FileError) -> [String] {
        var names: [String] = []
        let result = unsafe withUnsafeMutablePointer(to: &names) { pointer in
            unsafe linux_list(
                directory.number,
                { name, context in
                    guard let name = unsafe name, let context = unsafe context else { return }
                    let text = unsafe String(cString: name)
                    unsafe context.assumingMemoryBound(to: [String].self).pointee.append(text)
                },
                pointer
            )
        }
        try checked("readdir", directory.path, result)
        return names.sorted()
    }
}
