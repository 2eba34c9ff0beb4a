import Foundation
import Synchronization
import Testing

@testable import GroupActivities

/// A clock that a test moves.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Swift.Duration.zero

        func advanced(by duration: Swift.Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        var until: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        var next = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        var awoken: [CheckedContinuation<Void, Never>] {
            mutating get {
                let ready = watchers.filter { $0.count <= sleepers.count }
                watchers.removeAll { $0.count <= sleepers.count }
                return ready.map(\.continuation)
            }
        }
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Swift.Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, isCancelled, awoken) = state.withLock { state in
                    let isCancelled = state.cancelled.contains(number)
                    let isOver = deadline <= state.now
                    if !isOver, !isCancelled {
                        state.sleepers[number] = Sleeper(
                            until: deadline,
                            continuation: continuation
                        )
                    }
                    return (isOver, isCancelled, state.awoken)
                }
                for watcher in awoken { watcher.resume() }
                if isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else if isOver {
                    continuation.resume()
                }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(number)
                return state.sleepers.removeValue(forKey: number)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits until so many wait for this clock.
    func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    func advance(by duration: Swift.Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }
}

/// Waits that nothing ends but the clock or a cancellation.
final class Endless: Sendable {
    let (ends, feed) = AsyncStream.makeStream(of: Void.self)

    func wait() async { for await _ in ends { return } }
}

@Suite("Limits of time — 40-groupactivities §3.1, §8") struct TimeLimitTests {
    struct Slow: GroupActivity {
        static let activityIdentifier = "test.slow"
        var isSlow = true

        var metadata: GroupActivityMetadata {
            get async {
                if isSlow { await Self.never.wait() }
                var metadata = GroupActivityMetadata()
                metadata.title = "slow"
                return metadata
            }
        }

        static let never = Endless()
    }

    @Test("a value that comes in time is the value")
    func inTime() async {
        let clock = ManualClock()
        let value = await TimeLimit.$clock.withValue(clock) {
            await TimeLimit.value(within: .seconds(1)) { 7 }
        }
        #expect(value == 7)
    }

    @Test("after the limit there is no value, also if the body heeds no cancellation")
    func late() async {
        let clock = ManualClock()
        let gate = Endless()
        async let value = TimeLimit.$clock.withValue(clock) {
            await TimeLimit.value(within: .seconds(60)) { () -> Int in
                await Task.detached { await gate.wait() }.value
                return 7
            }
        }
        await clock.sleepers(1)
        clock.advance(by: .milliseconds(59_999))
        await clock.sleepers(1)
        clock.advance(by: .milliseconds(1))
        #expect(await value == nil)
        gate.feed.finish()
    }

    @Test("a cancelled caller waits no more")
    func cancelled() async {
        let clock = ManualClock()
        let gate = Endless()
        let task = Task {
            await TimeLimit.$clock.withValue(clock) {
                await TimeLimit.value(within: .seconds(60)) { () -> Int in
                    await Task.detached { await gate.wait() }.value
                    return 7
                }
            }
        }
        await clock.sleepers(1)
        task.cancel()
        #expect(await task.value == nil)
        gate.feed.finish()
    }

    @Test("metadata that take longer than 5 s are empty")
    func metadata() async {
        let clock = ManualClock()
        async let shown = TimeLimit.$clock.withValue(clock) { await Slow().timelyMetadata }
        await clock.sleepers(1)
        clock.advance(by: .seconds(5))
        #expect(await shown == GroupActivityMetadata())
        let quick = await TimeLimit.$clock.withValue(clock) {
            await Slow(isSlow: false).timelyMetadata
        }
        #expect(quick.title == "slow")
    }
}
