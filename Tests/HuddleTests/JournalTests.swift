import Foundation
import MeshContent
import MeshSession
import MeshWire
import Testing

@testable import Huddle

extension Node {
    /// Whether no byte of any attachment is here.
    fileprivate var keepsNothing: Bool {
        contents.exchange.known.isEmpty && contents.files.isEmpty
    }
}

@Suite("Journal of a session — 50-journal-and-playback", .serialized, .timeLimit(.minutes(1)))
struct JournalTests {
    /// Two nodes in one session of a room on loopback.
    private struct Pair {
        let stage: Stage
        let (anna, ben): (Node, Node)
        let (mine, yours): (Session, Session)

        init(_ names: (String, String) = ("anna", "ben")) async throws {
            stage = try Stage()
            (anna, ben) = (try await stage.start(names.0), try await stage.start(names.1))
            let hall = try await anna.createRoom(named: "hall")
            let room = try await ben.join(hall)
            let session = try await hall.start("draw")
            mine = session
            yours = try #require(await room.sessions.first { $0.id == session.id })
            try await yours.join()
            await mine.waitForParticipants(2)
        }

        func stop() async {
            await anna.stop()
            await ben.stop()
            stage.remove()
        }

        /// What of the caches' folders has a name.
        func named() throws -> [String] {
            try ["anna", "ben"].flatMap { name in
                let folder = Places(below: "\(stage.folder)/\(name)").contents
                guard FileManager.default.fileExists(atPath: folder) else { return [String]() }
                return try FileManager.default.contentsOfDirectory(atPath: folder)
            }
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 / 65_536 &+ $0) }
    }

    @Test("what one adds the other loads; progress does not fall and ends; both hold it")
    func addAndLoad() async throws {
        let pair = try await Pair()
        let bytes = Self.bytes(1_000_000)
        var changes = await pair.yours.journal.changes.makeAsyncIterator()
        let upload = pair.mine.journal.add(
            .bytes(bytes),
            name: "a.bin",
            type: "public.data",
            metadata: [1, 2]
        )
        let added = try await upload.value
        #expect(await changes.next() == .added(added))
        #expect(added.size == 1_000_000)
        #expect(added.name == "a.bin")
        #expect(added.author == (await pair.mine.localParticipant)?.participantID)
        let download = pair.yours.journal.load(added)
        var last: TransferProgress?
        for await progress in download {
            #expect(progress.bytesDone >= last?.bytesDone ?? 0)
            last = progress
        }
        #expect(last?.phase == .done)
        let content = try await download.value
        #expect(try content.read(2_000_000) == bytes)
        #expect(try content.read(10, at: 999_995) == Array(bytes.suffix(5)))
        #expect(content.id == added.content)
        try await upload.heldElsewhere()
        try await download.heldElsewhere(by: 1)
        #expect(try await pair.yours.journal.metadata(of: added) == [1, 2])
        #expect(try pair.named().isEmpty)
        await pair.stop()
    }

    @Test("one's own is there at once, and stays readable when it is removed") func own()
        async throws
    {
        let pair = try await Pair()
        let added = try await pair.mine.journal.add(.bytes([7, 8])).value
        let content = try await pair.mine.journal.load(added).value
        var sets = await pair.mine.journal.attachments.makeAsyncIterator()
        #expect(await sets.next() == [added])
        try await pair.yours.journal.remove(added)
        #expect(await sets.next() == [])
        #expect(try content.read(5) == [7, 8])
        await #expect(throws: JournalError.removed) {
            try await pair.mine.journal.load(added).value
        }
        try await pair.mine.journal.remove(added)
        await pair.stop()
    }

    @Test("over the limits of bytes and metadata nothing is read") func tooLarge() async throws {
        let pair = try await Pair()
        let source = AttachmentSource.reader(size: 100_000_001) { _, _ in
            Issue.record("it was read")
            return []
        }
        await #expect(throws: JournalError.tooLarge(size: 100_000_001, limit: 100_000_000)) {
            try await pair.mine.journal.add(source).value
        }
        await #expect(throws: JournalError.tooLarge(size: 262_145, limit: 262_144)) {
            try await pair.mine.journal.add(
                .bytes([]),
                metadata: Array(repeating: 0, count: 262_145)
            ).value
        }
        await pair.stop()
    }

    @Test("what changes or is not there while it is read is refused, and leaves no trace")
    func sources() async throws {
        let pair = try await Pair()
        let short = AttachmentSource.reader(size: 100) { _, count in
            Array(repeating: 1, count: count - 1)
        }
        await #expect(throws: JournalError.changedWhileReading) {
            try await pair.mine.journal.add(short).value
        }
        await #expect(throws: JournalError.unreadable(errno: 2)) {
            try await pair.mine.journal.add(.file(pair.stage.folder + "/nothing")).value
        }
        await #expect(throws: JournalError.unreadable(errno: 21)) {
            try await pair.mine.journal.add(.file(pair.stage.folder)).value
        }
        var sets = await pair.mine.journal.attachments.makeAsyncIterator()
        #expect(await sets.next() == [])
        #expect(await pair.anna.keepsNothing)
        await pair.stop()
    }

    @Test("a cancelled upload leaves no trace, a cancelled load ends") func cancelled() async throws
    {
        let pair = try await Pair()
        let upload = pair.mine.journal.add(
            .reader(size: 50_000_000) { _, count in
                withUnsafeCurrentTask { $0?.cancel() }
                return Array(repeating: 1, count: count)
            }
        )
        await #expect(throws: JournalError.cancelled) { try await upload.value }
        #expect(await pair.anna.keepsNothing)
        // An entry whose bytes nobody has.
        let nobody = JournalEntry(
            id: AttachmentID(words: (1, 2)),
            kind: .data,
            size: 5,
            root: ContentID(words: (1, 2, 3, 4))
        )
        _ = try await pair.anna.submit(.addAttachment(nobody), session: pair.mine.id)
        var sets = await pair.mine.journal.attachments.makeAsyncIterator()
        let entry = try #require(await sets.next()?.first)
        let load = pair.mine.journal.load(entry)
        for await progress in load where progress.phase == .blocked { break }
        load.cancel()
        await #expect(throws: JournalError.cancelled) { try await load.value }
        await pair.stop()
    }

    @Test("an entry that names another size than the bytes have is no attachment")
    func lyingEntry() async throws {
        let pair = try await Pair()
        let added = try await pair.mine.journal.add(.bytes(Self.bytes(100_000))).value
        let liar = JournalEntry(
            id: AttachmentID(words: (1, 3)),
            kind: .data,
            size: 5,
            root: added.content
        )
        _ = try await pair.anna.submit(.addAttachment(liar), session: pair.mine.id)
        var sets = await pair.yours.journal.attachments.makeAsyncIterator()
        var all: [Huddle.Attachment] = []
        while all.count < 2 { all = try #require(await sets.next()) }
        #expect(try await pair.yours.journal.load(all[0]).value.size == 100_000)
        await #expect(throws: JournalError.badManifest) {
            try await pair.yours.journal.load(all[1]).value
        }
        await #expect(throws: JournalError.badManifest) {
            try await pair.mine.journal.load(all[1]).value
        }
        await pair.stop()
    }

    @Test("with the session goes what was kept for it; what waits ends with the reason") func over()
        async throws
    {
        let pair = try await Pair()
        let added = try await pair.mine.journal.add(.bytes(Self.bytes(200_000))).value
        let kept = try await pair.yours.journal.load(added).value
        let nobody = JournalEntry(
            id: AttachmentID(words: (1, 2)),
            kind: .data,
            size: 5,
            root: ContentID(words: (1, 2, 3, 4))
        )
        _ = try await pair.anna.submit(.addAttachment(nobody), session: pair.mine.id)
        var sets = await pair.yours.journal.attachments.makeAsyncIterator()
        var all: [Huddle.Attachment] = []
        while all.count < 2 { all = try #require(await sets.next()) }
        let load = pair.yours.journal.load(all[1])
        for await progress in load where progress.phase == .blocked { break }
        try await pair.mine.end()
        await #expect(throws: JournalError.self) { try await load.value }
        #expect(await sets.next() == nil)
        #expect(await pair.ben.keepsNothing)
        #expect(try kept.read(300_000).count == 200_000)
        await #expect(throws: JournalError.self) {
            try await pair.yours.journal.add(.bytes([1])).value
        }
        var none = await pair.yours.journal.attachments.makeAsyncIterator()
        #expect(await none.next() == nil)
        await pair.stop()
    }

    @Test("two entries of the same bytes share them; the bytes stay until both are removed")
    func shared() async throws {
        let pair = try await Pair()
        let first = try await pair.mine.journal.add(.bytes([1, 2, 3])).value
        let second = try await pair.yours.journal.add(.bytes([1, 2, 3])).value
        #expect(first.content == second.content)
        #expect(first.id != second.id)
        try await pair.mine.journal.remove(first)
        #expect(try await pair.mine.journal.load(second).value.read(9) == [1, 2, 3])
        try await pair.mine.journal.remove(second)
        #expect(await pair.anna.keepsNothing)
        await pair.stop()
    }
}
