import MeshNet
import Synchronization
import Testing

@testable import Huddle

@Suite("Mailbox — 70-style.md §10")
struct MailboxTests {
    /// Takes elements until the sequence ends.
    static func collect(_ sequence: MailboxSequence<Int>) async -> [Int] {
        var result: [Int] = []
        for await element in sequence { result.append(element) }
        return result
    }

    @Test("elements come in order, then the end")
    func order() async {
        let mailbox = Mailbox<Int>(.bounded(100))
        let sequence = mailbox.makeSequence()
        #expect(mailbox.send(contentsOf: Array(0..<60)) == 60)
        #expect(mailbox.send(60))
        mailbox.finish()
        #expect(await Self.collect(sequence) == Array(0...60))
        #expect(await Self.collect(sequence) == [])
        #expect(mailbox.send(contentsOf: [1, 2]) == 2)
        #expect(mailbox.count == 0)
    }

    @Test("newest(n) keeps the last n and counts what it dropped")
    func newest() async {
        let mailbox = Mailbox<Int>(.newest(3))
        let sequence = mailbox.makeSequence()
        #expect(mailbox.send(contentsOf: [1, 2]) == 2)
        #expect(mailbox.send(contentsOf: [3, 4, 5]) == 3)
        #expect(mailbox.dropped == 2)
        mailbox.finish()
        #expect(await Self.collect(sequence) == [3, 4, 5])
    }

    @Test("bounded(n) leaves the rest to the producer and tells it once when there is room")
    func backPressure() async {
        let told = Mutex(0)
        let mailbox = Mailbox<Int>(.bounded(4), onSpace: { told.withLock { $0 += 1 } })
        var iterator = mailbox.makeSequence().makeAsyncIterator()
        #expect(mailbox.send(contentsOf: Array(0..<10)) == 4)
        #expect(mailbox.send(contentsOf: [99]) == 0)
        // The first half is in the consumer's hand and still counts.
        #expect(await iterator.next() == 0)
        #expect(await iterator.next() == 1)
        #expect(told.withLock { $0 } == 0)
        #expect(mailbox.send(99) == false)
        #expect(await iterator.next() == 2)
        #expect(told.withLock { $0 } == 1)
        #expect(mailbox.send(contentsOf: [4, 5, 6]) == 2)
        for expected in [3, 4, 5] { #expect(await iterator.next() == expected) }
        #expect(mailbox.dropped == 0)
    }

    @Test("a bound by cost takes one element of any cost when empty")
    func cost() async {
        let mailbox = Mailbox<[UInt8]>(.bounded(100), cost: \.count)
        var iterator = mailbox.makeSequence().makeAsyncIterator()
        let large = [UInt8](repeating: 0, count: 1000)
        #expect(mailbox.send(large))
        #expect(!mailbox.send([1]))
        #expect(await iterator.next() == large)
        #expect(!mailbox.send([1]))
        async let next = iterator.next()
        // Only asking for the next frees the first, so the producer tries until it is asked.
        while !mailbox.send([1]) { await Task.yield() }
        #expect(await next == [1])
        let parts = Array(repeating: [UInt8](repeating: 0, count: 40), count: 3)
        #expect(mailbox.send(contentsOf: parts) == 2)
    }

    @Test("drained is what was taken and asked beyond, and the producer is told once")
    func drained() async {
        let told = Mutex(0)
        let mailbox = Mailbox<Int>(.bounded(100), onSpace: { told.withLock { $0 += 1 } })
        #expect(mailbox.isDrained())
        mailbox.send(contentsOf: [1, 2])
        var iterator = mailbox.makeSequence().makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
        // The consumer may still be at work on the second.
        #expect(!mailbox.isDrained())
        #expect(told.withLock { $0 } == 0)
        mailbox.finish()
        #expect(await iterator.next() == nil)
        #expect(mailbox.isDrained())
        #expect(told.withLock { $0 } == 1)
    }

    @Test("a waiting consumer is woken by an element and by the end")
    func wake() async {
        let mailbox = Mailbox<Int>(.newest(10))
        let sequence = mailbox.makeSequence()
        let task = Task { await Self.collect(sequence) }
        for number in 0..<5 {
            mailbox.send(number)
            await Task.yield()
        }
        mailbox.finish()
        #expect(await task.value == Array(0..<5))
    }

    @Test("cancellation ends the wait and loses nothing", .timeLimit(.minutes(1)))
    func cancellation() async {
        let mailbox = Mailbox<Int>(.bounded(1000))
        let sequence = mailbox.makeSequence()
        var received: [Int] = []
        for round in 0..<100 {
            let task = Task {
                var taken: [Int] = []
                for await element in sequence { taken.append(element) }
                return taken
            }
            if round.isMultiple(of: 2) { await Task.yield() }
            mailbox.send(round)
            if round.isMultiple(of: 3) { await Task.yield() }
            task.cancel()
            received += await task.value
        }
        mailbox.finish()
        received += await Self.collect(sequence)
        #expect(received == Array(0..<100))
    }

    @Test("a loop left by break leaves the rest to the next one")
    func resume() async {
        let mailbox = Mailbox<Int>(.newest(100))
        let sequence = mailbox.makeSequence()
        mailbox.send(contentsOf: Array(0..<10))
        for await element in sequence where element == 3 { break }
        mailbox.send(10)
        mailbox.finish()
        #expect(await Self.collect(sequence) == Array(4...10))
    }

    @Test("each element goes to exactly one of several consumers")
    func severalConsumers() async {
        let mailbox = Mailbox<Int>(.bounded(64))
        let sequence = mailbox.makeSequence()
        let all = await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 { group.addTask { await Self.collect(sequence) } }
            group.addTask {
                for number in 0..<1000 { while !mailbox.send(number) { await Task.yield() } }
                mailbox.finish()
                return []
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(all.sorted() == Array(0..<1000))
    }

    @Test("when the consumer lets go, the producer is told and elements are thrown away")
    func abandoned() async {
        let told = Mutex(0)
        let mailbox = Mailbox<Int>(.bounded(10), onAbandoned: { told.withLock { $0 += 1 } })
        do {
            let sequence = mailbox.makeSequence()
            mailbox.send(contentsOf: [1, 2, 3])
            var iterator = sequence.makeAsyncIterator()
            #expect(await iterator.next() == 1)
            #expect(!mailbox.isAbandoned)
        }
        #expect(mailbox.isAbandoned)
        #expect(told.withLock { $0 } == 1)
        #expect(mailbox.count == 0)
        #expect(mailbox.send(contentsOf: Array(0..<100)) == 100)
        #expect(mailbox.count == 0)
    }

    @Test("a fast producer with back-pressure loses and doubles nothing", .timeLimit(.minutes(1)))
    func stress() async {
        // The producer refills from the space notice, as the node's loop does.
        final class Producer: Sendable {
            let next = Mutex(0)
            let total = 50_000
            let mailbox = Mutex<Mailbox<Int>?>(nil)

            func fill() {
                guard let mailbox = mailbox.withLock({ $0 }) else { return }
                next.withLock { next in
                    while next < total {
                        let batch = Array(next..<min(total, next + 37))
                        let taken = mailbox.send(contentsOf: batch)
                        next += taken
                        if taken < batch.count { return }
                    }
                    mailbox.finish()
                }
            }
        }
        let producer = Producer()
        let mailbox = Mailbox<Int>(.bounded(128), onSpace: { producer.fill() })
        producer.mailbox.withLock { $0 = mailbox }
        let sequence = mailbox.makeSequence()
        let consumer = Task { await Self.collect(sequence) }
        producer.fill()
        let received = await consumer.value
        #expect(received.count == producer.total)
        #expect(received == Array(0..<producer.total))
        producer.mailbox.withLock { $0 = nil }
    }

    @Test("the wait does not leave the caller's actor")
    func isolation() async throws {
        actor Consumer {
            nonisolated let loop: EventLoop
            init(_ loop: EventLoop) { self.loop = loop }
            nonisolated var unownedExecutor: UnownedSerialExecutor {
                loop.asUnownedSerialExecutor()
            }
            func take(_ sequence: MailboxSequence<Int>) async -> Bool {
                for await _ in sequence {
                    guard loop.isCurrent else { return false }
                }
                return loop.isCurrent
            }
        }
        let consumer = Consumer(try EventLoop())
        let mailbox = Mailbox<Int>(.newest(8))
        let sequence = mailbox.makeSequence()
        let task = Task { await consumer.take(sequence) }
        for number in 0..<20 {
            mailbox.send(number)
            await Task.yield()
        }
        mailbox.finish()
        #expect(await task.value)
    }
}
