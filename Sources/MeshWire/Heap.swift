/// A binary heap: the least element is found at once, and taken or added in O(log n).
///
/// Elements that compare equal come out in no defined order, so an order that must repeat needs a
/// tie-breaker inside the element.
@usableFromInline
package struct Heap<Element: Comparable> {
    @usableFromInline package var elements: [Element] = []

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { elements.count }
    @inlinable
    package var isEmpty: Bool { elements.isEmpty }

    /// The least element.
    @inlinable
    package var first: Element? { elements.first }

    /// Adds an element.
    @inlinable
    package mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the least element out.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let least = elements.first else { return last }
        elements[0] = last
        sink()
        return least
    }

    /// Forgets every element that `isUnwanted` names, in O(n).
    @inlinable
    package mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        var kept = Heap()
        for element in elements where !isUnwanted(element) { kept.insert(element) }
        self = kept
    }

    @inlinable
    package mutating func sink() {
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < elements.count else { return }
            let right = left + 1
            let least = right < elements.count && elements[right] < elements[left] ? right : left
            guard elements[least] < elements[parent] else { return }
            elements.swapAt(least, parent)
            parent = least
        }
    }
}

extension Heap: Sendable where Element: Sendable {}
