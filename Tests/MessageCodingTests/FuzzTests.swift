import Foundation
import MeshWire
import MessageCoding
import TestSupport
import Testing

@Suite("Mutated messages — G18") struct FuzzTests {
    static let isLong = ProcessInfo.processInfo.environment["HUDDLE_LONG"] == "1"

    @Test("no mutated message traps; what is read is read again from its own bytes")
    func mutations()
        throws
    {
        var generator = SeededGenerator(seed: 18)
        var read = 0
        var refused = 0
        for round in 0..<(Self.isLong ? 1000 : 10) {
            let seed = try encoded(Sample(using: &generator, depth: round % 10 == 9 ? 1 : 0))
            for _ in 0..<10_000 {
                var bytes = seed
                mutate(&bytes, using: &generator)
                do {
                    let value = try decoded(Sample.self, bytes)
                    // Some mutations change only a value; what it is now must be writable.
                    _ = try encoded(value)
                    read += 1
                } catch {
                    #expect(error is DecodingError)
                    refused += 1
                }
                if (read + refused) % 64 == 0 { _ = try? decoded(Anything.self, bytes) }
            }
        }
        #expect(read > 0 && refused > read)
    }

    @Test("no mutated envelope traps") func envelopes() {
        var generator = SeededGenerator(seed: 19)
        let seed = MessageEnvelope.value(type: 7, flags: .wantsReceipt).encode([1, 2, 3])
        var kept = 0
        for _ in 0..<20_000 {
            var bytes = seed
            mutate(&bytes, using: &generator)
            guard let (envelope, payload) = try? MessageEnvelope.decode(bytes) else { continue }
            kept += 1
            #expect(envelope.encode(payload) == bytes)
        }
        #expect(kept > 0)
    }
}
