import Combine
import Dispatch
import Synchronization
import Testing

@Suite("Operators") struct OperatorTests {
    struct Broken: Error, Equatable {}

    /// What a publisher publishes at once, and whether it ends.
    func record<P: Publisher>(_ publisher: P) -> (values: [P.Output], isFinished: Bool) {
        var values: [P.Output] = []
        var isFinished = false
        publisher.sink(
            receiveCompletion: { if case .finished = $0 { isFinished = true } },
            receiveValue: { values.append($0) }
        ).cancel()
        return (values, isFinished)
    }

    let numbers = (1...5).publisher

    @Test("map, key path, compactMap, scan, replaceNil") func mapping() {
        #expect(record(numbers.map { $0 * 2 }).values == [2, 4, 6, 8, 10])
        #expect(record(["a", "bc"].publisher.map(\.count)).values == [1, 2])
        #expect(record(["1", "x", "3"].publisher.compactMap { Int($0) }).values == [1, 3])
        #expect(record(numbers.scan(0, +)).values == [1, 3, 6, 10, 15])
        #expect(record([1, nil, 3].publisher.replaceNil(with: 0)).values == [1, 0, 3])
    }

    @Test("each subscriber of scan starts anew") func scanState() {
        let sums = numbers.scan(0, +)
        #expect(record(sums).values == record(sums).values)
    }

    @Test("filter, removeDuplicates, dropFirst, prefix, first") func filtering() {
        #expect(record(numbers.filter { $0.isMultiple(of: 2) }).values == [2, 4])
        #expect(record([1, 1, 2, 2, 1].publisher.removeDuplicates()).values == [1, 2, 1])
        #expect(
            record([1, 11, 2, 12].publisher.removeDuplicates { $0 % 10 == $1 % 10 }).values
                == [1, 2]
        )
        #expect(record(numbers.dropFirst(3)).values == [4, 5])
        #expect(record(numbers.prefix(2)) == ([1, 2], true))
        #expect(record(numbers.prefix(0)) == ([], true))
        #expect(record(numbers.first()) == ([1], true))
        #expect(record(numbers.first { $0 > 3 }) == ([4], true))
    }

    @Test("prefix ends an endless sequence, and values sent from inside of its last one are late")
    func prefixEnds() {
        #expect(record(sequence(first: 1) { $0 + 1 }.publisher.prefix(3)) == ([1, 2, 3], true))
        let subject = PassthroughSubject<Int, Never>()
        var values: [Int] = []
        let subscription = subject.prefix(1).sink { value in
            values.append(value)
            if value < 3 { subject.send(value + 1) }
        }
        subject.send(1)
        #expect(values == [1])
        subscription.cancel()
    }

    @Test("after a failure the other publishers are not heard, nor cancelled twice") func failure()
    {
        let subject = PassthroughSubject<Int, Broken>()
        var events: [String] = []
        let heard = subject.handleEvents(receiveOutput: { events.append("\($0)") })
        let failing = Fail(outputType: Int.self, failure: Broken())
        var failures = 0
        let combined = failing.combineLatest(heard)
            .sink { _ in
                failures += 1
            } receiveValue: { _ in
            }
        let merged = failing.merge(with: heard)
            .sink { _ in
                failures += 1
            } receiveValue: { _ in
            }
        #expect(failures == 2)
        subject.send(1)
        #expect(events.isEmpty)
        let completed = Just(1).handleEvents(
            receiveCompletion: { _ in events.append("completed") },
            receiveCancel: { events.append("cancelled") }
        )
        #expect(record(completed) == ([1], true))
        #expect(events == ["completed"])
        combined.cancel()
        merged.cancel()
    }

    /// Lines for a test, kept by reference.
    private final class Lines: TextOutputStream {
        var text = ""

        func write(_ string: String) { text += string }
    }

    @Test("print writes a line for each event and changes none") func printing() {
        let lines = Lines()
        #expect(record(Just(1).print("x", to: lines)) == ([1], true))
        #expect(lines.text.hasPrefix("x: receive subscription: ("))
        #expect(
            lines.text.hasSuffix(
                "x: request unlimited\nx: receive value: (1)\nx: receive finished\n"
            )
        )
        let other = Lines()
        PassthroughSubject<Int, Never>().print(to: other).sink { _ in }.cancel()
        #expect(other.text.hasSuffix("\nreceive cancel\n"))
        let failing = Lines()
        _ = Fail(outputType: Int.self, failure: Broken()).print("", to: failing)
            .sink(receiveCompletion: { _ in }, receiveValue: { _ in })
        #expect(failing.text.contains("receive error: (Broken"))
    }

    @Test("first cancels its upstream, so that an endless one ends") func firstCancels() {
        let subject = PassthroughSubject<Int, Never>()
        var events: [String] = []
        let subscription =
            subject
            .handleEvents(
                receiveSubscription: { _ in events.append("subscribed") },
                receiveOutput: { events.append("\($0)") },
                receiveCompletion: { _ in events.append("completed") },
                receiveCancel: { events.append("cancelled") },
                receiveRequest: { events.append("\($0)") }
            )
            .first()
            .sink { _ in }
        subject.send(1)
        subject.send(2)
        #expect(events == ["subscribed", "unlimited", "1", "cancelled"])
        subscription.cancel()
        #expect(events.count == 4)
    }

    @Test("combineLatest starts when each has a value and ends with the last") func combineLatest()
    {
        let (a, b, c) = (
            PassthroughSubject<Int, Never>(), CurrentValueSubject<String, Never>("x"),
            PassthroughSubject<Int, Never>()
        )
        var pairs: [String] = []
        var isFinished = false
        let two = Publishers.CombineLatest(a, b)
            .sink { _ in
                isFinished = true
            } receiveValue: {
                pairs.append("\($0)\($1)")
            }
        var triples: [String] = []
        let three = a.combineLatest(b, c).sink { triples.append("\($0.0)\($0.1)\($0.2)") }
        let sums = record([1, 2].publisher.combineLatest([10].publisher) { $0 + $1 })
        a.send(1)
        b.send("y")
        c.send(7)
        a.send(2)
        #expect(pairs == ["1x", "1y", "2y"])
        #expect(triples == ["1y7", "2y7"])
        #expect(sums == ([12], true))
        a.send(completion: .finished)
        #expect(!isFinished)
        b.send(completion: .finished)
        #expect(isFinished)
        two.cancel()
        three.cancel()
    }

    @Test("merge, MergeMany, zip") func gathering() {
        #expect(record([1].publisher.merge(with: [2].publisher)) == ([1, 2], true))
        #expect(record(Publishers.MergeMany([[1], [], [3]].map(\.publisher))) == ([1, 3], true))
        #expect(record(Publishers.MergeMany([Just<Int>]())) == ([], true))
        let zipped = record(numbers.zip(["a", "b"].publisher))
        #expect(zipped.values.map { "\($0)\($1)" } == ["1a", "2b"])
        #expect(zipped.isFinished)
    }

    @Test("flatMap ends with the last of its publishers; switchToLatest hears the newest alone")
    func nesting() {
        #expect(
            record([1, 2].publisher.flatMap { [$0, $0 * 10].publisher }).values == [1, 10, 2, 20]
        )
        let outer = PassthroughSubject<PassthroughSubject<Int, Never>, Never>()
        let (first, second) = (PassthroughSubject<Int, Never>(), PassthroughSubject<Int, Never>())
        var values: [Int] = []
        var isFinished = false
        let subscription = outer.switchToLatest()
            .sink { _ in
                isFinished = true
            } receiveValue: {
                values.append($0)
            }
        outer.send(first)
        first.send(1)
        outer.send(second)
        first.send(2)
        second.send(3)
        outer.send(completion: .finished)
        #expect(!isFinished)
        second.send(completion: .finished)
        #expect(values == [1, 3])
        #expect(isFinished)
        subscription.cancel()
    }

    @Test("prepend and append keep the order; catch, replaceError, setFailureType")
    func sequencing() {
        #expect(record(Just(2).prepend(0, 1).append(3)) == ([0, 1, 2, 3], true))
        #expect(record(Just(2).append(numbers)) == ([2, 1, 2, 3, 4, 5], true))
        let failing = Just(1).setFailureType(to: Broken.self).append(Fail(error: Broken()))
        #expect(record(failing) == ([1], false))
        #expect(record(failing.replaceError(with: 9)) == ([1, 9], true))
        #expect(record(failing.catch { _ in Empty<Int, Never>() }) == ([1], true))
    }

    @Test("share subscribes once, from the first to the last") func share() {
        let subject = PassthroughSubject<Int, Never>()
        var subscribed = 0
        var cancelled = 0
        let shared = subject.handleEvents(
            receiveSubscription: { _ in subscribed += 1 },
            receiveCancel: { cancelled += 1 }
        ).share()
        var values: [Int] = []
        let first = shared.sink { values.append($0) }
        let second = shared.sink { values.append($0 * 10) }
        subject.send(1)
        first.cancel()
        #expect((subscribed, cancelled) == (1, 0))
        second.cancel()
        #expect((subscribed, cancelled) == (1, 1))
        #expect(values == [1, 10])
        let third = shared.sink { values.append($0) }
        subject.send(2)
        #expect(values == [1, 10, 2])
        #expect(subscribed == 2)
        third.cancel()
    }

    @Test("Future keeps its first result; Deferred makes a publisher for each subscriber")
    func later() {
        var promise: Future<Int, Broken>.Promise?
        let future = Future<Int, Broken> { promise = $0 }
        var values: [Int] = []
        let subscription = future.sink { _ in
        } receiveValue: {
            values.append($0)
        }
        promise?(.success(4))
        promise?(.success(5))
        #expect(values == [4])
        #expect(record(future) == ([4], true))
        var made = 0
        let deferred = Deferred { () -> Just<Int> in
            made += 1
            return Just(made)
        }
        #expect(record(deferred).values == [1])
        #expect(record(deferred).values == [2])
        subscription.cancel()
    }

    @Test("subjects: last value first, in-place change publishes once, nothing after the end")
    func subjects() {
        let current = CurrentValueSubject<Set<Int>, Broken>([])
        var sizes: [Int] = []
        var completions: [Subscribers.Completion<Broken>] = []
        let subscription = current.sink {
            completions.append($0)
        } receiveValue: {
            sizes.append($0.count)
        }
        current.value.insert(1)
        #expect(sizes == [0, 1])
        current.send(completion: .failure(Broken()))
        current.send(completion: .finished)
        current.send([1, 2])
        #expect(sizes == [0, 1])
        #expect(current.value == [1])
        #expect(completions == [.failure(Broken())])
        #expect(record(current).values.isEmpty)
        subscription.cancel()

        let relay = PassthroughSubject<Int, Never>()
        var relayed: [Int] = []
        let hearing = relay.sink { relayed.append($0) }
        let feeding = numbers.subscribe(relay)
        #expect(relayed == [1, 2, 3, 4, 5])
        hearing.cancel()
        feeding.cancel()
    }

    @Test("a subscriber gets nothing before it requests, and everything from then on") func demand()
    {
        var subscription: (any Subscription)?
        var values: [Int] = []
        let subscriber = AnySubscriber<Int, Never>(
            receiveSubscription: { subscription = $0 },
            receiveValue: {
                values.append($0)
                return .none
            }
        )
        numbers.subscribe(subscriber)
        #expect(values.isEmpty)
        subscription?.request(.none)
        #expect(values.isEmpty)
        subscription?.request(.max(1))
        #expect(values == [1, 2, 3, 4, 5])
        #expect(Subscribers.Demand.max(1) + .unlimited == .unlimited)
        #expect(Subscribers.Demand.max(-3) == .none)
    }

    @Test("a subject drops those that cancel, so that long use holds nothing") func releases() {
        final class Token {}
        let outer = PassthroughSubject<Just<Token>, Never>()
        weak var last: Token?
        let subscription = outer.switchToLatest().sink { last = $0 }
        do {
            let token = Token()
            outer.send(Just(token))
            #expect(last != nil)
        }
        #expect(last == nil)
        subscription.cancel()
    }

    @Test("threads may send, subscribe and cancel at once, and no value is lost") func threads() {
        let subjects = (0..<4).map { _ in PassthroughSubject<Int, Never>() }
        let total = Atomic(0)
        let heard = Atomic(0)
        let subscription = Publishers.MergeMany(subjects)
            .sink { total.wrappingAdd($0, ordering: .relaxed) }
        let box = Unchecked(value: subjects)
        DispatchQueue.concurrentPerform(iterations: 4) { index in
            for round in 1...500 {
                let other = box.value[(index + round) % 4]
                let visitor = other.sink { heard.wrappingAdd($0, ordering: .relaxed) }
                box.value[index].send(1)
                visitor.cancel()
            }
        }
        #expect(total.load(ordering: .relaxed) == 2_000)
        #expect(heard.load(ordering: .relaxed) >= 500)
        subscription.cancel()
    }

    /// Subjects guard themselves, though they are not Sendable.
    private struct Unchecked: @unchecked Sendable {
        let value: [PassthroughSubject<Int, Never>]
    }
}
