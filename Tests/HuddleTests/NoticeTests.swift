import MeshCrypto
import MeshWire
import Testing

@testable import Huddle

@Suite("Notices — 40-groupactivities §8", .serialized, .timeLimit(.minutes(1))) struct NoticeTests {
    private static let session = SessionID((0..<16).map { UInt8($0) }) ?? .zero
    private static let participant = ParticipantID((16..<32).map { UInt8($0) }) ?? .zero

    static let bodies = [
        NoticeBody(subject: .event(session: session, by: participant), text: "paused"),
        NoticeBody(subject: .event(session: .zero, by: .zero), text: ""),
        NoticeBody(
            subject: .event(session: session, by: participant),
            text: String(repeating: "ä", count: 512)
        ),
        NoticeBody(subject: .invitation(.max, activity: "org.example.watch"), text: "Film"),
        NoticeBody(subject: .answer(7, isAccepted: true)),
        NoticeBody(subject: .answer(0, isAccepted: false)),
    ]

    @Test("what is written is read; every cut and every byte more is refused", arguments: bodies)
    func roundTrip(_ body: NoticeBody) throws {
        #expect(try NoticeBody(body.bytes) == body)
        for count in 0..<body.bytes.count {
            #expect(throws: WireError.self) { try NoticeBody(Array(body.bytes.prefix(count))) }
        }
        #expect(throws: WireError.self) { try NoticeBody(body.bytes + [0]) }
    }

    @Test("the bytes are those that the article on the wire format tells of")
    func layout() {
        let event = [1, 0] + (0..<32).map { UInt8($0) } + [6] + Array("paused".utf8)
        #expect(Self.bodies[0].bytes == event)
        let invitation = NoticeBody(subject: .invitation(7, activity: "a.b"), text: "Film")
        let head: [UInt8] = [1, 1, 7, 0, 0, 0, 0, 0, 0, 0, 3]
        #expect(invitation.bytes == head + Array("a.b".utf8) + [4] + Array("Film".utf8))
        #expect(Self.bodies[4].bytes == [1, 2, 7, 0, 0, 0, 0, 0, 0, 0, 1])
    }

    @Test(
        "other versions, kinds, answers, texts over the limit and bytes that are no text are refused"
    )
    func refused() {
        let sound = NoticeBody(subject: .answer(7, isAccepted: true)).bytes
        for (index, value) in [(0, UInt8(0)), (0, 2), (1, 3), (1, 255), (10, 2)] {
            var bytes = sound
            bytes[index] = value
            #expect(throws: WireError.self, "\(index) \(value)") { try NoticeBody(bytes) }
        }
        let long = NoticeBody(
            subject: .event(session: Self.session, by: Self.participant),
            text: String(repeating: "a", count: 1025)
        )
        #expect(throws: WireError.self) { try NoticeBody(long.bytes) }
        let event = NoticeBody(
            subject: .event(session: Self.session, by: Self.participant),
            text: "abc"
        )
        #expect(throws: WireError.self) { try NoticeBody(event.bytes.dropLast() + [0xff]) }
    }

    @Test("any bytes are a notice or an error, never more")
    func fuzz() {
        var generator = SeededGenerator(seed: 30)
        for _ in 0..<20_000 {
            var bytes = Self.bodies[Int.random(in: 0..<Self.bodies.count, using: &generator)].bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            }
            guard let body = try? NoticeBody(bytes) else { continue }
            #expect(body.text.utf8.count <= Notice.textLimit)
            #expect(body.bytes == bytes)
        }
    }

    @Test("of each sender five a second are shown, whatever the others do")
    func gate() {
        func node(_ number: UInt8) -> NodeID {
            NodeID(Array(repeating: number, count: 32)) ?? .zero
        }
        var gate = NoticeGate()
        let start = Instant(nanoseconds: 1_000_000_000)
        var shown = 0
        func admits(_ number: UInt8, _ milliseconds: Int) -> Bool {
            gate.admits(node(number), at: start + .milliseconds(milliseconds))
        }
        for step in 0..<10 where admits(1, 10 * step) { shown += 1 }
        #expect(shown == 5)
        let others = admits(2, 100)
        #expect(others)
        // The first is a second old: there is one place again, and then none.
        let answers = [admits(1, 999), admits(1, 1000), admits(1, 1005)]
        #expect(answers == [false, true, false])
        // More senders than a room has members at a time come and go.
        let many = (0..<200).allSatisfy { admits(UInt8($0), 10_000 + 1000 * $0) }
        #expect(many)
    }

    @Test("a notice goes to every node of the room, and to the readers of its session alone")
    func room() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        await hall.shared.waitForParticipants(2)
        let session = try await hall.start("test.notices")
        try await ben.catchUp()
        let all = await room.notices()
        let theirs = Session(id: session.id, node: ben)
        let own = await theirs.notices

        try await session.notify("paused")
        await #expect(throws: MessengerError.tooLarge(size: 1025, limit: 1024)) {
            try await session.notify(String(repeating: "a", count: 1025))
        }
        try await anna.post(.invitation(7, activity: "a.b"), "Film")
        var words: [String] = []
        for await notice in all {
            words.append("\(notice.who) \(notice.text)")
            #expect(notice.sender == anna.id)
            if words.count == 2 { break }
        }
        #expect(words == ["anna paused", "anna Film"])
        // Who is in no session says nothing in it.
        await #expect(throws: MessengerError.sessionInvalidated) {
            try await theirs.notify("paused")
        }
        try await session.end()
        var heard: [String] = []
        for await notice in own { heard.append(notice.text) }
        #expect(heard == ["paused"])
        for await notice in await session.notices { Issue.record("it is over: \(notice)") }

        // Ben is shown no more than five a second, and counts the others.
        let flood = await room.notices()
        let begin = ContinuousClock.now
        for number in 0..<20 { try await anna.post(.invitation(7, activity: "a.b"), "\(number)") }
        // The last on the channel is no notice; once it is there, all are.
        try await anna.standingSession("room").send([9], on: NoticeBody.channel)
        let seconds = Int((ContinuousClock.now - begin) / .seconds(1))
        let dropped = await ben.droppedNotices
        let shown = 21 - dropped
        #expect(shown <= 5 * (seconds + 1) && shown > 0)
        var numbers: [Int] = []
        for await notice in flood {
            numbers.append(Int(notice.text) ?? -1)
            if numbers.count == shown { break }
        }
        #expect(numbers == numbers.sorted() && Set(numbers).count == shown)
        // An answer finds its sender, and says so if that has left.
        let open = Notice(
            sender: anna.id,
            who: "anna",
            subject: .invitation(7, activity: "a.b"),
            text: "Film"
        )
        let answers = await hall.notices()
        try await room.answer(open, accepting: true)
        for await answer in answers {
            #expect(answer.subject == .answer(7, isAccepted: true))
            break
        }
        let gone = Notice(sender: .zero, who: "x", subject: open.subject, text: "")
        await #expect(throws: MessengerError.notDelivered([:])) {
            try await room.answer(gone, accepting: true)
        }
        await anna.stop()
        await ben.stop()
    }
}
