import MeshEngine
import MeshTransport
import MeshWire
import Testing

@testable import Huddle

@Suite("Messages that nobody waits for — 20-transport §7")
struct OutboxTests {
    private let session = SessionID(words: (1, 2))

    private func message(_ byte: UInt8, on channel: String = "x", bytes: Int = 1) -> OutboundMessage
    {
        OutboundMessage(
            session: session,
            channel: channel,
            payload: [UInt8](repeating: byte, count: bytes)
        )
    }

    @Test("closed it takes nothing; the first message that waits asks for the node")
    func opens() {
        let outbox = Outbox()
        #expect(outbox.post(message(1)) == (false, false))
        outbox.open(session)
        #expect(outbox.post(message(1)) == (true, true))
        #expect(outbox.post(message(2)) == (true, false))
        #expect(outbox.take().count == 1)
        #expect(outbox.post(message(3)) == (true, true))
        outbox.close()
        #expect(outbox.post(message(4)) == (false, false))
        // What was taken before is not lost.
        #expect(outbox.take().map(\.payload) == [[3]])
    }

    @Test("what is alike becomes one request, in order; nothing else does")
    func runs() {
        let outbox = Outbox()
        outbox.open(session)
        var fast = message(6)
        fast.lane = .fast
        var urgent = message(8)
        urgent.priority = .high
        for message in [
            message(1), message(2), message(3, on: "y"), message(4), message(5), fast, fast, urgent,
        ] {
            #expect(outbox.post(message).isPosted)
        }
        let taken = outbox.take().map { [$0.payload] + $0.others }
        #expect(taken == [[[1], [2]], [[3]], [[4], [5]], [[6]], [[6]], [[8]]])
        #expect(outbox.take().isEmpty)
    }

    @Test("it is full at 256 messages or 256 KiB, until the lanes have taken some")
    func bounds() {
        let outbox = Outbox()
        outbox.open(session)
        for _ in 0..<256 { #expect(outbox.post(message(1)).isPosted) }
        #expect(!outbox.post(message(1)).isPosted)
        // Taken is not accepted.
        #expect(outbox.take().count == 1)
        #expect(!outbox.post(message(1)).isPosted)
        outbox.accepted(count: 256, byteCount: 256)
        #expect(outbox.post(message(1, bytes: 256 << 10)).isPosted)
        #expect(!outbox.post(message(1)).isPosted)
    }
}
