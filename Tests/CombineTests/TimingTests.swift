import Combine
import Foundation
import Testing

@Suite("Timing") struct TimingTests {
    @Test(
        "throttle over a 100 Hz trace of 3 s sends at most 7 times, the last is the final position"
    )
    func throttle() {
        let scheduler = VirtualScheduler()
        let positions = PassthroughSubject<Int, Never>()
        var sent: [Int] = []
        let subscription =
            positions
            .throttle(for: .milliseconds(500), scheduler: scheduler, latest: true)
            .sink { sent.append($0) }
        for step in 0..<300 {
            positions.send(step)
            scheduler.advance(by: .milliseconds(10))
        }
        scheduler.advance(by: .seconds(2))
        #expect(sent.count <= 7)
        #expect(sent.first == 0)
        #expect(sent.last == 299)
        // After a rest the next value goes at once.
        positions.send(500)
        scheduler.advance(by: .zero)
        #expect(sent.last == 500)
        subscription.cancel()
    }

    @Test("throttle without latest sends the first of each interval") func throttleFirst() {
        let scheduler = VirtualScheduler()
        let positions = PassthroughSubject<Int, Never>()
        var sent: [Int] = []
        let subscription =
            positions
            .throttle(for: 1, scheduler: scheduler, latest: false)
            .sink { sent.append($0) }
        for step in 0..<25 {
            positions.send(step)
            scheduler.advance(by: .milliseconds(100))
        }
        #expect(sent == [0, 1, 10])
        positions.send(completion: .finished)
        scheduler.advance(by: .zero)
        #expect(sent == [0, 1, 10, 20])
        subscription.cancel()
    }

    @Test("a throttled value is not sent after cancellation") func throttleCancel() {
        let scheduler = VirtualScheduler()
        let positions = PassthroughSubject<Int, Never>()
        var sent: [Int] = []
        let subscription =
            positions
            .throttle(for: 1, scheduler: scheduler, latest: true)
            .sink { sent.append($0) }
        positions.send(1)
        scheduler.advance(by: .zero)
        positions.send(2)
        subscription.cancel()
        scheduler.advance(by: .seconds(5))
        #expect(sent == [1])
    }

    @Test("debounce sends what nothing followed, and what is left before the end") func debounce() {
        let scheduler = VirtualScheduler()
        let keys = PassthroughSubject<String, Never>()
        var sent: [String] = []
        var isFinished = false
        let subscription =
            keys
            .debounce(for: 0.5, scheduler: scheduler)
            .sink { _ in
                isFinished = true
            } receiveValue: {
                sent.append($0)
            }
        keys.send("a")
        scheduler.advance(by: .milliseconds(400))
        keys.send("ab")
        scheduler.advance(by: .milliseconds(400))
        #expect(sent.isEmpty)
        scheduler.advance(by: .milliseconds(100))
        #expect(sent == ["ab"])
        keys.send("abc")
        keys.send(completion: .finished)
        scheduler.advance(by: .zero)
        #expect(sent == ["ab", "abc"])
        #expect(isFinished)
        subscription.cancel()
    }

    @Test("receive(on:) and delay hand on by the scheduler, in order, and not once cancelled")
    func receiving() {
        let scheduler = VirtualScheduler()
        let subject = PassthroughSubject<Int, Never>()
        var (received, delayed): ([Int], [Int]) = ([], [])
        let receiving = subject.receive(on: scheduler).sink { received.append($0) }
        let delaying = subject.delay(for: .seconds(1), scheduler: scheduler)
            .sink { delayed.append($0) }
        subject.send(1)
        subject.send(2)
        #expect(received.isEmpty)
        scheduler.advance(by: .zero)
        #expect((received, delayed) == ([1, 2], []))
        scheduler.advance(by: .seconds(1))
        #expect(delayed == [1, 2])
        subject.send(3)
        receiving.cancel()
        delaying.cancel()
        scheduler.advance(by: .seconds(9))
        #expect((received, delayed) == ([1, 2], [1, 2]))
        var immediate = 0
        let now = Just(5).receive(on: ImmediateScheduler.shared).sink { immediate = $0 }
        #expect(immediate == 5)
        now.cancel()
    }

    @Test("the schedulers of the system run actions where they say, in order") func system() async {
        let queue = DispatchQueue(label: "test")
        let key = DispatchSpecificKey<String>()
        queue.setSpecific(key: key, value: "here")
        var values: [String] = []
        let marked = (1...3).publisher.receive(on: queue)
            .map { "\($0)\(DispatchQueue.getSpecific(key: key) ?? "")" }
        for await value in marked.values { values.append(value) }
        #expect(values == ["1here", "2here", "3here"])
        for await value in Just("main").receive(on: DispatchQueue.main).values {
            values.append(value)
        }
        for await value in ["loop", "again"].publisher.receive(on: RunLoop.main).values {
            values.append(value)
        }
        let operations = OperationQueue()
        for await value in Just("later").delay(for: .milliseconds(1), scheduler: operations).values
        {
            values.append(value)
        }
        #expect(values.dropFirst(3) == ["main", "loop", "again", "later"])
    }

    @Test("a concurrent queue keeps the order, and the end comes last") func concurrent() async {
        for _ in 0..<20 {
            var values: [Int] = []
            let many = (0..<200).publisher.receive(on: DispatchQueue.global())
            for await value in many.values { values.append(value) }
            #expect(values == Array(0..<200))
        }
    }

    @Test("a run loop of another thread is woken and runs its actions in order") func runLoop()
        async
    {
        let loops = AsyncStream<Loop>.makeStream()
        let thread = Thread {
            let loop = RunLoop.current
            loops.continuation.yield(Loop(loop: loop, thread: ObjectIdentifier(Thread.current)))
            let keepAlive = Timer(timeInterval: 3_600, repeats: true) { _ in }
            loop.add(keepAlive, forMode: .default)
            while !Thread.current.isCancelled {
                _ = loop.run(mode: .default, before: .distantFuture)
            }
        }
        thread.start()
        var iterator = loops.stream.makeAsyncIterator()
        guard let loop = await iterator.next() else { return }
        var values: [Int] = []
        let there = (1...3).publisher.receive(on: loop.loop)
            .filter { _ in ObjectIdentifier(Thread.current) == loop.thread }
        for await value in there.values { values.append(value) }
        #expect(values == [1, 2, 3])
        thread.cancel()
        loop.loop.schedule {}
    }

    /// Handed from its thread to the test, which only schedules on it.
    private struct Loop: @unchecked Sendable {
        let loop: RunLoop
        let thread: ObjectIdentifier
    }

    @Test("a timer that connects itself publishes until its subscriber has enough") func timer()
        async
    {
        let ticks = Timer.publish(every: 0.001, on: .main, in: .common).autoconnect().prefix(2)
        var dates: [Date] = []
        for await date in ticks.values { dates.append(date) }
        #expect(dates.count == 2)
        #expect(dates[0] <= dates[1])
    }

    @Test("a scheduler that knows one date repeats by it, until cancelled") func repeating() {
        let scheduler = VirtualScheduler()
        var ticks: [SchedulerInterval] = []
        let repetition = scheduler.schedule(
            after: scheduler.now.advanced(by: 1),
            interval: 2
        ) { ticks.append(scheduler.now.elapsed) }
        scheduler.advance(by: 6)
        #expect(ticks == [1, 3, 5])
        repetition.cancel()
        scheduler.advance(by: 6)
        #expect(ticks.count == 3)
    }

    @Test("intervals are written in units, and nothing overflows") func intervals() {
        #expect(SchedulerInterval.seconds(0.5) == .milliseconds(500))
        #expect(1.5 as SchedulerInterval == .microseconds(1_500_000))
        #expect((.milliseconds(500) as SchedulerInterval) * 2 == 1)
        #expect(SchedulerInterval.seconds(.max) + 1 == .nanoseconds(.max))
        #expect(SchedulerInterval.seconds(.infinity) == .nanoseconds(.max))
        #expect(SchedulerInterval.seconds(.nan) == .zero)
        #expect(SchedulerInterval.nanoseconds(.min).magnitude == .nanoseconds(.max))
    }

    @Test("notifications of the name and object arrive, until cancelled") func notifications() {
        final class Poster {}
        let (center, poster) = (NotificationCenter(), Poster())
        let name = Notification.Name("changed")
        var received: [Int] = []
        let subscription = center.publisher(for: name, object: poster)
            .compactMap { $0.userInfo?["n"] as? Int }
            .sink { received.append($0) }
        center.post(name: name, object: poster, userInfo: ["n": 1])
        center.post(name: name, object: Poster(), userInfo: ["n": 2])
        center.post(name: Notification.Name("other"), object: poster, userInfo: ["n": 3])
        subscription.cancel()
        center.post(name: name, object: poster, userInfo: ["n": 4])
        #expect(received == [1])
    }
}

@Suite("Asynchronous values") struct ValuesTests {
    /// Not Sendable, as an element may be.
    final class Element {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test("values that came before they were asked for are kept, in order") @MainActor
    func kept() async {
        let subject = PassthroughSubject<Element, Never>()
        var iterator = subject.values.makeAsyncIterator()
        for number in 1...3 { subject.send(Element(number)) }
        subject.send(completion: .finished)
        var numbers: [Int] = []
        while let element = await iterator.next() { numbers.append(element.number) }
        #expect(numbers == [1, 2, 3])
        #expect(await iterator.next() == nil)
    }

    @Test("the newest 1 024 are kept") func bounded() async {
        let subject = PassthroughSubject<Int, Never>()
        var iterator = subject.values.makeAsyncIterator()
        for number in 1...5_000 { subject.send(number) }
        subject.send(completion: .finished)
        var numbers: [Int] = []
        while let number = await iterator.next() { numbers.append(number) }
        #expect(numbers == Array(3_977...5_000))
    }

    @Test("an iterator that waits is woken by the next value and ended by cancellation")
    @MainActor func waits() async {
        final class Model { @Published var value = 0 }
        let model = Model()
        var received: [Int] = []
        let task = Task {
            for await value in model.$value.values {
                received.append(value)
                if value < 3 { model.value = value + 1 }
            }
            return true
        }
        while received.count < 4 { await Task.yield() }
        task.cancel()
        #expect(await task.value)
        #expect(received == [0, 1, 2, 3])
    }

    @Test("a task that is cancelled before it waits does not wait", .timeLimit(.minutes(1)))
    @MainActor func cancelledBefore() async {
        let subject = PassthroughSubject<Int, Never>()
        let task = Task { for await _ in subject.values {} }
        // The main actor is here: the task has not begun.
        task.cancel()
        await task.value
        #expect(task.isCancelled)
    }

    @Test("a failure is thrown, after the values") func throwing() async {
        struct Broken: Error {}
        let failing = Just(1).setFailureType(to: Broken.self).append(Fail(error: Broken()))
        var values: [Int] = []
        await #expect(throws: Broken.self) {
            for try await value in failing.values { values.append(value) }
        }
        #expect(values == [1])
    }
}
