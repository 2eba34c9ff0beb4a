import Glibc
import MeshWire

/// A directory (0700) of its own under the temporary one; removed with all in it by ``remove()``.
struct Scratch {
    let path: String

    init() {
        var template = Array("/tmp/huddle-test-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            String(cString: mkdtemp(buffer.baseAddress!))
        }
    }

    func remove() { Self.remove(path) }

    private static func remove(_ path: String) {
        chmod(path, 0o700)
        for name in names(path) {
            let child = "\(path)/\(name)"
            if unlink(child) != 0 { remove(child) }
        }
        rmdir(path)
    }

    static func names(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

/// What a path is, as far as tests ask.
struct Found: Equatable {
    var mode: UInt32
    var bytes: [UInt8]

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        mode = status.st_mode & 0o777
        bytes = status.st_mode & S_IFMT == S_IFREG ? readFile(path) : []
    }
}

func readFile(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

func writeFile(_ path: String, _ bytes: [UInt8], mode: UInt32 = 0o600) {
    guard let file = fopen(path, "w") else { return }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
    chmod(path, mode)
}
