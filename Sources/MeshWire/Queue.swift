/// A queue whose front leaves in constant time: an array, and how many elements left already.
///
/// It may have a bound in elements and one in bytes, which ``appendIfFits(_:byteCount:)`` keeps.
/// No index traps: beyond the end there is `nil`.
@usableFromInline
package struct Queue<Element: Sendable>: Sendable {
    /// An element, until it leaves, and the bytes it counts for.
    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline var element: Element?
        @usableFromInline var byteCount: Int

        @usableFromInline
        init(_ element: Element, byteCount: Int) {
            self.element = element
            self.byteCount = byteCount
        }
    }

    @usableFromInline var storage: [Slot] = []
    @usableFromInline var head = 0
    @usableFromInline var bytes = 0
    @usableFromInline let countLimit: Int
    @usableFromInline let byteLimit: Int

    /// An empty queue; without limits it takes whatever comes.
    @inlinable
    package init(countLimit: Int = .max, byteLimit: Int = .max) {
        self.countLimit = countLimit
        self.byteLimit = byteLimit
    }

    /// Elements in the queue.
    @inlinable
    package var count: Int { storage.count - head }

    @inlinable
    package var isEmpty: Bool { head == storage.count }

    /// Bytes that the elements were said to have.
    @inlinable
    package var byteCount: Int { bytes }

    @inlinable
    package var first: Element? { self[0] }

    @inlinable
    package var last: Element? { self[count - 1] }

    /// The element `index` places behind the front, `nil` outside of the queue.
    ///
    /// A change to an element that is not there is none. Elements leave by ``popFirst()`` and
    /// ``removeAll(where:)`` only, so `nil` is never assigned.
    @inlinable
    package subscript(index: Int) -> Element? {
        _read {
            if index >= 0, index < count {
                // By the span: an array's element would be copied out whole.
                let span = storage.span
                yield span[head + index].element
            } else {
                yield nil
            }
        }
        _modify {
            if index >= 0, index < count {
                yield &storage[head + index].element
            } else {
                var absent: Element?
                yield &absent
            }
        }
    }

    /// Appends an element, whatever the limits say.
    @inlinable
    package mutating func append(_ element: Element, byteCount: Int = 0) {
        storage.append(Slot(element, byteCount: byteCount))
        bytes += byteCount
    }

    /// Appends an element unless a limit forbids it; one of any size fits an empty queue.
    @inlinable
    package mutating func appendIfFits(_ element: Element, byteCount: Int) -> Bool {
        guard isEmpty || (count < countLimit && byteCount <= byteLimit - bytes) else {
            return false
        }
        append(element, byteCount: byteCount)
        return true
    }

    /// Takes the front element out.
    @inlinable
    @discardableResult
    package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[head].element.take()
        bytes -= storage[head].byteCount
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

    /// Forgets everything.
    @inlinable
    package mutating func removeAll() {
        storage.removeAll()
        head = 0
        bytes = 0
    }

    /// Takes out what `predicate` names, and answers with it; the rest keeps its order.
    @inlinable
    package mutating func removeAll(where predicate: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        var kept = Self(countLimit: countLimit, byteLimit: byteLimit)
        for slot in storage[head...] {
            guard let element = slot.element else { continue }
            if predicate(element) {
                removed.append(element)
            } else {
                kept.append(element, byteCount: slot.byteCount)
            }
        }
        self = kept
        return removed
    }

    /// The first place at which `isAtOrAfter` holds, if it holds for everything behind it too.
    @inlinable
    package func partition(_ isAtOrAfter: (borrowing Element) -> Bool) -> Int {
        let span = storage.span
        var low = head
        var high = span.count
        while low < high {
            let middle = low + (high - low) / 2
            if span[middle].element.map({ isAtOrAfter($0) }) ?? true {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low - head
    }
}
