import Glibc
import MeshCrypto
import MeshWire
import Testing

@testable import MeshStore

@Suite("Room store")
struct RoomStoreTests {
    static func record(_ seed: UInt64, name: String = "room", saved: Int64 = 1) -> RoomRecord {
        var secrets = SeededSecrets(seed: seed)
        return RoomRecord(
            secret: RoomSecret(from: &secrets),
            name: name,
            addresses: [
                SocketAddress(192, 0, 2, 1, port: 4000),
                SocketAddress(high: 0xfe80 << 48, low: 5, scope: 3, port: 6),
            ],
            state: [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: 300),
            savedSeconds: saved
        )
    }

    static func isSame(_ left: RoomRecord, _ right: RoomRecord) -> Bool {
        left.secret.isEqual(to: right.secret) && left.name == right.name
            && left.addresses == right.addresses
            && left.state == right.state && left.savedSeconds == right.savedSeconds
    }

    @Test("what was saved is loaded, the latest first")
    func roundTrip() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let store = RoomStore(path: "\(scratch.path)/state/rooms")
        #expect(try store.load().records.isEmpty)
        #expect(try store.latest() == nil)
        let records = [
            Self.record(1, name: "kitchen", saved: 10),
            Self.record(2, name: "garden 🌳", saved: 30),
            Self.record(3, name: "kitchen", saved: 20),
        ]
        for record in records { try store.save(record) }
        let loaded = try store.load()
        #expect(loaded.failures.isEmpty)
        #expect(loaded.records.map(\.savedSeconds) == [30, 20, 10])
        for record in records {
            #expect(loaded.records.contains { Self.isSame($0, record) })
        }
        #expect(try store.latest()?.room == records[1].room)
        #expect(try store.latest(named: "kitchen")?.room == records[2].room)
        #expect(try store.latest(named: "cellar") == nil)
        #expect(Found(store.path)?.mode == 0o700)
        for name in Scratch.names(store.path) {
            #expect(Found("\(store.path)/\(name)")?.mode == 0o600)
            #expect(!name.contains(hexadecimal(records[0].room.bytes.prefix(4))))
        }
    }

    @Test("a room saved again replaces its record; a deleted one is gone")
    func replace() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let store = RoomStore(path: scratch.path)
        var record = Self.record(5)
        try store.save(record)
        record.name = "hall"
        record.addresses = []
        try store.save(record)
        let all = try store.load().records
        #expect(all.count == 1)
        #expect(all.first?.name == "hall")
        #expect(try store.delete(record.room))
        #expect(try !store.delete(record.room))
        #expect(Scratch.names(scratch.path).isEmpty)
    }

    @Test("a damaged or cut file is reported, and the others load")
    func damage() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let store = RoomStore(path: scratch.path)
        try store.save(Self.record(1))
        try store.save(Self.record(2))
        let path = "\(scratch.path)/\(Scratch.names(scratch.path)[0])"
        let good = readFile(path)
        for cut in 0..<good.count {
            writeFile(path, Array(good.prefix(cut)))
            let contents = try store.load()
            #expect(contents.records.count == 1)
            #expect(contents.failures.count == 1)
        }
        for index in stride(from: 0, to: good.count, by: 7) {
            var damaged = good
            damaged[index] ^= 0x10
            writeFile(path, damaged)
            #expect(try store.load().failures.count == 1)
        }
        writeFile(path, good)
        #expect(try store.load().records.count == 2)
    }

    @Test("a file of before, with an epoch's counter where zeros stand now, is read")
    func former() throws {
        let record = Self.record(6)
        var body = Array(record.encoded().dropLast(16))
        #expect(body[88..<96].allSatisfy { $0 == 0 })
        body.replaceSubrange(88..<96, with: [42, 1, 0, 0, 0, 0, 0, 0])
        let read = try RoomRecord(decoding: body + Hash.plain(body.raw, outputBytes: 16))
        #expect(Self.isSame(read, record))
    }

    @Test("a record whose check holds but whose fields do not is no record")
    func hostile() throws {
        let good = Self.record(4).encoded()
        for index in 0..<good.count - 16 {
            for value in [UInt8(0), 0xff, 0x7f] {
                var body = Array(good.dropLast(16))
                body[index] = value
                let bytes = body + Hash.plain(body.raw, outputBytes: 16)
                // Either another record or an error, never a trap.
                _ = try? RoomRecord(decoding: bytes)
            }
        }
        let body = Array(good.dropLast(16)) + [0]
        #expect(throws: WireError.self) {
            try RoomRecord(decoding: body + Hash.plain(body.raw, outputBytes: 16))
        }
    }

    @Test("a directory or file that others reach is refused")
    func modes() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let store = RoomStore(path: scratch.path)
        try store.save(Self.record(1))
        let path = "\(scratch.path)/\(Scratch.names(scratch.path)[0])"
        chmod(path, 0o644)
        #expect(try store.load().failures == [.notPrivate(path: path)])
        chmod(path, 0o600)
        chmod(scratch.path, 0o755)
        let error = #expect(throws: RoomStoreError.self) { try store.load() }
        #expect(error == .notPrivate(path: scratch.path))
        let other = #expect(throws: RoomStoreError.self) { try store.save(Self.record(2)) }
        #expect(other == .notPrivate(path: scratch.path))
    }

    @Test("a name too long is cut at a character")
    func longName() throws {
        let record = Self.record(1, name: String(repeating: "🌳", count: 100))
        let decoded = try RoomRecord(decoding: record.encoded())
        #expect(decoded.name == String(repeating: "🌳", count: 63))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var environment: [String: String]
        var hasRuntime = false
        var keyFile: String?
        var runtime: String?
        var testDescription: String
    }
    static let rows = [
        Row(
            environment: ["HOME": "/h/a"],
            keyFile: "/h/a/.local/share/huddle/identity.key",
            runtime: "/tmp/huddle-7",
            testDescription: "only a home"
        ),
        Row(
            environment: ["HOME": "/h/a", "XDG_DATA_HOME": "/d", "XDG_RUNTIME_DIR": "/r"],
            keyFile: "/d/huddle/identity.key",
            runtime: "/r/huddle",
            testDescription: "variables win"
        ),
        Row(
            environment: ["HOME": "/h/a", "XDG_DATA_HOME": "relative"],
            hasRuntime: true,
            keyFile: "/h/a/.local/share/huddle/identity.key",
            runtime: "/run/user/7/huddle",
            testDescription: "a relative path is ignored"
        ),
        Row(environment: [:], testDescription: "no home, no directories"),
        Row(
            environment: [
                "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s",
                "XDG_CACHE_HOME": "/k",
            ],
            keyFile: "/d/huddle/identity.key",
            runtime: "/tmp/huddle-7",
            testDescription: "no home, all variables"
        ),
    ]

    @Test("the directories follow the XDG specification", arguments: rows)
    func directories(row: Row) {
        let directories = Directories(
            user: 7,
            hasRuntimeDirectory: row.hasRuntime,
            variable: { row.environment[$0] }
        )
        #expect(directories?.keyFile == row.keyFile)
        #expect(directories?.runtime == row.runtime)
    }
}
