/// A queue whose front leaves in constant time: an array, and how many elements left already.
struct Queue<Element: Sendable>: Sendable {
    private var storage: [Element?] = []
    private var head = 0

    init() {}

    var count: Int { storage.count - head }
    var isEmpty: Bool { head == storage.count }
    var first: Element? { isEmpty ? nil : storage[head] }
    var last: Element? { isEmpty ? nil : storage[storage.count - 1] }

    /// The element `index` places behind the front; traps beyond the end.
    subscript(index: Int) -> Element {
        _read { yield storage[head + index]! }
        _modify { yield &storage[head + index]! }
    }

    mutating func append(_ element: Element) {
        storage.append(element)
    }

    @discardableResult
    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[head].take()
        head += 1
        // Each element is moved at most once for each time it was appended.
        if head == storage.count {
            storage.removeAll(keepingCapacity: storage.count <= 1024)
            head = 0
        } else if head >= 64, head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll() {
        storage.removeAll()
        head = 0
    }

    /// The first place at which `isAtOrAfter` holds, if it holds for everything behind it too.
    func partition(_ isAtOrAfter: (borrowing Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isAtOrAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
