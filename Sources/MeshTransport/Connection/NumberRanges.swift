/// A set of numbers, kept as sorted closed ranges, lowest first; the lowest go beyond `limit`.
///
/// Holds the packet numbers that came (RFC 9000 §13.2.3) and the channels that are closed.
struct NumberRanges: Hashable, Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    /// What became of a number.
    enum Insertion { case duplicate, extended, apart, closedGap }

    var isEmpty: Bool { ranges.isEmpty }
    var largest: UInt64? { ranges.last?.upperBound }

    func contains(_ number: UInt64) -> Bool {
        let index = partition(number)
        return index < ranges.count && ranges[index].contains(number)
    }

    mutating func insert(_ number: UInt64) -> Insertion {
        let index = partition(number)
        if index < ranges.count, ranges[index].contains(number) { return .duplicate }
        let joinsLower = index > 0 && ranges[index - 1].upperBound &+ 1 == number
        let joinsUpper = index < ranges.count && number &+ 1 == ranges[index].lowerBound
        switch (joinsLower, joinsUpper) {
        case (true, true):
            ranges[index - 1] = ranges[index - 1].lowerBound...ranges[index].upperBound
            ranges.remove(at: index)
            return .closedGap
        case (true, false):
            ranges[index - 1] = ranges[index - 1].lowerBound...number
            return index == ranges.count ? .extended : .apart
        case (false, true):
            ranges[index] = number...ranges[index].upperBound
            return .apart
        case (false, false):
            ranges.insert(number...number, at: index)
            return .apart
        }
    }

    /// Adds a range of numbers below 2^62 and answers with the parts that were not there.
    mutating func insert(_ range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        let start = partition(range.lowerBound > 0 ? range.lowerBound - 1 : 0)
        var end = start
        var position = range.lowerBound
        var merged = range
        var new: [ClosedRange<UInt64>] = []
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound + 1 {
            let old = ranges[end]
            if old.lowerBound > position {
                new.append(position...min(old.lowerBound - 1, range.upperBound))
            }
            position = max(position, old.upperBound + 1)
            let lower = min(merged.lowerBound, old.lowerBound)
            merged = lower...max(merged.upperBound, old.upperBound)
            end += 1
        }
        if position <= range.upperBound { new.append(position...range.upperBound) }
        guard !new.isEmpty else { return new }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(merged))
        return new
    }

    /// Forgets the lowest ranges until `count` are left.
    mutating func trim(to count: Int) {
        if ranges.count > count { ranges.removeFirst(ranges.count - count) }
    }

    /// Forgets every range that ends at or below `number`, except for the highest one.
    mutating func forget(through number: UInt64) {
        let end = min(partition(number), ranges.count - 1)
        let isWhole = end >= 0 && end < ranges.count && ranges[end].upperBound == number
        let count = min(isWhole ? end + 1 : end, ranges.count - 1)
        if count > 0 { ranges.removeFirst(count) }
    }

    /// The first range that ends at or above `number`.
    private func partition(_ number: UInt64) -> Int {
        if let last = ranges.last, last.upperBound < number { return ranges.count }
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound >= number { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
