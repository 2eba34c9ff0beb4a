import Foundation
import Huddle
import MeshNet
import MeshWire

/// `huddle bench bulk`, `messages`, `fast`, `ping`: the lanes between two nodes on loopback, by the public interface.
///
/// Each figure stands beside what the machine's own UDP does in the same run (`20-transport.md` §9).
struct TransportBench {
    let isJSON: Bool
    let duration: Duration

    private static let rounds = 5000
    private static let messageBytes = 64
    private static let bulkBytes = 64 << 10
    private static let bulkBatch = 16

    func run(_ verb: String) async throws(Failure) -> Int32 {
        do {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("huddle-bench-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let pair = try await BenchPair(in: folder.path)
            switch verb {
            case "bulk": try await bulk(pair)
            case "messages": try await messages(pair)
            case "fast": try await fast(pair)
            default: try await ping(pair)
            }
            await pair.stop()
        } catch {
            throw Failure("failed", "the measurement did not come to its end: \(error)")
        }
        return ExitCode.success
    }

    /// Megabytes a second of one reliable channel, and what they cost.
    private func bulk(_ pair: BenchPair) async throws {
        let limit = try WireLimits.pipe(datagramBytes: 1200, for: duration / 2)
        let counter = Counter()
        let messages = await pair.theirs.messages(on: "bulk")
        let reader = Task.detached {
            for await message in messages { counter.add(message.payload.count) }
        }
        defer { reader.cancel() }
        let payload = [UInt8](repeating: 7, count: Self.bulkBytes)
        // The window grows first.
        try await send(payload, on: "bulk", of: pair, for: .milliseconds(500))
        let (before, start, cpu) = (counter.value, SystemClock.now(), processorTime())
        try await send(payload, on: "bulk", of: pair, for: duration)
        let spent = (SystemClock.now() - start).milliseconds / 1000
        let megabytes = Double(counter.value - before) / 1e6
        let rate = megabytes / spent
        BenchRow(
            name: "bulk, one channel, 64 KiB messages",
            figure: rate,
            unit: "MB/s",
            limit: BenchRow.Limit(
                name: "datagrams of 1,200 B between two threads, not sealed",
                figure: limit
            ),
            goal: "≥ 1150 MB/s"
        ).show(asJSON: isJSON)
        BenchRow(
            name: "processor time, both ends",
            figure: (processorTime() - cpu) / (megabytes / 1000),
            unit: "s/GB",
            goal: "≤ 1.9",
            digits: 2
        ).show(asJSON: isJSON)
    }

    private func send(
        _ payload: [UInt8],
        on channel: String,
        of pair: BenchPair,
        for time: Duration
    ) async throws {
        let batch = [[UInt8]](repeating: payload, count: Self.bulkBatch)
        let start = SystemClock.now()
        while SystemClock.now() - start < time {
            try await pair.mine.send(contentsOf: batch, on: channel, confirm: .accepted)
        }
    }

    /// Small reliable messages a second, one call each.
    private func messages(_ pair: BenchPair) async throws {
        let counter = Counter()
        let messages = await pair.theirs.messages(on: "small")
        let reader = Task.detached { for await _ in messages { counter.add(1) } }
        defer { reader.cancel() }
        let payload = [UInt8](repeating: 7, count: Self.messageBytes)
        func show(
            _ name: String,
            goal: String,
            _ body: @escaping @Sendable () async throws -> Void
        ) async throws {
            let (before, start, cpu) = (counter.value, SystemClock.now(), processorTime())
            while SystemClock.now() - start < duration { try await body() }
            let spent = (SystemClock.now() - start).milliseconds / 1000
            let count = Double(counter.value - before)
            BenchRow(name: name, figure: count / spent / 1000, unit: "k/s", goal: goal)
                .show(asJSON: isJSON)
            BenchRow(
                name: "\(name), processor time",
                figure: (processorTime() - cpu) / count * 1e6,
                unit: "µs, both ends"
            ).show(asJSON: isJSON)
        }
        let session = pair.mine
        try await show("64 B reliable, one call each", goal: "≥ 500 k/s") {
            try await session.send(payload, on: "small", confirm: .accepted)
        }
        let batch = [[UInt8]](repeating: payload, count: 500)
        try await show("64 B reliable, 500 a call", goal: "≥ 3000 k/s") {
            try await session.send(contentsOf: batch, on: "small", confirm: .accepted)
        }
    }

    /// Small fast messages a second, one call each.
    private func fast(_ pair: BenchPair) async throws {
        let counter = Counter()
        let messages = await pair.theirs.messages(on: "fast", mode: .unreliable)
        let reader = Task.detached { for await _ in messages { counter.add(1) } }
        defer { reader.cancel() }
        let payload = [UInt8](repeating: 7, count: Self.messageBytes)
        var sent = 0
        let start = SystemClock.now()
        while SystemClock.now() - start < duration {
            try await pair.mine.sendFast(payload, on: "fast")
            sent += 1
        }
        let spent = (SystemClock.now() - start).milliseconds / 1000
        BenchRow(
            name: "64 B fast, one call each, received",
            figure: Double(counter.value) / spent / 1000,
            unit: "k/s",
            limit: BenchRow.Limit(name: "k/s sent", figure: Double(sent) / spent / 1000)
        ).show(asJSON: isJSON)
    }

    /// The time of a reliable message there and another one back, beside plain UDP.
    private func ping(_ pair: BenchPair) async throws {
        let echo = try WireLimits.echo(bytes: Self.messageBytes, rounds: Self.rounds)
        let payload = [UInt8](repeating: 7, count: Self.messageBytes)
        let questions = await pair.theirs.messages(on: "there")
        let answers = await pair.mine.messages(on: "back")
        let (mine, theirs) = (pair.mine, pair.theirs)
        @Sendable func answer() async throws {
            for await message in questions {
                try await theirs.send(message.payload, on: "back", confirm: .accepted)
            }
        }
        @Sendable func ask(_ answers: MailboxSequence<Message>) async throws -> [Double] {
            var answers = answers.makeAsyncIterator()
            var samples: [Double] = []
            for _ in 0..<Self.rounds {
                let start = SystemClock.now()
                try await mine.send(payload, on: "there", confirm: .accepted)
                _ = await answers.next()
                samples.append((SystemClock.now() - start).milliseconds * 1000)
            }
            return samples.sorted()
        }
        var answering = Task.detached { try await answer() }
        show("", try await ask(answers), echo)
        answering.cancel()
        answering = Task(executorPreference: pair.bob.executor) { try await answer() }
        let asking = Task(executorPreference: pair.ada.executor) { try await ask(answers) }
        show(", on the nodes' threads", try await asking.value, echo)
        answering.cancel()
    }

    private func show(_ how: String, _ samples: [Double], _ echo: (median: Double, most: Double)) {
        for (name, own, plain) in [
            ("p50", samples[samples.count / 2], echo.median),
            ("p99", samples[samples.count * 99 / 100], echo.most),
        ] {
            BenchRow(
                name: "64 B there and back\(how), \(name)",
                figure: own,
                unit: "µs",
                limit: BenchRow.Limit(name: "a UDP echo that waits in poll", figure: plain),
                goal: "≤ 1.15×"
            ).show(asJSON: isJSON)
        }
    }
}
