import Glibc
import MeshCrypto
import MeshStore
import MeshWire
import Synchronization
import Testing

@Suite("Key file — 10-security.md §9, S50, S51")
struct KeyFileTests {
    /// The file of seed `00..1f`, as the design prints its check.
    static let golden: [UInt8] =
        Array("huddle/1".utf8) + [1, 0, 0, 0, 0, 0, 0, 0] + Array(0...31)
        + (bytes(hexadecimal: "c4d988352b265659ba8a511332d6255d") ?? [])

    static func goldenID() -> NodeID {
        Identity(seed: Array(0...31).raw).nodeID
    }

    @Test("the design's example is loaded")
    func example() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        writeFile(path, Self.golden)
        #expect(try KeyFile.load(path).nodeID == Self.goldenID())
    }

    @Test("a new identity is there after a restart, and the file is 64 bytes of mode 0600")
    func create() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let directory = "\(scratch.path)/data/huddle"
        let path = "\(directory)/identity.key"
        var secrets = SystemSecrets()
        let first = try KeyFile.loadOrCreate(path, from: &secrets)
        #expect(first.isNew)
        let second = try KeyFile.loadOrCreate(path, from: &secrets)
        #expect(!second.isNew)
        #expect(second.identity.nodeID == first.identity.nodeID)
        let found = try #require(Found(path))
        #expect(found.mode == 0o600)
        #expect(found.bytes.count == 64)
        #expect(Found(directory)?.mode == 0o700)
        #expect(Scratch.names(directory) == ["identity.key"])
    }

    @Test("an existing file is never written over")
    func exists() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        writeFile(path, [1, 2, 3])
        var secrets = SystemSecrets()
        let error = #expect(throws: KeyFileError.self) {
            try KeyFile.create(path, from: &secrets)
        }
        #expect(error == .exists(path: path))
        #expect(Found(path)?.bytes == [1, 2, 3])
        #expect(Scratch.names(scratch.path) == ["identity.key"])
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Makes the file at a path in a directory.
        var prepare: @Sendable (_ path: String, _ directory: String) -> Void
        /// The error, given the path and its directory.
        var error: @Sendable (_ path: String, _ directory: String) -> KeyFileError
        var repair: String
    }

    static let rows = [
        Row(
            testDescription: "mode 0644",
            prepare: { path, _ in writeFile(path, golden, mode: 0o644) },
            error: { path, _ in .permissions(path: path, mode: 0o644) },
            repair: "chmod 600"
        ),
        Row(
            testDescription: "readable by the group",
            prepare: { path, _ in writeFile(path, golden, mode: 0o640) },
            error: { path, _ in .permissions(path: path, mode: 0o640) },
            repair: "chmod 600"
        ),
        Row(
            testDescription: "a symbolic link to a good file",
            prepare: { path, _ in
                writeFile(path + ".real", golden)
                symlink(path + ".real", path)
            },
            error: { path, _ in .notRegular(path: path) },
            repair: "put the file itself there"
        ),
        Row(
            testDescription: "a dangling symbolic link",
            prepare: { path, _ in symlink("/nowhere/at/all", path) },
            error: { path, _ in .notRegular(path: path) },
            repair: "put the file itself there"
        ),
        Row(
            testDescription: "a directory in its place",
            prepare: { path, _ in mkdir(path, 0o700) },
            error: { path, _ in .notRegular(path: path) },
            repair: "put the file itself there"
        ),
        Row(
            testDescription: "a pipe in its place, which must not block",
            prepare: { path, _ in mkfifo(path, 0o600) },
            error: { path, _ in .notRegular(path: path) },
            repair: "put the file itself there"
        ),
        Row(
            testDescription: "a directory of mode 0777",
            prepare: { path, directory in
                writeFile(path, golden)
                chmod(directory, 0o777)
            },
            error: { _, directory in .directoryPermissions(path: directory, mode: 0o777) },
            repair: "chmod 700"
        ),
        Row(
            testDescription: "empty",
            prepare: { path, _ in writeFile(path, []) },
            error: { path, _ in .size(path: path, bytes: 0) },
            repair: "restore it from a copy"
        ),
        Row(
            testDescription: "63 bytes",
            prepare: { path, _ in writeFile(path, golden.dropLast()) },
            error: { path, _ in .size(path: path, bytes: 63) },
            repair: "restore it from a copy"
        ),
        Row(
            testDescription: "65 bytes",
            prepare: { path, _ in writeFile(path, golden + [0]) },
            error: { path, _ in .size(path: path, bytes: 65) },
            repair: "restore it from a copy"
        ),
    ]

    @Test("refused with the way to repair it, and left as it is", arguments: rows)
    func refused(row: Row) throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        row.prepare(path, scratch.path)
        let before = Found(path)
        var secrets = SystemSecrets()
        let error = #expect(throws: KeyFileError.self) {
            try KeyFile.loadOrCreate(path, from: &secrets)
        }
        #expect(error == row.error(path, scratch.path))
        #expect(error?.description.contains(row.repair) == true, "\(error?.description ?? "")")
        #expect(Found(path) == before)
        #expect(!Scratch.names(scratch.path).contains { $0.hasSuffix(".tmp") })
    }

    @Test("every flipped bit is found")
    func flips() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        for bit in 0..<Self.golden.count * 8 {
            var damaged = Self.golden
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            writeFile(path, damaged)
            let error = #expect(throws: KeyFileError.self) { try KeyFile.load(path) }
            #expect(error == .damaged(path: path))
        }
    }

    @Test("a file or directory of another user is refused")
    func foreign() throws {
        guard geteuid() == 0 else {
            print("skipped: only root can give a file away")
            return
        }
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        writeFile(path, Self.golden)
        chown(path, 1234, 1234)
        let error = #expect(throws: KeyFileError.self) { try KeyFile.load(path) }
        #expect(error == .foreignOwner(path: path, owner: 1234))
        chown(path, 0, 0)
        chown(scratch.path, 1234, 1234)
        let outer = #expect(throws: KeyFileError.self) { try KeyFile.load(path) }
        #expect(outer == .foreignOwner(path: scratch.path, owner: 1234))
    }

    @Test("nothing there, not even the directory, is told apart")
    func missing() {
        let error = #expect(throws: KeyFileError.self) {
            try KeyFile.load("/tmp/huddle-no-such-directory/identity.key")
        }
        #expect(error == .missing(path: "/tmp/huddle-no-such-directory/identity.key"))
    }

    @Test("first starts at once end with one identity — S50")
    func concurrent() async throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        for round in 0..<20 {
            let path = "\(scratch.path)/\(round)/identity.key"
            let results = try await withThrowingTaskGroup(of: (NodeID, Bool).self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var secrets = SystemSecrets()
                        let (identity, isNew) = try KeyFile.loadOrCreate(path, from: &secrets)
                        return (identity.nodeID, isNew)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(results.map(\.0)).count == 1)
            #expect(results.count { $0.1 } == 1)
            #expect(Scratch.names("\(scratch.path)/\(round)") == ["identity.key"])
        }
    }

    @Test("modes do not depend on the umask — S51", arguments: [0o000, 0o077, 0o277] as [Int])
    func modes(mask: Int) async throws {
        // In a process of its own, since the mask is the process's and other tests run.
        await #expect(processExitsWith: .success) { [mask] in
            let scratch = Scratch()
            defer { scratch.remove() }
            umask(mode_t(mask))
            // A mask that takes the owner's bits away makes directories nobody can use.
            let directory = mask == 0o277 ? scratch.path : "\(scratch.path)/new"
            let path = "\(directory)/identity.key"
            var secrets = SystemSecrets()
            _ = try KeyFile.loadOrCreate(path, from: &secrets)
            #expect(Found(path)?.mode == 0o600)
            #expect(Found(directory)?.mode == 0o700)
            let lock = try InstanceLock(keyFile: path)
            #expect(Found(lock.path)?.mode == 0o600)
        }
    }
}
