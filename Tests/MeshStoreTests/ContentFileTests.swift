import Foundation
import MeshContent
@testable import MeshStore
import MeshWire
import Testing

@Suite("Content files — 50-journal-and-playback A2, A6") struct ContentFileTests {
    /// A folder of its own that goes with the test.
    private final class Folder {
        let path: String

        init() throws {
            var template = Array("/tmp/huddle-content-XXXXXX".utf8CString)
            _ = try #require(mkdtemp(&template))
            path = String(
                decoding: template.dropLast().map(UInt8.init(bitPattern:)),
                as: UTF8.self
            )
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// The bytes 0 to 250, again and again.
    private static func bytes(_ range: Range<UInt64>) -> [UInt8] {
        let start = Int(range.lowerBound % 251)
        let cycle = (0..<251).map { UInt8(($0 + start) % 251) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count + 251)
        while bytes.count < range.count { bytes += cycle }
        return Array(bytes.prefix(range.count))
    }

    /// By Python: `hashlib.blake2b(digest_size=32, person=…)` over the same bytes.
    @Test(
        "J1: the root is the one that Python computes",
        arguments: [
            (0, "e4612641c6f1ac52dc9be8ca7d87bf9220196c66aebae400a56866f9a5e9a394"),
            (1, "894c919502770c5728ac2b65471339981a13950854ed06548bb77f59f7c6c593"),
            (65_535, "d5611c266c0a371b3b2077090a44c5a7907dffff53f09d1faa140802551b5205"),
            (65_536, "51c78aa0be60aa3a0db1a38e91b4fe02a88c07c574610f16ae46fd2ba42e9d31"),
            (65_537, "caf39d6216971953ce7e62508d4346896c1e762eb87b6a7359d2afc58adcbe08"),
            (67_108_863, "38e765ea7b2e353a8c03117f3f7128ebb2291a8633aeb80ce1b36f7af9024b1d"),
            (67_108_864, "0eee669a8e436ea323122b49b503e7586332cb75617d1d159a9657c69d44b7ef"),
            (67_108_865, "35a48d44f586efce0cdf39b8fa3cada92fbdeb4d92f32ea916525e0bcbea02dd"),
            (100_000_000, "dacc992996bfff659df42b948ad48f7a94ad97ba21f705018ef7ddfdee6db7d9"),
        ] as [(UInt64, String)]
    )
    func roots(size: UInt64, root: String) throws {
        let folder = try Folder()
        let stored = try StoredContent(size: size, limit: size, in: folder.path) { offset, count in
            Self.bytes(offset..<offset + UInt64(count))
        }
        #expect(hexadecimal(stored.id.bytes) == root)
        #expect(stored.tree.shape.size == size)
        let last = stored.tree.shape.chunks - 1
        guard last >= 0 else { return }
        let start = UInt64(last) * 65_536
        #expect(try stored.file.read(chunk: last) == Self.bytes(start..<size))
    }

    @Test("every flip of a bit in a chunk, a page or the record changes the hash above it")
    func flips() throws {
        let folder = try Folder()
        let stored = try StoredContent(size: 70_000, limit: 70_000, in: folder.path) {
            offset,
            count in
            Self.bytes(offset..<offset + UInt64(count))
        }
        let parts: [(ContentHash, [UInt8], Digest)] = [
            (.leaf, try stored.file.read(chunk: 1), try #require(stored.tree.leaf(1))),
            (.page, stored.tree.pages[0], try ContentRecord(decoding: stored.tree.record).pages[0]),
            (.root, stored.tree.record, Digest(words: stored.id.words)),
        ]
        for (kind, bytes, digest) in parts {
            #expect(StoredContent.hash(kind, bytes) == digest)
            for bit in stride(from: 0, to: bytes.count * 8, by: kind == .leaf ? 13 : 1) {
                var other = bytes
                other[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(StoredContent.hash(kind, other) != digest, "bit \(bit)")
            }
        }
    }

    @Test("the file has no name, is the user's alone, and can be opened while it lives")
    func unnamed() throws {
        let folder = try Folder()
        let shape = try #require(ContentShape(size: 100_000))
        let file = try ContentFile(in: folder.path + "/deep/er", shape: shape)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path + "/deep/er").isEmpty
        )
        try file.write(Array(repeating: 7, count: 34_464), chunk: 1)
        let data = try Data(contentsOf: URL(fileURLWithPath: file.path), options: .alwaysMapped)
        #expect(data.count == 100_000)
        #expect(data[65_535] == 0)
        #expect(data[65_536] == 7)
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try file.read(10, at: 99_995) == Array(repeating: 7, count: 5))
        #expect(try file.read(10, at: 100_001).isEmpty)
    }

    @Test("a file is copied; too large a one is not read, and a link or a folder is none")
    func files() throws {
        let folder = try Folder()
        let path = folder.path + "/source"
        try Data(Self.bytes(0..<70_000)).write(to: URL(fileURLWithPath: path))
        let stored = try StoredContent(path: path, limit: 70_000, in: folder.path)
        let direct = try StoredContent(size: 70_000, limit: 70_000, in: folder.path) {
            offset,
            count in
            Self.bytes(offset..<offset + UInt64(count))
        }
        #expect(stored.id == direct.id)
        #expect(throws: ContentSourceError.tooLarge(size: 70_000, limit: 69_999)) {
            try StoredContent(path: path, limit: 69_999, in: folder.path)
        }
        try FileManager.default.createSymbolicLink(atPath: path + "2", withDestinationPath: path)
        for bad in [path + "2", folder.path, path + "3"] {
            #expect(throws: ContentSourceError.self) {
                try StoredContent(path: bad, limit: 70_000, in: folder.path)
            }
        }
    }

    @Test("a source that is shorter than it said, or changes, is refused") func changed() throws {
        let folder = try Folder()
        #expect(throws: ContentSourceError.changedWhileReading) {
            try StoredContent(size: 70_000, limit: 70_000, in: folder.path) { _, count in
                Array(repeating: 1, count: min(count, 3000))
            }
        }
    }
}
