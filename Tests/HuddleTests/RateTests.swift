import Huddle
import Synchronization
import Testing

@Suite("Throttle and debounce — 40-groupactivities §9.5") struct RateTests {
    @Test("a seek trace of 3 s at 100 Hz makes at most 7 sends, and the last is where it ended")
    func seekTrace() async {
        let clock = ManualClock()
        let trace = Handed<Int>()
        let (sends, output) = AsyncStream<Int>.makeStream()
        let reader = Task {
            for await position in trace.throttled(for: .milliseconds(500), clock: clock) {
                output.yield(position)
            }
            output.finish()
        }
        for position in 1...300 {
            await trace.hand(position)
            clock.advance(by: .milliseconds(10))
        }
        await trace.finish()
        let mover = Task {
            while !Task.isCancelled {
                clock.advance(by: .milliseconds(500))
                await Task.yield()
            }
        }
        await reader.value
        mover.cancel()
        var seen: [Int] = []
        for await position in sends { seen.append(position) }
        #expect(seen.last == 300)
        #expect(seen == seen.sorted() && (1...7).contains(seen.count), "\(seen)")
    }

    @Test("without `latest` the first of an interval comes, and the others are dropped")
    func firstOfInterval() async {
        let clock = ManualClock()
        let trace = Handed<Int>()
        let (output, sink) = AsyncStream<Int>.makeStream()
        let reader = Task {
            let rare = trace.throttled(for: .milliseconds(100), latest: false, clock: clock)
            for await value in rare { sink.yield(value) }
            sink.finish()
        }
        var seen = output.makeAsyncIterator()
        for value in 0..<30 {
            await trace.hand(value)
            if value % 10 == 0 {
                let first = await seen.next()
                #expect(first == value)
            }
            clock.advance(by: .milliseconds(10))
        }
        await trace.finish()
        await reader.value
        let rest = await seen.next()
        #expect(rest == nil)
    }

    @Test("debounce lets through what nothing followed, and the last of all")
    func debounce() async {
        let clock = ManualClock()
        let words = Handed<String>()
        let (output, sink) = AsyncStream<String>.makeStream()
        let reader = Task {
            for await word in words.debounced(for: .milliseconds(300), clock: clock) {
                sink.yield(word)
            }
        }
        var seen = output.makeAsyncIterator()
        for word in ["h", "hu", "hud"] {
            await words.hand(word)
            clock.advance(by: .milliseconds(200))
        }
        clock.advance(by: .milliseconds(100))
        #expect(await seen.next() == "hud")
        await words.hand("huddle")
        await words.finish()
        clock.advance(by: .milliseconds(300))
        #expect(await seen.next() == "huddle")
        await reader.value
    }

    @Test("an error ends the sequence, after what came before it")
    func failure() async throws {
        struct Broken: Error {}
        let clock = ManualClock()
        let (numbers, input) = AsyncThrowingStream<Int, any Error>.makeStream()
        input.yield(7)
        input.finish(throwing: Broken())
        var iterator = numbers.throttled(for: .seconds(1), clock: clock).makeAsyncIterator()
        let first = try await iterator.next()
        #expect(first == 7)
        do {
            _ = try await iterator.next()
            Issue.record("no error came")
        } catch {
            #expect(error is Broken)
        }
    }

    @Test("cancelling the reader ends the wait and the reading")
    func cancelling() async {
        let clock = ManualClock()
        let (numbers, input) = AsyncStream<Int>.makeStream()
        await confirmation("the sequence is let go") { isOver in
            let (ended, end) = AsyncStream<Void>.makeStream()
            input.onTermination = { _ in
                isOver()
                end.finish()
            }
            let reader = Task {
                for await _ in numbers.throttled(for: .seconds(1), clock: clock) {}
            }
            input.yield(1)
            reader.cancel()
            await reader.value
            for await _ in ended {}
        }
    }
}

/// A clock that stands still until it is told to go on.
private final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - offset }
        static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        var until: Instant
        var wake: CheckedContinuation<Void, Never>
    }

    private let state = Mutex<(now: Instant, sleepers: [Sleeper])>((Instant(offset: .zero), []))

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard state.now < deadline else { return true }
                state.sleepers.append(Sleeper(until: deadline, wake: continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.until <= now }
            state.sleepers.removeAll { $0.until <= now }
            return due
        }
        for sleeper in due { sleeper.wake.resume() }
    }
}

/// A sequence that is handed its elements one by one: who hands one goes on when the reader is done with it.
private final class Handed<Element: Sendable>: AsyncSequence, Sendable {
    private struct State {
        var reader: CheckedContinuation<Element?, Never>?
        var writer: CheckedContinuation<Void, Never>?
        var isOver = false
    }

    private let state = Mutex(State())

    func hand(_ element: Element) async {
        await asked()
        let reader = state.withLock { state in
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: element)
        await asked()
    }

    func finish() async {
        await asked()
        let reader = state.withLock { state in
            state.isOver = true
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    /// Waits until the reader asks for an element.
    private func asked() async {
        await withCheckedContinuation { continuation in
            let isAsked = state.withLock { state in
                guard state.reader == nil else { return true }
                state.writer = continuation
                return false
            }
            if isAsked { continuation.resume() }
        }
    }

    private func ask() async -> Element? {
        await withCheckedContinuation { continuation in
            let (writer, isOver) = state.withLock { state in
                defer { state.writer = nil }
                if !state.isOver { state.reader = continuation }
                return (state.writer, state.isOver)
            }
            writer?.resume()
            if isOver { continuation.resume(returning: nil) }
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: Handed
        func next() async -> Element? { await source.ask() }
        func next(isolation actor: isolated (any Actor)?) async -> Element? { await source.ask() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
}
