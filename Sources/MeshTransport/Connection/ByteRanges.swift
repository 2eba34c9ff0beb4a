/// A set of offsets, kept as sorted ranges that neither overlap nor touch.
struct ByteRanges: Hashable, Sendable {
    private(set) var ranges: [Range<Int>] = []

    var isEmpty: Bool { ranges.isEmpty }
    var first: Range<Int>? { ranges.first }

    /// Whether every offset of `range` is in the set.
    func covers(_ range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return true }
        let index = partition(range.lowerBound)
        return index < ranges.count && ranges[index].lowerBound <= range.lowerBound
            && ranges[index].upperBound >= range.upperBound
    }

    mutating func insert(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        // In order is the common case: extend the last range.
        if let last = ranges.last, last.upperBound <= range.lowerBound {
            if last.upperBound == range.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            } else {
                ranges.append(range)
            }
            return
        }
        var merged = range
        let start = partition(max(range.lowerBound - 1, 0))
        var end = start
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
            let lower = min(merged.lowerBound, ranges[end].lowerBound)
            merged = lower..<max(merged.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(merged))
    }

    mutating func remove(_ range: Range<Int>) {
        guard !range.isEmpty, !ranges.isEmpty else { return }
        let start = partition(range.lowerBound)
        var end = start
        var left: [Range<Int>] = []
        while end < ranges.count, ranges[end].lowerBound < range.upperBound {
            let old = ranges[end]
            if old.lowerBound < range.lowerBound {
                left.append(old.lowerBound..<range.lowerBound)
            }
            if old.upperBound > range.upperBound {
                left.append(range.upperBound..<old.upperBound)
            }
            end += 1
        }
        guard start < end else { return }
        ranges.replaceSubrange(start..<end, with: left)
    }

    mutating func subtract(_ other: ByteRanges) {
        for range in other.ranges { remove(range) }
    }

    /// The first range that ends above `offset`.
    private func partition(_ offset: Int) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound > offset { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
