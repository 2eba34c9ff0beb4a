import MeshTransport
import Testing

@testable import HuddleCommand

@Suite("What the soak takes for a broken promise")
struct SoakLedgerTests {
    private typealias Channel = SoakLedger.Channel

    /// A message as the lanes would hand it out.
    private static func arrival(
        _ bytes: [UInt8],
        on channel: Channel,
        lane: Lane = .reliable
    ) -> ReceivedMessage {
        ReceivedMessage(bytes: bytes, channel: 2, name: channel.name, lane: lane, sequence: 0)
    }

    /// The first messages that an end sends on a channel.
    private static func messages(
        _ count: Int,
        on channel: Channel,
        of connection: UInt64 = 7
    )
        -> [[UInt8]]
    {
        var ledger = SoakLedger(connection: connection)
        return (0..<count).map { _ in
            defer { ledger.didSend(channel) }
            return ledger.message(channel)
        }
    }

    @Test("messages in order are counted, each channel for itself", arguments: [0, 1])
    func order(index: Int) throws {
        let channel = Channel.allCases[index]
        var ledger = SoakLedger(connection: 7)
        for message in Self.messages(130, on: channel) {
            try ledger.receive(Self.arrival(message, on: channel))
        }
        #expect(ledger.received[index] == 130)
        #expect(ledger.received[1 - index] == 0)
        // Two of them take many packets, if the channel is the one of such.
        #expect(Self.messages(130, on: channel).count { $0.count == 20_000 } == 2 * index)
    }

    @Test("one that is missing, doubled, cut, changed or a stranger's is a fault")
    func faults() throws {
        let sent = Self.messages(3, on: .small)
        var changed = sent[1]
        changed[20] ^= 1
        let foreign = Self.messages(2, on: .small, of: 8)[1]
        for bad in [sent[2], sent[0], Array(sent[1].dropLast()), changed, foreign, [1, 2]] {
            var ledger = SoakLedger(connection: 7)
            try ledger.receive(Self.arrival(sent[0], on: .small))
            #expect(throws: SoakLedger.Fault.self) {
                try ledger.receive(Self.arrival(bad, on: .small))
            }
            #expect(ledger.received == [1, 0])
        }
    }

    @Test("fast messages may be missing; one that is not newer is a fault")
    func fast() throws {
        var sender = SoakLedger(connection: 7)
        let sent = (0..<3).map { _ in sender.fastMessage() }
        var ledger = SoakLedger(connection: 7)
        for message in [sent[0], sent[2]] {
            try ledger.receive(Self.arrival(message, on: .small, lane: .fast))
        }
        for old in [sent[2], sent[1]] {
            #expect(throws: SoakLedger.Fault.self) {
                try ledger.receive(Self.arrival(old, on: .small, lane: .fast))
            }
        }
    }
}
