/// A set of chunks of one content, a bit each.
package struct ChunkSet: Hashable, Sendable {
    private var words: [UInt64]
    /// The chunks that the content has.
    package let capacity: Int
    /// The chunks in the set.
    package private(set) var count = 0

    /// The empty set of chunks below `capacity`.
    package init(capacity: Int) {
        self.capacity = capacity
        words = Array(repeating: 0, count: (capacity + 63) / 64)
    }

    package var isFull: Bool { count == capacity }

    /// Whether `chunk` is in it; one that the content does not have never is.
    package func contains(_ chunk: Int) -> Bool {
        guard chunk >= 0, chunk < capacity else { return false }
        return words[chunk >> 6] & 1 << UInt64(chunk & 63) != 0
    }

    /// Puts a chunk in; `false` if it is there already or the content does not have it.
    @discardableResult
    package mutating func insert(_ chunk: Int) -> Bool {
        guard chunk >= 0, chunk < capacity, !contains(chunk) else { return false }
        words[chunk >> 6] |= 1 << UInt64(chunk & 63)
        count += 1
        return true
    }

    /// Takes a chunk out.
    package mutating func remove(_ chunk: Int) {
        guard contains(chunk) else { return }
        words[chunk >> 6] &= ~(1 << UInt64(chunk & 63))
        count -= 1
    }

    /// The chunks as ranges, ascending, at most `limit` of them.
    package func ranges(limit: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start: Int?
        for chunk in 0...capacity {
            if contains(chunk) {
                if start == nil { start = chunk }
            } else if let first = start {
                ranges.append(first..<chunk)
                start = nil
                if ranges.count == limit { break }
            }
        }
        return ranges
    }
}
