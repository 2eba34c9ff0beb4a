import MeshEngine
import MeshSession
import MeshTransport
import MeshWire
import Testing

@testable import Huddle

@Suite("Requests for the state, message by message")
struct StateExchangeTests {
    private static let session = SessionID(Array(repeating: 9, count: 16)) ?? .zero
    private static let (lead, other, newcomer, late) = (id(1), id(2), id(3), id(4))

    private static func id(_ byte: UInt8) -> ParticipantID {
        ParticipantID(Array(repeating: byte, count: 16)) ?? .zero
    }

    private static func at(_ index: UInt64) -> Position {
        Position(epoch: Epoch(counter: 1, proposer: 1), index: index)
    }

    private func request(
        _ index: UInt64,
        by requester: ParticipantID = newcomer,
        away: [ParticipantID] = []
    ) -> StateRequest {
        StateRequest(
            position: Self.at(index),
            requester: requester,
            provider: Self.lead,
            present: [Self.lead, Self.other, Self.newcomer],
            away: away
        )
    }

    private func message(
        _ payload: [UInt8],
        from: ParticipantID = other,
        channel: String = "a",
        stream: ChannelNumber = 5,
        mark: UInt64? = nil,
        ordinal: UInt64 = 0
    ) -> InboundMessage {
        InboundMessage(
            session: Self.session,
            from: from,
            channel: channel,
            lane: .reliable,
            key: 0,
            payload: payload,
            stream: stream,
            mark: mark.map { StateMark(position: Self.at($0), stream: ordinal) }
        )
    }

    private func note(
        _ note: StateNote,
        from: ParticipantID = other,
        _ index: UInt64
    ) -> InboundMessage {
        message(note.encoded, from: from, channel: StateNote.channel, stream: 1, mark: index)
    }

    private let kept = StateExchange.Verdict.keep(mustWait: false)

    @Test("the lead reads on until the mark, and what follows once the state is made")
    func serving() {
        var exchange = StateExchange()
        let isTaken = exchange.serve(request(10), as: Self.lead)
        #expect(isTaken)
        var verdicts = [message([1]), message([], mark: 10), message([2])]
            .map { exchange.take($0, joinedAt: Self.at(1)) }
        #expect(verdicts == [.deliver, kept, kept])
        let early = exchange.begin(isDrained: true, isLate: false)
        #expect(early == nil)
        verdicts = [exchange.take(note(.streams(1), 10), joinedAt: Self.at(1))]
        let undrained = exchange.begin(isDrained: false, isLate: false)
        #expect(undrained == nil)
        let begun = exchange.begin(isDrained: true, isLate: false)
        #expect(begun == request(10))
        let end = exchange.end(Self.at(10))
        #expect(end?.0.incomplete == [])
        #expect(end?.1.map(\.payload) == [[2]])
        #expect(exchange.isIdle)
    }

    @Test(
        "after the time for it the state is made, and names who has not marked all, left or was away"
    )
    func missing() {
        var exchange = StateExchange()
        _ = exchange.serve(request(10, away: [Self.late]), as: Self.lead)
        _ = exchange.take(note(.streams(2), 10), joinedAt: Self.at(1))
        _ = exchange.take(message([], mark: 10, ordinal: 1), joinedAt: Self.at(1))
        _ = exchange.take(message([], mark: 10, ordinal: 1), joinedAt: Self.at(1))
        let soon = exchange.begin(isDrained: true, isLate: false)
        #expect(soon == nil)
        let begun = exchange.begin(isDrained: true, isLate: true)
        #expect(begun != nil)
        #expect(exchange.serving.first?.incomplete == [Self.other, Self.late])
    }

    @Test("who joins after a request is held without a mark, by the lead and by the newcomer")
    func laterJoiner() {
        for isLead in [true, false] {
            var exchange = StateExchange()
            if isLead {
                _ = exchange.serve(request(10), as: Self.lead)
            } else {
                exchange.ask(request(10), as: Self.newcomer)
            }
            let early = exchange.take(message([1], from: Self.late), joinedAt: Self.at(9))
            #expect(early == .deliver)
            let verdict = exchange.take(message([2], from: Self.late), joinedAt: Self.at(11))
            #expect(verdict == kept)
            let released =
                isLead ? exchange.end(Self.at(10))?.1 : exchange.close(incomplete: [])
            #expect(released?.map(\.payload) == [[2]])
        }
    }

    @Test(
        "the newcomer drops what comes before a mark, also after the state, and keeps what follows"
    )
    func asking() {
        var exchange = StateExchange()
        exchange.ask(request(10), as: Self.newcomer)
        let verdicts = [
            message([1]), message([], mark: 10), message([2]),
            message([3], from: Self.lead, stream: 8),
        ].map { exchange.take($0, joinedAt: Self.at(1)) }
        #expect(verdicts == [.covered, kept, kept, .covered])
        #expect(exchange.statistics.dropped == 2)
        let answer = exchange.take(
            note(.state([7], incomplete: []), from: Self.lead, 10),
            joinedAt: Self.at(1)
        )
        #expect(answer == .answered(.state(.bytes([7]), incomplete: [])))
        let released = exchange.close(incomplete: [])
        #expect(released.map(\.payload) == [[2]])
        // The lead's mark is still on its way, and what came before it is in the state.
        let before = exchange.take(message([4], from: Self.lead, stream: 8), joinedAt: Self.at(1))
        #expect(before == .covered)
        _ = exchange.take(note(.streams(1), from: Self.lead, 10), joinedAt: Self.at(1))
        _ = exchange.take(message([], from: Self.lead, stream: 8, mark: 10), joinedAt: Self.at(1))
        let after = exchange.take(message([5], from: Self.lead, stream: 8), joinedAt: Self.at(1))
        #expect(after == .deliver)
        let again = exchange.take(
            note(.state([8], incomplete: []), from: Self.lead, 10),
            joinedAt: Self.at(1)
        )
        #expect(again == kept)
        #expect(exchange.statistics.late == 1)
    }

    @Test("a second request drops what was held for the first: its state will have that")
    func askingAgain() {
        var exchange = StateExchange()
        exchange.ask(request(10), as: Self.newcomer)
        _ = exchange.take(message([], mark: 10), joinedAt: Self.at(1))
        _ = exchange.take(message([1]), joinedAt: Self.at(1))
        exchange.ask(request(20), as: Self.newcomer)
        _ = exchange.take(message([], mark: 20), joinedAt: Self.at(1))
        _ = exchange.take(message([2]), joinedAt: Self.at(1))
        let released = exchange.close(incomplete: [])
        #expect(released.map(\.payload) == [[2]])
    }

    @Test("marks and states nobody asked for are counted, and change nothing")
    func refused() {
        var exchange = StateExchange()
        _ = exchange.serve(request(10), as: Self.lead)
        let forged = [
            message([], mark: 11), message([], from: Self.late, mark: 10),
            note(.state([1], incomplete: []), 10), note(.streams(1), from: Self.late, 10),
            note(.busy, 12),
        ]
        for message in forged { _ = exchange.take(message, joinedAt: Self.at(1)) }
        #expect(exchange.statistics.refused == 5)
        let senseless = [
            message([1], mark: 10), message([], mark: 10, ordinal: 1 << 20),
            message([77], channel: StateNote.channel, stream: 1, mark: 10),
        ]
        for message in senseless { _ = exchange.take(message, joinedAt: Self.at(1)) }
        #expect(exchange.statistics.malformed == 3)
        #expect(exchange.streams.isEmpty)
    }

    @Test("the lead keeps so many requests waiting, and those of who is gone no longer")
    func bounds() {
        var exchange = StateExchange()
        let taken = (0..<20).map { index in
            exchange.serve(request(10 + UInt64(index)), as: Self.lead)
        }
        #expect(taken.count { $0 } == StateExchange.requests)
        let over = exchange.gone(Self.newcomer)
        #expect(over.count == StateExchange.requests)
    }

    @Test("a channel's senders wait once 4 MiB of it are held, until that is handed on")
    func full() {
        var streams = StateStreams()
        let key = StateStreams.Key(from: Self.other, number: 5)
        streams.block(key, by: Self.at(10))
        let large = message([UInt8](repeating: 0, count: 1 << 20))
        let answers = (0..<5).map { _ in streams.hold(large) }
        #expect(answers == [false, false, false, true, false])
        #expect(streams.full == ["a"])
        let released = streams.release(Self.at(10))
        #expect(released.count == 5)
        let opened = streams.takeOpened()
        #expect(opened == ["a"])
    }

    @Test(
        "a new stream begins with the marks of requests that stand, and a new participation with none"
    )
    func sending() {
        var sending = StateSending()
        let (a, b) = (
            StateSending.Stream(channel: "a", priority: .normal),
            StateSending.Stream(channel: "a", priority: .high)
        )
        let now = Instant(nanoseconds: 0)
        let first = sending.send(on: a, as: Self.other, now: now)
        #expect(first == [])
        let marks = sending.mark(Self.at(10), for: [Self.lead], as: Self.other, now: now)
        #expect(marks.map(\.mark.stream) == [0])
        let again = sending.send(on: a, as: Self.other, now: now)
        #expect(again == [])
        let fresh = sending.send(on: b, as: Self.other, now: now)
        #expect(fresh.map(\.mark) == [StateMark(position: Self.at(10), stream: 1)])
        let anew = sending.send(on: a, as: Self.late, now: now)
        #expect(anew == [])
        #expect(sending.streams == [a])
    }

    @Test(
        "a note survives its bytes, and every cut of it is refused",
        arguments: [
            StateNote.streams(3), .busy, .state([1, 2], incomplete: [id(1), id(2)]),
            .nothing(.tooLate, incomplete: [id(3)]),
        ]
    )
    func notes(note: StateNote) throws {
        let bytes = note.encoded
        #expect(try StateNote(decoding: bytes) == note)
        for count in bytes.indices {
            guard let cut = try? StateNote(decoding: Array(bytes[..<count])) else { continue }
            // A state has no length of its own: its message has.
            guard case .state(let rest, _) = cut else {
                Issue.record("\(count) bytes of \(note) are \(cut)")
                continue
            }
            #expect(rest.count < 2)
        }
    }
}
