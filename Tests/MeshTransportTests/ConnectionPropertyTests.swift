import MeshTransport
import MeshWire
import Testing

@Suite("Any link, then a good one")
struct ConnectionPropertyTests {
    @Test(
        "any mix of loss, duplicates, reordering, blackholes and returns delivers everything once",
        arguments: UInt64(1)...8
    )
    func anything(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var pair = ConnectionPair(seed: seed)
        let classes: [TrafficClass] = [.high, .normal, .low, .background]
        let channels = try (0..<3).map {
            try pair.left.openChannel(
                name: [UInt8($0)],
                class: classes[Int.random(in: 0..<4, using: &generator)]
            )
        }
        var sent: [[(bytes: [UInt8], token: SendToken)]] = [[], [], []]
        for _ in 0..<40 {
            pair.link.loss = generator.happens(0.3) ? 0 : generator.unit() * 0.6
            pair.link.duplication = generator.unit() * 0.3
            pair.link.jitter = .milliseconds(Int64.random(in: 0...30, using: &generator))
            pair.link.delay = .milliseconds(Int64.random(in: 0...60, using: &generator))
            pair.link.isDown = generator.happens(0.15)
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                let index = Int.random(in: 0..<3, using: &generator)
                let size =
                    generator.happens(0.1)
                    ? Int.random(in: 0...120_000, using: &generator)
                    : Int.random(in: 0...2500, using: &generator)
                let bytes = pattern(sent[index].count, size)
                var options = SendOptions()
                options.isOrdered = index != 2
                if generator.happens(0.2) {
                    options.expires = pair.now + .milliseconds(150)
                }
                let token = try pair.left.send(
                    bytes,
                    on: channels[index],
                    options: options,
                    now: pair.now
                )
                sent[index].append((bytes, token))
                if generator.happens(0.1) { pair.left.cancel(token, now: pair.now) }
            }
            pair.run(for: .milliseconds(Int64.random(in: 1...400, using: &generator)))
            if generator.happens(0.05) {
                pair.dropFlights()
                pair.rekey(resumed: true)
            }
        }
        pair.link = ConnectionPair.Link()
        pair.run(for: .seconds(10))
        #expect(pair.violation == nil)
        #expect(!pair.isBusy)
        #expect(pair.left.statistics.queuedBytes == 0)
        #expect(pair.left.statistics.inFlightBytes == 0)
        #expect(pair.right.statistics.bufferedBytes == 0)
        let outcomes = pair.outcomes(.left)
        for index in 0..<3 {
            let received = pair.received(.right).filter { $0.name == [UInt8(index)] }
            #expect(Set(received.map(\.sequence)).count == received.count)
            if index != 2 {
                #expect(
                    zip(received, received.dropFirst()).allSatisfy { $0.sequence < $1.sequence }
                )
            }
            var left = received.map(\.bytes)
            for (bytes, token) in sent[index] {
                let outcome = try #require(outcomes[token])
                let place = left.firstIndex(of: bytes)
                // A message given up may have been whole by then; a delivered one must be there.
                if outcome == .delivered { #expect(place != nil) }
                if let place { left.remove(at: place) }
            }
            #expect(left.isEmpty)
        }
    }
}
