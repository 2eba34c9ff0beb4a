import MeshWire
import Testing

@testable import MeshSimulator

@Suite("Large messages of the simulator") struct LargeMessagesTests {
    /// Hands what is due to the other side, but for the fragments that `isLost` names.
    private static func carry(
        _ sender: inout LargeMessages,
        to receiver: inout LargeMessages,
        _ now: Instant,
        isLost: (_ index: UInt32) -> Bool
    ) throws -> [[UInt8]] {
        var whole: [[UInt8]] = []
        for (_, bytes) in sender.due(now) {
            var head = ByteReader(bytes.raw)
            _ = try head.read(UInt64.self)
            guard !isLost(try head.read()) else { continue }
            var reader = ByteReader(bytes.raw)
            let (answer, message) = try receiver.receive(&reader, from: 1)
            if let message { whole.append(message) }
            var acknowledgment = ByteReader(answer.raw)
            try sender.acknowledge(&acknowledgment, from: 2, now: now)
        }
        return whole
    }

    @Test("what is acknowledged has come, however many others were left unfinished")
    func unfinished() throws {
        var sender = LargeMessages()
        var receiver = LargeMessages()
        var now = Instant.zero
        let message = [UInt8](repeating: 7, count: 2500)
        // The first fragment is always lost, so each of these is given up after 10 s.
        for _ in 0..<400 {
            sender.send(message, to: 2, now: now)
            while sender.deadline < .distantFuture {
                let whole = try Self.carry(&sender, to: &receiver, now) { $0 == 0 }
                #expect(whole.isEmpty)
                now += .seconds(11)
            }
        }
        sender.send(message, to: 2, now: now)
        #expect(try Self.carry(&sender, to: &receiver, now) { _ in false } == [message])
    }
}
