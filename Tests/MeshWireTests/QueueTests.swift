import MeshWire
import Testing

@Suite("Queue")
struct QueueTests {
    @Test("elements leave in the order they came, over any number of removals")
    func order() {
        var queue = Queue<Int>()
        var appended = 0
        var taken: [Int] = []
        for round in 0..<400 {
            for _ in 0..<(round % 7) {
                queue.append(appended)
                appended += 1
            }
            for _ in 0..<(round % 5) {
                if let element = queue.popFirst() { taken.append(element) }
            }
            #expect(queue.count == appended - taken.count)
            #expect(queue.isEmpty == (queue.count == 0))
            #expect(queue.first == (queue.isEmpty ? nil : taken.count))
            #expect(queue.last == (queue.isEmpty ? nil : appended - 1))
        }
        while let element = queue.popFirst() { taken.append(element) }
        #expect(taken == Array(0..<appended))
        #expect(queue.popFirst() == nil)
    }

    @Test("outside of the queue there is nothing, and a change to it is none")
    func bounds() {
        var queue = Queue<[Int]>()
        for number in 0..<100 { queue.append([number]) }
        for _ in 0..<70 { queue.popFirst() }
        for index in [-1, -70, 30, Int.max, Int.min] {
            #expect(queue[index] == nil)
            queue[index]?.append(0)
            queue[index] = [0]
        }
        queue[2]?.append(7)
        #expect((0..<30).map { queue[$0] } == (70..<100).map { $0 == 72 ? [72, 7] : [$0] })
        queue.removeAll()
        #expect(queue[0] == nil)
        #expect(queue.first == nil)
        #expect(queue.last == nil)
    }

    @Test("a partition is found among what is left")
    func partition() {
        var queue = Queue<Int>()
        #expect(queue.partition { _ in true } == 0)
        for number in 0..<100 { queue.append(2 * number) }
        for _ in 0..<10 { queue.popFirst() }
        for (bound, place) in [(0, 0), (20, 0), (21, 1), (100, 40), (198, 89), (199, 90)] {
            #expect(queue.partition { $0 >= bound } == place)
        }
    }

    @Test("the limits hold in count and in bytes, and one element of any size fits")
    func limits() {
        var queue = Queue<Int>(countLimit: 3, byteLimit: 100)
        var accepted = [
            queue.appendIfFits(1, byteCount: 40), queue.appendIfFits(2, byteCount: 40),
            queue.appendIfFits(3, byteCount: 40), queue.appendIfFits(4, byteCount: 20),
            queue.appendIfFits(5, byteCount: 0),
        ]
        #expect(accepted == [true, true, false, true, false])
        #expect(queue.byteCount == 100)
        var order: [Int] = []
        while let element = queue.popFirst() { order.append(element) }
        #expect(order == [1, 2, 4])
        #expect(queue.byteCount == 0)
        accepted = [
            queue.appendIfFits(6, byteCount: 1000), queue.appendIfFits(7, byteCount: 1),
        ]
        #expect(accepted == [true, false])
        queue.removeAll()
        #expect(queue.byteCount == 0)
    }

    @Test("what is removed from the middle leaves the others in order")
    func middle() {
        var queue = Queue<Int>(countLimit: 1000, byteLimit: 10_000)
        for number in 0..<500 { _ = queue.appendIfFits(number, byteCount: 2) }
        for _ in 0..<100 { queue.popFirst() }
        let removed = queue.removeAll { $0.isMultiple(of: 2) }
        #expect(removed == Array(stride(from: 100, to: 500, by: 2)))
        #expect(queue.byteCount == 400)
        #expect(queue.first == 101)
        #expect(queue.count == 200)
        let kept = queue.appendIfFits(0, byteCount: 9_600)
        let refused = queue.appendIfFits(0, byteCount: 1)
        #expect([kept, refused] == [true, false])
    }
}
